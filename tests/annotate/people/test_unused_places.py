"""Abandoned places of public links."""

from datetime import timedelta

import pytest
from django.db.models import QuerySet
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotate.audit_log.verifying import problems
from annotate.models import Annotator, Event, Invitation, Slot
from annotate.people import joining, places
from annotate.personal_data import erasing
from tests.annotate.studies.test_extending import planned_study
from tests.people import alice

pytestmark = pytest.mark.django_db
FULL = "Enough people are already taking part"
LATER = "please try again in half an hour"


def ask(link, *, address: str = "203.0.113.7", **query):
    """Join as a program does: without cookies, from a fresh page."""
    where = reverse("join", args=[link.token], query=query or None)
    return Client(REMOTE_ADDR=address).post(where)


def age(study, **ago) -> None:
    """Move everything so far into the past."""
    past = timezone.now() - timedelta(**ago)
    QuerySet.update(Event.objects.filter(study=study), at=past)  # else never changed
    Invitation.objects.filter(annotator__study=study).update(created_at=past)
    for sign in ("last_seen_at", "instructed_at", "consented_at"):
        study.annotators.filter(**{f"{sign}__isnull": False}).update(**{sign: past})


@pytest.fixture
def study():
    return planned_study(assignment="open")


def test_unused_place_is_given_on_when_link_is_full(study):
    """Attack: ten requests at once take all places of a link."""
    link = joining.make_link(study, most=10)
    assert {ask(link).status_code for _number in range(10)} == {302}
    person = ask(link, address="198.51.100.1")
    assert person.status_code == 409
    assert LATER in person.content.decode()
    age(study, minutes=31)
    assert ask(link, address="198.51.100.1").status_code == 302
    link.refresh_from_db()
    assert link.joined == 10
    assert study.annotators.filter(state="revoked").count() == 1
    assert problems(study) == []


@pytest.mark.slow
def test_unused_place_is_given_on_when_no_story_is_left():
    study = planned_study()
    link = joining.make_link(study, most=50)
    places = study.annotators.count()
    assert {ask(link).status_code for _number in range(places)} == {302}
    assert ask(link).status_code == 409
    age(study, minutes=31)
    assert ask(link).status_code == 302
    assert problems(study) == []


def test_place_is_kept_by_a_person_who_has_begun(study):
    link = joining.make_link(study, most=1)
    assert ask(link).status_code == 302
    person = study.annotators.get(state="invited")
    client, link_of_own = Client(), [person.invitation.token]
    client.post(reverse("rate-consent", args=link_of_own))
    answer = client.post(reverse("rate-instructions", args=link_of_own))
    assert Slot.objects.get(annotator=person, state="leased").code in answer.url
    age(study, minutes=31)
    refused = ask(link)
    assert (refused.status_code, FULL in refused.content.decode()) == (409, True)
    person.refresh_from_db()
    assert person.state == "active"


@pytest.mark.postgresql
def test_place_is_kept_by_a_person_who_begins_while_another_asks(study, monkeypatch):
    """The state read before waiting for the lock is outdated."""
    link = joining.make_link(study, most=2)
    for _number in range(2):
        ask(link)
    age(study, minutes=31)
    first, second = study.annotators.filter(state="invited").order_by("pk")

    def begin(people):
        assert first.pk in people
        study.annotators.filter(pk=first.pk).update(last_seen_at=timezone.now())

    monkeypatch.setattr(places, "_lock", begin)
    assert ask(link).status_code == 302
    states = study.annotators.in_bulk([first.pk, second.pk])
    assert [states[pk].state for pk in (first.pk, second.pk)] == ["invited", "revoked"]


def test_place_is_kept_while_a_person_reads_the_consent_text(study):
    link = joining.make_link(study, most=1)
    ask(link)
    age(study, minutes=29)
    assert ask(link).status_code == 409
    assert Annotator.objects.filter(study=study, state="revoked").count() == 0


@pytest.mark.postgresql
@pytest.mark.slow
def test_address_gets_forty_places_a_day(study):
    """Attack: a program takes every place that becomes free."""
    link = joining.make_link(study, most=100)
    for _number in range(4):
        assert {ask(link).status_code for _place in range(10)} == {302}
        age(study, hours=5)
    refused = ask(link)
    assert refused.status_code == 409
    assert "from your network" in refused.content.decode()
    assert ask(link, address="198.51.100.1").status_code == 302
    age(study, hours=25)
    assert ask(link).status_code == 302


@pytest.mark.postgresql
@pytest.mark.slow
def test_twenty_students_join_at_once_behind_one_address(study):
    link = joining.make_link(study, most=20)
    answers = [ask(link) for _number in range(20)]
    assert {answer.status_code for answer in answers} == {302}
    assert len({answer.url for answer in answers}) == 20


def test_people_who_have_submitted_do_not_count_against_their_address(
    study, monkeypatch
):
    monkeypatch.setattr("annotate.people.joining.MOST_OF_AN_ADDRESS", 1)
    link = joining.make_link(study, most=9)
    assert ask(link).status_code == 302
    assert ask(link).status_code == 409
    slot = study.slots.first()
    Slot.objects.filter(pk=slot.pk).update(
        annotator=study.annotators.get(state="invited"),
        state="submitted",
        started_at=timezone.now(),
        submitted_at=timezone.now(),
    )
    assert ask(link).status_code == 302


@pytest.mark.slow
def test_person_whose_place_was_given_on_takes_it_again_with_the_link(study):
    link = joining.make_link(study, most=2)
    first = ask(link, PROLIFIC_PID="ada")
    ask(link)
    age(study, minutes=31)
    ask(link, PROLIFIC_PID="bob")
    page = Client().get(first.url).content.decode()
    assert "Your place went to somebody else" in page
    # The id alone, in another browser, is not enough.
    assert ask(link, PROLIFIC_PID="ada").status_code == 403
    Client().post(first.url + "return/")
    assert study.annotators.get(external_id="ada").state == "invited"
    assert study.annotators.exclude(external_id="").count() == 2
    link.refresh_from_db()
    assert link.joined == study.annotators.filter(place=link).count() == 2
    assert problems(study) == []


def test_log_keeps_no_address(study):
    link = joining.make_link(study, most=2)
    ask(link)
    ask(link)
    first, second = study.events.filter(kind="annotator joined")
    assert first.details["network"] == second.details["network"]
    assert "203.0.113.7" not in str(first.details)
    page = alice(study).get(reverse("event-list", args=[study.slug])).content.decode()
    assert first.details["network"] not in page
    erasing.erase(first.annotator)
    first.refresh_from_db()
    assert "network" not in first.details
