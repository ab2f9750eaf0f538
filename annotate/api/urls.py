"""Addresses of the REST API."""

from typing import Any

from django.urls import URLPattern, path, re_path

from annotate.api import (
    accounts,
    annotator,
    annotator_stories,
    benchmarks,
    changes,
    outputs,
    people,
    progress,
    ratings,
    recruitment,
    rehearsal,
    reports,
    schema,
    scores,
    studies,
    tables,
    tokens,
    uploads,
    webhooks,
)
from annotate.coverage.coverage_tables import TABLES as PROGRESS_TABLES
from annotate.reports.downloads import TABLES


def at(rest: str, view: Any, name: str) -> URLPattern:
    url: URLPattern = path(f"api/v1/{rest}", view.as_view(), name=f"api-{name}")
    return url


def of_study(rest: str, view: Any, name: str) -> URLPattern:
    return at(f"studies/<slug:slug>/{rest}", view, name)


def of_person(rest: str, view: Any, name: str) -> URLPattern:
    return of_study(f"people/<int:pk>/{rest}", view, name)


def table(rest: str, names: Any, view: Any, name: str) -> URLPattern:
    """Return the address of tables: only these names are one."""
    pattern = (
        rf"^api/v1/studies/(?P<slug>[-\w]+)/{rest}(?P<table>{'|'.join(names)})\.csv$"
    )
    url: URLPattern = re_path(pattern, view.as_view(), name=f"api-{name}")
    return url


BENCHMARK = "benchmarks/<slug:slug>/"
STORY = "session/story/<slug:code>/"

