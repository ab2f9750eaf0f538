"""Places to order on a crowd platform, and their cost."""

from dataclasses import dataclass
from math import ceil
from statistics import median

from django.db.models import Count, Max, Q

from annotate.models import Annotator, Purpose, Study
from annotate.people import inviting

# Fewer people say little about the usual time.
ENOUGH_PEOPLE = 3
# People who return, fail or leave, beyond those whom the platform replaces.
RESERVE = 0.1


@dataclass(frozen=True)
class Order:
    """People and places to order, minutes to advertise, and the cost.

    `measured` is the number of people behind the minutes; 0: they are advertised ones.
    """

    people: int
    places: int
    minutes: int | None
    measured: int
    cost: float | None
    pay_per_hour: float | None
    currency: str

    @property
    def reserve(self) -> int:
        return self.places - self.people


def order(study: Study) -> Order | None:
    """Return what to order for the ratings that nobody has; None if all are taken."""
    people = _people(study)
    if not people:
        return None
    times = _minutes(study)
    is_measured = len(times) >= ENOUGH_PEOPLE
    advertised = study.recruitment.get("minutes")
    minutes = max(1, ceil(median(times))) if is_measured else advertised
    pay = study.recruitment.get("pay_per_hour")
    places = people + ceil(RESERVE * people)
    return Order(
        people,
        places,
        minutes,
        len(times) if is_measured else 0,
        round(places * minutes / 60 * pay, 2) if minutes and pay else None,
        pay,
        study.recruitment.get("currency", ""),
    )


def _people(study: Study) -> int:
    """Return how many new people the ratings without an annotator need."""
    planned = study.annotators.filter(state=Annotator.State.PLANNED).count()
    if not study.is_open:
        return planned
    free = inviting.free_slots(study).filter(purpose=Purpose.REAL).order_by()
    each = free.values("unit").annotate(n=Count("pk"))
    # Nobody rates an item twice.
    least = each.aggregate(most=Max("n"))["most"] or 0
    stories = free.values("unit__story").distinct().count()
    share = min(study.session_size, study.cap or study.session_size, stories)
    if not share:
        return 0
    left = free.count() - _to_come(study, share)
    return max(least, ceil(left / share)) if left > 0 else 0


def _to_come(study: Study, share: int) -> int:
    """Return how many ratings people who have joined will still take."""
    people = study.annotators.filter(
        state__in=(Annotator.State.INVITED, Annotator.State.ACTIVE)
    )
    real = Q(slots__purpose=Purpose.REAL)
    taken = people.annotate(n=Count("slots", filter=real)).values_list("n", flat=True)
    return sum(max(0, share - n) for n in taken)


def _minutes(study: Study) -> list[float]:
    """Return the minutes from consent to the completion code, training included."""
    done = study.annotators.filter(
        consented_at__isnull=False, completed_at__isnull=False, is_simulated=False
    )
    times = done.values_list("consented_at", "completed_at")
    return [(end - start).total_seconds() / 60 for start, end in times if start and end]
