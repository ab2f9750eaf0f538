"""Twenty people of a crowd platform: two vanished, and one did not agree."""

from datetime import timedelta

from django.utils import timezone

from annotate.models import Annotator, Flag, Study, Unit
from annotate.responses.bulk import SlotAnswers, store_judgements
from tests.factories import make_study

RECRUITMENT = {
    "platform": "prolific",
    "minutes": 10,
    "pay_per_hour": 9,
    "currency": "GBP",
}
# How many of their six stories people have done, by number of the person.
DONE = dict.fromkeys(range(1, 9), 6) | dict.fromkeys(range(9, 14), 3) | {14: 2, 15: 1}


def crowd_study(n: int = 20) -> Study:
    """Return an open study: A14 and A15 left, A17 failed, A18 and A19 did not start."""
    study = make_study(annotators=n, consented=True)
    study.assignment, study.recruitment = "open", RECRUITMENT
    study.training = {"pass_mark": 0.7}
    study.save()
    shown = study.units.first()
    Unit.objects.create(
        study=study,
        story=shown.story,
        output_a=shown.output_a,
        purpose="training",
        redundancy=1,
    )
    now = timezone.now()
    seen = now - timedelta(minutes=5)
    study.annotators.update(
        consented_at=seen, instructed_at=seen, last_seen_at=seen, trained_at=seen
    )
    for number, person in enumerate(study.annotators.order_by("name"), start=1):
        person.external_id = f"5f{number:022x}"
        _set(person, number, now)
    _answer(study)
    ann = study.annotators.get(name="A07")
    for person, action in (
        (ann, "warn"),
        (study.annotators.get(name="A08"), "exclude"),
    ):
        Flag.objects.create(
            annotator=person,
            rule="fast",
            signal="seconds_per_unit",
            action=action,
            value=0.5,
            n=6,
            finding={
                "signal": "seconds_per_unit",
                "value": 0.5,
                "n": 6,
                "limit": 4,
                "above": 0.3,
            },
            text="3 of 6 stories took less than 4 s",
        )
    return study


def _set(person: Annotator, number: int, now) -> None:
    """Give a person the state of their number."""
    if number <= 8:
        person.state, person.finished_at, person.completed_at = "finished", now, now
    elif number in (14, 15):
        long_ago = now - timedelta(days=2)
        person.consented_at = person.instructed_at = person.last_seen_at = long_ago
    elif number == 16:
        person.trained_at = None
    elif number == 17:
        person.state, person.trained_at = "failed", None
    elif number >= 18:
        person.state = "invited"
        person.consented_at = person.instructed_at = person.last_seen_at = None
        if number == 20:
            person.declined_at = now
    person.save()


def _answer(study: Study) -> None:
    questions = dict.fromkeys(study.questions.all(), 3)
    days = dict.fromkeys((14, 15), timedelta(days=2))
    store_judgements(
        SlotAnswers(
            slot,
            questions,
            timezone.now() - days.get(number, timedelta(minutes=6)),
            70.0,
        )
        for number, person in enumerate(study.annotators.order_by("name"), start=1)
        for slot in person.slots.order_by("position")[: DONE.get(number, 0)]
    )
