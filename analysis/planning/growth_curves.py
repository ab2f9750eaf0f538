"""A statistic as a study grows, and the law by which its interval shrinks."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import optimize

from analysis.planning.pilots import GROWS, extent
from analysis.planning.variance_components import StudySize
from analysis.results import NAN, Estimate
from analysis.sentences import chained, sentence

# Needing more times the pilot than this is as good as never.
FARTHEST = 1000
_WORDS = {
    "annotators": sentence("annotators"),
    "stories": sentence("stories"),
    "methods": sentence("methods"),
}
_LIMITS = _WORDS | {"annotators": sentence("noise of ratings")}


@dataclass(frozen=True)
class Point:
    """What one size of study is expected to show."""

    size: StudySize
    value: float
    low: float
    high: float
    half: float
    n: int


@dataclass(frozen=True)
class Curve:
    """A statistic as the study grows."""

    metric: str
    level: str
    statistic: str
    pilot: Estimate
    points: dict[str, list[Point]]
    reasons: dict[str, str]
    target: float | None = None


def undefined_curve(metric: str, level: str, name: str, why: Estimate) -> Curve:
    """Return the curve of a statistic that has no value, with the reason why."""
    return Curve(metric, level, name, why, {}, dict.fromkeys(GROWS, why.reason))


def law(known: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Fit ``half^2 = floor^2 + slope^2 / n``, both squares at least 0."""
    pairs = np.array([p for p in known if np.isfinite(p[1]) and p[1] > 0], float)
    if len(pairs) == 0:
        return (0.0, 0.0) if known and all(h == 0 for _, h in known) else (NAN, NAN)
    n, squares = pairs[:, 0], pairs[:, 1] ** 2
    sides = np.stack([np.ones(len(n)), 1 / n], axis=1) / squares[:, None]
    found, _ = optimize.nnls(sides, np.ones(len(n)))
    return float(np.sqrt(found[0])), float(np.sqrt(found[1]))


def needed(points: Sequence[Point], grows: str, target: float) -> tuple[float, str]:
    """Return the smallest number that brings the half-width down to a target."""
    known = [(extent(point.size, grows), point.half) for point in points]
    floor, slope = law(known)
    if np.isnan(floor):
        return NAN, sentence("the half-width is not defined at these sizes")
    if target <= 0:
        return NAN, sentence("the two means are equal: no interval can tell them apart")
    others = [_LIMITS[name] for name in GROWS if name != grows]
    if floor >= target:
        return NAN, sentence(
            "more {grows} alone never reach it: {floor} remain, from the {others} of "
            "the study",
            grows=_WORDS[grows],
            floor=f"{floor:.3f}",
            others=chained("{first} and {second}", others),
        )
    n = slope**2 / (target**2 - floor**2)
    most = FARTHEST * extent(points[-1].size, grows)
    if n > most:
        return NAN, sentence(
            "more than {n} {grows}, which is as good as never",
            n=f"{most:.0f}",
            grows=_WORDS[grows],
        )
    return float(max(1, np.ceil(round(n, 6)))), ""
