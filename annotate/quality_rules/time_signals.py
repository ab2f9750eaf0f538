"""Quality signals of time on the page and of shots in sight. Pure."""

from collections.abc import Sequence
from statistics import fmean, median

from annotate.quality_rules.judged import JudgedUnit, Signal, mean_of

# Seconds in sight after which a picture counts as seen.
GLANCE = 0.5


def seconds(work: Sequence[JudgedUnit], *, per_shot: bool) -> Signal:
    """Return the median time on the page, per unit or per shot shown.

    The observations are the times; a rule's `limit` turns them into the share of
    units that were faster. Slots without a time are left out.
    """
    name = "seconds_per_shot" if per_shot else "seconds_per_unit"
    times = tuple(
        unit.seconds / (max(unit.shots, 1) if per_shot else 1)
        for unit in work
        if unit.seconds is not None
    )
    if not times:
        return Signal(name, None, 0, "no time on the page was measured")
    return Signal(name, median(times), len(times), observations=times)


def _per_shot(unit: JudgedUnit) -> float | None:
    """Return the time on the page per shot that was shown."""
    return None if unit.seconds is None else unit.seconds / max(unit.shots, 1)


def seconds_in_sight(work: Sequence[JudgedUnit]) -> Signal:
    """Return the median over units of the mean time for which a shot was in sight.

    In an overview all shots are in sight at once: three seconds there are three seconds
    for each. If the page did not report it, the time on the page per shot is used. A
    rule's `limit` turns the times into the share of units that were faster.
    """
    means = (fmean(u.in_sight) if u.in_sight else _per_shot(u) for u in work)
    times = tuple(time for time in means if time is not None)
    if not times:
        return Signal("seconds_in_sight", None, 0, "no time was measured")
    return Signal("seconds_in_sight", median(times), len(times), observations=times)


def shots_seen(work: Sequence[JudgedUnit], glance: float) -> Signal:
    """Return the share of a unit's shots that were in sight for `glance` seconds.

    The share is averaged over units. A rule's `limit` turns it into the share of units
    below the limit. Undefined without scripts, for videos, and for answers by the API.
    """
    shares = [
        fmean(seconds >= glance for seconds in unit.in_sight)
        for unit in work
        if unit.in_sight
    ]
    reason = "no page reported which shots were in sight"
    return mean_of("shots_seen", shares, reason)


def time_problems(work: Sequence[JudgedUnit], name: str, which: str) -> Signal:
    """Return the share of units whose time on the page is missing or impossible.

    It is also missing if the browser runs no scripts. Honest people can exceed the
    possible time, too: two windows in sight at once each count all of it.
    """
    problems = [unit.time_problem for unit in work if unit.time_problem is not None]
    matches = [float(problem == which) for problem in problems]
    return mean_of(name, matches, "no time on the page was expected")
