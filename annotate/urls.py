"""Pages for managers, and the annotator's pages under an invitation link."""

from django.contrib.auth.views import LogoutView
from django.urls import path, re_path

from annotate.pages import home
from annotate.pages.manage import (
    benchmarks,
    coverage_pages,
    event_pages,
    lifecycle,
    people,
    preview,
    setup,
    studies,
    study_changes,
    view_pages,
)
from annotate.pages.research import reports, scores
from annotate.pages.seat import (
    invitation,
    join,
    media_files,
    saving,
    slot,
)
from annotate.reports.downloads import TABLES

account_urls = [
    path("", home.home, name="home"),
    path("login/", home.Login.as_view(), name="login"),
    path("logout/", LogoutView.as_view(), name="logout"),
]

# /studies/...: what managers and researchers see
study_urls = [
    path("studies/", studies.study_list, name="study-list"),
    path("studies/<slug:slug>/", studies.study_detail, name="study-detail"),
    path("studies/<slug:slug>/slots/", studies.slot_list, name="slot-list"),
    path("studies/<slug:slug>/slots/<code>/", studies.slot_detail, name="slot-detail"),
    path(
        "studies/<slug:slug>/slots/<code>/exclude/",
        studies.slot_exclude,
        name="slot-exclude",
    ),
    path(
        "studies/<slug:slug>/slots/<code>/restore/",
        studies.slot_restore,
        name="slot-restore",
    ),
    path("studies/<slug:slug>/views/", view_pages.view_list, name="view-list"),
    path("studies/<slug:slug>/views/add/", view_pages.view_add, name="view-add"),
    path(
        "studies/<slug:slug>/views/choose/",
        view_pages.view_choose,
        name="view-choose",
    ),
    path(
        "studies/<slug:slug>/annotators/exclude/",
        view_pages.annotator_exclude,
        name="annotator-exclude",
    ),
    path(
        "studies/<slug:slug>/annotators/restore/",
        view_pages.annotator_restore,
        name="annotator-restore",
    ),
    path(
        "studies/<slug:slug>/frames/<int:pk>/",
        studies.frame_picture,
        {"rendition": "thumb"},
        name="frame-thumb",
    ),
    path(
        "studies/<slug:slug>/frames/<int:pk>/display/",
        studies.frame_picture,
        {"rendition": "display"},
        name="frame-display",
    ),
    path(
        "studies/<slug:slug>/outputs/<int:pk>/video/",
        studies.output_video,
        name="output-video",
    ),
    path(
        "studies/<slug:slug>/outputs/<int:pk>/still/",
        studies.output_still,
        name="output-still",
    ),
    path(
        "studies/<slug:slug>/do/<action>/", lifecycle.study_action, name="study-action"
    ),
]

coverage_urls = [
    path(
        "studies/<slug:slug>/coverage/",
        coverage_pages.study_coverage,
        name="study-coverage",
    ),
    path(
        "studies/<slug:slug>/coverage/<slug:table>.csv",
        coverage_pages.coverage_csv,
        name="coverage-csv",
    ),
    path("studies/<slug:slug>/events/", event_pages.event_list, name="event-list"),
    path(
        "studies/<slug:slug>/annotators/<int:pk>/do/<slug:action>/",
        coverage_pages.annotator_action,
        name="annotator-action",
    ),
    path(
        "studies/<slug:slug>/flags/<int:pk>/resolve/",
        coverage_pages.flag_resolve,
        name="flag-resolve",
    ),
    path(
        "studies/<slug:slug>/faults/settle/",
        coverage_pages.faults_settle,
        name="faults-settle",
    ),
    path(
        "studies/<slug:slug>/units/<int:pk>/hand-out/",
        coverage_pages.unit_hand_out,
        name="unit-hand-out",
    ),
]

