"""A study as it stands some days after its launch, for tests of its dashboard."""

import random
from datetime import datetime, timedelta

from annotate.models import Annotator, Flag, Invitation, Purpose, Slot, Study
from annotate.people import inviting
from annotate.responses.bulk import SlotAnswers, store_judgements
from annotate.studies import lifecycle
from annotate.studies.planning import plan_study
from evalcore.models import Frame
from tests.factories import make_benchmark, make_study, picture_bytes, store_picture
from tests.untrained import untrained

QUALITY = {"Alder": 3.2, "Birch": 2.4, "Cedar": 1.6, "Dogwood": 2.9, "Elm": 0.9}


def running_study(now: datetime, *, slug="running", quiet_days=0, **kw) -> Study:
    """Six people, five methods, eight stories, two thirds done over a week.

    The first five work until `quiet_days` before now; the last has not begun.
    """
    benchmark = make_benchmark(
        slug=f"{slug}-woods", stories=8, shots=1, methods=tuple(QUALITY), pictures=False
    )
    study = make_study(
        slug=slug, benchmark=benchmark, annotators=6, session_size=6, **kw
    )
    dice = random.Random(7)
    last = now - timedelta(days=quiet_days)
    people = list(study.annotators.order_by("name"))
    for person in people[:-1]:
        person.state = Annotator.State.ACTIVE
        person.consented_at = person.instructed_at = last - timedelta(days=7)
        person.last_seen_at = last - timedelta(hours=dice.randrange(1, 30))
        person.save()
        _work(study, person, last, dice)
    study.annotators.filter(pk=people[-1].pk).update(
        created_at=last - timedelta(days=8)
    )
    type(people[-1].invitation).objects.update(created_at=last - timedelta(days=8))
    return study


def _work(study: Study, person: Annotator, last: datetime, dice: random.Random) -> None:
    questions = list(study.questions.all())
    slots = list(
        person.slots.filter(state=Slot.State.OPEN)
        .select_related("unit__output_a__method")
        .order_by("position")
    )
    severity = dice.gauss(0, 0.3)
    done = slots[: dice.randrange(26, 38)]
    days = sorted(dice.choice(range(7)) for _ in range(-(-len(done) // 6)))
    judgements = []
    for i, slot in enumerate(done):
        at = last - timedelta(days=6 - days[i // 6], hours=4, seconds=-50 * (i % 6))
        quality = QUALITY[slot.unit.output_a.method.name]
        answers = {
            question: min(max(round(quality + severity + dice.gauss(0, 0.8)), 0), 4)
            for question in questions
        }
        judgements.append(SlotAnswers(slot, answers, at, dice.lognormvariate(3.6, 0.4)))
    store_judgements(judgements)


def flag(person: Annotator, action: str, text: str) -> Flag:
    """A finding about an annotator, in force."""
    return Flag.objects.create(
        annotator=person,
        rule=f"{action} rule",
        signal="gold",
        action=action,
        value=0.4,
        n=20,
        text=text,
    )


def set_aside(study: Study, now: datetime) -> None:
    """Three people have skipped the study's last unit."""
    unit = study.units.filter(purpose=Purpose.REAL).last()
    unit.set_aside_at = now
    unit.save()
    for slot in unit.slots.select_related("annotator")[:3]:
        unit.skips.create(slot=slot, annotator=slot.annotator, reason="broken")


def study_with_vanished(
    now: datetime, *, slug="vanished", others=4, others_left=0, redundancy=3
) -> Study:
    """Two people left 25 slots: A01 was last seen eight days ago, A02 nine.

    Everybody was planned 25. The others answered evenly until an hour ago; each has
    `others_left` slots left, and has finished where that is none.
    """
    benchmark = make_benchmark(
        slug=f"{slug}-woods",
        stories=5 * (others + 2) // redundancy,
        shots=1,
        methods=tuple(QUALITY),
        pictures=False,
    )
    # One picture for all is enough to plan with.
    frames = Frame.objects.filter(output__story__benchmark=benchmark)
    frames.update(media=store_picture(picture_bytes("any")))
    study = plan_study(
        untrained("vistorybench-user-study"),
        benchmark=benchmark,
        slug=slug,
        annotators=others + 2,
        redundancy=redundancy,
    )
    began = now - timedelta(days=13)
    inviting.invite(study, count=others + 2)
    Invitation.objects.filter(annotator__study=study).update(created_at=began)
    lifecycle.launch(study)
    for n, person in enumerate(study.annotators.order_by("name")):
        gone = (timedelta(days=8), timedelta(days=9))[n] if n < 2 else timedelta(0)
        left = (13, 12)[n] if n < 2 else others_left
        seen = now - gone - timedelta(hours=1)
        _answer_evenly(person, 25 - left, began, seen)
        Annotator.objects.filter(pk=person.pk).update(
            state=Annotator.State.ACTIVE if left else Annotator.State.FINISHED,
            consented_at=began,
            instructed_at=began,
            last_seen_at=seen,
        )
    study.refresh_from_db()
    return study


def _answer_evenly(
    person: Annotator, count: int, began: datetime, ended: datetime
) -> None:
    slots = list(person.slots.order_by("position"))[:count]
    answers = dict.fromkeys(person.study.questions.all(), 3)
    step = (ended - began) / count
    store_judgements(
        SlotAnswers(slot, answers, ended - step * i, 40.0)
        for i, slot in enumerate(reversed(slots))
    )
