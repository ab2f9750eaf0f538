"""Time that a run has left, from how fast its chunks were finished."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any

from django.db.models import Count, Max, Min, Q
from django.utils import timezone
from django.utils.translation import gettext as _
from tqdm import tqdm

from evalcore.models import MetricRun
from evalcore.scoring.chunks import ChunkProgress
from evalcore.scoring.metric_runs import OPEN

# Before so many pieces of a queue are finished, its speed is unknown.
LEAST_PIECES = 5
# Seconds between two lines of progress where no bar can be drawn.
LINE_SECONDS = 60.0
BAR = "{desc}: {percentage:3.0f}%|{bar}| {n_fmt}/{total_fmt} [{elapsed}{postfix}]"


def seconds_left(run: MetricRun, *, by_one_worker: bool = False) -> float | None:
    """Return how long a run is expected to take from now, or None if unknown.

    Each queue of the run keeps the speed from its first to its last finished chunk,
    waiting for other runs included; a queue with fewer than two finished chunks that of
    its pieces since the run began, if no other queue is open. Queues work at the
    same time, or one after the other `by_one_worker`.
    """
    if run.state != MetricRun.State.RUNNING or run.started_at is None:
        return None
    now = timezone.now()
    ended = ~Q(state__in=OPEN)
    queues = run.chunks.order_by().values("queue")
    counts = queues.annotate(
        left=Count("pk", filter=~ended),
        ended=Count("pk", filter=ended),
        first=Min("heartbeat_at", filter=ended),
        last=Max("heartbeat_at", filter=ended),
    )
    waiting = [one for one in counts if one["left"]]
    times: list[float] = []
    for one in waiting:
        left = _by_chunks(one, now)
        if left is None and len(waiting) == 1:
            left = _by_pieces(run, one["queue"], now)
        if left is None:
            return None
        times.append(left)
    return sum(times) if by_one_worker else max(times, default=0.0)


def _by_chunks(queue: dict[str, Any], now: datetime) -> float | None:
    """Return the time that a queue's open chunks take, as its finished ones did."""
    if queue["ended"] < 2 or queue["first"] is None:
        return None
    each = (queue["last"] - queue["first"]).total_seconds() / (queue["ended"] - 1)
    since = (now - queue["last"]).total_seconds()
    if since > 2 * each:  # it stands still, or became slower
        each = (now - queue["first"]).total_seconds() / queue["ended"]
    return float(max(queue["left"] * each - min(since, each), 0.0))


def _by_pieces(run: MetricRun, queue: str, now: datetime) -> float | None:
    """Return the time that the pieces of the only open queue take."""
    others = run.chunks.exclude(queue=queue).values_list("metrics", "outputs")
    elsewhere = sum(len(metrics) * max(1, len(outs)) for metrics, outs in others)
    done = run.done - elsewhere
    if done < LEAST_PIECES or run.started_at is None:
        return None
    spent = (now - run.started_at).total_seconds()
    return float(spent * (run.total - run.done) / done)


def in_words(seconds: float | None) -> str:
    """Return a time left as a short text."""
    if seconds is None:
        return _("time left not known yet")
    if seconds < 50:
        return _("less than 1 min left")
    minutes = max(1, round(seconds / 60))
    if minutes < 90:
        return _("about %(n)s min left") % {"n": minutes}
    if minutes < 48 * 60:
        return _("about %(n)s h left") % {"n": round(minutes / 60)}
    return _("about %(n)s days left") % {"n": round(minutes / 60 / 24)}


@contextmanager
def shown_progress(
    run: MetricRun, *, by_one_worker: bool = True
) -> Iterator[ChunkProgress]:
    """Show progress and time left: a bar, or a line a minute without a terminal."""
    with tqdm(desc="values", disable=None, bar_format=BAR) as bar:
        last = time.monotonic()

        def show(done: int, total: int) -> None:
            nonlocal last
            run.refresh_from_db()
            left = in_words(seconds_left(run, by_one_worker=by_one_worker))
            if not bar.disable:
                bar.total = total
                bar.set_postfix_str(left, refresh=False)
                bar.update(done - bar.n)
            elif time.monotonic() - last > LINE_SECONDS:
                last = time.monotonic()
                print(f"{done} of {total} values; {left}", file=sys.stderr, flush=True)

        yield show
