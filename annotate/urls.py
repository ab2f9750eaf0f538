"""Pages for managers, and the annotator's pages under an invitation link.

An address is named after its view, unless it is named otherwise.
"""

from typing import Any

from django.conf import settings
from django.contrib.auth.views import LogoutView
from django.urls import URLPattern, path, re_path

from annotate.api.urls import api_urls
from annotate.models.studies import PLACES
from annotate.pages import (
    account,
    documentation,
    exports,
    public_reports,
    reports,
    score_values,
    scores,
    start,
)
from annotate.pages.annotator import answering, invitation, joining, media_files, slot
from annotate.pages.manage import (
    accounts,
    benchmarks,
    coverage_pages,
    late_entry,
    members,
    payment,
    people,
    pictures,
    preview,
    recruitment,
    rehearsal,
    repair,
    setup,
    studies,
    study_changes,
    uploads,
    view_pages,
    webhooks,
)
from annotate.reports.downloads import TABLES
from evalcore.formats.vistar import FILE, TABLE

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


def page(address: str, view: Any, name: str = "", **fixed: str) -> URLPattern:
    name = name or view.__name__.replace("_", "-")
    url: URLPattern = path(address, view, fixed, name=name)
    return url


def of_study(rest: str, view: Any, name: str = "", **fixed: str) -> URLPattern:
    return page(f"studies/<slug:slug>/{rest}", view, name, **fixed)


def of_person(rest: str, view: Any, name: str = "") -> URLPattern:
    return of_study(f"annotators/<int:pk>/{rest}", view, name)


def of_link(rest: str, view: Any) -> URLPattern:
    return of_study(f"annotators/join-link/<int:pk>/{rest}", view)


def under_link(rest: str, view: Any, name: str) -> URLPattern:
    return page(f"rate/<token>/{rest}", view, name)


account_urls = [
    page("", start.home),
    page("first-start/<token>/", start.first_account, "first-start"),
    page("password/<token>/", account.password_link),
    page("login/", account.Login.as_view(), "login"),
    page("logout/", LogoutView.as_view(), "logout"),
    page("account/", account.Account.as_view(), "account"),
    page("account/token/create/", account.token_create),
    page("account/token/<int:pk>/revoke/", account.token_revoke),
    page("accounts/", accounts.account_list),
    page("accounts/<int:pk>/<slug:action>/", accounts.account_change),
    page("glossary/", documentation.glossary),
    page("server/", coverage_pages.server),
    page("server/address/", start.address, "server-address"),
    page("docs/", documentation.documentation),
    page("docs/<path:name>", documentation.documentation, "documentation-file"),
]

# /studies/...: what managers and researchers see
study_urls = [
    page("studies/", studies.study_list),
    of_study("", coverage_pages.study_detail),
    of_study("settings/", studies.study_settings),
    of_study("slots/", studies.slot_list),
    of_study("slots/<code>/", studies.slot_detail),
    of_study("slots/<code>/exclude/", studies.slot_exclude),
    of_study("slots/<code>/restore/", studies.slot_restore),
    of_study("views/", view_pages.view_list),
    of_study("views/add/", view_pages.view_add),
    of_study("views/choose/", view_pages.view_choose),
    of_study("annotators/exclude/", view_pages.annotator_exclude),
    of_study("annotators/restore/", view_pages.annotator_restore),
    of_study("frames/<int:pk>/", studies.frame_thumb),
    of_study("frames/<int:pk>/display/", studies.frame_display),
    of_study("outputs/", scores.output_detail),
    of_study("outputs/<int:pk>/replace/", pictures.output_replace),
    of_study("outputs/<int:pk>/replace/<offer>/", pictures.output_offered),
    of_study("outputs/<int:pk>/video/", studies.output_video),
    of_study("outputs/<int:pk>/still/", studies.output_still),
    of_study("members/", members.study_member_list),
    of_study("members/<int:pk>/role/", members.study_member_change),
    of_study("members/<int:pk>/remove/", members.study_member_remove),
    of_study("webhooks/", webhooks.webhook_list),
    of_study("webhooks/<int:pk>/", webhooks.webhook_detail),
    of_study("webhooks/<int:pk>/test/", webhooks.webhook_test),
    of_study("webhooks/<int:pk>/resume/", webhooks.webhook_resume),
    of_study("webhooks/<int:pk>/delete/", webhooks.webhook_delete),
    of_study("webhooks/<int:pk>/<int:delivery_pk>/again/", webhooks.webhook_send_again),
    of_study("do/<action>/", study_changes.study_action),
    of_study("rename/", repair.study_rename),
    of_study("texts/", repair.study_texts),
    of_study("archive/", repair.study_archive),
    of_study("delete/", repair.study_delete),
]

