"""A pilot study: how large it is, how noisy its ratings are, and what may grow."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from scipy import optimize, stats

from analysis.options import AlignOptions
from analysis.planning.sums_of_squares import (
    ANNOTATOR,
    FACTORS,
    METHOD,
    STORY,
    Components,
    estimate_components,
    rating_design,
)
from analysis.planning.variance_components import StudySize, study_size
from analysis.reading.cells import CellGrid, annotator_cells, common_grid, rated_grid
from analysis.reading.kept_answers import are_means
from analysis.reading.scores import ScoreTable
from analysis.results import NAN, Estimate
from analysis.sentences import Notes, chained, sentence

GROWS = ("annotators", "stories", "methods")
MULTIPLES = (0.5, 1.0, 2.0, 4.0, 8.0)


def grown(size: StudySize, grows: str, multiple: float) -> StudySize:
    """Return a study that has more or fewer annotators, stories or methods."""
    if grows == "stories":
        return replace(size, stories=max(2, round(size.stories * multiple)))
    if grows == "methods":
        return replace(size, methods=max(3, round(size.methods * multiple)))
    k = max(1, round(size.per_output * multiple))
    ratio = k / size.per_output
    return replace(
        size,
        annotators=max(k, size.annotators * ratio),
        per_output=k,
        per_story=max(k, size.per_story * ratio),
    )


@dataclass(frozen=True)
class Noise:
    """Variance components of annotators; what they add to means of ratings."""

    annotator: float = 0.0
    of_method: float = 0.0
    of_story: float = 0.0
    rest: float = 0.0

    def at(self, size: StudySize) -> tuple[float, float, float]:
        """Return the variance that annotators add to methods, stories, and cells."""
        k, A, B = size.per_output, size.annotators, size.per_story
        pool, of_story = max(0.0, 1 / k - 1 / A), max(0.0, 1 / k - 1 / B)
        cell = (self.annotator + self.of_method) * pool
        cell += self.of_story * of_story + self.rest / k
        return self.of_method / A, self.of_story / B, cell


def rating_noise(by_annotator: pd.DataFrame) -> tuple[Noise, Components]:
    """Estimate the noise of one question's ratings, rows of `annotator_cells`."""
    y = by_annotator["rating"].to_numpy(float)
    fit = estimate_components(rating_design(by_annotator), y[:, None])
    noise = Noise(
        fit.variance(ANNOTATOR),
        fit.variance(METHOD, ANNOTATOR),
        fit.variance(STORY, ANNOTATOR),
        fit.variance(*FACTORS),
    )
    return noise, fit


@dataclass(frozen=True)
class Pilot:
    """One question of a pilot study."""

    question: str
    rows: pd.DataFrame
    cells: pd.DataFrame
    grid: CellGrid
    metrics: tuple[str, ...]
    size: StudySize
    noise: Noise
    noise_reason: str
    options: AlignOptions

    def sizes(self, grows: str) -> list[StudySize]:
        """Return the sizes of a series, the smallest first."""
        found = [grown(self.size, grows, multiple) for multiple in MULTIPLES]
        return list(dict.fromkeys(found))

    @property
    def z(self) -> float:
        """Standard deviations of half an interval."""
        return float(stats.norm.ppf((1 + self.options.confidence) / 2))


def pilot_study(
    question: str,
    rows: pd.DataFrame,
    table: ScoreTable | None,
    options: AlignOptions,
    notes: Notes,
) -> Pilot:
    """Lay out one question of a pilot, and measure its noise."""
    cells = annotator_cells(rows)
    if table is None:
        grid, metrics = rated_grid(question, cells), tuple[str, ...]()
    else:
        grid, remarks = common_grid(question, cells, table)
        metrics = table.metrics
        notes.extend(remarks, question)
    size = study_size(cells)
    k = max(1, round(size.per_output))
    size = replace(
        size,
        per_output=k,
        annotators=max(k, size.annotators),
        per_story=max(k, size.per_story),
        stories=round(size.stories),
        methods=round(size.methods),
    )
    reason, noise = "", Noise()
    if are_means(rows):
        reason = sentence(
            "the ratings are means over raters, whose noise is not identified"
        )
    elif not cells.duplicated(["story", "method"]).any():
        reason = sentence(
            "no output has two ratings, so that their noise is not identified"
        )
    else:
        noise, _ = rating_noise(cells)
    return Pilot(question, rows, cells, grid, metrics, size, noise, reason, options)


def extent(size: StudySize, grows: str) -> float:
    return {
        "annotators": size.per_output,
        "stories": size.stories,
        "methods": size.methods,
    }[grows]


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
    """The expected results of one size of study."""

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
        return NAN, sentence("the two means are equal: no interval can separate them")
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
