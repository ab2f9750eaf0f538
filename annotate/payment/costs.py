"""Costs of a study: spent, committed, and what the rest will take."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from statistics import median

from django.db.models import Sum

from annotate.models import Payment, Purpose, Slot, Study
from annotate.models.payments import NOTHING
from annotate.payment.rules import CENT
from annotate.payment.table import PersonRow, Work, people_rows
from annotate.people.status import Status

# People who will be paid unless somebody decides otherwise.
EXPECTED = (Status.TRAINING, Status.WORKING, Status.PAUSED, Status.FINISHED)
AT_WORK = (Status.TRAINING, Status.WORKING, Status.PAUSED)
DONE = (Status.FINISHED, Status.PAID)


@dataclass(frozen=True)
class Costs:
    """Money in the currency of the study, without fees of the platform."""

    currency: str
    spent: Decimal  # approved or paid
    committed: Decimal  # for people at work, or done and not decided about
    to_finish: Decimal  # for people who are needed still
    median_minutes: float | None  # of those who finished, training included


def costs(study: Study, rows: Iterable[PersonRow] | None = None) -> Costs | None:
    """Return the costs of a study, whose people are `rows` if they are at hand.

    None where no pay per hour is given.
    """
    hourly = study.recruitment.get("pay_per_hour")
    if not hourly:
        return None
    if rows is None:
        rows = people_rows(study, with_codes=False)
    people = [row for row in rows if not row.annotator.is_simulated]
    typical = median_minutes(people)
    minutes = study.recruitment.get("minutes") or typical
    if minutes is None:
        return None
    reward = Decimal(str(hourly)) * Decimal(str(minutes)) / 60
    spent = committed = NOTHING
    for row in people:
        payment = row.payment or Payment()
        if payment.decision == Payment.Decision.APPROVE:
            spent += reward + payment.bonus
        elif payment.paid_at:
            spent += payment.bonus
        elif payment.decision != Payment.Decision.REJECT:
            committed += payment.bonus + (reward if row.status in EXPECTED else NOTHING)
    return Costs(
        str(study.recruitment.get("currency", "")),
        spent.quantize(CENT),
        committed.quantize(CENT),
        (reward * _people_needed(study, people)).quantize(CENT),
        typical,
    )


def median_minutes(people: Iterable[PersonRow]) -> float | None:
    """Return the median of the active minutes of people who finished."""
    seconds = [row.work.active_seconds or 0.0 for row in people if row.status in DONE]
    timed = [one for one in seconds if one > 0]
    return round(median(timed) / 60, 1) if timed else None


def _people_needed(study: Study, people: Iterable[PersonRow]) -> int:
    """Return how many more people the ratings need that nobody at work holds."""
    sums = study.units.filter(purpose=Purpose.REAL).aggregate(
        done=Sum("submitted"), wanted=Sum("redundancy")
    )
    left = (sums["wanted"] or 0) * study.rounds - (sums["done"] or 0)
    done = [
        row.work.counted for row in people if row.status in DONE and row.work != Work()
    ]
    at_work = [row for row in people if row.status in AT_WORK]
    usual = min(study.session_size, study.cap or study.session_size)
    each = median(done) if done and median(done) else usual
    if study.is_open:  # people take slots one by one
        todo = sum(max(each - row.work.counted, 0) for row in at_work)
    else:
        unfinished = (Slot.State.OPEN, Slot.State.LEASED)
        people_at_work = [row.annotator for row in at_work]
        held = study.slots.filter(annotator__in=people_at_work, ordinal__isnull=False)
        todo = held.filter(state__in=unfinished).count()
    return max(math.ceil((left - todo) / each), 0)
