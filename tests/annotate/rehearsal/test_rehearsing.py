"""A rehearsal from the button to its end, and what it leaves alone."""

from datetime import timedelta
from pathlib import Path

import pytest
from django.db import connection
from django.urls import reverse
from django.utils import timezone

from annotate.models import Rehearsal, User
from annotate.pages.manage import rehearsal as pages
from annotate.rehearsal import queue
from annotate.studies import drafting, late_entry, lifecycle
from annotate.studies.planning import plan_study
from annotate.tasks import sweep_rehearsals, work_on_rehearsals
from tests.annotate.pages.test_late_entry import closed_study
from tests.factories import make_benchmark, make_study
from tests.people import alice
from tests.untrained import untrained

pytestmark = pytest.mark.django_db(transaction=True)
PEOPLE = {"careful": "1", "quick": "1", "leaves": "1", "differences": "clear"}


@pytest.fixture(autouse=True)
def bell(monkeypatch):
    """Note each call of the worker, which the tests play themselves."""
    rung = []
    monkeypatch.setattr(pages, "wake_rehearsals", lambda: rung.append(1))
    return rung


@pytest.fixture
def study():
    return plan_study(
        untrained("vistorybench-user-study"),
        benchmark=make_benchmark(stories=3, shots=1),
        slug="pilot",
        annotators=3,
        redundancy=2,
    )


def address(study, name="study-rehearsal"):
    return reverse(name, args=[study.slug])


def asked(study, **people) -> Rehearsal:
    user, _created = User.objects.get_or_create(username="alice")
    return queue.ask(study, user, people or {"careful": 2}, "clear")


def all_rows() -> dict[str, list]:
    """Return every row of every table but those of rehearsals and logins."""
    left_out = {"annotate_rehearsal", "django_session"}
    found = {}
    with connection.cursor() as cursor:
        for table in sorted(set(connection.introspection.table_names()) - left_out):
            cursor.execute(f'SELECT * FROM "{table}"')
            found[table] = sorted(map(repr, cursor.fetchall()))
    return found


def media_files(settings) -> set[Path]:
    return {path for path in settings.MEDIA_ROOT.rglob("*") if path.is_file()}


@pytest.mark.slow
def test_rehearsal_reports_and_leaves_the_study_as_it_was(study, bell, settings):
    client = alice(study)
    before, pictures = all_rows(), media_files(settings)
    client.post(address(study), PEOPLE)
    assert bell
    work_on_rehearsals()
    row = Rehearsal.objects.get()
    assert (row.state, row.error) == ("done", "")
    assert all_rows() == before
    assert media_files(settings) == pictures
    assert {path.name for path in queue.folder(row.pk).iterdir()} == {"report"}
    result = row.result
    assert sum(one["stories"] for one in result["people"]) == result["submitted"] > 5
    assert sorted(one["kind"] for one in result["people"]) == [
        "careful",
        "leaves",
        "quick",
    ]
    assert result["wanted"] == study.slots.count()
    assert result["n_gaps"] > 0
    page = client.get(address(study)).content.decode()
    assert f"{result['percent']} % of the plan was filled" in page
    report = client.get(address(study, "rehearsal-report"))
    assert report.content.decode().count("Rehearsal: simulated answers") > 2
    assert "sandbox" in report["Content-Security-Policy"]
    assert client.get(reverse("study-list")).content.decode().count("pilot") < 10
    client.post(address(study, "rehearsal-delete"))
    assert not list(queue.root().iterdir())
    assert client.get(address(study, "rehearsal-report")).status_code == 404
    assert all_rows() == before


@pytest.mark.slow
def test_follow_up_study_is_rehearsed_on_its_own():
    setup = late_entry.propose(closed_study(), "Cedar").setup
    user, _created = User.objects.get_or_create(username="alice")
    study = drafting.create(setup, user)
    assert study.continues is not None
    row = asked(study, careful=3)
    queue.work_on(row.pk)
    row.refresh_from_db()
    assert (row.state, row.error) == ("done", "")
    assert row.result["percent"] == 100
    assert "report_error" not in row.result
    assert "Cedar" in row.result["best_first"]
    report = (queue.folder(row.pk) / queue.REPORT).read_text("utf-8")
    assert "Cedar" in report