# /studies/.../annotators/ and what changes while a study is under way
people_urls = [
    path(
        "studies/<slug:slug>/annotators/", people.annotator_list, name="annotator-list"
    ),
    path(
        "studies/<slug:slug>/annotators/links.csv",
        people.annotator_links,
        name="annotator-links",
    ),
    path(
        "studies/<slug:slug>/annotators/invite/",
        people.annotator_invite,
        name="annotator-invite",
    ),
    path(
        "studies/<slug:slug>/annotators/list/",
        people.annotator_list_invite,
        name="annotator-list-invite",
    ),
    path(
        "studies/<slug:slug>/annotators/join-link/",
        people.join_link_make,
        name="join-link-make",
    ),
    path(
        "studies/<slug:slug>/annotators/join-link/<int:pk>/close/",
        people.join_link_close,
        name="join-link-close",
    ),
    path(
        "studies/<slug:slug>/annotators/join-link/<int:pk>/devices/",
        people.join_link_devices,
        name="join-link-devices",
    ),
    path(
        "studies/<slug:slug>/annotators/<int:pk>/cap/",
        people.annotator_cap,
        name="annotator-cap",
    ),
    path(
        "studies/<slug:slug>/annotators/<int:pk>/reissue/",
        people.annotator_reissue,
        name="annotator-reissue",
    ),
    path(
        "studies/<slug:slug>/annotators/<int:pk>/revoke/",
        people.annotator_revoke,
        name="annotator-revoke",
    ),
    path("studies/<slug:slug>/extend/", study_changes.extend, name="study-extend"),
    path(
        "studies/<slug:slug>/withdraw/", study_changes.withdraw, name="study-withdraw"
    ),
    path(
        "studies/<slug:slug>/redistribute/",
        study_changes.redistribute,
        name="study-redistribute",
    ),
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
    path("setup/<slug:benchmark>/", setup.form, name="setup-form"),
    path("studies/<slug:slug>/edit/", setup.edit, name="study-edit"),
    path("studies/<slug:slug>/new-version/", setup.new_version, name="study-version"),
    path("studies/<slug:slug>/study.yaml", setup.study_file, name="study-file"),
    path("studies/<slug:slug>/preview/", setup.study_preview, name="study-preview"),
    re_path(
        r"^preview/(?P<token>[\w-]+)/(?P<code>\d{1,18}(-\d{1,18}){0,4}(_\d{1,4}x\d{1,4})?)/"
        r"save/$",
        preview.save,
        name="preview-save",
    ),
    re_path(
        r"^preview/(?P<token>[\w-]+)/(?P<code>\d{1,18}(-\d{1,18}){0,4}(_\d{1,4}x\d{1,4})?)/"
        r"submit/$",
        preview.submit,
        name="preview-submit",
    ),
    re_path(
        r"^preview/(?P<token>[\w-]+)/(?P<code>\d{1,18}(-\d{1,18}){0,4}(_\d{1,4}x\d{1,4})?)/"
        r"(?P<side>only|left|right|[1-5])/(?P<number>[0-9]{1,4})/"
        r"(?P<rendition>display|thumb)/$",
        preview.picture,
        name="preview-picture",
    ),
    re_path(
        r"^preview/(?P<token>[\w-]+)/(?P<code>\d{1,18}(-\d{1,18}){0,4}(_\d{1,4}x\d{1,4})?)/"
        r"(?P<side>only|left|right|[1-5])/video/$",
        preview.video,
        name="preview-video",
    ),
    re_path(
        r"^preview/(?P<token>[\w-]+)/(?P<code>\d{1,18}(-\d{1,18}){0,4}(_\d{1,4}x\d{1,4})?)/"
        r"character/(?P<index>[0-9]{1,4})/(?P<number>[0-9]{1,4})/"
        r"(?P<rendition>display|thumb)/$",
        preview.character,
        name="preview-character",
    ),
]

