"""Training round of degraded copies: pass mark and feedback."""

import re

import pytest
from django.urls import reverse
from django.utils import translation

from annotate.audit_log.verifying import problems
from annotate.models import Annotator, Purpose, Slot
from annotate.quality import monitoring, training
from annotate.studies.study_file import (
    DefinitionError,
    read_definition,
    write_definition,
)
from tests.cases import slow_cases
from tests.factories import make_benchmark
from tests.working import Browser, always, join, make_planned, work

pytestmark = pytest.mark.django_db

RATINGS = """
kind: likert
scale: [0, 4]
questions:
  - {key: cast, title: Cast, degradation: foreign_shot, anchors: {3: good}}
  - {key: beauty, title: Beauty, degradation: blurred}
training: {twins: 2, attempts: 2}
"""
PAIRS = """
kind: choice
questions:
  - {key: cast, title: Cast, degradation: foreign_shot}
  - {key: place, title: Place, degradation: foreign_shot}
  - {key: order, title: Order, degradation: shuffled}
  - {key: beauty, title: Beauty, degradation: blurred}
training: {twins: 3, attempts: 2}
"""
RANKING = """
kind: ranking
outputs: 3
redundancy: 3
questions:
  - {key: quality, title: Quality, degradation: blurred}
training: {twins: 3, attempts: 2}
"""


def is_twin(slot):
    return slot.unit.output_a.twin_of_id is not None


def drop(by):
    """Return answers that rate a degraded copy so many steps below its original."""
    return lambda slot, _question: "3" if not is_twin(slot) else str(3 - by)


@pytest.fixture
def study():
    return make_planned(RATINGS, annotators=3, redundancy=2)


@pytest.mark.slow
@pytest.mark.parametrize("value", range(5))
def test_training_fails_with_one_answer_to_everything(study, value):
    person = join(study, "A01")
    done = work(person, always(str(value)))
    assert [slot.purpose for slot in done] == ["training"] * 8
    assert study.annotators.get(name="A01").state == Annotator.State.FAILED


@pytest.mark.parametrize(
    ("by", "is_passed"), [(1, True), (-1, False), *slow_cases((3, True))]
)
def test_rating_degraded_copies_lower_passes_training(study, by, is_passed):
    person = join(study, "A01")
    work(person, drop(by), most=4)
    found = training.result(person, 1)
    assert (found.right, found.n) == ((2 if is_passed else 0), 2)
    assert found.passed == is_passed
    trained = study.annotators.get(name="A01").trained_at is not None
    assert trained == is_passed
    assert problems(study) == []


@pytest.mark.slow
def test_degraded_copy_is_compared_with_original_of_same_round(study):
    person = join(study, "A01")
    work(person, drop(-1), most=4)
    work(person, lambda slot, _q: "1" if not is_twin(slot) else "2", most=4)
    assert training.result(person, 2).right == 0, "3 was given in the round before"


def test_feedback_names_original_and_shows_its_rating(client, study):
    browser = Browser(client, study.annotators.get(name="A01"))
    browser.start()
    browser.fill(cast="3", beauty="2")
    page = browser.text()
    assert "You will compare the next story with this one." in page
    assert "<dd>" not in page
    assert heading(page) == "Thank you"
    again = re.search(r'href="([^"]+/story/[^"]+)"', page)[1]
    assert "You cannot change training answers." in browser.text(again)
    browser.post(browser.address("pause"))
    browser.fill(cast="3", beauty="4")
    page = browser.text()
    assert "This is the previous story, made worse on purpose." in page
    assert re.findall(r"<dd>([^<]*)</dd>", page) == ["3 (good)", "lower than 3 (good)"]
    assert heading(page) == "How you did"


def heading(page):
    return re.search(r"<h1>\s*(.*?)\s*</h1>", page)[1]


def lowest_of_cast(slot, question):
    """Rate degraded copies lower, but the cast always lowest."""
    return "0" if question == "cast" else drop(2)(slot, question)


@pytest.mark.slow
def test_copy_of_original_with_lowest_rating_is_not_marked(study):
    person = join(study, "A01")
    _original, cast, _other, beauty = work(person, lowest_of_cast, most=4)
    assert training.marks(cast) == []
    assert [one.key for one in training.not_marked(cast)] == ["cast"]
    assert training.not_marked(beauty) == []
    found = training.result(person, 1)
    assert (found.right, found.n, found.possible) == (1, 1, 2)
    assert found.passed, "half of the possible marks count"
    signal = monitoring.signals_of(study.annotators.get(name="A01"))["training"]
    assert (signal.value, signal.n) == (1, 1)


@pytest.mark.slow
def test_round_with_few_marked_answers_is_not_passed(client):
    study = make_planned(
        RATINGS.replace("twins: 2", "twins: 3"), annotators=1, redundancy=1
    )
    browser = Browser(client, study.annotators.get(name="A01"))
    browser.start()
    pages = []
    for place in range(6):
        browser.fill(cast="0", beauty="3" if place % 2 == 0 else "1")
        pages.append(browser.text())
        browser.post(browser.address("pause"))
    found = training.result(study.annotators.get(name="A01"), 1)
    assert (found.right, found.n, found.possible) == (1, 1, 3)
    assert (found.is_over, found.passed) == (True, False)
    assert "not checked" in pages[1]
    assert "<dt>" not in pages[1], "nothing is said of what was expected"
    assert "Only 1 of 3 answers could be checked" in pages[5]
    assert "You need at least" not in pages[5]
    assert heading(pages[5]) == "Please try again"
    assert "not checked" not in pages[3]


