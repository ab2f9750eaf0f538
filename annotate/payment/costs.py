"""Costs of a study: spent, committed, and what the rest will take."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from statistics import median

from django.db.models import Sum

from annotate.models import Payment, Purpose, Slot, Study
from annotate.models.payments import NOTHING
from annotate.payment.rules import CENT
from annotate.payment.table import Work, work_of
from annotate.people.status import Status, statuses

# People who will be paid unless somebody decides otherwise.
EXPECTED = (Status.TRAINING, Status.WORKING, Status.PAUSED, Status.FINISHED)
AT_WORK = (Status.TRAINING, Status.WORKING, Status.PAUSED)


@dataclass(frozen=True)
class Costs:
    """Money in the currency of the study, without fees of the platform."""

    currency: str
    spent: Decimal  # approved or paid
    committed: Decimal  # for people at work, or done and not decided about
    to_finish: Decimal  # for people who are needed still
    median_minutes: float | None  # of those who finished, training included


def costs(study: Study) -> Costs | None:
    """Return the costs of a study; None where no pay per hour is given."""
    hourly = study.recruitment.get("pay_per_hour")
    if not hourly:
        return None
    people = list(study.annotators.filter(is_simulated=False))
    for person in people:
        person.study = study
    status_of, work = statuses(people), work_of(study)
    typical = median_minutes(status_of, work)
    minutes = study.recruitment.get("minutes") or typical
    if minutes is None:
        return None
    reward = Decimal(str(hourly)) * Decimal(str(minutes)) / 60
    payments = {
        payment.annotator_id: payment
        for payment in Payment.objects.filter(annotator__study=study)
    }
    spent = committed = NOTHING
    for pk, status in status_of.items():
        payment = payments.get(pk, Payment())
        if payment.decision == Payment.Decision.APPROVE:
            spent += reward + payment.bonus
        elif payment.paid_at:
            spent += payment.bonus
        elif payment.decision != Payment.Decision.REJECT:
            committed += payment.bonus + (reward if status in EXPECTED else NOTHING)
    at_work = [pk for pk, status in status_of.items() if status in AT_WORK]
    n_needed = _people_needed(study, at_work, status_of, work)
    return Costs(
        str(study.recruitment.get("currency", "")),
        spent.quantize(CENT),
        committed.quantize(CENT),
        (reward * n_needed).quantize(CENT),
        typical,
    )


def median_minutes(status_of: dict[int, Status], work: dict[int, Work]) -> float | None:
    """Return the median of the active minutes of people who finished."""
    seconds = [
        work[pk].active_seconds or 0.0
        for pk, status in status_of.items()
        if status in (Status.FINISHED, Status.PAID) and pk in work
    ]
    timed = [one for one in seconds if one > 0]
    return round(median(timed) / 60, 1) if timed else None


def _people_needed(
    study: Study,
    at_work: Sequence[int],
    status_of: dict[int, Status],
    work: dict[int, Work],
) -> int:
    """Return how many more people the ratings need that nobody at work holds."""
    sums = study.units.filter(purpose=Purpose.REAL).aggregate(
        done=Sum("submitted"), wanted=Sum("redundancy")
    )
    left = (sums["wanted"] or 0) * study.rounds - (sums["done"] or 0)
    done = [
        work[pk].counted
        for pk, status in status_of.items()
        if status in (Status.FINISHED, Status.PAID) and pk in work
    ]
    usual = min(study.session_size, study.cap or study.session_size)
    each = median(done) if done and median(done) else usual
    if study.is_open:  # people take slots one by one
        todo = sum(max(each - work.get(pk, Work()).counted, 0) for pk in at_work)
    else:
        unfinished = (Slot.State.OPEN, Slot.State.LEASED)
        held = study.slots.filter(annotator__in=at_work, ordinal__isnull=False)
        todo = held.filter(state__in=unfinished).count()
    return max(math.ceil((left - todo) / each), 0)
