"""Pages for managers, and the annotator's pages under an invitation link."""

from collections.abc import Callable

from django.contrib.auth.views import LogoutView
from django.http import HttpResponseBase
from django.urls import URLPattern, path, re_path

from annotate.models.studies import PLACES
from annotate.pages import account
from annotate.pages.annotator import invitation, join, media_files, saving, slot
from annotate.pages.manage import (
    benchmarks,
    coverage_pages,
    people,
    preview,
    setup,
    studies,
    study_changes,
    view_pages,
)
from annotate.pages.research import reports, scores
from annotate.reports.downloads import TABLES

View = Callable[..., HttpResponseBase]

# A story as it is shown: before launch, under a link; and where its media stand.
PREVIEW = (
    r"^preview/(?P<token>[\w-]+)/"
    r"(?P<code>\d{1,18}(-\d{1,18}){0,4}(_[0-9a-f]{64}_\d{1,4}x\d{1,4})?)/"
)
STORY = r"^rate/(?P<token>[\w-]+)/story/(?P<code>[\w-]+)/"
SIDE = f"(?P<side>only|left|right|[{PLACES[0]}-{PLACES[-1]}])"
NUMBERED = "(?P<number>[0-9]{1,4})/(?P<rendition>display|thumb)/$"
PICTURE = f"{SIDE}/{NUMBERED}"
VIDEO = f"{SIDE}/video/$"
EXAMPLE = (
    r"^rate/(?P<token>[\w-]+)/example/(?P<question>[0-9]{1,4})/"
    "(?P<which>good|bad)/(?P<number>[0-9]{1,4})/$"
)
CHARACTER = f"character/(?P<index>[0-9]{{1,4}})/{NUMBERED}"


def of_study(rest: str, view: View, name: str, **fixed: str) -> URLPattern:
    return path(f"studies/<slug:slug>/{rest}", view, fixed, name=name)


def under_link(rest: str, view: View, name: str) -> URLPattern:
    return path(f"rate/<token>/{rest}", view, name=name)


account_urls = [
    path("", account.home, name="home"),
    path("login/", account.Login.as_view(), name="login"),
    path("logout/", LogoutView.as_view(), name="logout"),
    path("account/", account.Account.as_view(), name="account"),
    path("account/token/revoke/", account.token_revoke, name="token-revoke"),
    path("server/", coverage_pages.server, name="server"),
]

# /studies/...: what managers and researchers see
study_urls = [
    path("studies/", studies.study_list, name="study-list"),
    of_study("", studies.study_detail, "study-detail"),
    of_study("slots/", studies.slot_list, "slot-list"),
    of_study("slots/<code>/", studies.slot_detail, "slot-detail"),
    of_study("slots/<code>/exclude/", studies.slot_exclude, "slot-exclude"),
    of_study("slots/<code>/restore/", studies.slot_restore, "slot-restore"),
    of_study("views/", view_pages.view_list, "view-list"),
    of_study("views/add/", view_pages.view_add, "view-add"),
    of_study("views/choose/", view_pages.view_choose, "view-choose"),
    of_study("annotators/exclude/", view_pages.annotator_exclude, "annotator-exclude"),
    of_study("annotators/restore/", view_pages.annotator_restore, "annotator-restore"),
    of_study(
        "frames/<int:pk>/", studies.frame_picture, "frame-thumb", rendition="thumb"
    ),
    of_study(
        "frames/<int:pk>/display/",
        studies.frame_picture,
        "frame-display",
        rendition="display",
    ),
    of_study("outputs/", scores.output_detail, "output-detail"),
    of_study("outputs/<int:pk>/video/", studies.output_video, "output-video"),
    of_study("outputs/<int:pk>/still/", studies.output_still, "output-still"),
    of_study("do/<action>/", study_changes.study_action, "study-action"),
]

coverage_urls = [
    of_study("coverage/", coverage_pages.study_coverage, "study-coverage"),
    of_study("coverage/<slug:table>.csv", coverage_pages.coverage_csv, "coverage-csv"),
    of_study("events/", coverage_pages.event_list, "event-list"),
    of_study(
        "annotators/<int:pk>/do/<slug:action>/",
        coverage_pages.annotator_action,
        "annotator-action",
    ),
    of_study("flags/<int:pk>/resolve/", coverage_pages.flag_resolve, "flag-resolve"),
    of_study("faults/settle/", coverage_pages.faults_settle, "faults-settle"),
    of_study("units/<int:pk>/hand-out/", coverage_pages.unit_hand_out, "unit-hand-out"),
]

# /studies/.../annotators/ and what changes while a study is under way
people_urls = [
    of_study("annotators/", people.annotator_list, "annotator-list"),
    of_study("annotators/links.csv", people.annotator_links, "annotator-links"),
    of_study("annotators/invite/", people.annotator_invite, "annotator-invite"),
    of_study("annotators/list/", people.annotator_list_invite, "annotator-list-invite"),
    of_study("annotators/join-link/", people.join_link_make, "join-link-make"),
    of_study(
        "annotators/join-link/<int:pk>/close/",
        people.join_link_close,
        "join-link-close",
    ),
    of_study(
        "annotators/join-link/<int:pk>/devices/",
        people.join_link_devices,
        "join-link-devices",
    ),
    of_study("annotators/<int:pk>/cap/", people.annotator_cap, "annotator-cap"),
    of_study(
        "annotators/<int:pk>/reissue/", people.annotator_reissue, "annotator-reissue"
    ),
    of_study(
        "annotators/<int:pk>/revoke/", people.annotator_revoke, "annotator-revoke"
    ),
    of_study(
        "annotators/<int:pk>/personal-data/", people.personal_data, "annotator-data"
    ),
    of_study(
        "annotators/<int:pk>/personal-data/all.zip",
        people.export_personal_data,
        "annotator-data-zip",
    ),
    of_study(
        "annotators/<int:pk>/personal-data/withdraw/",
        people.withdraw_person,
        "annotator-withdraw",
    ),
    of_study(
        "annotators/<int:pk>/personal-data/erase/",
        people.erase_person,
        "annotator-erase",
    ),
    of_study("extend/", study_changes.extend, "study-extend"),
    of_study("withdraw/", study_changes.withdraw, "study-withdraw"),
    of_study("redistribute/", study_changes.redistribute, "study-redistribute"),
]

