"""Training round: feedback, pass mark and attempts."""

import re

import pytest

from annotate.assignment import choosing, control_slots
from annotate.audit_log.verifying import problems
from annotate.coverage.counts import totals
from annotate.models import Annotator, Purpose, Slot
from annotate.people import inviting
from annotate.quality import training
from annotate.reports import study_tables
from annotate.studies.changing import redistribute
from annotate.studies.planning import PlanningError
from tests.working import (
    LIKERT,
    PAIRWISE,
    Browser,
    always,
    answer,
    form,
    join,
    make_planned,
    save,
    work,
)

pytestmark = pytest.mark.django_db

LIKERT_TRAINING = """
session_size: 3
training:
  pass_mark: 0.6
  attempts: 2
  units:
    - {story: "01", method: Alder, expected: {character: [3, 4], beauty: 1},
       feedback: {en: Look at the hat., zh: 请看帽子。}}
    - {story: "02", method: Birch, expected: {character: 4}}
    - {story: "03", method: Cedar, expected: {character: [3, 4], beauty: [0, 2]}}
"""
PAIRWISE_TRAINING = """
training:
  attempts: 1
  units:
    - {story: "01", methods: [Cedar, Alder], expected: {quality: Cedar, text: tie}}
    - {story: "02", methods: [Alder, Birch], expected: {quality: Alder}}
"""


@pytest.fixture
def study():
    return make_planned(LIKERT + LIKERT_TRAINING, annotators=3, redundancy=2)


@pytest.fixture
def browser(client, study):
    return Browser(client, study.annotators.get(name="A01"))


def place(page: str) -> str:
    """Return the name of the page in the top bar."""
    found = re.search(r'brand-mark" aria-hidden="true"></span>([^<]*)</span>', page)
    return found[1].strip()


def train(browser, *rounds):
    """Answer (character, beauty) of each training story; return feedback pages."""
    pages = []
    for character, beauty in rounds:
        browser.fill(character=character, beauty=beauty)
        pages.append(browser.text())
        browser.post(browser.address("pause"))
    return pages


def test_passed_training_leads_to_first_story(browser, study):
    assert "/story/" in browser.start()
    assert place(browser.text()) == "Training 1 of 3"
    pages = train(browser, ("4", "0"), ("4", "0"))
    assert place(browser.text()) == "Training 3 of 3"
    browser.fill(character="4", beauty="1")
    end = browser.text()
    assert "Training passed" in end
    assert "4 of 5 answers were as expected" in end
    assert place(pages[0]) == "Training 1 of 3"
    browser.post(browser.address("pause"))
    assert place(browser.text()) == "Story 1 of 3"
    assert browser.slot.purpose == Purpose.REAL
    ann = study.annotators.get(name="A01")
    assert ann.trained_at is not None
    assert study.events.filter(kind="training passed").get().details == {
        "right": 4,
        "of": 5,
    }
    assert problems(study) == []


def test_feedback_shows_given_and_expected_answers(browser):
    browser.start()
    browser.fill(character="2", beauty="1")
    page = browser.text()
    assert "Look at the hat." in page
    assert page.count("not as expected") == 1
    assert re.findall(r"<dd>([^<]*)</dd>", page) == [
        "2",
        "3 (good) to 4 (perfect)",
        "1",
    ]
    browser.client.cookies["django_language"] = "zh-hans"
    page = browser.text()
    assert "请看帽子。" in page
    assert "3 (良好)" in page


@pytest.mark.parametrize("a_is_left", [True, False])
def test_feedback_names_choices_by_side(client, a_is_left):
    study = make_planned(PAIRWISE + PAIRWISE_TRAINING, annotators=2, redundancy=2)
    browser = Browser(client, study.annotators.get(name="A01"))
    browser.start()
    Slot.objects.filter(code=browser.slot.code).update(a_is_left=a_is_left)
    browser.fill(quality="left", text="tie")
    page = browser.text()
    words = re.findall(r"<dd>([^<]*)</dd>", page)
    # Cedar is right; it is the second of the pair and stands left where Alder does not.
    if a_is_left:
        assert words == ["Left", "Right", "No preference"]
    else:
        assert words == ["Left", "No preference"]


