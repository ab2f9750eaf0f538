"""Order of questions: fixed, or random per annotator."""

import re

import pytest

from annotate.models import Event
from annotate.presentation.slot_view import shown_questions
from tests.factories import make_benchmark
from tests.working import Browser, always, join, make_planned, work

pytestmark = pytest.mark.django_db
KEYS = ["a", "b", "c", "d", "e"]
ASKED = "".join(f"\n  - {{key: {key}, title: {key}, text: Which one}}" for key in KEYS)
STUDY = f"kind: choice\nseed: 3\nquestions:{ASKED}\n"
SHUFFLED = f"{STUDY}presentation: {{shuffle_questions: true}}\n"


def orders(study) -> list[list[str]]:
    """Return each annotator's order of questions, the same in the first two slots."""
    found = []
    for person in study.annotators.all():
        slots = work(join(study, person.name), always("left"), most=2)
        one, other = (
            [shown.question.key for shown in shown_questions(slot)] for slot in slots
        )
        assert one == other
        found.append(one)
    return found


def plan(text: str):
    benchmark = make_benchmark(stories=2, methods=("Alder", "Birch"))
    return make_planned(text, benchmark=benchmark, annotators=8, redundancy=8)


@pytest.mark.slow
def test_fixed_question_order_follows_the_file():
    assert orders(plan(STUDY)) == [KEYS] * 8


@pytest.mark.slow
def test_random_question_order_differs_between_annotators():
    found = orders(plan(SHUFFLED))
    assert all(sorted(order) == KEYS for order in found)
    assert len({tuple(order) for order in found}) > 4
    assert len({order[0] for order in found}) > 2


@pytest.mark.slow
def test_random_question_order_depends_on_seed_and_name():
    other = SHUFFLED.replace("seed: 3", "seed: 4")
    first = plan(SHUFFLED)
    again = make_planned(
        SHUFFLED, benchmark=first.benchmark, slug="again", annotators=8, redundancy=8
    )
    moved = make_planned(
        other, benchmark=first.benchmark, slug="moved", annotators=8, redundancy=8
    )
    assert orders(first) == orders(again) != orders(moved)


def test_log_and_instructions_have_the_question_order(client):
    study = plan(SHUFFLED)
    person = study.annotators.get(name="A01")
    browser = Browser(client, person)
    client.post(browser.address("consent"))
    page = browser.text(browser.address("instructions"))
    listed = re.findall(r"<strong>(\w)\.</strong>", page)
    browser.start()
    asked = re.findall(r'data-question="(\w)"', browser.text())
    given = Event.objects.get(kind=Event.Kind.CONSENT_GIVEN)
    assert listed == asked == given.details["questions"] != KEYS