coverage_urls = [
    of_study("coverage/", coverage_pages.study_coverage),
    of_study("coverage/<slug:table>.csv", coverage_pages.coverage_csv),
    of_study("goals/", coverage_pages.study_goals),
    of_study("events/", coverage_pages.event_list),
    of_person("do/<slug:action>/", coverage_pages.annotator_action),
    of_study("flags/<int:pk>/resolve/", coverage_pages.flag_resolve),
    of_study("alerts/settle/", coverage_pages.alert_settle),
    of_study("deadline/", coverage_pages.study_deadline),
    of_study("units/<int:pk>/hand-out/", coverage_pages.unit_hand_out),
]

# /studies/.../annotators/ and what changes while a study is under way
people_urls = [
    of_study("annotators/", people.annotator_list),
    of_study("annotators/pay/", payment.annotator_pay),
    of_study("annotators/<slug:name>.csv", payment.annotator_file),
    of_study("annotators/invite/", people.annotator_invite),
    of_study("annotators/list/", people.annotator_list_invite),
    of_study("annotators/recruitment/", recruitment.study_recruitment),
    of_study("annotators/visits/<int:pk>/admit/", recruitment.visit_admit),
    of_study("annotators/join-link/", recruitment.join_link_make),
    of_link("places/", recruitment.join_link_places),
    of_link("close/", recruitment.join_link_close),
    of_link("devices/", recruitment.join_link_devices),
    of_person("cap/", people.annotator_cap),
    of_person("reissue/", people.annotator_reissue),
    of_person("personal-data/", people.annotator_data),
    of_person("personal-data/all.zip", people.annotator_data_zip),
    of_person("personal-data/withdraw/", people.annotator_withdraw),
    of_person("personal-data/erase/", people.annotator_erase),
    of_study("extend/", study_changes.study_extend),
    of_study("withdraw/", study_changes.study_withdraw),
    of_study("trained-on/", study_changes.study_trained_on),
    of_study("redistribute/", study_changes.study_redistribute),
]

# /benchmarks/...: what is judged, and who may see it
BENCHMARK = "benchmarks/<slug:slug>/"
benchmark_urls = [
    page("benchmarks/", benchmarks.benchmark_list),
    page(BENCHMARK, benchmarks.benchmark_detail),
    *(
        page(
            f"{BENCHMARK}{file}",
            benchmarks.benchmark_questionnaires,
            file.replace(".", "-"),
            file=file,
        )
        for file in (FILE, TABLE)
    ),
    page(f"{BENCHMARK}members/add/", benchmarks.member_add),
    page(f"{BENCHMARK}members/<int:pk>/remove/", benchmarks.member_remove),
]

# /uploads/...: what is brought in, until it is imported
UPLOAD = "uploads/<int:pk>/"
upload_urls = [
    page("uploads/", uploads.upload_start),
    page("uploads/begin/", uploads.upload_begin),
    page("uploads/server/", uploads.upload_entry),
    page(UPLOAD, uploads.upload_detail),
    page(f"{UPLOAD}part/", uploads.upload_part),
    page(f"{UPLOAD}check/", uploads.upload_change),
    page(f"{UPLOAD}import/", uploads.upload_import),
    page(f"{UPLOAD}continue/", uploads.upload_continue),
    page(f"{UPLOAD}discard/", uploads.upload_discard),
    page(f"{UPLOAD}pictures/<int:number>/", uploads.upload_picture),
]