def test_training_sides_balance_planned_sides():
    """A method on the left in the plan is on the right in training."""
    study = make_planned(PAIRWISE + PAIRWISE_TRAINING, annotators=12, redundancy=2)
    for person in study.annotators.all():
        person.slots.update(a_is_left=person.pk % 2 == 0)
        control_slots.begin_training(person)
        sides = person.slots.filter(purpose="training")
        shown = list(sides.order_by("position").values_list("a_is_left", flat=True))
        assert shown[0] == (person.pk % 2 == 1)


def test_answers_are_closed_after_feedback(browser, study):
    browser.start()
    first = browser.at
    train(browser, ("0", "0"))
    page = browser.text(first)
    assert page.count("disabled") == 2 * 5
    assert "Look at the hat." in page
    assert "not as expected" in page
    assert save(browser.client, first, character="4").json()["refused"]
    again = save(browser.client, first, character="0").json()
    assert not again["refused"], "the same answer, sent twice, is no change"
    stored = study.slots.get(purpose="training", position=1).ratings
    assert sorted(stored.values_list("value", flat=True)) == [0, 0]


@pytest.mark.slow
def test_failed_round_is_repeated_and_keeps_answers(browser, study):
    browser.start()
    train(browser, ("0", "4"), ("0", "4"))
    browser.fill(character="0", beauty="4")
    page = browser.text()
    assert "Please try again" in page
    assert "0 of 5 answers were as expected" in page
    assert "You need at least 3" in page
    browser.post(browser.address("pause"))
    assert place(browser.text()) == "Training 1 of 3"
    assert browser.get().context["previous"] is None
    own = study.annotators.get(name="A01").slots.filter(purpose="training")
    assert [(s.round, s.state) for s in own.order_by("position")] == [
        *[(1, "submitted")] * 3,
        (2, "leased"),
        (2, "open"),
        (2, "open"),
    ]
    train(browser, *[("4", "1")] * 3)
    assert place(browser.text()) == "Story 1 of 3"
    assert problems(study) == []


def stories_of_round(person, number: int) -> list[str]:
    own = person.slots.filter(purpose="training", round=number).order_by("position")
    return list(own.values_list("unit__story__key", flat=True))


@pytest.mark.slow
def test_repeat_shows_same_stories_in_another_order_when_there_are_no_others(
    browser, study
):
    browser.start()
    train(browser, *[("0", "4")] * 2)
    browser.fill(character="0", beauty="4")
    assert "these again, in another order" in browser.text()
    person = study.annotators.get(name="A01")
    first, second = (stories_of_round(person, number) for number in (1, 2))
    assert sorted(first) == sorted(second)
    assert first != second


@pytest.mark.parametrize(
    ("per_round", "sentence"),
    [(1, "Next you see other stories."), (2, "and some of these again")],
)
def test_repeat_takes_other_stories_first(client, per_round, sentence):
    more = f"training:\n  per_round: {per_round}"
    text = LIKERT + LIKERT_TRAINING.replace("training:", more)
    study = make_planned(text, annotators=2, redundancy=2)
    browser = Browser(client, study.annotators.get(name="A01"))
    browser.start()
    assert place(browser.text()) == f"Training 1 of {per_round}"
    train(browser, *[("0", "4")] * (per_round - 1))
    browser.fill(character="0", beauty="4")
    assert sentence in browser.text()
    person = study.annotators.get(name="A01")
    first, second = (set(stories_of_round(person, number)) for number in (1, 2))
    assert len(first) == len(second) == per_round
    assert first | second == {"01", "02", "03"} or not first & second


@pytest.mark.slow
def test_second_failed_round_frees_slots(browser, study):
    browser.start()
    train(browser, *[("0", "4")] * 5)
    browser.fill(character="0", beauty="4")
    assert "You did not pass the training round" in browser.text()
    page = browser.get(browser.address("entry"))
    assert page.status_code == 403
    assert "You did not pass the training round" in page.content.decode()
    assert "go to other people" in page.content.decode()
    assert browser.get(browser.address("pause")).status_code == 403
    ann = study.annotators.get(name="A01")
    assert ann.state == Annotator.State.FAILED
    assert not ann.slots.filter(state__in=("open", "leased")).exists()
    freed = study.slots.filter(annotator=None, state="open", ordinal__isnull=False)
    assert freed.count() == 8
    assert study.events.filter(kind="annotator not admitted").count() == 1
    assert problems(study) == []


