"""Counts, exclusions, and `verify`."""

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import transaction
from django.utils import timezone

from annotate.assignment import choosing
from annotate.audit_log.verifying import problems
from annotate.coverage.counts import grid, leases, totals, units
from annotate.coverage.slot_counts import tallies
from annotate.models import Choice, Exclusion, Rating, Slot, Study, Unit
from annotate.people import inviting
from annotate.quality import exclusion
from annotate.responses import giving_back, leasing
from tests.answering import record_answer, submit
from tests.cases import slow
from tests.factories import make_benchmark, make_study
from tests.people import answer_everything
from tests.working import join

pytestmark = pytest.mark.django_db


@pytest.mark.postgresql
def test_slots_are_counted_by_state_and_cell():
    study = make_study()
    ann = join(study, "A01")
    leasing.take(choosing.next_slot(ann), ann)
    result = totals(study)
    counted = (result.wanted, result.submitted, result.leased, result.open)
    assert counted == (12, 0, 1, 11)
    assert [row.name for row in grid(units(study)).rows] == ["Alder", "Birch", "Cedar"]
    assert leases(study).get().annotator == ann
    answer_everything(study)
    result = totals(study)
    assert result.submitted == 11
    assert result.percent == 91
    assert sum(c.done for row in grid(units(study)).rows for c in row.cells) == 11


@pytest.mark.slow
def test_folded_cell_names_unit_with_smallest_share():
    """A unit may ask for more answers than others: two of six are less than one."""
    study = make_study(annotators=1, benchmark=make_benchmark(stories=41))
    answer_everything(study)
    study.units.filter(story__key="01").update(submitted=2, redundancy=6)
    row = grid(units(study)).rows[0]
    assert row.cells[0].folded
    worst = row.cells[0].worst
    assert (worst.done, worst.wanted) == (2, 6)


def test_number_of_queries_does_not_grow(django_assert_num_queries):
    small = make_study(slug="small")
    large = make_study(
        slug="large", annotators=6, benchmark=make_benchmark(slug="big", stories=6)
    )
    for study in (small, large):
        # Leases, flagged people, all units.
        with django_assert_num_queries(3):
            units(study)
        # Sums of units, leased, excluded.
        with django_assert_num_queries(3):
            totals(study)


@pytest.mark.postgresql
def test_exclusion_opens_a_replacement_and_undo_removes_it():
    study = make_study()
    answer_everything(study)
    slot = study.slots.first()
    row = exclusion.exclude(slot, reason="asleep", author=None)
    replacement = Slot.objects.get(unit=slot.unit, annotator=None)
    assert replacement.ordinal == 3
    assert totals(study).wanted == 12
    assert totals(study).submitted == 11
    exclusion.undo(row, author=None)
    assert Slot.objects.get(pk=replacement.pk).state == "withdrawn"
    assert totals(study).submitted == 12
    assert problems(study) == []


def test_answered_replacement_becomes_surplus_when_the_exclusion_is_undone():
    study = make_study()
    answer_everything(study)
    slot = study.slots.first()
    row = exclusion.exclude(slot, reason="asleep", author=None)
    study.annotators.create(name="A03")
    carol = join(study, "A03")
    leasing.take(choosing.next_slot(carol), carol)
    Slot.objects.filter(annotator=carol).update(state="open")
    answer_everything(study)
    exclusion.undo(row, author=None)
    late = Slot.objects.get(annotator=carol)
    assert late.ordinal is None
    assert late.ratings.count() == 2
    assert tallies(study)["surplus"] == 1
    assert problems(study) == []


def taken_by_carol(study):
    """Exclude an answered slot and let a third person take the replacement."""
    answer_everything(study)
    row = exclusion.exclude(study.slots.first(), reason="asleep", author=None)
    carol = study.annotators.create(
        name="A03",
        state="active",
        consented_at=timezone.now(),
        instructed_at=timezone.now(),
    )
    return row, carol, leasing.take(choosing.next_slot(carol), carol)


def test_replacement_in_work_becomes_surplus_and_can_be_finished():
    study = make_study()
    row, carol, taken = taken_by_carol(study)
    exclusion.undo(row, author=None)
    assert problems(study) == []
    assert choosing.next_slot(carol).pk == taken.pk
    for question in study.questions.all():
        record_answer(slot=taken, annotator=carol, question=question, value=3)
    submit(slot=taken, annotator=carol)
    assert Slot.objects.get(pk=taken.pk).ordinal is None
    result = totals(study)
    assert (result.submitted, result.wanted) == (12, 12)
    assert tallies(study)["surplus"] == 1
    assert problems(study) == []


@pytest.mark.parametrize("is_revoked_first", [True, False])
def test_replacement_in_work_disappears_when_nobody_needs_it(is_revoked_first):
    study = make_study()
    row, carol, taken = taken_by_carol(study)
    record_answer(
        slot=taken, annotator=carol, question=study.questions.first(), value=3
    )
    ends = [lambda: inviting.revoke(carol), lambda: exclusion.undo(row, author=None)]
    for end in ends if is_revoked_first else reversed(ends):
        end()
    assert Slot.objects.get(pk=taken.pk).state == "withdrawn"
    assert problems(study) == []