api_urls = [
    path("api/docs/", schema.documentation, name="api-docs"),
    at("schema/", schema.Schema, "schema"),
    at("token/", tokens.TokenMaker, "token"),
    at("tokens/", tokens.TokenList, "tokens"),
    at("tokens/<int:pk>/", tokens.TokenRevoke, "token-revoke"),
    # Studies
    at("studies/", studies.StudyList, "studies"),
    at("plans/<int:pk>/", studies.Plan, "plan"),
    of_study("", studies.StudyDetail, "study"),
    of_study("state/", studies.StudyState, "state"),
    of_study("file/", studies.StudyFile, "file"),
    of_study("preview/", outputs.Preview, "preview"),
    of_study("texts/", studies.StudyTexts, "texts"),
    of_study("rehearsal/", rehearsal.Rehearse, "rehearsal"),
    of_study("extend/", changes.Extend, "extend"),
    of_study("withdraw/", changes.Withdraw, "withdraw"),
    of_study("redistribute/", changes.Redistribute, "redistribute"),
    of_study("late-entry/", changes.LateEntry, "late-entry"),
    of_study("methods/", changes.MethodList, "methods"),
    of_study("leaderboard/", reports.Leaderboard, "leaderboard"),
    of_study("members/", accounts.MemberList, "members"),
    of_study("members/<int:pk>/", accounts.Member, "member"),
    of_study("webhooks/", webhooks.WebhookList, "webhooks"),
    of_study("webhooks/<int:pk>/", webhooks.OneWebhook, "webhook"),
    of_study("webhooks/<int:pk>/test/", webhooks.WebhookTest, "webhook-test"),
    of_study("webhooks/<int:pk>/resume/", webhooks.WebhookResume, "webhook-resume"),
    of_study(
        "webhooks/<int:pk>/deliveries/", webhooks.DeliveryList, "webhook-deliveries"
    ),
    of_study(
        "webhooks/<int:pk>/deliveries/<int:delivery_pk>/again/",
        webhooks.DeliveryAgain,
        "webhook-send-again",
    ),
    # Progress
    of_study("coverage/", progress.Coverage, "coverage"),
    of_study("progress/", progress.Progress, "progress"),
    table("progress/", PROGRESS_TABLES, progress.ProgressTable, "progress-table"),
    of_study("handled/", progress.Handled, "handled"),
    of_study("findings/", progress.FlagList, "findings"),
    of_study("findings/<int:pk>/resolve/", progress.FlagResolve, "flag-resolve"),
    of_study("events/", progress.EventList, "events"),
    # Ratings
    of_study("slots/", ratings.SlotList, "slots"),
    of_study("slots/<slug:code>/", ratings.SlotDetail, "slot-detail"),
    of_study("slots/<slug:code>/exclude/", ratings.SlotExclude, "slot-exclude"),
    of_study("slots/<slug:code>/restore/", ratings.SlotRestore, "slot-restore"),
    of_study("items/<int:pk>/offer/", ratings.UnitHandOut, "unit-offer"),
    of_study("outputs/<int:pk>/picture/", outputs.OutputPicture, "output-picture"),
    of_study("filters/", ratings.ViewList, "views"),
    of_study("exclusions/", ratings.ExclusionList, "exclusions"),
    of_study("exclusions/filters/", ratings.ExclusionViews, "exclusion-views"),
    # People
    of_study("people/", people.PersonList, "people"),
    of_study("people/invite/", people.Invite, "invite"),
    of_study("people/invite-list/", people.InviteList, "invite-list"),
    of_study("people/pay/", recruitment.Pay, "pay"),
    of_study("people/files/<slug:name>.csv", recruitment.PeopleFile, "people-file"),
    of_person("", people.Person, "annotator"),
    of_person("state/", people.PersonState, "annotator-state"),
    of_person("personal-data.zip", people.PersonalData, "annotator-data"),
    of_person("withdraw/", people.PersonWithdraw, "annotator-withdraw"),
    of_person("erase/", people.PersonErase, "annotator-erase"),
    of_study("links/", recruitment.LinkList, "public-links"),
    of_study("links/<int:pk>/", recruitment.Link, "public-link"),
    of_study("visits/", recruitment.VisitList, "visits"),
    of_study("visits/<int:pk>/admit/", recruitment.VisitAdmit, "visit-admit"),
    of_study("recruitment/", recruitment.Recruiting, "recruitment"),
    # Reports and scores
    of_study("reports/", reports.ReportList, "reports"),
    of_study("reports/compare/", reports.ReportCompare, "reports-compare"),
    of_study("reports/<int:pk>/", reports.OneReport, "report"),
    of_study("reports/<int:pk>/again/", reports.ReportAgain, "report-again"),
    of_study("reports/<int:pk>/all.zip", reports.ReportZip, "report-zip"),
    of_study("reports/<int:pk>/files/<str:name>", reports.ReportFile, "report-file"),
    of_study("reports/<int:pk>/public/", reports.Publication, "report-public"),
    of_study("scores/", scores.Scores, "scores"),
    of_study("runs/", scores.RunList, "runs"),
    of_study("runs/<int:pk>/", scores.Run, "run"),
    of_study("runs/<int:pk>/stop/", scores.RunStop, "run-stop"),
    table("", TABLES, tables.Table, "table"),
    of_study("exports/", tables.ExportList, "exports"),
    of_study("exports/<int:pk>/", tables.OneExport, "export"),
    of_study("exports/<int:pk>/file/", tables.ExportFile, "export-file"),
    of_study("bundles/", tables.Bundle, "bundles"),
    at("metrics/", scores.MetricList, "metrics"),
    # Benchmarks and uploads
    at("benchmarks/", benchmarks.BenchmarkList, "benchmarks"),
    at(BENCHMARK, benchmarks.OneBenchmark, "benchmark"),
    at(f"{BENCHMARK}stories/", benchmarks.StoryList, "benchmark-stories"),
    at(f"{BENCHMARK}methods/", benchmarks.MethodList, "benchmark-methods"),
    at(f"{BENCHMARK}outputs/", benchmarks.OutputList, "benchmark-outputs"),
    at(
        f"{BENCHMARK}questionnaires.<slug:kind>",
        benchmarks.Questionnaires,
        "benchmark-questionnaires",
    ),
    at(f"{BENCHMARK}members/", benchmarks.BenchmarkMembers, "benchmark-members"),
    at(
        f"{BENCHMARK}members/<int:pk>/",
        benchmarks.OneBenchmarkMember,
        "benchmark-member",
    ),
    at("uploads/", uploads.UploadList, "uploads"),
    at("uploads/<int:pk>/", uploads.OneUpload, "upload"),
    at(
        "uploads/<int:pk>/pictures/<int:number>/",
        uploads.UploadPicture,
        "upload-picture",
    ),
    at("uploads/<int:pk>/part/", uploads.UploadPart, "upload-part"),
    at("uploads/<int:pk>/check/", uploads.UploadCheck, "upload-check"),
    at("uploads/<int:pk>/import/", uploads.UploadImport, "upload-import"),
    at("uploads/<int:pk>/continue/", uploads.UploadContinue, "upload-continue"),
    # Accounts
    at("accounts/", accounts.AccountList, "accounts"),
    at("accounts/<int:pk>/", accounts.Account, "account"),
    at("accounts/<int:pk>/link/", accounts.AccountLink, "account-link"),
    at("accounts/<int:pk>/log-out/", accounts.AccountLogOut, "account-log-out"),
    # An annotator's session
    at("session/", annotator.Session, "session"),
    at("session/join/", annotator.Join, "join"),
    at("session/consent/", annotator.Consent, "consent"),
    at("session/instructions/", annotator.Instructions, "instructions"),
    at("session/warning/", annotator.Warned, "warning"),
    at("session/finish/", annotator.Finish, "finish"),
    at("session/withdraw/", annotator.Withdraw, "withdraw-consent"),
    at("session/return/", annotator.Return, "return"),
    at("session/story/", annotator_stories.NextStory, "slot"),
    at(STORY, annotator_stories.Story, "story"),
    at(f"{STORY}answers/", annotator_stories.Draft, "answers"),
    at(f"{STORY}submit/", annotator_stories.Submit, "submit"),
    at(f"{STORY}skip/", annotator_stories.Skip, "skip"),
    at(f"{STORY}heartbeat/", annotator_stories.Heartbeat, "heartbeat"),
]