def test_pass_mark_is_met_by_exact_share():
    text = LIKERT + LIKERT_TRAINING.replace("0.6", "0.55")
    study = make_planned(text, annotators=1, redundancy=1)
    person = join(study, "A01")
    work(person, always("4"), most=3)  # 3 of 5 are right; .55 of 5 is 2.75
    assert training.result(person, 1).needed == 3
    assert training.result(person, 1).passed
    study.training["pass_mark"] = 0.6
    study.save()
    person = join(study, "A01")
    assert training.result(person, 1).passed, ".6 * 5 is 3, whatever floats say"
    study.training["pass_mark"] = 0.61
    study.save()
    assert not training.result(join(study, "A01"), 1).passed


def test_training_is_left_out_of_tables_counts_and_flags(study):
    person = join(study, "A01")
    done = work(person, lambda s, q: "4" if q == "character" else "1", most=3)
    assert [slot.purpose for slot in done] == ["training"] * 3
    assert list(study_tables.answer_rows(study, "ratings")) == []
    assert totals(study).submitted == 0
    assert totals(study).wanted == 24
    work(person, always("3"), most=2)
    assert len(list(study_tables.answer_rows(study, "ratings"))) == 4
    assert sum(study.units.values_list("submitted", flat=True)) == 2
    assert problems(study) == []


def test_two_tabs_begin_one_round(browser, study):
    browser.start()
    browser.post(browser.address("instructions"))
    browser.post(browser.address("pause"))
    assert study.slots.filter(purpose="training").count() == 3
    first = browser.at
    train(browser, ("4", "0"))
    second_tab = browser.client.post(f"{first}submit/", form(character=0, beauty=0))
    assert second_tab.status_code == 422, "the answers are closed"
    stored = browser.client.post(f"{first}submit/", {"stored": "1"})
    assert stored["Location"] == f"{first}feedback/"


def test_training_stories_cannot_be_skipped(browser, study):
    browser.start()
    assert "Skip this story" not in browser.text()
    skipped = browser.client.post(f"{browser.at}skip/", {"reason": "unclear"})
    assert skipped.status_code == 422
    assert not study.slots.filter(state="withdrawn").exists()


def test_open_enrolment_has_training_and_revoking_withdraws_the_rest():
    study = make_planned(LIKERT + LIKERT_TRAINING + "assignment: open\n", redundancy=2)
    person = join(study)
    slot = choosing.next_for(person).slot
    assert slot.purpose == Purpose.TRAINING
    answer(slot, person, always("4"))
    inviting.revoke(person)
    states = study.slots.filter(purpose="training").values_list("state", flat=True)
    assert sorted(states) == ["submitted", "withdrawn", "withdrawn"]
    assert problems(study) == []


def test_too_many_training_units_are_refused():
    text = LIKERT + LIKERT_TRAINING.replace("attempts: 2", "attempts: 34")
    with pytest.raises(PlanningError, match="3 training items in up to 34 attempts"):
        make_planned(text, annotators=1, redundancy=1)


@pytest.mark.slow
def test_returning_annotator_continues_training_round():
    two = (
        LIKERT
        + """
training:
  units:
    - {story: "01", method: Alder, expected: {character: [3, 4]}}
    - {story: "02", method: Alder, expected: {character: [3, 4]}}
"""
    )
    study = make_planned(two, annotators=2, redundancy=2)
    person = join(study, "A01")
    work(person, always("3"), most=1)
    redistribute(study, annotators=[person])
    person = study.annotators.get(pk=person.pk)
    (slot,) = work(person, always("3"), most=1)
    assert slot.purpose == Purpose.TRAINING
    met = person.slots.filter(purpose=Purpose.TRAINING)
    assert met.values("unit").distinct().count() == met.count() == 2
    assert study.annotators.get(pk=person.pk).trained_at is not None
    assert problems(study) == []
