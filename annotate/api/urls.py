"""Addresses of the REST API."""

from django.urls import path
from drf_spectacular.views import SpectacularAPIView

from annotate.api import accounts, annotator, studies

STUDY = "api/v1/studies/<slug:slug>/"

api_urls = [
    path("api/v1/schema/", SpectacularAPIView.as_view(), name="api-schema"),
    path("api/v1/token/", accounts.ObtainToken.as_view(), name="api-token"),
    path("api/v1/studies/", studies.StudyList.as_view(), name="api-studies"),
    path(STUDY, studies.StudyDetail.as_view(), name="api-study"),
    path(f"{STUDY}coverage/", studies.StudyCoverage.as_view(), name="api-coverage"),
    path(f"{STUDY}scores/", studies.StudyScores.as_view(), name="api-scores"),
    path("api/v1/slot/", annotator.NextSlot.as_view(), name="api-slot"),
    path("api/v1/slot/<code>/", annotator.SubmitSlot.as_view(), name="api-submit"),
]
