"""Addresses of the REST API."""

from django.urls import path, re_path

from annotate.api import annotator, exports, schema, studies, tokens
from annotate.reports.downloads import TABLES

STUDY = "api/v1/studies/<slug:slug>/"

api_urls = [
    path("api/v1/schema/", schema.Schema.as_view(), name="api-schema"),
    path("api/docs/", schema.documentation, name="api-docs"),
    path("api/v1/token/", tokens.TokenMaker.as_view(), name="api-token"),
    path("api/v1/tokens/", tokens.TokenList.as_view(), name="api-tokens"),
    path(
        "api/v1/tokens/<int:pk>/",
        tokens.TokenRevoke.as_view(),
        name="api-token-revoke",
    ),
    path("api/v1/studies/", studies.StudyList.as_view(), name="api-studies"),
    path(STUDY, studies.StudyDetail.as_view(), name="api-study"),
    path(f"{STUDY}coverage/", studies.StudyCoverage.as_view(), name="api-coverage"),
    path(f"{STUDY}scores/", studies.StudyScores.as_view(), name="api-scores"),
    re_path(
        rf"^api/v1/studies/(?P<slug>[-\w]+)/(?P<table>{'|'.join(TABLES)})\.csv$",
        exports.Table.as_view(),
        name="api-table",
    ),
    path("api/v1/slot/", annotator.NextSlot.as_view(), name="api-slot"),
    path("api/v1/slot/<code>/", annotator.SubmitSlot.as_view(), name="api-submit"),
]
