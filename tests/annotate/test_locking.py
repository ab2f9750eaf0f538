"""Requests that would deadlock if they locked in different orders.

The order is study, annotator, unit, slot. Each test stops a request between its locks.
"""

import threading
from concurrent.futures import ThreadPoolExecutor
from time import sleep

import pytest
from django.db import OperationalError, connection, transaction
from django.test import Client
from django.urls import reverse
from rest_framework.test import APIClient

from analysis.rankings.method_verdicts import TopMethods
from annotate.assignment import adaptive, adaptive_pairs, choosing, reassignment
from annotate.audit_log.verifying import problems
from annotate.models import Slot, Study, Unit
from annotate.personal_data import erasing
from annotate.quality import exclusion, monitoring
from annotate.responses import giving_back, leasing, submission
from annotate.studies import lifecycle
from annotate.studies.extending import extend
from tests.factories import make_benchmark
from tests.studies import flag
from tests.working import LIKERT, PAIRWISE, always, answer, join, make_planned, work

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.postgresql,
    pytest.mark.skipif(connection.vendor != "postgresql", reason="locks rows"),
]
ADAPTIVE = """
assignment: open
adaptive: {top: 1, confidence: 0.9, least: 8, explore: 0.3}
"""


def run(work, *arguments):
    try:
        return work(*arguments)
    finally:
        connection.close()


def test_stop_rule_and_extension_can_run_concurrently(monkeypatch):
    benchmark = make_benchmark(stories=2, shots=1)
    study = make_planned(PAIRWISE + ADAPTIVE, benchmark=benchmark, redundancy=3)
    person = join(study)
    held = threading.Event()
    lock_people, stop = reassignment.lock_people, adaptive_pairs._stop

    def lock_late(row):
        held.set()
        sleep(0.5)
        return lock_people(row)

    def stop_late(*arguments):
        assert held.wait(60)
        return stop(*arguments)

    monkeypatch.setattr(reassignment, "lock_people", lock_late)
    monkeypatch.setattr(adaptive_pairs, "_stop", stop_late)
    monkeypatch.setattr(adaptive.StopRule, "holds", lambda *_arguments: True)
    told = TopMethods((), 0.0)
    monkeypatch.setattr(adaptive_pairs, "best_methods", lambda *_arguments: told)
    with ThreadPoolExecutor(2) as pool:
        asked = pool.submit(run, choosing.next_for, person)
        extended = pool.submit(run, lambda: extend(study, redundancy=4))
        assert extended.result().slots
        assert asked.result().slot is None
    choosing.next_for(person)
    assert Study.objects.get().adaptive["stopped"]
    assert study.events.filter(kind="stop rule met").count() == 1


def by_the_api(person, slot):
    """Answer both questions of a slot as a program does; return the status."""
    client = APIClient()
    token = person.invitation.token
    client.credentials(HTTP_AUTHORIZATION=f"Invitation {token}")
    given = {"answers": {"character": "2", "beauty": "2"}}
    url = reverse("api-submit", args=[slot.code])
    return client.post(url, given, format="json").status_code


def on_the_page(person, slot):
    """Answer both questions of a slot as the page does; return the status."""
    answers = [
        {"kind": "answer", "id": key, "key": key, "question": key, "value": "2"}
        for key in ("character", "beauty")
    ]
    rows = [*answers, {"kind": "submit", "seconds": 3}]
    url = reverse("rate-save", args=[person.invitation.token, slot.code])
    sent = {"content_type": "application/json", "data": {"rows": rows}}
    return Client().post(url, **sent).status_code


either_way = pytest.mark.parametrize("send", [by_the_api, on_the_page])


def until_somebody_waits():
    """Return when somebody waits for a row that another one has locked."""
    with connection.cursor() as cursor:
        for _time in range(600):
            cursor.execute("SELECT count(*) FROM pg_locks WHERE NOT granted")
            if cursor.fetchone()[0]:
                return
            sleep(0.05)
    raise AssertionError("Nobody waits.")


@pytest.mark.parametrize(("send", "status"), [(by_the_api, 409), (on_the_page, 200)])
def test_study_closes_while_a_story_waits_to_be_submitted(send, status):
    study = make_planned(LIKERT, annotators=1, redundancy=1)
    person = join(study, "A01")
    slot = choosing.next_for(person).slot
    held, closed = threading.Event(), threading.Event()

    def hold():
        with transaction.atomic():
            Unit.objects.select_for_update(no_key=True).get(pk=slot.unit_id)
            held.set()
            assert closed.wait(60)

    with ThreadPoolExecutor(2) as pool:
        holding = pool.submit(run, hold)
        assert held.wait(60)
        sent = pool.submit(run, send, person, slot)
        until_somebody_waits()
        lifecycle.close(study)
        closed.set()
        holding.result()
        assert sent.result() == status
    slot.refresh_from_db()
    assert slot.state == "leased"
    assert study.slots.exclude(pk=slot.pk).filter(state="leased").count() == 0
    assert not slot.ratings.exists()