@pytest.mark.slow
def test_managers_see_expected_answers_beside_original(admin_client, study):
    person = join(study, "A01")
    original, twin = work(person, always("3"), most=2)
    page = admin_client.get(reverse("slot-detail", args=[study.slug, twin.code]))
    assert "Expected: lower than 3 (good)" in page.content.decode().replace(
        "</span>", ""
    )
    assert page.context["other"] == original


# Several at once


@pytest.mark.slow
@pytest.mark.parametrize("side", ["left", "tie", "right"])
def test_choosing_one_side_fails_training(side):
    """Three pairs have four answers; two are from one pair."""
    study = make_planned(PAIRS, annotators=4, redundancy=2)
    for person in study.annotators.all():
        work(join(study, person.name), always(side), most=3)
        found = training.result(person, 1)
        assert (found.n, found.right) == (4, 0 if side == "tie" else 2)


def with_the_original_first(slot, _question):
    places = sorted(slot.order, key=lambda i: slot.unit.outputs[i].twin_of_id or 0)
    return ">".join(str(slot.order.index(place) + 1) for place in places)


@pytest.fixture
def ranking():
    benchmark = make_benchmark(stories=4)
    return make_planned(RANKING, benchmark=benchmark, annotators=6)


def test_ranking_must_put_original_before_degraded_copy(ranking):
    units = ranking.units.filter(purpose=Purpose.TRAINING)
    assert units.count() == 3
    for unit in units:
        place = "abc".index(unit.expected["quality"][0])
        assert unit.expected == {"quality": "abc"[place : place + 2]}
        assert unit.outputs[place + 1].twin_of == unit.outputs[place]
        assert len({output.method for output in unit.outputs}) == 2
        assert unit.feedback["en"].startswith("It is a copy of another version.")
    person = join(ranking, "A01")
    work(person, with_the_original_first, most=3)
    assert training.result(person, 1).passed
    assert problems(ranking) == []


@pytest.mark.slow
def test_feedback_shows_order_as_seen(client, ranking):
    browser = Browser(client, ranking.annotators.get(name="A01"))
    browser.start()
    slot = browser.slot
    first, last = ("abc".index(letter) for letter in slot.unit.expected["quality"])
    wrong = sorted(slot.order, key=lambda place: place == first)
    ranks = {
        f"q:quality:{slot.order.index(place) + 1}": str(rank)
        for rank, place in enumerate(wrong, start=1)
    }
    browser.post(f"{browser.at}submit/", seconds="20", **ranks)
    given, expected = re.findall(r"<dd>([^<]*)</dd>", browser.text())
    at = [slot.order.index(place) + 1 for place in (first, last)]
    assert expected == f"Version {at[0]} &gt; Version {at[1]}"
    assert given.split(" &gt; ")[-1] == f"Version {at[0]}"
    assert f"Version {at[1]} was made worse on purpose. It is a copy" in browser.text()


@pytest.mark.slow
def test_feedback_names_degraded_side(client):
    study = make_planned(PAIRS, annotators=3)
    browser = Browser(client, study.annotators.get(name="A01"))
    browser.start()
    sides = []
    for _ in range(3):
        slot = browser.slot
        worse = "right" if slot.a_is_left else "left"
        chosen = "left" if slot.a_is_left else "right"
        browser.fill(**dict.fromkeys((q.key for q in slot.questions), chosen))
        page = browser.text()
        assert f"The {worse} version was made worse on purpose. " in page
        assert "not as expected" not in page
        sides.append(worse)
        browser.post(browser.address("pause"))
        with translation.override("zh-hans"):
            told = training.feedback(Slot.objects.get(pk=slot.pk))["explanation"]
        assert re.match("[左右]边的版本被故意变差了。[^ ]", told)
    assert set(sides) == {"left", "right"}


def test_known_ranking_lists_methods_in_order():
    unit = "{story: '01', methods: [Alder, Birch, Cedar], expected: {quality: %s}}"
    text = RANKING.replace("twins: 3,", f"units: [{unit}],")
    asked = text % "[Cedar, Alder]"
    written = write_definition(read_definition(asked, file="s.yaml", name="s"))
    study = make_planned(written, annotators=3)
    (known,) = study.units.filter(purpose=Purpose.TRAINING)
    assert known.expected == {"quality": "ca"}
    slot = Slot(unit=known)
    (question,) = study.questions.all()
    kind = training.kind_of(question)
    assert [kind.is_right(order, "ca") for order in ("cab", "cba", "bca", "acb")] == [
        True,
        True,
        True,
        False,
    ]
    assert slot.unit.outputs[2].method.name == "Cedar"
    for wrong in ("Cedar", "[Cedar]", "[Cedar, Cedar]", "[Cedar, Elm]"):
        with pytest.raises(DefinitionError, match="list methods of the unit, the be"):
            read_definition(text % wrong, file="s.yaml", name="s")
