"""Checklists: ticks per shot, and submission once all shots are done."""

import json
import re

import pytest
from django.urls import reverse

from annotate.audit_log import verifying
from annotate.kinds.base import AnswerError, BadAnswerError
from annotate.models import Annotator, Invitation, Rating, Slot
from annotate.presentation import checklist_sheets
from annotate.responses import late, leasing, writing
from tests import answering
from tests.factories import make_study
from tests.working import join

pytestmark = pytest.mark.django_db


@pytest.fixture
def study():
    return make_study(kind="checklist", consented=True, template="own")


def slot_of(study, name="A01", position=1) -> tuple[Slot, Annotator]:
    person = study.annotators.get(name=name)
    slot = person.slots.get(position=position)
    leasing.start_lease(slot)
    return slot, person


def record(slot, person, shot, *ticked, looked=True, **kw) -> int:
    return answering.record_shot(
        slot=slot, annotator=person, shot=shot, ticked=ticked, looked=looked, **kw
    )


def values(slot, shot) -> dict[str, int]:
    rows = Rating.objects.filter(slot=slot, shot=shot, is_current=True)
    return dict(rows.values_list("question__key", "value"))


def test_unconfirmed_shot_has_no_answer(study):
    slot, person = slot_of(study)
    record(slot, person, 2, "pan|text")
    with pytest.raises(AnswerError, match="Not yet looked at: shots 1, 3"):
        answering.submit(slot=slot, annotator=person)
    record(slot, person, 1)
    with pytest.raises(AnswerError, match="Not yet looked at: shot 3"):
        answering.submit(slot=slot, annotator=person)
    record(slot, person, 3)
    submitted = answering.submit(slot=slot, annotator=person)
    assert submitted.state == Slot.State.SUBMITTED
    assert Rating.objects.filter(slot=slot, is_current=True).count() == 18
    assert verifying.problems(study) == []


def test_boxes_count_only_when_shot_is_done(study):
    """Ticking all boxes, or ticking and clearing one, does not complete a shot."""
    slot, person = slot_of(study)
    every = list(study.questions.values_list("key", flat=True))
    record(slot, person, 1, *every)
    record(slot, person, 2, *every, looked=False)
    record(slot, person, 3, *every, looked=False)
    record(slot, person, 3, looked=False)
    assert writing.shots_left(slot, person) == [2, 3]
    with pytest.raises(AnswerError, match="Not yet looked at: shots 2, 3"):
        answering.submit(slot=slot, annotator=person)


def test_done_shot_can_be_reopened_until_submission(study):
    slot, person = slot_of(study)
    for shot in (1, 2, 3):
        record(slot, person, shot)
    record(slot, person, 2, looked=False)
    assert writing.shots_left(slot, person) == [2]
    record(slot, person, 2)
    answering.submit(slot=slot, annotator=person)
    record(slot, person, 2, "pan|text", looked=False)
    assert writing.shots_left(slot, person) == []
    assert values(slot, 2)["pan|text"] == 1
    assert verifying.problems(study) == []


def test_done_shots_move_to_the_surplus_slot(study):
    slot, person = slot_of(study)
    record(slot, person, 1, "pan|text")
    Slot.objects.filter(pk=slot.pk).update(annotator=join(study), position=1)
    surplus = late.regain(person, slot.code, late=True)
    assert surplus.pk != slot.pk
    assert writing.shots_left(surplus, person) == [2, 3]


def test_changed_box_gets_a_revision_alone(study):
    slot, person = slot_of(study)
    record(slot, person, 1, "pan|text")
    assert record(slot, person, 1, "pan|video", "pan|text") == 1
    rows = Rating.objects.filter(slot=slot, shot=1, question__key="pan|video")
    assert list(rows.values_list("revision", "value", "is_current")) == [
        (1, 0, False),
        (2, 1, True),
    ]
    assert Rating.objects.filter(slot=slot).count() == 7


@pytest.mark.parametrize("shot", [0, 4, 10**30])
def test_ticks_require_an_existing_shot(study, shot):
    slot, person = slot_of(study)
    with pytest.raises(BadAnswerError, match="no shot"):
        record(slot, person, shot)
    assert not Rating.objects.exists()


