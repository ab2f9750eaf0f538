"""Studies with ratings and a checklist: signals, verification, pages."""

import pytest
from django.urls import reverse
from django.utils import timezone
from rest_framework.test import APIClient

from annotate.audit_log.verifying import problems
from annotate.coverage import coverage_tables, snapshots
from annotate.kinds.registry import kind_of
from annotate.models import Flag, Invitation, Purpose, Slot
from annotate.presentation import checklist_sheets
from annotate.quality import monitoring
from annotate.responses.bulk import SlotAnswers, store_judgements
from tests.factories import make_benchmark
from tests.people import alice
from tests.working import Browser, join, make_planned

pytestmark = pytest.mark.django_db

QUESTIONS = """\
redundancy: 2
session_size: 10
questions:
  - {key: beauty, kind: likert, scale: [0, 4], title: Beauty, text: "How nice?"}
  - {key: faith, kind: likert, scale: [0, 4], title: Faith, text: "As the text says?"}
  - {key: pan, kind: checklist, category: Camera, title: Pan, text: "It turns."}
  - {key: zoom, kind: checklist, category: Camera, title: Zoom, text: "It nears."}
"""
RULES = """\
rules:
  - {key: flat, signal: flat, above: 0.9, action: warn}
"""
# Each story has either labels or ratings.
APART = """\
redundancy: 1
questions:
  - {key: beauty, kind: likert, scale: [0, 4], title: Beauty, text: "How nice?",
     stories: {ask: [ratings]}}
  - {key: pan, kind: checklist, category: Camera, title: Pan, text: "It turns.",
     stories: {ask: [labels]}}
"""


def mixed(text=QUESTIONS, *, stories=5, shots=2, annotators=2):
    benchmark = make_benchmark(stories=stories, shots=shots, methods=["Alder"])
    return make_planned(text, benchmark=benchmark, annotators=annotators)


@pytest.fixture
def apart():
    benchmark = make_benchmark(stories=2, shots=2, methods=["Alder"])
    for story, asked in zip(
        benchmark.stories.order_by("key"), ["labels", "ratings"], strict=True
    ):
        story.tags = {"ask": asked}
        story.save()
    return make_planned(APART, benchmark=benchmark, annotators=1)


def fill(slot, ratings, *ticked):
    """Answer all questions: ratings in order, the same boxes in every shot."""
    asked = slot.questions
    whole = [question for question in asked if not kind_of(question).of_shots]
    boxes = {
        (shot.number, question): int(question.key in ticked)
        for shot in slot.unit.story.shots.all()
        for question in asked
        if kind_of(question).of_shots
    }
    values = dict(zip(whole, ratings, strict=True))
    store_judgements([SlotAnswers(slot, values, timezone.now(), 40.0, boxes)])


def slots_of(study, name):
    return list(study.slots.filter(annotator__name=name).order_by("unit__story__key"))


# Signals


@pytest.mark.slow
def test_rating_of_one_is_not_a_tick():
    """The other annotator's ratings of 1 have no shot."""
    study = mixed(QUESTIONS + "rules: default\n")
    for slot in slots_of(study, "A02"):
        fill(slot, [1, 1], "pan|text")
    for nth, slot in enumerate(slots_of(study, "A01")):
        fill(slot, [1, nth % 4], "pan|text")
    join(study, "A02")
    person = join(study, "A01")
    assert checklist_sheets.ticked_boxes(person.slots.first(), person) == {
        1: {"pan|text"},
        2: {"pan|text"},
    }
    assert monitoring.check_rules(person) == []
    assert monitoring.signals_of(person)["ticks_agreement"].n == 10
    snapshots.refresh(study)
    assert problems(study) == []


def test_api_returns_ticks_only_for_shots():
    study = mixed()
    person = join(study, "A01")
    client = APIClient()
    token = Invitation.objects.get(annotator=person).token
    client.credentials(HTTP_AUTHORIZATION=f"Invitation {token}")
    slot = client.post(reverse("api-slot")).json()["story"]
    for question in study.questions.filter(kind="likert"):
        row = {"kind": "answer", "id": question.key, "question": question.key}
        client.post(
            reverse("rate-save", args=[token, slot["code"]]),
            {"rows": [row | {"value": "1", "key": question.key}]},
            format="json",
        )
    again = client.post(reverse("api-slot")).json()["story"]
    assert again["code"] == slot["code"]
    assert again["questions"][0]["answer"] == "1"
    assert again["ticked"] == {}


@pytest.mark.slow
def test_signals_measure_answers_and_ticks_separately():
    study = mixed()
    for name in ("A01", "A02"):
        for nth, slot in enumerate(slots_of(study, name)):
            fill(slot, [nth % 5, 4 - nth % 3], *["pan|text", "zoom|video"][: nth % 2])
    person = study.annotators.get(name="A01")
    first = person.slots.order_by("unit__story__key").first()
    again = Slot.objects.create(
        study=study,
        unit=first.unit,
        purpose=Purpose.REPEAT,
        repeat_of=first,
        annotator=person,
        session=9,
        position=99,
    )
    fill(again, [2, 4], "pan|text")
    signals = monitoring.signals_of(person)
    assert (signals["repeat"].value, signals["repeat"].n) == (0.25, 1)
    assert (signals["ticks_repeat"].value, signals["ticks_repeat"].n) == (1, 2)
    assert (signals["agreement"].value, signals["agreement"].n) == (1, 5)
    assert signals["ticks_agreement"].value == pytest.approx(1)
    assert signals["ticks_agreement"].n == 10
    assert (signals["flat"].n, signals["ticks_flat"].n) == (6, 12)
    row = snapshots.refresh(study).data["signals"][str(person.pk)]
    assert row["rest"] == [1, 5]
    assert row["checks"] == {"repeat": [0.25, 1]}
    _header, people = coverage_tables.TABLES["annotators"]
    assert len(list(people(study))) == 2


