"""Replies to annotators: what somebody does next, and a story without methods."""

from typing import Any

from django.urls import reverse

from annotate.assignment import choosing
from annotate.kinds.registry import asks_of_shots, is_required, kind_of
from annotate.models import Annotator, Purpose, Question, Slot
from annotate.people import outcomes, places
from annotate.people.session_progress import needs_rest, progress, totals_of
from annotate.people.status import stop_text, why_stopped
from annotate.presentation import checklist_sheets, examples, shot_comments, slot_view
from annotate.quality import monitoring, training
from annotate.responses import giving_back, leasing, writing

State = Annotator.State
Route = tuple[str, str]


def standing(person: Annotator) -> dict[str, Any]:
    """Return what somebody does next, as `StandingSerializer` describes it."""
    study = person.study
    if why := why_stopped(person.invitation):
        text = monitoring.pause_text(person) if why == "held" else ""
        return _standing(
            person,
            "stopped",
            reason=why,
            text=text or stop_text(why),
            may_return=places.may_come_back(person),
            completion=outcomes.current_code(person),
        )
    if person.consented_at is None:
        version = study.consent_version
        text = study.consent_text
        return _standing(person, "consent", text=text, consent_version=version)
    if person.instructed_at is None:
        return _standing(person, "instructions", text=study.instructions_text)
    if (flag := monitoring.unread_warning(person)) is not None:
        return _standing(person, "warning", text=monitoring.warning_text(flag))
    outcomes.finish_if_done(person)
    return _of_work(person, choosing.next_step(person))


def _of_work(person: Annotator, following: choosing.NextStep) -> dict[str, Any]:
    """Return what somebody does next who may work."""
    slot, has_finished = following.slot, person.state == State.FINISHED
    if leasing.is_training_needed(person) and not has_finished:
        return _standing(person, "training", **_pace(person, slot))
    if slot is None or (has_finished and slot.annotator_id is None):
        if has_finished:
            return _standing(
                person,
                "done",
                may_continue=slot is not None,
                completion=outcomes.current_code(person),
            )
        minutes = following.minutes or None
        return _standing(person, "wait", minutes=minutes, may_finish=True)
    if is_new_sitting(person, following):
        may_finish = (
            person.state == State.ACTIVE
            and person.study.is_open
            and outcomes.has_judged_enough(person)
        )
        pace = _pace(person, slot)
        return _standing(person, "break", may_finish=may_finish, **pace)
    return of_slot(person, slot)


def of_slot(person: Annotator, slot: Slot) -> dict[str, Any]:
    """Return that somebody rates a slot next."""
    word = "training" if slot.purpose == Purpose.TRAINING else "story"
    return _standing(person, word, **_pace(person, slot))


def is_new_sitting(person: Annotator, following: choosing.NextStep) -> bool:
    """Say whether the next slot, which is not taken, begins another sitting."""
    slot, at_hand = following.slot, leasing.session_at_hand(person)
    if slot is None or slot.started_at is not None or not at_hand:
        return False
    return leasing.session_for(slot, person, following.place) != at_hand


def _pace(person: Annotator, slot: Slot | None) -> dict[str, Any]:
    return {"progress": progress(person, slot), "needs_rest": needs_rest(person)}


def _standing(person: Annotator, word: str, **more: Any) -> dict[str, Any]:
    return {
        "next": word,
        "annotator": person.name,
        "study": person.study.title,
        "text": "",
        "consent_version": "",
        "reason": "",
        "may_return": False,
        "minutes": None,
        "may_finish": False,
        "may_continue": False,
        "progress": None,
        "needs_rest": False,
        "completion": None,
    } | more


def feedback(person: Annotator, slot: Slot) -> dict[str, Any] | None:
    """Return the expected answers after a training story; None for others."""
    if slot.purpose != Purpose.TRAINING:
        return None
    result = training.result(person, slot.round)
    about = training.feedback(slot)
    return about | {
        "not_marked": [question.key for question in about["not_marked"]],
        "right": result.right,
        "needed": result.needed,
        "is_over": result.is_over,
        "passed": result.passed,
    }


