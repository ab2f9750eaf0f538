"""Exclusions: their views, all answers of an annotator, and the log."""

import pytest

from annotate.audit_log.verifying import problems
from annotate.models import AnalysisView, Annotator, Event, Exclusion, Slot, Study
from annotate.people import inviting
from annotate.quality import exclusion
from annotate.responses import analysis_views
from annotate.responses.bulk import SlotAnswers, store_judgements
from annotate.studies.changing import withdraw_units
from annotate.studies.extending import extend
from tests.annotate.studies.test_extending import planned_study
from tests.factories import make_study
from tests.people import answer_everything

pytestmark = pytest.mark.django_db


@pytest.fixture
def study():
    row = make_study()
    answer_everything(row)
    return row


def add_view(study: Study, key: str) -> AnalysisView:
    return analysis_views.add_view(study, key=key, title=f"As {key}", author=None)


def hidden_from(row: Exclusion) -> set[str]:
    return set(row.views.values_list("key", flat=True))


def takes_over(study: Study, name: str, slots: list[Slot]) -> Annotator:
    """Let a new person answer free slots."""
    person = Annotator.objects.create(study=study, name=name, state="active")
    for slot in slots:
        slot.annotator = person
        slot.save()
    answer_everything(study, 1)
    return person


def test_exclusion_hides_from_every_view_but_everything(study):
    add_view(study, "strict")
    row = exclusion.exclude(study.slots.first(), reason="asleep", author=None)
    assert hidden_from(row) == {"main", "strict"}
    event = Event.objects.filter(kind=Event.Kind.SLOT_EXCLUDED).get()
    assert event.details["views"] == ["main", "strict"]
    assert problems(study) == []


def test_main_view_hides_every_exclusion(study):
    strict, loose = add_view(study, "strict"), add_view(study, "loose")
    everything = study.analysis_views.get(key="everything")
    row = exclusion.exclude(
        study.slots.first(), reason="x", author=None, views=[loose, everything]
    )
    assert hidden_from(row) == {"main", "loose"}
    row = exclusion.exclude(study.slots.last(), reason="x", author=None, views=[])
    assert hidden_from(row) == {"main"}
    assert strict.exclusions.count() == 0
    assert problems(study) == []


def test_view_of_another_study_is_ignored(study):
    other = make_study(slug="other", benchmark=study.benchmark)
    alien = add_view(other, "alien")
    row = exclusion.exclude(study.slots.first(), reason="x", author=None, views=[alien])
    assert hidden_from(row) == {"main"}


def test_all_answers_of_annotator_are_excluded_and_restored(study):
    person = study.annotators.get(name="A01")
    first, *_others = person.slots.all()
    own = exclusion.exclude(first, reason="slipped", author=None)
    rows = exclusion.exclude_annotator(
        person, reason="a bot", author=None, rule="speed"
    )
    assert len(rows) == 5
    assert {row.rule for row in rows} == {"speed"}
    assert set(person.slots.values_list("state", flat=True)) == {"excluded"}
    assert study.slots.filter(state="open", annotator=None).count() == 6
    assert problems(study) == []
    assert exclusion.exclude_annotator(person, reason="again", author=None) == []

    assert exclusion.undo_annotator(person, author=None) == 5
    own.refresh_from_db()
    assert own.undone_at is None
    assert person.slots.get(state="excluded") == first
    assert study.slots.filter(state="open").count() == 1
    assert problems(study) == []
    assert exclusion.undo_annotator(person, author=None) == 0


def test_surplus_slots_are_excluded_and_checks_are_not(study):
    person = study.annotators.get(name="A01")
    slot = person.slots.first()
    row = exclusion.exclude(slot, reason="x", author=None)
    takes_over(study, "A03", [study.slots.get(state="open")])
    exclusion.undo(row, author=None)
    late = study.slots.get(annotator__name="A03")
    assert late.ordinal is None
    repeat = Slot.objects.create(
        study=study,
        unit=late.unit,
        annotator=late.annotator,
        purpose="repeat",
        repeat_of=late,
        position=9,
    )
    store_judgements(
        [
            SlotAnswers(
                repeat, dict.fromkeys(study.questions.all(), 2), late.submitted_at
            )
        ]
    )
    (hidden,) = exclusion.exclude_annotator(late.annotator, reason="x", author=None)
    assert hidden.slot == late
    assert hidden.replacement is None
    assert problems(study) == []


