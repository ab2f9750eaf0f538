"""A checklist study around its answers: planned, checked, watched, looked at."""

import io
from datetime import timedelta

import pytest
from django.core.management import call_command
from django.urls import reverse
from django.utils import timezone

from annotate.audit_log import verifying
from annotate.coverage import coverage_tables, snapshots
from annotate.coverage.dashboard import dashboard
from annotate.models import Purpose, Rating, Slot
from annotate.presentation import checklist_sheets
from annotate.quality import monitoring
from annotate.responses import leasing
from annotate.responses.bulk import SlotAnswers, store_judgements
from annotate.setup_form.study import StudyForm
from annotate.studies.planning import PlanningError, Setup, plan_study, prepare
from annotate.studies.study_file import load_definition
from tests import answering
from tests.factories import make_benchmark, make_study, picture_bytes, store_picture
from tests.people import alice, answer_everything

pytestmark = pytest.mark.django_db


@pytest.fixture
def study():
    return make_study(kind="checklist", consented=True)


def tick(slot, *keys, at=None):
    """Submit an open slot with the same boxes ticked in every shot."""
    questions = list(slot.study.questions.all())
    boxes = {
        (shot.number, question): int(question.key in keys)
        for shot in slot.unit.story.shots.all()
        for question in questions
    }
    at = at or timezone.now()
    store_judgements([SlotAnswers(slot, {}, at, 40.0, boxes)])


# Planning


def plan(**kw):
    benchmark = make_benchmark(stories=2, methods=("Alder",), pictures=True)
    definition = load_definition("storybench-diagnostics")
    return plan_study(definition, benchmark=benchmark, slug="signs", annotators=3, **kw)


def test_planning_makes_two_boxes_of_each_label():
    study = plan()
    assert study.questions.filter(kind="checklist").exists()
    boxes = list(study.questions.all())
    assert len(boxes) == 68
    assert [box.key for box in boxes[:3]] == [
        "static_shot|text",
        "static_shot|video",
        "pan|text",
    ]
    assert {(box.scale_min, box.scale_max) for box in boxes} == {(0, 1)}
    assert boxes[0].category == "Camera movements"
    assert boxes[0].title == boxes[1].title == "Static shot"
    assert boxes[1].full_title == "Static shot: in the picture or video"
    assert study.slots.count() == 2 * 3


def test_story_without_shots_is_refused():
    benchmark = make_benchmark(stories=2, methods=("Alder",))
    story = benchmark.stories.get(key="02")
    story.shots.all().delete()
    story.outputs.update(video=store_picture(picture_bytes("any file")))
    with pytest.raises(PlanningError, match=r"1 stories have none \(02\)"):
        prepare(Setup("blank", benchmark, load_definition("storybench-diagnostics"), 3))


@pytest.mark.slow
def test_setup_form_equals_the_template():
    benchmark = make_benchmark(stories=2, methods=("Alder",))
    definition = load_definition("storybench-diagnostics")
    form = StudyForm.of(Setup("signs", benchmark, definition, 3))
    assert len(form.cards) == 34
    assert [one.name for one in form.cards[0].groups[-1].fields] == [
        "questions.0.category.en",
        "questions.0.category.zh",
    ]
    assert form.setup().definition.questions == definition.questions
    assert form.setup().definition.checks == definition.checks
    assert form.as_file().as_form().setup().definition == form.setup().definition


# Checking


def test_annotator_without_ticks_is_flagged(study):
    study.rules = [{"key": "blank", "signal": "flat", "above": 0.9, "action": "warn"}]
    study.save()
    person = study.annotators.get(name="A01")
    for slot in person.slots.all():
        tick(slot)
    (flag,) = monitoring.check_rules(person)
    assert flag.sentence.startswith("Nothing is ticked in 18 of 18 shots")
    assert monitoring.warning_text(flag).startswith("You ticked nothing in many shots")