def explained(person: Annotator) -> list[dict[str, Any]]:
    """Return the questions of the instructions, with pictured examples."""
    study = person.study
    return [
        {**_question(question, question.steps), "example": _example(person, question)}
        for question in slot_view.in_order(study.asked, study, person)
    ]


def _question(question: Question, options: Any) -> dict[str, Any]:
    return {
        "key": question.key,
        "kind": question.kind,
        "title": question.title,
        "text": question.text,
        "options": [
            {"value": value, "label": str(label) or value} for value, label in options
        ],
        "is_required": is_required(question),
        "allow_tie": question.kind in ("choice", "ranking") and question.allow_tie,
        "of_shots": kind_of(question).of_shots,
    }


def _example(person: Annotator, question: Question) -> dict[str, Any] | None:
    example = examples.example_of(question)
    if example is None:
        return None
    token = person.invitation.token
    strips = {
        which: [
            reverse("rate-example", args=[token, question.ordinal, which, shot.number])
            for shot in shots
        ]
        for which, shots in example.strips
    }
    return {"fault": example.sentence, **strips}


def story(person: Annotator, slot: Slot, *, preview_of: str = "") -> dict[str, Any]:
    """Return a slot as annotators see it, without methods.

    Addresses of pictures are those of a benchmark's preview, if one is named.
    """
    route = ("preview", preview_of)
    if not preview_of:
        route, slot.study = ("rate", person.invitation.token), person.study
    characters = slot_view.shown_characters(slot)
    videos = slot_view.shown_videos(slot)
    is_training = slot.purpose == Purpose.TRAINING
    is_submitted = slot.state == Slot.State.SUBMITTED
    can_skip = not (is_training or is_submitted)
    shown: dict[str, Any] = {
        "code": slot.code,
        "session": slot.session,
        "lease_until": slot.lease_until,
        "is_submitted": is_submitted,
        "questions": [
            {
                **_question(one.question, [option[:2] for option in one.options]),
                "answer": one.answer,
            }
            for one in slot_view.shown_questions(slot)
        ],
        "characters": [
            {
                "name": one.name,
                "description": one.description,
                "pictures": [
                    _media(route, slot, "character", one.index, number, "display")
                    for number in one.pictures
                ],
            }
            for one in characters
        ],
        "shots": _shots(route, slot, characters),
        "videos": {
            one.side: {
                "address": _media(route, slot, "video", one.side),
                "width": one.width,
                "height": one.height,
                "frame_rate": one.frame_rate,
                "duration": one.duration,
            }
            for one in videos
            if one.present
        },
        "captions": slot_view.shown_captions(slot, videos) if videos else [],
        "conditioning": slot.unit.story.conditioning_seconds,
        "can_skip": can_skip,
        "skip_needs_comment": can_skip
        and giving_back.needs_words(slot, person, totals_of(person).skipped),
        **writing.on_page(slot),
    }
    if asks_of_shots(slot.study):
        ticked = checklist_sheets.ticked_boxes(slot, person)
        shown["ticked"] = {str(shot): sorted(keys) for shot, keys in ticked.items()}
    return shown


def _shots(
    route: Route, slot: Slot, characters: list[slot_view.ShownCharacter]
) -> list[dict[str, Any]]:
    comments: Any = shot_comments.on_page(slot).get("comment_shots", ())
    written = {shot.number: {"comments": shot.texts} for shot in comments}
    return [
        {
            "number": shot.number,
            "texts": shot.texts,
            "pictures": {
                side: _media(route, slot, "picture", side, shot.number, "display")
                for side, present in shot.present.items()
                if present
            },
            "characters": [one.index for one in shot.on_stage],
            **written.get(shot.number, {}),
        }
        for shot in slot_view.shown_shots(slot, characters)
    ]


def _media(route: Route, slot: Slot, kind: str, *place: object) -> str:
    name, token = route
    return reverse(f"{name}-{kind}", args=[token, slot.code, *place])
