"""/api/v1/; tables are the same streams as on the study's page."""

from django.urls import path
from drf_spectacular.views import SpectacularAPIView

from annotate.api import views

urlpatterns = [
    path("schema/", SpectacularAPIView.as_view(), name="api-schema"),
    path("token/", views.ObtainToken.as_view(), name="api-token"),
    path("studies/", views.StudyList.as_view(), name="api-studies"),
    path("studies/<slug:slug>/", views.StudyDetail.as_view(), name="api-study"),
    path(
        "studies/<slug:slug>/coverage/",
        views.StudyCoverage.as_view(),
        name="api-coverage",
    ),
    path("studies/<slug:slug>/scores/", views.StudyScores.as_view(), name="api-scores"),
    path("slot/", views.NextSlot.as_view(), name="api-slot"),
    path("slot/<code>/", views.SubmitSlot.as_view(), name="api-submit"),
]
