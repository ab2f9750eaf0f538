"""Tests of the plan queue: limits, progress and cancelling."""

from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from annotate import tasks
from annotate.assignment.designs import balanced
from annotate.audit_log.verifying import problems
from annotate.models import Study, StudyPlan, User
from annotate.studies import plan_queue, planning
from annotate.studies.changing import ChangeError
from annotate.studies.extending import extend
from annotate.studies.planning import Setup
from annotate.studies.study_file import read_definition
from tests.annotate.setup_form.test_study import filled
from tests.cases import slow
from tests.factories import make_benchmark
from tests.people import log_in
from tests.working import LIKERT, make_planned

pytestmark = pytest.mark.django_db

HTMX = {"HX-Request": "true"}


@pytest.fixture
def woods():
    return make_benchmark()


@pytest.fixture
def manager():
    User.objects.create_user("mary", is_superuser=True)
    return log_in("mary")


@pytest.fixture
def low_limit(monkeypatch):
    """Let plans above 12 people times 72 slots need a worker."""
    monkeypatch.setattr(planning, "MOST_WORK_AT_ONCE", 12 * 72)


@pytest.fixture
def notifications(monkeypatch):
    notifications = []
    monkeypatch.setattr(tasks.plan_studies, "delay", lambda: notifications.append(1))
    return notifications


def large(**changes):
    """Return the form of a study with 13 people and 6 units of 12 ratings each."""
    return filled(annotators=["13"], redundancy=["12"]) | changes


def post(client, data, do, **headers):
    return client.post("/setup/woods/", data | {"do": [do]}, headers=headers)


def text(response) -> str:
    return " ".join(response.content.decode().split())


def setup(benchmark, slug="pilot", people=3, redundancy=2):
    definition = read_definition(
        f"{LIKERT}\nredundancy: {redundancy}", file="study.yaml", name="trial"
    )
    return Setup(slug, benchmark, definition, people)


def refuse(*_given, **_how):
    raise AssertionError("nothing is planned in a web process")


def test_check_refuses_too_large_assignment_before_planning(manager, monkeypatch):
    """2,000 people and 60 units of 1,000 ratings each are 120 million."""
    make_benchmark(stories=20, shots=1)
    monkeypatch.setattr(balanced, "plan", refuse)
    data = filled(annotators=["2000"], redundancy=["1000"])
    page = text(post(manager, data, "check", **HTMX))
    assert "2,000 annotators times 60,000 ratings are 120,000,000" in page
    assert "at most 50,000,000" in page
    assert not StudyPlan.objects.exists()
    assert post(manager, data, "create").status_code == 422
    assert not Study.objects.exists()


@pytest.mark.slow
def test_large_check_runs_in_worker(manager, woods, monkeypatch, notifications):
    """2,000 people and 6 units of 340 ratings each: 4.1 million."""
    data = filled(annotators=["2000"], redundancy=["340"])
    with monkeypatch.context() as patch:
        patch.setattr(balanced, "plan", refuse)
        page = text(post(manager, data, "check", **HTMX))
    plan = StudyPlan.objects.get()
    assert "waits for a worker to plan it" in page
    assert f'hx-get="/setup/plans/{plan.pk}/" hx-trigger="every 2s"' in page
    assert "<dd>2040</dd>" in page
    assert notifications == [1]
    tasks.plan_studies()
    shown = text(manager.get(reverse("plan", args=[plan.pk]), headers=HTMX))
    assert "6 items, 2000 annotators, 2040 ratings" in shown
    assert "hx-get" not in shown
    assert not Study.objects.exists()


@pytest.mark.parametrize("is_edited", [True, *slow(False)])
def test_large_study_is_stored_by_worker(
    manager, woods, low_limit, notifications, is_edited
):
    if is_edited:
        post(manager, filled(annotators=["3"]), "create")
    form = reverse("study-edit", args=["pilot"]) if is_edited else "/setup/woods/"
    reply = manager.post(form, large() | {"do": ["create"]})
    plan = StudyPlan.objects.get()
    address = reverse("plan", args=[plan.pk])
    assert (reply.status_code, reply["Location"]) == (302, address)
    assert Study.objects.exists() == is_edited
    assert "waits for a worker" in text(manager.get(address))
    tasks.plan_studies()
    study = Study.objects.get(slug="pilot")
    assert study.slots.count() == 72
    assert problems(study) == []
    assert manager.get(address, headers=HTMX)["HX-Redirect"] == "/studies/pilot/"
    assert manager.get(address)["Location"] == "/studies/pilot/"


