"""The queue of reports: a limit for each account, turns among accounts, cancelling."""

from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from analysis.commands import alignment
from annotate import tasks
from annotate.models import Report, User
from annotate.reports import building, writing
from annotate.reports.building import MOST_UNFINISHED
from evalcore.scoring import metric_runs
from tests.annotate.reports.test_report_form import ASKED, METRICS
from tests.factories import make_study
from tests.people import alice, answer_everything, log_in, rob

pytestmark = pytest.mark.django_db

FEW = {"resamples": 10}


@pytest.fixture
def study():
    return make_study()


def account(name: str) -> User:
    return User.objects.get_or_create(username=name)[0]


def ask(study, name, **fields) -> Report:
    return Report.objects.create(study=study, created_by=account(name), **fields)


def list_of(study) -> str:
    return reverse("report-list", args=[study.slug])


@pytest.mark.parametrize("page", ["report-create", "report-again"])
def test_account_has_few_unfinished_reports(study, page):
    answer_everything(study)
    metric_runs.run(metric_runs.queue_run(study.benchmark, METRICS).pk)
    client = rob(study)
    first = ask(study, "rob", options=FEW, state="done")
    for state in ("queued", "running", "queued")[:MOST_UNFINISHED]:
        ask(study, "rob", state=state)
    place = [study.slug, first.pk] if page == "report-again" else [study.slug]
    reply = client.post(reverse(page, args=place), ASKED, follow=True)
    if page != "report-again":
        assert reply.status_code == 429
    text = " ".join(reply.content.decode().split())
    assert "You have 3 unfinished reports" in text
    assert Report.objects.count() == 1 + MOST_UNFINISHED
    other = alice(study).post(reverse(page, args=place), ASKED)
    assert other.status_code == 302
    assert Report.objects.count() == 2 + MOST_UNFINISHED


def test_cancelled_and_finished_reports_do_not_count(study):
    user = account("rob")
    for state in ("done", "failed", "cancelled"):
        ask(study, "rob", state=state)
    reports = [building.ask(study, user) for _ in range(MOST_UNFINISHED)]
    with pytest.raises(building.TooManyReportsError, match="Wait until one"):
        building.ask(study, user)
    assert Report.cancel_all(Report.objects.filter(pk=reports[0].pk))
    assert building.ask(study, user).state == "queued"


@pytest.mark.postgresql
def test_accounts_take_turns(study):
    """Eve asked for three reports before Rob and Alice asked for one each."""
    eves = [ask(study, "eve").pk for _ in range(3)]
    robs, alices = ask(study, "rob").pk, ask(study, "alice").pk
    assert building.waiting_reports() == [*eves, robs, alices]
    now = timezone.now()
    Report.objects.filter(pk=eves[0]).update(state="running", heartbeat_at=now)
    assert building.waiting_reports() == [robs, alices, *eves[1:]]
    Report.objects.filter(pk=eves[0]).update(state="done")
    assert building.waiting_reports() == [robs, alices, *eves[1:]]
    later = now + timedelta(seconds=1)
    Report.objects.filter(pk=robs).update(state="done", heartbeat_at=later)
    again = ask(study, "rob").pk
    assert building.waiting_reports() == [alices, *eves[1:], again]


@pytest.mark.postgresql
@pytest.mark.slow
def test_worker_builds_one_report_and_queues_the_next(study, monkeypatch):
    answer_everything(study)
    rings = []
    monkeypatch.setattr(tasks.sweep_reports, "delay", lambda: rings.append(1))
    _first, second = (ask(study, name, options=FEW) for name in ("eve", "rob"))
    tasks.sweep_reports()
    assert list(Report.objects.order_by("pk").values_list("state", flat=True)) == [
        "done",
        "queued",
    ]
    assert rings == [1]
    tasks.sweep_reports()
    second.refresh_from_db()
    assert second.state == "done"
    assert rings == [1]


def test_queued_report_is_cancelled_on_its_page(study):
    client = rob(study)
    report = ask(study, "rob")
    address = reverse("report-cancel", args=[study.slug, report.pk])
    assert address in client.get(list_of(study)).content.decode()
    page = client.post(address, follow=True).content.decode()
    assert f"Report {report.pk} cancelled." in page
    assert address not in page
    report.refresh_from_db()
    assert (report.state, building.waiting_reports()) == ("cancelled", [])
    assert building.build_report(report.pk).state == "cancelled"


def test_researcher_cannot_cancel_the_report_of_another_account(study):
    report = ask(study, "alice")
    address = reverse("report-cancel", args=[study.slug, report.pk])
    client = rob(study)
    assert address not in client.get(list_of(study)).content.decode()
    assert client.post(address).status_code == 403
    outsider = log_in("eve")
    assert outsider.post(address).status_code == 404
    report.refresh_from_db()
    assert report.state == "queued"
    Report.objects.update(created_by=account("rob"))
    assert alice(study).post(address).status_code == 302
    report.refresh_from_db()
    assert report.state == "cancelled"


@pytest.mark.slow
@pytest.mark.parametrize("when", ["before a step", "after the last step"])
def test_worker_removes_files_of_a_cancelled_report(study, monkeypatch, when):
    answer_everything(study)
    report = ask(study, "rob", options=FEW)
    steps = []

    def align(*given, progress, **how):
        assert Report.cancel_all(Report.objects.filter(pk=report.pk))
        steps.append("cancelled")
        progress("a step")
        steps.append("went on")
        return original(*given, progress=progress, **how)

    def write(*given, **how):
        page = written(*given, **how)
        assert Report.cancel_all(Report.objects.filter(pk=report.pk))
        return page

    original, written = alignment.align, writing.write_study_report
    if when == "before a step":
        monkeypatch.setattr(alignment, "align", align)
    else:
        monkeypatch.setattr(building, "write_study_report", write)
    assert building.build_report(report.pk).state == "cancelled"
    assert "went on" not in steps
    assert not building.folder(report).exists()
    assert list(building.folder(report).parent.glob("*")) == []
    page = rob(study).get(reverse("report-page", args=[study.slug, report.pk]))
    assert page.status_code == 404