def test_second_rehearsal_is_refused_while_one_runs(study, bell):
    client = alice(study)
    client.post(address(study), PEOPLE)
    page = client.post(address(study), PEOPLE)
    assert page.status_code == 422
    assert "is under way" in page.content.decode()
    assert len(bell) == Rehearsal.objects.count() == 1
    client.post(address(study, "rehearsal-delete"))
    assert client.post(address(study), PEOPLE).status_code == 302


def test_impossible_numbers_are_refused(study, subtests):
    for sent in [
        {"careful": "-1"},
        {"careful": "many"},
        {"careful": "0"},
        {"careful": "299", "quick": "2"},
        {"differences": "huge"},
    ]:
        with subtests.test(str(sent)):
            page = alice(study).post(
                address(study), {**PEOPLE, "leaves": "0", "quick": "0"} | sent
            )
            assert page.status_code == 422
            assert not Rehearsal.objects.exists()


def test_imported_study_has_nothing_to_rehearse():
    study = make_study()
    client = alice(study)
    page = client.post(address(study), PEOPLE)
    assert page.status_code == 422
    assert "was imported" in page.content.decode()


def test_lost_worker_is_reported_and_the_rehearsal_starts_again(study):
    client, row = alice(study), asked(study)
    long_ago = timezone.now() - 2 * Rehearsal.SILENT
    Rehearsal.objects.update(state="running", heartbeat_at=long_ago)
    page = client.get(address(study)).content.decode()
    assert "The worker stopped in the middle" in page
    assert 'name="careful"' in page
    queue.folder(row.pk).mkdir(parents=True)
    sweep_rehearsals()
    row.refresh_from_db()
    assert (row.state, list(queue.root().iterdir())) == ("failed", [])
    assert client.post(address(study), PEOPLE).status_code == 302


@pytest.mark.slow
def test_deleted_rehearsal_ends_its_process(study, monkeypatch):
    row = asked(study)
    sign = Rehearsal.sign

    def delete_first(pk, **progress):
        Rehearsal.objects.all().delete()
        return sign(pk, **progress)

    monkeypatch.setattr(Rehearsal, "sign", delete_first)
    queue.work_on(row.pk)
    assert not list(queue.root().iterdir())


def test_failure_is_reported_and_leaves_no_files(study, monkeypatch):
    def fail(*_given):
        raise OSError("No space left on device")

    monkeypatch.setattr(queue.copying, "write_copy", fail)
    row = asked(study)
    queue.work_on(row.pk)
    page = alice(study).get(address(study)).content.decode()
    assert "No space left on device" in page
    assert 'name="careful"' in page
    assert not list(queue.root().iterdir())


def test_rehearsal_is_forgotten_after_a_day_and_at_launch(study):
    row = asked(study)
    queue.folder(row.pk).mkdir(parents=True)
    (queue.root() / "999999").mkdir()
    Rehearsal.objects.update(state="done")
    sweep_rehearsals()
    assert [path.name for path in queue.root().iterdir()] == [str(row.pk)]
    Rehearsal.objects.update(created_at=timezone.now() - timedelta(hours=25))
    sweep_rehearsals()
    assert not Rehearsal.objects.exists()
    assert not list(queue.root().iterdir())
    asked(study)
    lifecycle.launch(study)
    assert not Rehearsal.objects.exists()


def test_progress_is_shown_while_people_work(study):
    asked(study)
    Rehearsal.objects.update(
        state="running",
        step="answering",
        rated=3,
        wanted=18,
        heartbeat_at=timezone.now(),
    )
    client = alice(study)
    page = client.get(address(study), headers={"HX-Request": "true"})
    assert "3 of 18 ratings" in page.content.decode()
    assert page.status_code == 200
    assert 'name="careful"' not in client.get(address(study)).content.decode()
