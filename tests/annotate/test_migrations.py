"""A database from before open studies, quality rules and the log, brought forward."""

import pytest
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.utils import timezone

from annotate import exclusion, leasing
from annotate.choosing import handing
from annotate.history.verifying import problems
from annotate.models import (
    Annotator,
    Event,
    Exclusion,
    Look,
    Rating,
    Slot,
    Study,
    Unit,
)
from tests.factories import make_study
from tests.people import answer_everything

pytestmark = pytest.mark.django_db(transaction=True)
BEFORE = [("annotate", "0003_kinds_sides_and_claims")]


def migrate(target):
    executor = MigrationExecutor(connection)
    executor.migrate(target)


def latest():
    """Return the last migrations of every app: going back took others along."""
    return MigrationExecutor(connection).loader.graph.leaf_nodes()


@pytest.fixture
def older_study():
    """A study half done, with an exclusion, as an older version left it behind."""
    study = make_study(annotators=2, consented=True, template="vistorybench-user-study")
    answer_everything(study)
    exclusion.exclude(study.slots.first(), reason="asleep", author=None)
    Exclusion.objects.get().views.clear()
    try:
        migrate(BEFORE)
        with connection.cursor() as cursor:
            cursor.execute("DELETE FROM annotate_event")
        yield study.pk
    finally:
        migrate(latest())


def test_an_older_study_goes_on_after_the_migration(older_study):
    migrate(latest())
    study = Study.objects.get(pk=older_study)
    assert problems(study) == []
    views = study.analysis_views.values_list("key", flat=True)
    assert set(views) == {"main", "everything"}
    assert Exclusion.objects.get().views.get().key == "main"
    assert set(study.units.values_list("redundancy", flat=True)) == {2}
    assert sum(study.units.values_list("submitted", flat=True)) == 11
    assert list(study.events.values_list("kind", flat=True)) == ["slots listed"]

    free = Slot.objects.get(annotator__isnull=True)
    person = Annotator.objects.create(
        study=study,
        name="A09",
        state="active",
        consented_at=timezone.now(),
        instructed_at=timezone.now(),
    )
    assert leasing.take(handing.next_slot(person), person) == free
    assert problems(study) == []


@pytest.mark.parametrize("state", ["submitted", "open"])
def test_whose_shots_were_looked_at_is_taken_from_boxes(state):
    """Two boxes of the first shot have an answer of each; the slot is the second's."""
    study = make_study(protocol="checklist")
    slot = study.slots.exclude(annotator=None).first()
    other = study.annotators.exclude(pk=slot.annotator_id).get()
    boxes = list(study.questions.all())
    assert len(boxes) > 2
    for person in (other, slot.annotator):
        for box in boxes[:2]:
            Rating.objects.create(
                slot=slot,
                annotator=person,
                question=box,
                shot=1,
                value=1,
                scale_min=0,
                scale_max=1,
            )
    if state == "submitted":
        now = timezone.now()
        Slot.objects.filter(pk=slot.pk).update(
            state=state, started_at=now, submitted_at=now
        )
    try:
        migrate([("annotate", "0013_benchmark_members")])
    finally:
        migrate(latest())
    looked = Look.objects.values_list("annotator", "shot")
    assert set(looked) == ({(slot.annotator_id, 1)} if state == "submitted" else set())


def test_events_are_added_and_never_changed():
    study = make_study()
    event = study.events.get()
    event.kind = Event.Kind.STUDY_CLOSED
    with pytest.raises(TypeError, match="never changed"):
        event.save()
    with pytest.raises(TypeError, match="never changed"):
        study.events.update(kind="study closed")
    assert Unit.objects.filter(study=study).exists()