scoring_urls = [
    path("metrics/", scores.metric_list, name="metric-list"),
    path("studies/<slug:slug>/scoring/", scores.study_scoring, name="study-scoring"),
    path("studies/<slug:slug>/scoring/run/", scores.study_score, name="study-score"),
    path(
        "studies/<slug:slug>/scoring/<int:run>/stop/",
        scores.scoring_stop,
        name="scoring-stop",
    ),
]

# /rate/<token>/...: what an annotator sees
rate_urls = [
    path("join/<token>/", join.join, name="join"),
    path("rate/<token>/", invitation.entry, name="rate-entry"),
    path("rate/<token>/two-links/", join.second_link, name="rate-second-link"),
    path("rate/<token>/consent/", invitation.consent, name="rate-consent"),
    path(
        "rate/<token>/instructions/", invitation.instructions, name="rate-instructions"
    ),
    path("rate/<token>/pause/", invitation.pause, name="rate-pause"),
    path("rate/<token>/done/", invitation.done, name="rate-done"),
    path("rate/<token>/stop/", invitation.stop, name="rate-stop"),
    path("rate/<token>/note/", invitation.warning, name="rate-warning"),
    path("rate/<token>/story/<code>/", slot.slot, name="rate-slot"),
    path("rate/<token>/story/<code>/save/", saving.save, name="rate-save"),
    path("rate/<token>/story/<code>/ahead/", saving.ahead, name="rate-ahead"),
    path("rate/<token>/story/<code>/submit/", slot.submit, name="rate-submit"),
    path(
        "rate/<token>/story/<code>/heartbeat/",
        slot.heartbeat,
        name="rate-heartbeat",
    ),
    path("rate/<token>/story/<code>/skip/", slot.skip, name="rate-skip"),
    path("rate/<token>/story/<code>/feedback/", slot.feedback, name="rate-feedback"),
    re_path(
        r"^rate/(?P<token>[\w-]+)/story/(?P<code>[\w-]+)/(?P<side>only|left|right|[1-5])/"
        r"(?P<number>[0-9]{1,4})/(?P<rendition>display|thumb)/$",
        media_files.picture,
        name="rate-picture",
    ),
    re_path(
        r"^rate/(?P<token>[\w-]+)/story/(?P<code>[\w-]+)/(?P<side>only|left|right|[1-5])/"
        r"video/$",
        media_files.video,
        name="rate-video",
    ),
    re_path(
        r"^rate/(?P<token>[\w-]+)/story/(?P<code>[\w-]+)/character/(?P<index>[0-9]{1,4})/"
        r"(?P<number>[0-9]{1,4})/(?P<rendition>display|thumb)/$",
        media_files.character,
        name="rate-character",
    ),
]

# Reports and downloads, below a study's address
report_urls = [
    *(
        path(
            f"studies/<slug:slug>/{table}.csv",
            reports.table_csv,
            {"table": table},
            name=f"study-{table}-csv",
        )
        for table in TABLES
    ),
    re_path(
        rf"^api/v1/studies/(?P<slug>[-\w]+)/(?P<table>{'|'.join(TABLES)})\.csv$",
        reports.api_table,
        name="api-table",
    ),
    path("studies/<slug:slug>/reports/", reports.report_list, name="report-list"),
    path(
        "studies/<slug:slug>/reports/new/", reports.report_create, name="report-create"
    ),
    path(
        "studies/<slug:slug>/reports/<int:pk>/", reports.report_page, name="report-page"
    ),
    path(
        "studies/<slug:slug>/reports/<int:pk>/again/",
        reports.report_again,
        name="report-again",
    ),
    path(
        "studies/<slug:slug>/reports/<int:pk>/disagreements/",
        reports.report_disagreements,
        name="report-disagreements",
    ),
    path(
        "studies/<slug:slug>/reports/<int:pk>/all.zip",
        reports.report_zip,
        name="report-zip",
    ),
    path(
        "studies/<slug:slug>/reports/<int:pk>/files/<name>",
        reports.report_file,
        name="report-file",
    ),
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
