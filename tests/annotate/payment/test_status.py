"""Each person's status follows from states, consent, training, presence and pay."""

from datetime import timedelta

import pytest
from django.utils import timezone

from annotate.models import Payment
from annotate.people.status import Status, statuses
from tests.annotate.payment.crowd import crowd_study

pytestmark = pytest.mark.django_db


@pytest.fixture
def study():
    return crowd_study()


def found(study, now=None):
    """Return the status of each person by the number in the name."""
    people = list(study.annotators.order_by("name"))
    status_of = statuses(people, now)
    return {int(person.name[1:]): status_of[person.pk] for person in people}


def test_every_person_has_the_status_of_the_scene(study):
    expected = dict.fromkeys(range(1, 9), Status.FINISHED)
    expected |= dict.fromkeys(range(9, 14), Status.WORKING)
    expected |= {14: Status.LEFT, 15: Status.LEFT, 16: Status.TRAINING}
    expected |= {17: Status.FAILED, 18: Status.NOT_STARTED, 19: Status.NOT_STARTED}
    assert found(study) == expected | {20: Status.NO_CONSENT}


@pytest.mark.slow
def test_people_of_a_platform_left_after_hours_and_of_a_plan_after_days(study):
    tomorrow = timezone.now() + timedelta(days=1)
    assert found(study, tomorrow)[9] == Status.LEFT
    study.assignment = "planned"
    study.save()
    # Without 20 pauses in the log, the usual patience is seven days.
    assert found(study, tomorrow)[9] == Status.WORKING
    assert found(study, tomorrow)[14] == Status.WORKING
    assert found(study, tomorrow + timedelta(days=7))[9] == Status.LEFT


def test_status_of_removed_withdrawn_paused_and_paid_people(study):
    now = timezone.now()
    named = {
        number: study.annotators.get(name=f"A{number:02}") for number in range(1, 5)
    }
    for number, fields in {
        1: {"state": "revoked"},
        2: {"state": "revoked", "withdrawn_at": now},
        3: {"state": "paused"},
    }.items():
        study.annotators.filter(pk=named[number].pk).update(**fields)
    Payment.objects.create(
        annotator=named[4], decision="approve", decided_at=now, paid_at=now
    )
    status = found(study)
    assert status[1] == Status.REMOVED
    assert status[2] == Status.LEFT
    assert status[3] == Status.PAUSED
    assert status[4] == Status.PAID


@pytest.mark.slow
def test_status_of_a_closed_study_is_never_working(study):
    study.state = "closed"
    study.save()
    assert found(study)[9] == Status.LEFT
    assert found(study)[1] == Status.FINISHED