def test_replacement_of_a_replacement_gives_its_place_up_once():
    study = make_study()
    first, carol, taken = taken_by_carol(study)
    for question in study.questions.all():
        record_answer(slot=taken, annotator=carol, question=question, value=3)
    submit(slot=taken, annotator=carol)
    second = exclusion.exclude(taken, reason="too", author=None)
    assert totals(study).open == 1
    exclusion.undo(first, author=None)
    assert problems(study) == []
    assert totals(study).open == 0
    exclusion.undo(second, author=None)
    assert Slot.objects.get(pk=taken.pk).ordinal is None
    assert problems(study) == []


def test_undo_restores_answer_of_unit_with_fewer_answers():
    """An imported table may have fewer answers for one unit than for another."""
    study = make_study()
    answer_everything(study)
    lone = study.slots.filter(annotator__name="A02").first()
    Rating.objects.filter(slot=lone).delete()
    lone.delete()
    slot = lone.unit.slots.get()
    exclusion.undo(exclusion.exclude(slot, reason="x", author=None), author=None)
    kept = slot.unit.slots.exclude(state="withdrawn")
    assert list(kept) == [slot]


def test_submitted_slot_is_never_withdrawn():
    study = make_study()
    answer_everything(study)
    with pytest.raises(ValueError, match="kept"):
        giving_back.withdraw(study.slots.first())
    assert Rating.objects.count() == 24


def test_exclusion_is_undone_once():
    study = make_study()
    answer_everything(study)
    row = exclusion.exclude(study.slots.first(), reason="asleep", author=None)
    exclusion.undo(row, author=None)
    with pytest.raises(exclusion.ExclusionError, match="already undone"):
        exclusion.undo(row, author=None)


def test_only_submitted_slots_can_be_excluded_and_only_with_a_reason():
    study = make_study()
    with pytest.raises(exclusion.ExclusionError, match="submitted"):
        exclusion.exclude(study.slots.first(), reason="x", author=None)
    answer_everything(study)
    with pytest.raises(exclusion.ExclusionError, match="reason"):
        exclusion.exclude(study.slots.first(), reason="  ", author=None)


def break_units(study):
    other = make_benchmark(slug="other").stories.first()
    Unit.objects.filter(pk=study.units.first().pk).update(story=other)


def break_answers(study):
    Rating.objects.filter(slot=study.slots.first()).update(is_current=False)


def break_redundancy(study):
    Slot.objects.create(study=study, unit=study.units.first(), ordinal=99)


def break_plan(study):
    study.template = "own"
    study.save()
    slot = study.slots.first()
    Rating.objects.filter(slot=slot).delete()
    slot.delete()


def break_exclusion(study):
    exclusion.exclude(study.slots.first(), reason="x", author=None)
    Slot.objects.filter(state="excluded").update(state="submitted")


def lose_exclusion(study):
    exclusion.exclude(study.slots.first(), reason="x", author=None)
    Exclusion.objects.all().delete()


def strand_slots(study):
    ann = study.annotators.first()
    study.slots.filter(annotator=ann).update(state="open", submitted_at=None)
    study.annotators.filter(pk=ann.pk).update(state="revoked")


def answer_another_study(study):
    other = make_study(slug="other", benchmark=make_benchmark(slug="b2"))
    rating = Rating.objects.first()
    Rating.objects.filter(pk=rating.pk).update(question=other.questions.first())


def break_scale(study):
    study.questions.update(scale_max=2)


DAMAGES = [
    (break_units, "another story or benchmark"),
    (break_answers, "0 current ratings for 2 questions"),
    (break_redundancy, "3 slots in round 1"),
    (break_plan, "1 slots in round 1, but the redundancy is 2"),
    (break_exclusion, "an exclusion is in force, but the state is submitted"),
    (lose_exclusion, "excluded, but no exclusion is in force"),
    (strand_slots, "open, but its annotator may not work"),
    (answer_another_study, "answers a question of another study"),
    (break_scale, "outside its question's scale"),
]


def test_verify_finds_damage(capsys, subtests):
    study = make_study()
    answer_everything(study)
    call_command("verify", study.slug)
    assert "no problems found" in capsys.readouterr().out
    for damage, message in DAMAGES:
        with subtests.test(damage.__name__), transaction.atomic():
            damage(Study.objects.get())
            with pytest.raises(CommandError, match="Problems found") as caught:
                call_command("verify", study.slug)
            transaction.set_rollback(True)
            assert caught.value.returncode == 1
            assert message in capsys.readouterr().err


@pytest.mark.parametrize("damage", ["order", *slow("sides")])
def test_verify_finds_damaged_pairs(damage):
    study = make_study(kind="choice")
    answer_everything(study, "a")
    assert problems(study) == []
    if damage == "sides":
        Choice.objects.filter(slot__a_is_left=True).update(a_is_left=False)
        assert "its sides are not those of its slot" in problems(study)[0]
    else:
        unit = study.units.first()
        Unit.objects.filter(pk=unit.pk).update(
            output_a=unit.output_b, output_b=unit.output_a
        )
        assert problems(study) == [
            f"unit {unit.pk}: its methods are repeated or not in alphabetical order"
        ]