def test_box_is_refused_as_answer_to_the_story(study):
    slot, person = slot_of(study)
    box = study.questions.first()
    told = "pan|text is a label's box: send it shot by shot, under `ticked`."
    with pytest.raises(BadAnswerError, match=re.escape(told)):
        answering.record_answer(slot=slot, annotator=person, question=box, value=1)
    assert not Rating.objects.exists()


def test_box_cannot_be_taken_back(study):
    slot, person = slot_of(study)
    record(slot, person, 1, "pan|text")
    with pytest.raises(BadAnswerError, match="is a label's box"):
        answering.take_back(
            slot=slot, annotator=person, question=study.questions.first()
        )
    assert values(slot, 1)["pan|text"] == 1


@pytest.mark.parametrize("kind", ["likert", "choice"])
def test_ticks_are_refused_without_checklist(kind):
    study = make_study(kind=kind, consented=True)
    slot, person = slot_of(study)
    with pytest.raises(BadAnswerError, match="Only the boxes of a checklist"):
        record(slot, person, 1)


def test_ticks_require_the_slot(study):
    slot, _person = slot_of(study)
    other = study.annotators.get(name="A02")
    with pytest.raises(AnswerError, match="somebody else"):
        record(slot, other, 1)
    assert not Rating.objects.exists()


def test_checklist_form_without_scripts_is_stored(study):
    slot, person = slot_of(study)
    posted = {
        "csrfmiddlewaretoken": "x",
        "seconds": "",
        "1:pan|text": "1",
        "looked:1": "1",
        "2:people|text": "1",
        "looked:3": "1",
        "x:y": "1",
    }
    changed = answering.record_checklist_form(
        slot=slot, annotator=person, posted=posted
    )
    assert changed == 6 + 1 + 6
    assert checklist_sheets.ticked_boxes(slot, person) == {
        1: {"pan|text"},
        2: {"people|text"},
    }
    assert writing.shots_left(slot, person) == [2]


def test_verify_finds_faults_of_a_checklist(study):
    slot, person = slot_of(study)
    for shot in (1, 2, 3):
        record(slot, person, shot)
    answering.submit(slot=slot, annotator=person)
    gone = Rating.objects.filter(slot=slot, shot=2, question__key="pan|text")
    gone.update(shot=9)
    (alien,) = verifying.problems(study)
    assert alien.endswith("is about shot 9, but the question does not ask about it")
    gone = Rating.objects.filter(slot=slot, shot=9)
    gone.delete()
    assert verifying.problems(study) == [
        f"slot {slot.code}: 17 current ratings for 18 questions"
    ]


def test_verify_requires_every_shot_to_be_done(study):
    slot, person = slot_of(study)
    for shot in (1, 2, 3):
        record(slot, person, shot)
    answering.submit(slot=slot, annotator=person)
    slot.looks.filter(shot=2).delete()
    assert verifying.problems(study) == [
        f"slot {slot.code}: only 2 of its shots were viewed"
    ]


# Requests of the browser


def post(client, slot, *rows):
    token = Invitation.objects.get(annotator=slot.annotator).token
    url = reverse("rate-save", args=[token, slot.code])
    data = json.dumps({"rows": rows})
    return client.post(url, data, content_type="application/json")


def sheet(shot, *ticked, **more):
    return {
        "kind": "answer",
        "id": f"s{shot}",
        "key": f"k{shot}",
        "shot": str(shot),
        "looked": True,
        "ticked": ticked,
    } | more


def test_invalid_ticks_are_named_and_others_stored(client, study):
    slot, person = slot_of(study)
    reply = post(client, slot, sheet(1, "fish|text"), sheet(9), sheet(2)).json()
    assert set(reply["refused"]) == {"s1", "s9"}
    assert writing.shots_left(slot, person) == [1, 3]
    for wrong in ({"ticked": None}, {"shot": "one"}, {"ticked": 3}):
        assert post(client, slot, sheet(1) | wrong).status_code == 400, wrong
