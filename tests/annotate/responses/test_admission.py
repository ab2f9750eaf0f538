"""Admission to stories: consent, instructions, training."""

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from rest_framework.test import APIClient

from annotate.kinds.base import NotYetError, SlotTakenError
from annotate.models import Annotator, Choice, Invitation, Purpose, Rating, Slot
from annotate.quality import training
from annotate.responses import leasing
from annotate.responses.leasing import lacking
from tests import answering
from tests.factories import make_study
from tests.working import LIKERT, join, make_planned, save

pytestmark = pytest.mark.django_db

TRAINING = """
training:
  pass_mark: 0.7
  units:
    - {story: "01", method: Alder, expected: {character: [3, 4], beauty: 4}}
"""


def agreed(study) -> Annotator:
    """Return an annotator who has agreed but not read the instructions."""
    study.annotators.filter(name="A01").update(
        consented_at=timezone.now(), consent_version="1", state="active"
    )
    return study.annotators.select_related("study").get(name="A01")


def link(person: Annotator, page: str, *args) -> str:
    token = Invitation.objects.get(annotator=person).token
    return reverse(f"rate-{page}", args=[token, *args])


def api(person: Annotator) -> APIClient:
    client = APIClient()
    token = Invitation.objects.get(annotator=person).token
    client.credentials(HTTP_AUTHORIZATION=f"Invitation {token}")
    return client


def untouched(study) -> bool:
    """Return whether no slot was taken and no answer stored."""
    begun = study.slots.exclude(state=Slot.State.OPEN, started_at__isnull=True)
    stored = Rating.objects.exists() or Choice.objects.exists()
    return not (begun.exists() or stored)


def test_save_stores_nothing_before_the_instructions(client):
    study = make_study()
    person = agreed(study)
    code = person.slots.first().code
    response = save(client, link(person, "slot", code), character="3", submit=True)
    assert response.status_code == 403
    assert "read the instructions" in response.json()["error"]
    assert untouched(study)


@pytest.mark.parametrize("consented", [False, True])
@pytest.mark.parametrize("page", ["slot", "ahead", "picture", "thumb"])
def test_story_page_requires_consent_and_instructions(client, consented, page):
    study = make_study()
    person = study.annotators.get(name="A01")
    code = person.slots.first().code
    shot = {"picture": ["only", 1, "display"], "thumb": ["only", 1, "thumb"]}
    name = "picture" if page == "thumb" else page
    address = link(person, name, code, *shot.get(page, ()))
    if consented:
        agreed(study)
    for query in ("", "?ahead=1"):
        response = client.get(address + query)
        assert response.status_code == 302
        first = client.get(response["Location"])
        assert first["Location"] == link(
            person, "instructions" if consented else "consent"
        )
    assert untouched(study)


@pytest.mark.parametrize("page", ["submit", "heartbeat", "skip"])
def test_form_requires_consent_and_instructions(page):
    study = make_study()
    person = agreed(study)
    code = person.slots.first().code
    form = {"character": "3", "aesthetics": "3", "reason": "other"}
    response = Client().post(link(person, page, code), form)
    assert response["Location"] == link(person, "entry")
    assert untouched(study)
    assert not person.skips.exists()


def test_instructions_do_not_replace_consent():
    person = agreed(make_study())
    person.consented_at, person.instructed_at = None, timezone.now()
    assert "agree to take part" in lacking(person)


def test_real_slots_require_training(client):
    study = make_planned(LIKERT + TRAINING, annotators=1, redundancy=1)
    person = join(study, "A01")
    slot = person.slots.filter(purpose=Purpose.REAL).first()
    response = client.get(link(person, "slot", slot.code))
    assert response["Location"] == link(person, "entry")
    response = save(client, link(person, "slot", slot.code), character="3")
    assert "training round" in response.json()["error"]
    url = reverse("api-submit", args=[slot.code])
    given = {"answers": {"character": "3", "beauty": "3"}}
    response = api(person).post(url, given, format="json")
    assert response.status_code == 409
    assert "training round" in response.json()["detail"]
    with pytest.raises(SlotTakenError, match="training round"):
        leasing.take(slot, person)
    with pytest.raises(NotYetError, match="training round"):
        answering.record_answer(
            slot=slot, annotator=person, question=slot.questions[0], value=3
        )
    assert untouched(study)


def test_api_leads_through_the_training_round():
    study = make_planned(LIKERT + TRAINING, annotators=1, redundancy=1)
    person = join(study, "A01")
    purposes = []
    for _slot in range(2):
        code = api(person).post(reverse("api-slot")).json()["story"]["code"]
        purposes.append(Slot.objects.get(code=code).purpose)
        given = {"answers": {"character": "4", "beauty": "4"}, "seconds": 0.01}
        url = reverse("api-submit", args=[code])
        assert api(person).post(url, given, format="json").status_code == 200
    assert purposes == [Purpose.TRAINING, Purpose.REAL]
    assert training.result(person, 1).passed


def test_save_returns_the_reason_for_missing_admission(client):
    study = make_study(consented=True)
    person = study.annotators.get(name="A01")
    code = person.slots.first().code
    person.state = "failed"
    person.save()
    response = save(client, link(person, "slot", code), character="3")
    assert response.status_code == 403
    assert "You did not pass the training round" in response.json()["error"]
