"""What the time on the page says, and for how long each shot was in sight. Pure."""

from collections.abc import Sequence
from statistics import fmean, median

from annotate.quality_rules.judged import JudgedUnit, Signal, mean_of

# So many seconds in sight are enough for a picture to have been seen at all.
GLANCE = 0.5


def seconds(work: Sequence[JudgedUnit], *, per_shot: bool) -> Signal:
    """Median time on the page, per unit or per shot shown.

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
    """Median over units of the mean time for which a shot was in sight.

    In an overview all shots are in sight at once: three seconds there are three seconds
    for each. Where no page told it, it is the time on the page per shot. A rule's
    `limit` turns the times into the share of units that were faster.
    """
    found = (fmean(u.in_sight) if u.in_sight else _per_shot(u) for u in work)
    times = tuple(time for time in found if time is not None)
    if not times:
        return Signal("seconds_in_sight", None, 0, "no time was measured")
    return Signal("seconds_in_sight", median(times), len(times), observations=times)


def shots_seen(work: Sequence[JudgedUnit], glance: float) -> Signal:
    """Share of a unit's shots that were in sight for at least `glance` seconds.

    Averaged over units. A rule's `limit` turns the shares into the share of units of
    which less was seen. Undefined without scripts, for videos, and by the API.
    """
    shares = [
        fmean(seconds >= glance for seconds in unit.in_sight)
        for unit in work
        if unit.in_sight
    ]
    reason = "no page told which shots were in sight"
    return mean_of("shots_seen", shares, reason)


def time_problems(work: Sequence[JudgedUnit], name: str, which: str) -> Signal:
    """Share of units whose time on the page is missing, or is one that cannot be.

    It is missing where the browser runs no scripts, too. More time than there was is
    told by honest people, too: of two windows in sight at once, each counts all of it.
    """
    asked = [unit.time_problem for unit in work if unit.time_problem is not None]
    found = [float(problem == which) for problem in asked]
    return mean_of(name, found, "nobody was asked for the time on the page")