@pytest.mark.parametrize(
    ("ratings", "ticked", "found", "told"),
    [
        (
            [3, 3],
            ["pan|text"],
            "3 of 3 stories got one answer to all questions",
            "Some of your answers differ",
        ),
        (
            [3, 2],
            [],
            "Nothing is ticked in 6 of 6 shots",
            "You ticked nothing in many shots",
        ),
    ],
)
def test_finding_names_its_measure(ratings, ticked, found, told):
    study = mixed(QUESTIONS + RULES)
    for slot in slots_of(study, "A01")[:3]:
        fill(slot, ratings, *ticked)
    (flag,) = monitoring.check_rules(join(study, "A01"))
    assert flag.sentence.startswith(found)
    assert monitoring.warning_text(flag).startswith(told)


def test_handled_finding_on_ratings_does_not_cover_empty_boxes():
    """Shots and units are counted separately; a rule has one flag at a time."""
    study = mixed(QUESTIONS + RULES, shots=1)
    person = join(study, "A01")
    for slot in slots_of(study, "A01")[:3]:
        fill(slot, [3, 3])
    (flag,) = monitoring.check_rules(person)
    assert monitoring.check_rules(person) == []
    monitoring.resolve(flag, user=None)
    (other,) = monitoring.check_rules(person)
    assert other.finding["of_ticks"]
    monitoring.resolve(other, user=None)
    assert monitoring.check_rules(person) == []
    for slot in slots_of(study, "A01")[3:]:
        fill(slot, [3, 2])
    # 5 shots exceed the 3 needed, and 3 of 5 units are flat.
    assert [again.n for again in monitoring.check_rules(person)] == [5]
    assert Flag.objects.count() == 3


def test_story_without_labels_has_no_missing_boxes(apart):
    person = join(apart, "A01")
    labels, ratings = slots_of(apart, "A01")
    fill(labels, [], "pan|text")
    fill(ratings, [1])
    assert problems(apart) == []
    signals = monitoring.signals_of(person)
    assert (signals["ticks_flat"].value, signals["ticks_flat"].n) == (0, 2)
    labels.looks.filter(shot=2).delete()
    assert problems(apart) == [f"slot {labels.code}: only 1 of its shots were viewed"]


def test_tick_signals_ignore_training():
    study = mixed()
    for slot in slots_of(study, "A01")[:2]:
        fill(slot, [3, 2])
    Slot.objects.filter(pk=slot.pk).update(purpose=Purpose.TRAINING, ordinal=None)
    study.annotators.update(trained_at=timezone.now())
    signals = monitoring.signals_of(study.annotators.get(name="A01"))
    assert signals["ticks_flat"].n == 2


# Pages


@pytest.mark.slow
def test_story_without_labels_shows_no_sheets(client, apart):
    browser = Browser(client, apart.annotators.get())
    browser.start()
    for _story in range(2):
        text = browser.text()
        if browser.slot.unit.story.tags["ask"] == "labels":
            assert 'data-part="checklist"' in text
            assert 'data-part="question"' not in text
            ticks = {"1:pan|text": "on", "looked:1": "on", "looked:2": "on"}
            browser.post(f"{browser.at}submit/", **ticks)
        else:
            assert 'data-part="checklist"' not in text
            assert 'data-part="question"' in text
            browser.fill(beauty="3")
    assert apart.slots.filter(state="submitted").count() == 2
    assert problems(apart) == []


def test_instructions_list_labels_and_questions_separately(client):
    study = mixed()
    browser = Browser(client, study.annotators.get(name="A01"))
    client.post(browser.address("consent"))
    text = browser.text(browser.address("instructions"))
    assert text.count("How nice?") == 1
    assert text.count("It turns.") == 1
    assert text.index("The labels") < text.index("It turns.")
    assert text.index("It nears.") < text.index("The questions")
    assert text.index("The questions") < text.index("How nice?")


def test_slot_page_has_ratings_and_ticks():
    study = mixed()
    client = alice(study)
    slot = slots_of(study, "A01")[0]
    address = reverse("slot-detail", args=[study.slug, slot.code])
    assert "No answer yet." in client.get(address).content.decode()
    fill(slot, [3, 1], "pan|text")
    text = client.get(address).content.decode()
    assert "Only in the text" in text
    assert "How nice?" in text
    assert "No answer yet." not in text


@pytest.mark.slow
def test_agreement_rows_name_their_alpha():
    study = mixed()
    for nth, name in enumerate(("A01", "A02")):
        for story, slot in enumerate(slots_of(study, name)):
            fill(slot, [story % 5, (story + nth) % 5], *["pan|text"][: story % 2])
    snapshots.refresh(study)
    page = alice(study).get(reverse("study-detail", args=[study.slug]))
    text = page.content.decode()
    table = text[text.index('id="agreement-scroll"') :].split("</table>")[0]
    assert "Alpha so far" in table
    rows = table.split("<tr>")[2:]
    assert [("nominal" in row, "ordinal" in row) for row in rows] == [
        (False, True),
        (False, True),
        (True, False),
    ]
