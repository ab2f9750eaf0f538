"""Prefetching of slots without a lease."""

from datetime import timedelta

import pytest
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse

from annotate.assignment import choosing
from annotate.assignment.choosing import foreseen
from annotate.audit_log.verifying import problems
from annotate.models import Event, Purpose, Rating, Slot
from annotate.pages.annotator.answering import remember, was_offered
from annotate.responses import giving_back, late, leasing
from tests.factories import make_benchmark
from tests.working import (
    LIKERT,
    Browser,
    always,
    answer,
    join,
    make_planned,
    save,
)

pytestmark = pytest.mark.django_db

OPEN = f"{LIKERT}\nassignment: open\nredundancy: 2\nsession_size: 4\n"


@pytest.fixture
def crowd():
    return make_planned(OPEN, benchmark=make_benchmark(stories=6))


def code_in(address):
    return address.split("?")[0].rstrip("/").split("/")[-1]


def codes(slots):
    return [slot.code for slot in slots]


def test_slot_offered_again_counts_as_newest(crowd, rf):
    """A browser that caches 40 pages drops the least recently offered ones."""
    person, request = join(crowd), rf.get("/")
    request.token = person.invitation.token
    for named in (["first"], [f"{n}" for n in range(39)], ["first", "new"]):
        reply = remember(request, HttpResponse(), person, named)
        request.COOKIES["offered"] = reply.cookies["offered"].value
    known = [was_offered(request, person, code) for code in ("first", "new")]
    assert known == [True, True]
    assert not was_offered(request, person, "0")


def test_planned_slots_are_prefetched_to_the_end_of_the_session():
    study = make_planned(
        f"{LIKERT}\nsession_size: 3\nredundancy: 1\n",
        annotators=2,
        benchmark=make_benchmark(stories=8),
    )
    person = join(study, "A01")
    first = choosing.next_for(person).slot
    here = leasing.own_slots(person).filter(session=1)
    assert codes(foreseen(person, first)) == codes(here)[1:]
    answer(first, person, always("2"))
    assert codes(foreseen(person, first)) == codes(here)[1:]


def test_free_slots_are_prefetched_in_order(crowd):
    person = join(crowd)
    slot = choosing.next_for(person).slot
    guessed = codes(foreseen(person, slot))
    assert len(guessed) == 3
    came = []
    for _ in guessed:
        answer(slot, person, always("2"))
        slot = choosing.next_for(person).slot
        came.append(slot.code)
    assert came == guessed


def test_prefetching_writes_nothing(crowd, client):
    person = join(crowd)
    browser = Browser(client, person)
    browser.start()
    events = Event.objects.count()
    before = list(Slot.objects.order_by("pk").values())
    named = client.get(f"{browser.at}ahead/").json()["pages"]
    assert len(named) == 3
    for number, address in enumerate(named, 1):
        page = client.get(address)
        assert f"Story {number + 1} of 4" in page.content.decode()
        shot = reverse("rate-picture", args=[browser.token, "CODE", "only", 1, "thumb"])
        picture = shot.replace("CODE", code_in(address))
        assert client.get(picture).status_code == 200
    assert list(Slot.objects.order_by("pk").values()) == before
    assert Event.objects.count() == events


def test_slot_planned_for_another_annotator_is_hidden(client):
    study = make_planned(f"{LIKERT}\nredundancy: 1\n", annotators=2)
    person, other = join(study, "A01"), join(study, "A02")
    browser = Browser(client, person)
    theirs = other.slots.exclude(unit__in=person.slots.values("unit")).first()
    theirs = theirs or other.slots.first()
    address = browser.address("slot", theirs.code)
    assert client.get(f"{address}?ahead=1").status_code == 404
    assert save(client, address, character="1").status_code == 404
    assert not Rating.objects.exists()


def test_offline_answers_take_a_free_slot(crowd, client):
    person = join(crowd)
    browser = Browser(client, person)
    browser.start()
    first = browser.at
    named = client.get(f"{first}ahead/").json()["pages"]
    proof = client.get(named[1]).context["proof"]
    at = named[1].split("?")[0]
    reply = save(client, at, character="1", beauty="2", submit=True, proof=proof)
    assert reply.json()["submitted"]
    slot = Slot.objects.get(code=code_in(named[1]))
    assert (slot.annotator, slot.state) == (person, "submitted")
    assert slot.ordinal is not None
    assert problems(crowd) == []


