"""Counts, exclusions, and the check of every promise."""

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from annotate import exclusion, leasing
from annotate.coverage import coverage
from annotate.models import Rating, Slot, Unit
from annotate.verifying import problems
from tests.factories import make_benchmark, make_study
from tests.people import answer_everything

pytestmark = pytest.mark.django_db


def test_it_works():
    study = make_study()
    ann = study.annotators.get(name="A01")
    leasing.take(leasing.next_slot(ann), ann)
    result = coverage(study)
    assert (result.wanted, result.submitted, result.leased, result.open) == (
        12,
        0,
        1,
        11,
    )
    assert [row.name for row in result.rows] == ["Alder", "Birch", "Cedar"]
    assert result.leases[0].annotator == ann
    answer_everything(study)
    result = coverage(study)
    assert result.submitted == 11
    assert result.percent == 91
    assert sum(c.done for row in result.rows for c in row.cells) == 11


def test_pairs_are_rows():
    result = coverage(make_study(protocol="pairwise"))
    assert [row.name for row in result.rows] == [
        "Alder / Birch", "Alder / Cedar", "Birch / Cedar",
    ]  # fmt: skip


def test_the_number_of_queries_does_not_grow(django_assert_num_queries):
    small = make_study(slug="small")
    large = make_study(
        slug="large", annotators=6, benchmark=make_benchmark(slug="big", stories=6)
    )
    for study in (small, large):
        # Cells, annotators, open leases.
        with django_assert_num_queries(3):
            coverage(study)


def test_exclusion_opens_a_replacement_and_undo_removes_it():
    study = make_study()
    answer_everything(study)
    slot = study.slots.first()
    row = exclusion.exclude(slot, reason="asleep", author=None)
    replacement = Slot.objects.get(unit=slot.unit, annotator=None)
    assert replacement.ordinal == 3
    assert coverage(study).wanted == 12
    assert coverage(study).submitted == 11
    exclusion.undo(row, author=None)
    assert not Slot.objects.filter(pk=replacement.pk).exists()
    assert coverage(study).submitted == 12
    assert problems(study) == []


def test_an_answered_replacement_becomes_surplus_when_the_exclusion_is_undone():
    study = make_study()
    answer_everything(study)
    slot = study.slots.first()
    row = exclusion.exclude(slot, reason="asleep", author=None)
    carol = study.annotators.create(name="A03", state="active")
    leasing.take(leasing.next_slot(carol), carol)
    Slot.objects.filter(annotator=carol).update(state="open")
    answer_everything(study)
    exclusion.undo(row, author=None)
    late = Slot.objects.get(annotator=carol)
    assert late.ordinal is None
    assert late.ratings.count() == 2
    assert coverage(study).surplus == 1
    assert problems(study) == []


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


def break_scale(study):
    study.questions.update(scale_max=2)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (break_units, "another story or benchmark"),
        (break_answers, "0 current ratings for 2 questions"),
        (break_redundancy, "3 slots in round 1"),
        (break_scale, "outside its question's scale"),
    ],
)
def test_verify_finds_the_damage(damage, message, capsys):
    study = make_study()
    answer_everything(study)
    call_command("verify", study.slug)
    assert "every promise holds" in capsys.readouterr().out
    damage(study)
    with pytest.raises(CommandError, match="broken") as caught:
        call_command("verify", study.slug)
    assert caught.value.returncode == 1
    assert message in capsys.readouterr().err


def test_the_command_prints_cells(capsys):
    study = make_study()
    answer_everything(study)
    call_command("coverage", study.slug, csv=True)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "methods,story,submitted,leased,wanted"
    assert lines[1] == "Alder,01,2,0,2"
