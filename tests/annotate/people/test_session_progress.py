"""Progress of an annotator in the session and overall."""

import pytest

from annotate.assignment import choosing
from annotate.models import Purpose, Slot
from annotate.people.session_progress import progress
from tests.factories import make_benchmark, make_study
from tests.working import LIKERT, join, make_planned

pytestmark = pytest.mark.django_db


@pytest.fixture
def person():
    """Return an annotator with three sessions of three slots, two slots done."""
    benchmark = make_benchmark(stories=3, methods=["X", "Y", "Z"], pictures=False)
    study = make_study(benchmark=benchmark, consented=True)
    person = study.annotators.get(name="A01")
    for slot in own(person)[:2]:
        close(slot)
    return person


def own(person):
    return list(person.slots.order_by("position"))


def close(slot, **fields):
    at = slot.annotator.consented_at
    Slot.objects.filter(pk=slot.pk).update(
        state=Slot.State.SUBMITTED, started_at=at, submitted_at=at, **fields
    )


def test_progress_within_a_session(person):
    third = own(person)[2]
    told = progress(person, third)
    assert (told["session"], told["sessions"]) == (1, 3)
    assert (told["number"], told["size"], told["submitted"]) == (3, 3, 2)
    assert told["before"].code == own(person)[1].code
    assert told["left"] == 7, "of all nine, since the code follows the last sitting"


def test_previous_slot_is_of_the_same_session(person):
    close(own(person)[2])
    fourth = own(person)[3]
    told = progress(person, fourth)
    assert (told["session"], told["number"], told["size"]) == (2, 1, 3)
    assert (told["submitted"], told["before"]) == (3, None)


def test_previous_of_a_free_slot_is_the_last(person):
    unit = own(person)[0].unit
    free = Slot.objects.create(study=person.study, unit=unit, ordinal=9)
    assert progress(person, free)["before"].code == own(person)[-1].code


def test_checks_do_not_count_for_the_cap():
    study = make_planned(LIKERT + "assignment: open\nredundancy: 2\nsession_size: 9\n")
    person = join(study, cap=3)
    slot = choosing.next_for(person).slot
    assert progress(person, slot)["size"] == 3
    other = study.units.exclude(story=slot.unit.story).first()
    Slot.objects.create(
        study=study,
        unit=other,
        purpose=Purpose.GOLD,
        annotator=person,
        session=slot.session,
        position=slot.position + 1,
    )
    assert progress(person, slot)["size"] == 4