def test_offline_answers_to_a_taken_slot_are_surplus(crowd, client, monkeypatch):
    person, other = join(crowd), join(crowd)
    slot = choosing.next_for(person).slot
    wanted = foreseen(person, slot)[0]
    leasing.take(wanted, other)
    address = Browser(client, person).address("slot", wanted.code)
    assert save(client, address, character="1").status_code == 404, "without proof"
    proof = late.offer(person, wanted.code)
    stolen = late.offer(other, wanted.code)
    assert save(client, address, character="1", proof=stolen).status_code == 404
    monkeypatch.setattr(late, "OFFER_LASTS", timedelta(seconds=-1))
    assert save(client, address, character="1", proof=proof).status_code == 404
    monkeypatch.undo()
    reply = save(client, address, character="1", beauty="2", submit=True, proof=proof)
    assert reply.json()["submitted"]
    kept = Slot.objects.get(annotator=person, unit=wanted.unit)
    assert (kept.ordinal, kept.state) == (None, "submitted")
    wanted.refresh_from_db()
    assert wanted.annotator == other
    assert problems(crowd) == []


def test_displayed_story_is_the_one_taken(crowd, client, django_assert_max_num_queries):
    person = join(crowd)
    browser = Browser(client, person)
    browser.start()
    named = client.get(f"{browser.at}ahead/").json()["pages"]
    shown = code_in(named[2])
    save(client, browser.at, character="1", beauty="2")
    with django_assert_max_num_queries(18):
        reply = save(client, browser.at, submit=True, seconds=1, shown=shown).json()
    assert reply["next"] == named[2].split("?")[0]
    assert Slot.objects.get(code=shown).annotator == person


def test_slot_taken_during_the_request_is_shown(crowd, client, monkeypatch):
    person = join(crowd)
    browser = Browser(client, person)
    browser.start()
    address = client.get(f"{browser.at}ahead/").json()["pages"][0]
    wanted = Slot.objects.get(code=code_in(address))
    free_slot = choosing.free_slot

    def after_the_answers(annotator, code, related):
        leasing.take(wanted, annotator)
        return free_slot(annotator, code, related)

    monkeypatch.setattr(choosing, "free_slot", after_the_answers)
    assert client.get(address).status_code == 200


CHECKED = f"""{OPEN}
checks:
  per_session: 1
  kinds: [gold]
  gold:
    - {{story: "01", method: Alder, expected: {{character: 3}}}}
"""


def test_second_link_does_not_reveal_checks(client):
    """Two annotators compare what their links show of one's prefetched stories."""
    woods = make_benchmark(stories=8)
    judged = [f"{number:02}" for number in range(2, 9)]
    study = make_planned(CHECKED, benchmark=woods, stories=judged)
    ann, bob = Browser(client, join(study)), Browser(Client(), join(study))
    ann.start()
    bob.start()
    bob_named = bob.get(f"{bob.at}ahead/").json()["pages"]
    named = ann.get(f"{ann.at}ahead/").json()["pages"]
    assert {ann.get(one).status_code for one in named} == {200}
    slots = [Slot.objects.get(code=code_in(one)) for one in named]
    bob_codes = {code_in(one) for one in bob_named}
    free = [slot.code for slot in slots if slot.annotator is None]
    free = [code for code in free if code not in bob_codes]
    checks = [slot.code for slot in slots if slot.purpose == Purpose.GOLD]
    assert free
    assert checks
    for code in free + checks:
        page = bob.address("slot", code)
        picture = bob.address("picture", code, "only", "1", "thumb")
        for address in (page, f"{page}?ahead=2", picture, f"{page}ahead/"):
            assert bob.get(address).status_code == 404
    given = {"character": "1", "beauty": "2", "submit": True}
    told = save(bob.client, bob.at, shown=free[0], **given).json()
    assert code_in(told["next"]) in bob_codes


def test_requested_slot_obeys_the_rules(crowd):
    person, other = join(crowd), join(crowd)
    slot = choosing.next_for(person).slot
    answer(slot, person, always("1"))
    gone = foreseen(person, slot)[0]
    leasing.take(gone, other)
    judged = Slot.objects.filter(unit=slot.unit, annotator=None).first()
    for wish in (gone, judged):
        taken = choosing.next_for(person, session=1, wish=wish.code)
        assert taken.slot.code != wish.code
        giving_back.free_unfinished(person)