def test_impossible_plan_fails_with_reason(manager, woods, low_limit, notifications):
    post(manager, large(annotators=["200"], redundancy=["12"]), "check", **HTMX)
    tasks.plan_studies()
    plan = StudyPlan.objects.get()
    assert plan.state == "failed"
    shown = text(manager.get(reverse("plan", args=[plan.pk]), headers=HTMX))
    assert "leave some of 200 annotators without anything to judge" in shown


@pytest.mark.slow
def test_new_check_replaces_previous_one(manager, woods, low_limit, notifications):
    post(manager, large(), "check", **HTMX)
    post(manager, large(), "check", **HTMX)
    assert [plan.state for plan in StudyPlan.objects.all()] == ["queued"]
    post(manager, large(annotators=["14"]), "check", **HTMX)
    assert [plan.state for plan in StudyPlan.objects.all()] == ["cancelled", "queued"]


@pytest.mark.slow
def test_account_can_plan_one_study_at_a_time(manager, woods, low_limit, notifications):
    post(manager, large(), "create")
    reply = post(manager, large(slug=["another"]), "create")
    assert reply.status_code == 422
    assert "Another study of yours is being planned" in text(reply)
    assert StudyPlan.objects.count() == 1


@pytest.mark.slow
def test_plan_can_be_cancelled_on_its_page(manager, woods, low_limit, notifications):
    post(manager, large(), "check", **HTMX)
    plan = StudyPlan.objects.get()
    address = reverse("plan-cancel", args=[plan.pk])
    assert address in text(manager.get(reverse("plan", args=[plan.pk]), headers=HTMX))
    assert log_in("eve").post(address).status_code == 404
    assert log_in("eve").get(reverse("plan", args=[plan.pk])).status_code == 404
    assert "was cancelled" in text(manager.post(address, headers=HTMX))
    assert plan_queue.waiting_plans() == []


@pytest.mark.parametrize(
    ("moment", "state", "is_there"),
    [("before it is stored", "cancelled", False), ("when it is stored", "done", True)],
)
def test_late_cancellation_reports_whether_study_is_stored(
    woods, monkeypatch, moment, state, is_there
):
    user = User.objects.create_user("mary")
    plan = plan_queue.ask(setup(woods), StudyPlan.Action.CREATE, user)

    def cancel(*given):
        made = original(*given)
        assert StudyPlan.cancel_all(StudyPlan.objects.all()) == 1
        return made

    name = "with_twins" if moment == "before it is stored" else "store"
    original = getattr(planning, name)
    monkeypatch.setattr(planning, name, cancel)
    assert plan_queue.make_plan(plan.pk).state == state
    assert Study.objects.exists() == is_there


def test_plan_without_worker_fails_and_is_deleted_later(woods):
    user = User.objects.create_user("mary")
    plan_queue.ask(setup(woods), StudyPlan.Action.CHECK, user)
    long_ago = timezone.now() - StudyPlan.SILENT - timedelta(seconds=1)
    StudyPlan.objects.update(state="running", heartbeat_at=long_ago)
    tasks.plan_studies()
    plan = StudyPlan.objects.get()
    assert plan.state == "failed"
    assert "The worker stopped" in plan.error
    StudyPlan.objects.update(finished_at=timezone.now() - timedelta(days=2))
    tasks.plan_studies()
    assert not StudyPlan.objects.exists()


@pytest.mark.slow
def test_extension_refuses_too_large_assignment(woods):
    """10,000 people and 6 units of 1,000 ratings each are 60 million."""
    study = make_planned(LIKERT + "redundancy: 1000", benchmark=woods, annotators=1000)
    before = study.slots.count(), study.annotators.count()
    with pytest.raises(ChangeError, match="at most 50,000,000 can be planned"):
        extend(study, annotators=9000)
    assert (study.slots.count(), study.annotators.count()) == before
