"""How many slots were submitted, minute by minute, and how many are in hand."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from django.core.cache import cache
from django.db.models import CharField, Count, QuerySet
from django.db.models.functions import Cast, Substr
from django.utils import timezone

from annotate.coverage.forecast import HEIGHT, WIDTH, Bar
from annotate.models import Slot, Study

MINUTES, RECOUNTED = 60, 2
KEPT = "slots-submitted-by-minute"
MINUTE = timedelta(minutes=1)


@dataclass(frozen=True)
class LastHour:
    """The slots submitted in each of the last 60 full minutes, the oldest first."""

    minutes: tuple[tuple[datetime, int], ...]

    @property
    def total(self) -> int:
        return sum(n for _at, n in self.minutes)

    @property
    def most(self) -> int:
        return max(n for _at, n in self.minutes)

    @property
    def last(self) -> int:
        return self.minutes[-1][1]

    @property
    def bars(self) -> list[Bar]:
        """Return the bars of the drawing; a minute without answers has none."""
        width = WIDTH / MINUTES
        return [
            Bar(
                round(i * width + 0.1 * width, 1),
                round(HEIGHT * (1 - n / self.most), 1),
                round(0.8 * width, 1),
                round(HEIGHT * n / self.most, 1),
            )
            for i, (_at, n) in enumerate(self.minutes)
            if n
        ]


def last_hour(now: datetime | None = None) -> LastHour:
    """Count the slots of every study; a minute that is long over only once a process.

    The latest ones are counted again: a slot is seen when its transaction has ended.
    """
    end = (now or timezone.now()).astimezone(UTC).replace(second=0, microsecond=0)
    starts = [end - (MINUTES - i) * MINUTE for i in range(MINUTES)]
    kept = cache.get(KEPT, {})
    over = {at: kept[at] for at in starts[:-RECOUNTED] if at in kept}
    since = next(at for at in starts if at not in over)
    counted = _by_minute(since, end)
    found = {at: over.get(at, counted.get(f"{at:%Y-%m-%d %H:%M}", 0)) for at in starts}
    cache.set(KEPT, found, MINUTES * 60)
    return LastHour(tuple(found.items()))


def _by_minute(start: datetime, end: datetime) -> dict[str, int]:
    """Return how many slots came in each minute, as both databases write it.

    Truncating it as Django does would call Python for each row.
    """
    minute = Substr(Cast("submitted_at", CharField()), 1, len("2026-01-31 23:59"))
    rows = submitted(start, end).order_by().values_list(minute)
    return dict(rows.annotate(n=Count("pk")))


def submitted(start: datetime, end: datetime) -> QuerySet[Slot]:
    """Return the slots submitted in a stretch of time."""
    return _slots().filter(submitted_at__gte=start, submitted_at__lt=end)


def in_hand() -> QuerySet[Slot]:
    """Return the slots that annotators have in hand."""
    return _slots().filter(state=Slot.State.LEASED)


def _slots() -> QuerySet[Slot]:
    """Return the slots of all studies, which are named: indexes begin with them."""
    studies = list(Study.objects.order_by().values_list("pk", flat=True))
    return Slot.objects.filter(study__in=studies)