# /setup/...: a new study; and what leads from a study to the next
setup_urls = [
    page("setup/", setup.setup_start),
    page("setup/plans/<int:pk>/", setup.plan),
    page("setup/plans/<int:pk>/cancel/", setup.plan_cancel),
    page("setup/<slug:benchmark>/", setup.setup_form),
    of_study("edit/", setup.study_edit),
    of_study("new-version/", setup.study_version),
    of_study("late-entry/", late_entry.study_late_entry),
    of_study("study.yaml", setup.study_file),
    of_study("preview/", setup.study_preview),
    of_study("rehearsal/", rehearsal.study_rehearsal),
    of_study("rehearsal/delete/", rehearsal.rehearsal_delete),
    of_study("rehearsal/report/", rehearsal.rehearsal_report),
    re_path(rf"{PREVIEW}save/$", preview.save, name="preview-save"),
    re_path(rf"{PREVIEW}submit/$", preview.submit, name="preview-submit"),
    re_path(f"{PREVIEW}{PICTURE}", preview.picture, name="preview-picture"),
    re_path(f"{PREVIEW}{VIDEO}", preview.video, name="preview-video"),
    re_path(f"{PREVIEW}{CHARACTER}", preview.character, name="preview-character"),
]

scoring_urls = [
    page("metrics/", scores.metric_list),
    of_study("scoring/", scores.study_scoring),
    of_study("scoring/run/", scores.study_score),
    of_study("scoring/<int:run>/", score_values.run_detail),
    of_study("scoring/<int:run>/stop/", scores.scoring_stop),
    of_study("scoring/<int:run>/replaced.csv", score_values.run_replaced),
    of_study("scoring/<int:run>/delete/", score_values.run_delete),
    of_study("scoring/values/", score_values.metric_values),
    of_study("scoring/again/", score_values.metric_again),
    of_study("scoring/delete/", score_values.metric_delete),
]

# /rate/<token>/...: what an annotator sees
rate_urls = [
    page("join/<token>/", joining.join),
    page("rate/worker.js", media_files.worker, "rate-worker"),
    under_link("", invitation.entry, "rate-entry"),
    under_link("consent/", invitation.consent, "rate-consent"),
    under_link("instructions/", invitation.instructions, "rate-instructions"),
    under_link("pause/", invitation.pause, "rate-pause"),
    under_link("done/", invitation.done, "rate-done"),
    under_link("stop/", invitation.stop, "rate-stop"),
    under_link("return/", invitation.come_back, "rate-return"),
    under_link("withdraw/", invitation.withdraw, "rate-withdraw"),
    under_link("note/", invitation.warning, "rate-warning"),
    under_link("story/<code>/", slot.slot, "rate-slot"),
    under_link("story/<code>/save/", answering.save, "rate-save"),
    under_link("story/<code>/ahead/", slot.ahead, "rate-ahead"),
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
    of_study("exports/", exports.export_list),
    of_study("exports/new/", exports.export_create),
    of_study("exports/bundle/", exports.bundle_create),
    of_study("exports/<int:pk>/", exports.export_file),
    of_study("exports/<int:pk>/delete/", exports.export_delete),
    of_study("reports/", reports.report_list),
    of_study("reports/new/", reports.report_create),
    of_study("reports/compare/", reports.report_comparison),
    of_study("reports/<int:pk>/", reports.report_page),
    of_study("reports/<int:pk>/again/", reports.report_again),
    of_study("reports/<int:pk>/cancel/", reports.report_cancel),
    of_study("reports/<int:pk>/all.zip", reports.report_zip),
    of_study("reports/<int:pk>/files/<name>", reports.report_file),
    of_study("reports/<int:pk>/public/", public_reports.report_publish),
    of_study("reports/<int:pk>/public/stop/", public_reports.report_unpublish),
    page("public/<slug:name>/", public_reports.public_report),
    page("public/<slug:name>/data.zip", public_reports.public_data),
]

# Where a provider is set.
sign_on_urls = [
    page("oidc/start/", account.sign_on, "sign-on", stage="start"),
    page("oidc/return/", account.sign_on, "sign-on-return", stage="return"),
]

urlpatterns = (
    api_urls
    + account_urls
    + benchmark_urls
    + upload_urls
    + setup_urls
    + study_urls
    + coverage_urls
    + people_urls
    + scoring_urls
    + report_urls
    + rate_urls
    + (sign_on_urls if settings.OIDC_ISSUER else [])
)
