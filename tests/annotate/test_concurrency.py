"""Many browsers at once, on the real database of this run."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection

from annotate import leasing, rating
from annotate.models import Annotator, Rating, Slot, Study
from tests.factories import make_study

pytestmark = pytest.mark.django_db(transaction=True)


def at_once(work, jobs):
    def run(job):
        try:
            return work(job)
        finally:
            connection.close()

    with ThreadPoolExecutor(len(jobs)) as pool:
        return list(pool.map(run, jobs))


def test_one_free_slot_goes_to_one_of_many():
    study = make_study(annotators=1)
    slot = Slot.objects.filter(study=study).first()
    Slot.objects.filter(pk=slot.pk).update(annotator=None, position=None, session=None)
    people = [Annotator.objects.create(study=study, name=f"B{i}") for i in range(6)]

    def grab(person):
        try:
            leasing.take(Slot.objects.get(pk=slot.pk), person)
        except leasing.SlotTakenError:
            return False
        return True

    assert sum(at_once(grab, people)) == 1
    assert Slot.objects.get(pk=slot.pk).annotator in people


def test_two_tabs_sending_the_same_answer_store_it_once():
    study = make_study(annotators=1)
    ann = study.annotators.get()
    slot = leasing.take(leasing.next_slot(ann), ann)
    question = study.questions.first()

    def send(value):
        return rating.record_answer(
            slot=slot, annotator=ann, question=question, value=value
        ).value

    at_once(send, [3] * 6)
    assert Rating.objects.count() == 1
    at_once(send, [0, 1, 2, 4])
    assert Rating.objects.filter(is_current=True).count() == 1
    assert Rating.objects.count() <= 5


def test_submitting_from_two_tabs_submits_once():
    study = make_study(annotators=1)
    ann = study.annotators.get()
    slot = leasing.take(leasing.next_slot(ann), ann)
    for question in study.questions.all():
        rating.record_answer(slot=slot, annotator=ann, question=question, value=2)
    at_once(lambda _i: rating.submit_slot(slot=slot, annotator=ann), range(5))
    assert study.events.filter(kind="slot submitted").count() == 1
    assert Study.objects.get().slots.filter(state="submitted").count() == 1