@pytest.mark.slow
def test_undo_restores_redundancy_when_replacement_was_excluded(study):
    """The unit regains its redundancy in either order of restoring."""
    person = study.annotators.get(name="A01")
    exclusion.exclude_annotator(person, reason="a bot", author=None)
    second = takes_over(study, "A03", list(study.slots.filter(state="open")))
    exclusion.exclude_annotator(second, reason="another bot", author=None)
    assert exclusion.undo_annotator(person, author=None) == 6
    assert problems(study) == []
    assert exclusion.undo_annotator(second, author=None) == 6
    assert problems(study) == []
    assert set(second.slots.values_list("ordinal", flat=True)) == {None}


def test_slot_excluded_alone_after_it_was_restored_stays_excluded(study):
    person = study.annotators.get(name="A01")
    exclusion.exclude_annotator(person, reason="a bot", author=None)
    exclusion.undo_annotator(person, author=None)
    exclusion.exclude(person.slots.first(), reason="slipped", author=None)
    assert exclusion.undo_annotator(person, author=None) == 0
    assert person.slots.filter(state="excluded").count() == 1


@pytest.mark.parametrize("reason", ["", "  ", "x" * 301])
def test_excluding_annotator_requires_reason(study, reason):
    person = study.annotators.get(name="A01")
    with pytest.raises(exclusion.ExclusionError, match="reason"):
        exclusion.exclude_annotator(person, reason=reason, author=None)
    assert not Exclusion.objects.exists()


@pytest.mark.slow
def test_verify_finds_exclusions_that_contradict_the_log(study):
    row = exclusion.exclude(study.slots.first(), reason="x", author=None)
    strict = AnalysisView.objects.create(study=study, key="strict", title="Strict")
    row.views.add(strict)
    assert [text for text in problems(study) if "differ from the log" in text]
    row.views.set([strict])
    assert [text for text in problems(study) if "expected main" in text]
    row.views.set(study.analysis_views.filter(key__in=["main", "everything"]))
    assert [text for text in problems(study) if "excluded from everything" in text]


def test_verify_finds_missing_view(study):
    study.analysis_views.filter(key="everything").delete()
    assert problems(study) == ["study trial: has no view everything"]


@pytest.mark.slow
@pytest.mark.parametrize("what", [{"methods": ["Birch"]}, {"stories": ["01"]}])
def test_exclusion_in_withdrawn_unit_gets_no_replacement(what):
    """A withdrawn method needs no more answers, also after an exclusion."""
    study = planned_study()
    inviting.invite(study)
    answer_everything(study, 2)
    concerned = study.slots.get(
        unit__output_a__method__name="Birch", unit__story__key="01", ordinal=1
    )
    withdraw_units(study, **what)
    slots = study.slots.count()
    row = exclusion.exclude(concerned, reason="asleep", author=None)
    assert row.replacement is None
    assert study.slots.count() == slots
    assert not study.slots.filter(state="open").exists()
    assert problems(study) == []
    restored = exclusion.undo(row, author=None)
    assert restored.ordinal == 1
    assert problems(study) == []
    again = exclusion.exclude(restored, reason="asleep", author=None)
    extend(study, **what)
    assert study.slots.filter(state="open").count() == 1, "asked for again"
    assert exclusion.undo(again, author=None).ordinal is None
    assert problems(study) == []


def test_restored_answer_takes_place_of_withdrawn_replacement():
    study = planned_study()
    inviting.invite(study)
    answer_everything(study, 2)
    slot = study.slots.filter(unit__output_a__method__name="Birch").first()
    row = exclusion.exclude(slot, reason="asleep", author=None)
    withdraw_units(study, methods=["Birch"])
    assert problems(study) == []
    assert exclusion.undo(row, author=None).ordinal == slot.ordinal
    assert problems(study) == []


def test_rounds_of_withdrawn_unit_stay_equal():
    study = planned_study(rounds=2)
    inviting.invite(study)
    answer_everything(study, 2)
    withdraw_units(study, methods=["Birch"])
    slot = study.slots.filter(unit__output_a__method__name="Birch", round=2).first()
    row = exclusion.exclude(slot, reason="asleep", author=None)
    assert row.replacement.round == 2
    assert problems(study) == []