# /benchmarks/...: what is judged, and who may see it
benchmark_urls = [
    path("benchmarks/", benchmarks.benchmark_list, name="benchmark-list"),
    path(
        "benchmarks/<slug:slug>/", benchmarks.benchmark_detail, name="benchmark-detail"
    ),
    path(
        "benchmarks/<slug:slug>/members/add/", benchmarks.member_add, name="member-add"
    ),
    path(
        "benchmarks/<slug:slug>/members/<int:pk>/remove/",
        benchmarks.member_remove,
        name="member-remove",
    ),
]

# /setup/...: a new study; and what leads from a study to the next
setup_urls = [
    path("setup/", setup.start, name="setup-start"),
    path("setup/plans/<int:pk>/", setup.plan_page, name="plan"),
    path("setup/plans/<int:pk>/cancel/", setup.plan_cancel, name="plan-cancel"),
    path("setup/<slug:benchmark>/", setup.form, name="setup-form"),
    of_study("edit/", setup.edit, "study-edit"),
    of_study("new-version/", setup.new_version, "study-version"),
    of_study("study.yaml", setup.study_file, "study-file"),
    of_study("preview/", setup.study_preview, "study-preview"),
    re_path(rf"{PREVIEW}save/$", preview.save, name="preview-save"),
    re_path(rf"{PREVIEW}submit/$", preview.submit, name="preview-submit"),
    re_path(f"{PREVIEW}{PICTURE}", preview.picture, name="preview-picture"),
    re_path(f"{PREVIEW}{VIDEO}", preview.video, name="preview-video"),
    re_path(f"{PREVIEW}{CHARACTER}", preview.character, name="preview-character"),
]

scoring_urls = [
    path("metrics/", scores.metric_list, name="metric-list"),
    of_study("scoring/", scores.study_scoring, "study-scoring"),
    of_study("scoring/run/", scores.study_score, "study-score"),
    of_study("scoring/<int:run>/stop/", scores.scoring_stop, "scoring-stop"),
]

# /rate/<token>/...: what an annotator sees
rate_urls = [
    path("join/<token>/", join.join, name="join"),
    under_link("", invitation.entry, "rate-entry"),
    under_link("two-links/", join.second_link, "rate-second-link"),
    under_link("consent/", invitation.consent, "rate-consent"),
    under_link("instructions/", invitation.instructions, "rate-instructions"),
    under_link("pause/", invitation.pause, "rate-pause"),
    under_link("done/", join.done, "rate-done"),
    under_link("stop/", join.stop, "rate-stop"),
    under_link("withdraw/", join.withdraw, "rate-withdraw"),
    under_link("note/", invitation.warning, "rate-warning"),
    under_link("story/<code>/", slot.slot, "rate-slot"),
    under_link("story/<code>/save/", saving.save, "rate-save"),
    under_link("story/<code>/ahead/", saving.ahead, "rate-ahead"),
    under_link("story/<code>/submit/", slot.submit, "rate-submit"),
    under_link("story/<code>/heartbeat/", slot.heartbeat, "rate-heartbeat"),
    under_link("story/<code>/skip/", slot.skip, "rate-skip"),
    under_link("story/<code>/feedback/", slot.feedback, "rate-feedback"),
    re_path(EXAMPLE, media_files.example, name="rate-example"),
    re_path(f"{STORY}{PICTURE}", media_files.picture, name="rate-picture"),
    re_path(f"{STORY}{VIDEO}", media_files.video, name="rate-video"),
    re_path(f"{STORY}{CHARACTER}", media_files.character, name="rate-character"),
]

# Reports and downloads, below a study's address
report_urls = [
    *(
        of_study(f"{table}.csv", reports.table_csv, f"study-{table}-csv", table=table)
        for table in TABLES
    ),
    re_path(
        rf"^api/v1/studies/(?P<slug>[-\w]+)/(?P<table>{'|'.join(TABLES)})\.csv$",
        reports.api_table,
        name="api-table",
    ),
    of_study("reports/", reports.report_list, "report-list"),
    of_study("reports/new/", reports.report_create, "report-create"),
    of_study("reports/compare/", reports.report_comparison, "report-comparison"),
    of_study("reports/<int:pk>/", reports.report_page, "report-page"),
    of_study("reports/<int:pk>/again/", reports.report_again, "report-again"),
    of_study("reports/<int:pk>/cancel/", reports.report_cancel, "report-cancel"),
    of_study(
        "reports/<int:pk>/disagreements/",
        reports.report_disagreements,
        "report-disagreements",
    ),
    of_study("reports/<int:pk>/all.zip", reports.report_zip, "report-zip"),
    of_study("reports/<int:pk>/files/<name>", reports.report_file, "report-file"),
]

urlpatterns = (
    account_urls
    + benchmark_urls
    + setup_urls
    + study_urls
    + coverage_urls
    + people_urls
    + scoring_urls
    + report_urls
    + rate_urls
)
