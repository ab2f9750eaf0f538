"""Reports and downloads, below a study's address."""

from django.urls import path, re_path

from analysis.web import views

urlpatterns = [
    path(
        "studies/<slug:slug>/ratings.csv",
        views.table_csv,
        {"table": "ratings"},
        name="study-ratings-csv",
    ),
    path(
        "studies/<slug:slug>/choices.csv",
        views.table_csv,
        {"table": "choices"},
        name="study-choices-csv",
    ),
    path(
        "studies/<slug:slug>/scores.csv",
        views.table_csv,
        {"table": "scores"},
        name="study-scores-csv",
    ),
    re_path(
        r"^api/v1/studies/(?P<slug>[-\w]+)/(?P<table>ratings|choices|scores)\.csv$",
        views.api_table,
        name="api-table",
    ),
    path("studies/<slug:slug>/reports/", views.report_list, name="report-list"),
    path("studies/<slug:slug>/reports/new/", views.report_create, name="report-create"),
    path(
        "studies/<slug:slug>/reports/<int:pk>/", views.report_page, name="report-page"
    ),
    path(
        "studies/<slug:slug>/reports/<int:pk>/again/",
        views.report_again,
        name="report-again",
    ),
    path(
        "studies/<slug:slug>/reports/<int:pk>/disagreements/",
        views.report_disagreements,
        name="report-disagreements",
    ),
    path(
        "studies/<slug:slug>/reports/<int:pk>/all.zip",
        views.report_zip,
        name="report-zip",
    ),
    path(
        "studies/<slug:slug>/reports/<int:pk>/files/<name>",
        views.report_file,
        name="report-file",
    ),
]
