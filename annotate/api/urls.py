"""Addresses of the REST API."""

from django.urls import path, re_path

from annotate.api import annotator, exports, methods, schema, studies, tokens
from annotate.reports.downloads import TABLES

STUDY = "api/v1/studies/<slug:slug>/"
SESSION = "api/v1/session/"
STORY = f"{SESSION}story/<slug:code>/"

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
    path(f"{STUDY}methods/", methods.MethodList.as_view(), name="api-methods"),
    path(
        f"{STUDY}methods/<int:pk>/",
        methods.MethodJob.as_view(),
        name="api-method-job",
    ),
    path(
        f"{STUDY}leaderboard/",
        methods.Leaderboard.as_view(),
        name="api-leaderboard",
    ),
    path(SESSION, annotator.Session.as_view(), name="api-session"),
    path(f"{SESSION}join/", annotator.Join.as_view(), name="api-join"),
    path(f"{SESSION}consent/", annotator.Consent.as_view(), name="api-consent"),
    path(
        f"{SESSION}instructions/",
        annotator.Instructions.as_view(),
        name="api-instructions",
    ),
    path(f"{SESSION}warning/", annotator.Warned.as_view(), name="api-warning"),
    path(f"{SESSION}finish/", annotator.Finish.as_view(), name="api-finish"),
    path(f"{SESSION}withdraw/", annotator.Withdraw.as_view(), name="api-withdraw"),
    path(f"{SESSION}return/", annotator.Return.as_view(), name="api-return"),
    path(f"{SESSION}story/", annotator.NextStory.as_view(), name="api-slot"),
    path(STORY, annotator.Story.as_view(), name="api-story"),
    path(f"{STORY}answers/", annotator.Draft.as_view(), name="api-answers"),
    path(f"{STORY}submit/", annotator.Submit.as_view(), name="api-submit"),
    path(f"{STORY}skip/", annotator.Skip.as_view(), name="api-skip"),
    path(f"{STORY}heartbeat/", annotator.Heartbeat.as_view(), name="api-heartbeat"),
]
