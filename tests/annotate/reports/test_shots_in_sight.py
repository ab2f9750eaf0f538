"""The table of shots in sight, marked like the tables of answers."""

import pytest

from annotate.models import Annotator
from annotate.quality import exclusion
from annotate.reports import study_tables
from tests.factories import make_study
from tests.people import answer_everything

pytestmark = pytest.mark.django_db

MARKS = ("is_gold", "is_repeat", "excluded")


def marks(study) -> dict[str, tuple[str, ...]]:
    rows = [
        dict(zip(study_tables.IN_SIGHT_HEADER, row, strict=True))
        for row in study_tables.in_sight_rows(study)
    ]
    assert {row["shot"] for row in rows} == {1, 2}
    return {row["slot"]: tuple(row[mark] for mark in MARKS) for row in rows}


def test_excluded_surplus_and_check_rows_are_marked():
    study = make_study()
    answer_everything(study)
    first, gold, repeat, twin, other, *_rest = study.slots.order_by("pk")
    undone = exclusion.exclude(first, reason="asleep", author=None)
    replacement = study.slots.get(unit=first.unit, state="open")
    replacement.annotator = Annotator.objects.create(
        study=study, name="A03", state="invited"
    )
    replacement.save()
    answer_everything(study, 1)
    exclusion.undo(undone, author=None)
    exclusion.exclude(other, reason="asleep again", author=None)
    for slot, what in {
        gold: {"purpose": "gold"},
        repeat: {"purpose": "repeat", "repeat_of": first},
        twin: {"purpose": "twin"},
    }.items():
        study.slots.filter(pk=slot.pk).update(ordinal=None, **what)
    study.slots.update(in_sight={"1": 0.2, "2": 3})
    found = marks(study)
    assert found == {
        row["slot"]: tuple(row[mark] for mark in MARKS)
        for row in study_tables.answer_rows(study, "ratings")
    }
    no, yes = False, True
    assert found[first.code] == (no, no, no)
    assert found[gold.code] == found[twin.code] == (yes, no, no)
    assert found[repeat.code] == (no, yes, no)
    assert found[replacement.code] == found[other.code] == (no, no, yes)