def test_submission_locks_the_unit_before_the_slot():
    """One statement locks both; the order is that in which it names them."""
    study = make_planned(LIKERT, annotators=1, redundancy=1)
    person = join(study, "A01")
    slot = choosing.next_for(person).slot
    held, seen = threading.Event(), threading.Event()

    def hold():
        with transaction.atomic():
            Slot.objects.select_for_update(no_key=True).get(pk=slot.pk)
            held.set()
            assert seen.wait(60)

    units = Unit.objects.select_for_update(no_key=True, nowait=True)
    with ThreadPoolExecutor(2) as pool:
        holding = pool.submit(run, hold)
        assert held.wait(60)
        sent = pool.submit(run, on_the_page, person, slot)
        until_somebody_waits()
        with pytest.raises(OperationalError), transaction.atomic():
            units.get(pk=slot.unit_id)
        seen.set()
        holding.result()
        assert sent.result() == 200


@either_way
def test_answers_are_changed_while_their_slot_is_excluded(monkeypatch, send):
    study = make_planned(LIKERT, annotators=2, redundancy=2)
    person = join(study, "A01")
    (slot,) = work(person, always("3"), most=1)
    begun, held = threading.Event(), threading.Event()
    in_time = submission._close

    def late(*given):
        begun.set()
        held.wait(1)
        return in_time(*given)

    def leave_out():
        assert begun.wait(60)
        with transaction.atomic():
            Unit.objects.select_for_update(no_key=True).get(pk=slot.unit_id)
            held.set()
            sleep(0.3)
            exclusion.exclude(slot, reason="x", author=None)

    monkeypatch.setattr(submission, "_close", late)
    with ThreadPoolExecutor(2) as pool:
        sent = pool.submit(run, send, person, slot)
        excluded = pool.submit(run, leave_out)
        assert sent.result() == 200
        excluded.result()
    assert set(
        slot.ratings.filter(is_current=True).values_list("value", flat=True)
    ) == {2}
    assert problems(study) == []


@either_way
def test_replacement_is_submitted_while_the_exclusion_is_undone(monkeypatch, send):
    study = make_planned(LIKERT, annotators=2, redundancy=1)
    person, other = join(study, "A01"), join(study, "A02")
    (slot,) = work(other, always("3"), most=1)
    excluded = exclusion.exclude(slot, reason="x", author=None)
    leased = leasing.take(excluded.replacement, person)
    begun, held = threading.Event(), threading.Event()
    in_time, drop = submission._close, exclusion._drop

    def late(*given):
        begun.set()
        held.wait(1)
        return in_time(*given)

    def drop_late(pk):
        held.set()
        sleep(0.3)
        return drop(pk)

    def undo():
        assert begun.wait(60)
        exclusion.undo(excluded, author=None)

    monkeypatch.setattr(submission, "_close", late)
    monkeypatch.setattr(exclusion, "_drop", drop_late)
    with ThreadPoolExecutor(2) as pool:
        sent = pool.submit(run, send, person, leased)
        undone = pool.submit(run, undo)
        assert sent.result() == 200
        undone.result()
    leased.refresh_from_db()
    assert (leased.state, leased.ordinal) == ("submitted", None)
    assert leased.unit.submitted == 1
    assert problems(study) == []


def broke_a_rule(person):
    with transaction.atomic():
        found = flag(person, "exclude", "careless")
        monitoring._stop(leasing.locked_annotator(person), found)


def withdrew(person):
    erasing.withdraw(person, answers=True)


@pytest.mark.parametrize("leave_out", [broke_a_rule, withdrew])
def test_exclusion_can_be_undone_while_its_replacement_is_excluded(
    monkeypatch, leave_out
):
    """They hold the replacement in one round of a unit, and answered the other."""
    study = make_planned(LIKERT + "rounds: 2\n", annotators=2, redundancy=1)
    person, other = join(study, "A01"), join(study, "A02")
    unit = work(other, always("3"))[0].unit_id
    first, second = (
        exclusion.exclude(slot, reason="x", author=None)
        for slot in other.slots.filter(unit=unit).order_by("round")
    )
    answer(leasing.take(first.replacement, person), person, always("3"))
    leasing.take(second.replacement, person)
    freed, held = threading.Event(), threading.Event()
    free, drop = giving_back.free_unfinished, exclusion._drop

    def free_slowly(row):
        result = free(row)
        freed.set()
        held.wait(1)
        sleep(0.2)
        return result

    def drop_late(pk):
        held.set()
        sleep(0.5)
        return drop(pk)

    def undo():
        freed.wait(1)
        exclusion.undo(second, author=None)

    monkeypatch.setattr(giving_back, "free_unfinished", free_slowly)
    monkeypatch.setattr(exclusion, "_drop", drop_late)
    with ThreadPoolExecutor(2) as pool:
        jobs = [pool.submit(run, leave_out, person), pool.submit(run, undo)]
        for job in jobs:
            job.result()
    assert problems(study) == []
