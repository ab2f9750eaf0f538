"""Simulated crowds of Prolific and Mechanical Turk."""

import csv
import random
from collections import Counter

import pytest
from django.utils import timezone

from annotate.audit_log.verifying import problems
from annotate.models import Payment
from annotate.payment.exports import mturk_review
from annotate.payment.table import people_rows
from tests.annotate.people.mturk import MTURK, Worker
from tests.annotate.people.prolific import (
    RECRUITED,
    Participant,
    code_of,
    places_of,
    recruiting_study,
)

pytestmark = [pytest.mark.django_db, pytest.mark.postgresql]


class Crowd:
    """Participants who come, work, leave, double and return in a random order."""

    def __init__(self, link, clock, seed: int, kind: type[Participant]) -> None:
        self.study, self.link, self.clock = link.study, link, clock
        self.kind = kind
        self.random = random.Random(seed)
        self.people: list[Participant] = []

    def visit(self) -> None:
        person = self.kind(self.link)
        getattr(self, self.random.choice(WAYS))(person)
        if person.annotator is not None:
            self.people.append(person)
        joined, holders = places_of(self.link)
        assert joined == holders <= self.link.most
        self.clock.move(self.random.choice([1, 2, 5]))

    def work(self, person: Participant, most: int = 2) -> None:
        if person.annotator is None:
            assert person.handed_in == code_of(self.study, "no_work")
            return
        person.agree()
        person.rate(most)

    def completes(self, person: Participant) -> None:
        person.join()
        self.work(person)

    def doubles(self, person: Participant) -> None:
        person.join()
        person.press()
        person.on_another_device().join()
        self.work(person)

    def loses_replies(self, person: Participant) -> None:
        person.lose_reply()
        person.open()
        self.work(person)

    def declines(self, person: Participant) -> None:
        person.join()
        if person.annotator is not None:
            person.decline()
            assert person.handed_in == code_of(self.study, "no_consent")

    def leaves_at_once(self, person: Participant) -> None:
        person.join()

    def leaves_half_way(self, person: Participant) -> None:
        person.join()
        self.work(person, 1)

    def steals(self, person: Participant) -> None:
        if not self.people:
            return
        victim = self.random.choice(self.people)
        token = victim.browser.token
        thief = victim.on_another_device(session=person.session)
        thief.open()
        thief.press(ask="1")
        assert token not in thief.page
        assert code_of(self.study, "completed") not in thief.page

    def comes_back(self, person: Participant) -> None:
        """Come later in a new attempt, on the old device."""
        if self.people:
            known = self.random.choice(self.people)
            known.session = person.session
            self.go_on(known)

    def go_on(self, person: Participant) -> None:
        page = person.open()
        assert person.status == 200, page
        if "Take a place again" in page and "Your place went" in page:
            page = person.press(person.browser.address("return"))
        if person.annotator.state in ("invited", "active"):
            self.work(person)


WAYS = [
    "completes",
    "completes",
    "completes",
    "doubles",
    "loses_replies",
    "declines",
    "leaves_at_once",
    "leaves_half_way",
    "steals",
    "comes_back",
]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("visits", "most", "redundancy"),
    [(20, 6, 4), (200, 40, 10)],
)
@pytest.mark.parametrize(
    ("kind", "text"),
    [(Participant, RECRUITED), (Worker, MTURK)],
)
def test_crowd_fills_places_exactly_and_locks_nobody_out(
    clock, visits, most, redundancy, kind, text, monkeypatch
):
    """Returns, time-outs, doubles, lost replies and foreign ids in a random order."""
    monkeypatch.setattr("annotate.people.joining.MOST_OF_AN_ADDRESS", 1000)
    study, link = recruiting_study(most, text, redundancy=redundancy)
    crowd = Crowd(link, clock, visits, kind)
    for _number in range(visits):
        crowd.visit()
    people = study.annotators.exclude(external_id="")
    assert people.count() == len({one.external_id for one in people})
    finished = people.filter(state="finished").count()
    assert 0 < finished <= most
    codes = Counter()
    for person in {one.pid: one for one in crowd.people}.values():
        page = person.open()
        assert person.status == 200, page
        state = person.annotator.state
        if state in ("finished", "revoked"):
            codes[person.handed_in] += 1
        else:
            assert person.handed_in == ""
    assert codes[code_of(study, "completed")] == finished
    assert set(codes) <= {one["code"] for one in study.recruitment["outcomes"].values()}
    declined = people.filter(declined_at__isnull=False).count()
    assert codes[code_of(study, "no_consent")] == declined
    assert problems(study) == []
    check_pay(study, {one.pid: one for one in crowd.people}.values())


def check_pay(study, crowd) -> None:
    """Check that each finished person is approved once, for what the platform got."""
    done = study.annotators.filter(state="finished")
    for person in done:
        now = timezone.now()
        Payment.objects.create(annotator=person, decision="approve", decided_at=now)
    lines = csv.DictReader(mturk_review(people_rows(study), str).splitlines())
    approved = sorted((one["WorkerId"], one["AssignmentId"]) for one in lines)
    finished = [one for one in crowd if one.annotator.state == "finished"]
    assert len(finished) == len(approved)
    assert approved == sorted((one.pid, one.submitted_session) for one in finished)
