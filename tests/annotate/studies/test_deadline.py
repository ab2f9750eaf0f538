"""Deadlines: in the study file, in the form, moved while a study runs."""

from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from annotate.models import Study
from annotate.schema import DefinitionError
from annotate.studies import deadline, drafting
from annotate.studies.planning import Setup, outline
from annotate.studies.study_file import read_definition, write_definition
from annotate.studies.units import PlanningError
from tests.annotate.studies.test_extending import planned_study
from tests.people import alice, rob

pytestmark = pytest.mark.django_db


def in_days(days):
    return timezone.localdate() + timedelta(days=days)


@pytest.fixture
def study():
    return planned_study(deadline=in_days(9))


def test_deadline_is_the_end_of_its_day(study):
    assert timezone.localtime(study.deadline).strftime("%H:%M") == "23:59"
    assert deadline.day_of(study) == in_days(9)


def test_file_keeps_the_moved_deadline(study):
    deadline.move(study, in_days(3))
    text = drafting.file_of(study)
    assert f"deadline: {in_days(3)}\n" in text
    again = read_definition(text, file="pilot.yaml", name="pilot")
    assert again.deadline == in_days(3)
    assert read_definition(write_definition(again), file="", name="pilot") == again


def test_file_refuses_other_than_a_day(subtests):
    for text in ["soon", "20301231", "true", "2030-02-30", "[1]"]:
        with subtests.test(text):
            file = (
                f"deadline: {text}\nquestions:\n- {{key: a, kind: likert, title: A}}\n"
            )
            with pytest.raises(
                DefinitionError, match="write a day, such as 2026-12-31"
            ):
                read_definition(file, file="pilot.yaml", name="pilot")


def test_plan_refuses_a_past_deadline_with_the_reason(study):
    setup = drafting.setup_of(study)
    past = setup.definition.with_changes(deadline=in_days(-1))
    with pytest.raises(PlanningError, match="has passed") as raised:
        outline(Setup("new", setup.benchmark, past, 3))
    assert raised.value.field == "deadline"


@pytest.mark.parametrize(
    ("sent", "reason"), [("2020-01-01", "has passed"), ("tomorrow", "is not a day")]
)
def test_page_refuses_an_impossible_deadline(study, sent, reason):
    address = reverse("study-deadline", args=[study.slug])
    answer = alice(study).post(address, {"deadline": sent}, follow=True)
    assert reason in answer.content.decode()
    assert Study.objects.get().deadline == study.deadline
    assert rob(study).post(address, {"deadline": ""}).status_code == 403


def test_page_moves_and_removes_the_deadline(study):
    address, client = reverse("study-deadline", args=[study.slug]), alice(study)
    client.post(address, {"deadline": str(in_days(0))})
    assert deadline.day_of(Study.objects.get()) == in_days(0)
    client.post(address, {"deadline": ""})
    assert Study.objects.get().deadline is None
    logged = study.events.filter(details__has_key="deadline")
    assert [event.details["deadline"] for event in logged] == [str(in_days(0)), ""]