@pytest.mark.slow
def test_ticks_are_compared_with_other_annotators(study):
    keys = ["pan|text", "people|video"]
    for slot in study.slots.select_related("annotator"):
        same = slot.annotator.name == "A01" or slot.unit_id % 3
        tick(slot, keys[slot.unit_id % 2] if same else keys[1 - slot.unit_id % 2])
    person = study.annotators.get(name="A01")
    signal = monitoring.signals_of(person)["ticks_agreement"]
    assert signal.n == 18
    assert 0 < signal.value < 1
    row = snapshots.refresh(study).data["signals"][str(person.pk)]
    assert row["rest"] == [pytest.approx(signal.value, abs=0.001), 18]
    gone = study.annotators.create(name="A09")  # gave the slots away
    question = study.questions.get(key="animals|text")
    Rating.objects.bulk_create(
        Rating(
            slot=slot,
            annotator=gone,
            question=question,
            shot=slot.unit_id % 3 + 1,
            value=1,
            scale_min=0,
            scale_max=1,
        )
        for slot in study.slots.exclude(annotator=person)
    )
    assert monitoring.signals_of(person)["ticks_agreement"] == signal


def test_repeats_are_compared_by_ticks(study):
    person = study.annotators.get(name="A01")
    slot = person.slots.first()
    again = Slot.objects.create(
        study=study,
        unit=slot.unit,
        purpose=Purpose.REPEAT,
        repeat_of=slot,
        annotator=person,
        session=9,
        position=99,
    )
    then = timezone.now() - timedelta(minutes=5)
    tick(slot, "pan|text", "people|video", at=then)
    tick(again, "pan|text")
    signal = monitoring.signals_of(person)["ticks_repeat"]
    assert (signal.value, signal.n) == (0.5, 3)


# The manager's pages


@pytest.mark.slow
def test_agreement_is_shown_by_category(study):
    for slot in study.slots.select_related("annotator"):
        keys = ["pan|text", "people|text"] if slot.unit_id % 2 else ["people|video"]
        if slot.annotator.name == "A02":
            keys = [*keys, "animals|text"]
        tick(slot, *keys)
    snapshots.refresh(study)
    page = dashboard(study)
    assert page.questions == []
    assert [row.topic.title for row in page.alphas] == ["Camera", "Entities"]
    camera, entities = page.alphas
    assert camera.alpha == 1
    assert entities.alpha < 1
    # 6 outputs of 3 shots, 2 boxes of camera and 4 of entities, 2 annotators
    assert (camera.n_units, camera.n_answers) == (36, 72)
    assert (entities.n_units, entities.n_answers) == (72, 144)
    text = alice(study).get(reverse("study-detail", args=[study.slug])).content
    assert b"Entities" in text
    _header, cells = coverage_tables.TABLES["cells"]
    assert len(list(cells(study))) == 6


def test_slot_page_shows_ticks_by_shot(study):
    slot = study.slots.select_related("annotator").first()
    leasing.start_lease(slot)
    for shot in (1, 2):
        answering.record_shot(
            slot=slot,
            annotator=slot.annotator,
            shot=shot,
            ticked=["pan|text", "people|text", "people|video"],
            looked=True,
        )
    answering.record_shot(
        slot=slot,
        annotator=slot.annotator,
        shot=2,
        ticked=["animals|video"],
        looked=True,
    )
    answering.record_shot(
        slot=slot, annotator=slot.annotator, shot=3, ticked=["pan|text"], looked=False
    )
    first, second, third = checklist_sheets.told_shots(slot)
    assert (first.text, first.both, first.seen) == (["Pan"], ["People"], [])
    assert (second.text, second.both, second.seen) == ([], [], ["Animals"])
    assert (first.changes, second.changes) == (0, 4)
    assert (first.looked, second.looked, third.looked) == (True, True, False)
    page = alice(study).get(reverse("slot-detail", args=[study.slug, slot.code]))
    text = page.content.decode()
    assert "4 boxes changed later" in text
    assert "not finished" in text


@pytest.mark.slow
def test_every_managers_page_opens(study):
    answer_everything(study, 1)
    client = alice(study)
    for name in (
        "study-detail",
        "study-settings",
        "annotator-list",
        "slot-list",
        "view-list",
        "event-list",
        "report-list",
    ):
        page = client.get(reverse(name, args=[study.slug]))
        assert page.status_code == 200, name
    text = client.get(reverse("study-settings", args=[study.slug])).content.decode()
    assert text.count("What pan means.") == 1  # two boxes, one label


@pytest.mark.slow
def test_planned_checklist_is_verified():
    study = plan()
    answer_everything(study, 1)
    call_command("verify", "signs", stdout=io.StringIO())
    assert verifying.problems(study) == []
