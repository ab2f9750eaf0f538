"""What studies of other sizes than the pilot's are expected to show.

Coefficients, the difference of the two best methods, and alpha, as the study grows;
`analysis.power` says why each goes its own way.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from scipy import optimize, stats

from analysis.agreement import agreement
from analysis.coefficients.levels import can_vary, level_estimates, method_means
from analysis.notes import Notes
from analysis.options import AlignOptions
from analysis.panel.reliability import rating_reliability
from analysis.planning.studies import (
    Noise,
    correlated,
    fit_model,
    grown,
    level_points,
    rating_model,
    rating_noise,
)
from analysis.planning.variance import Size, study_size
from analysis.reading.cells import Grid, annotator_cells, common_grid, rated_grid
from analysis.reading.people import are_means
from analysis.reading.scores import ScoreTable
from analysis.resampling import draw, no_draws, stream
from analysis.results import NAN, Array, Estimate, undefined

GROWS = ("annotators", "stories", "methods")
MULTIPLES = (0.5, 1.0, 2.0, 4.0, 8.0)
# Pairs of simulated studies of one size, and the least where studies are large.
PAIRS, LEAST = 100, 30
# Cells of all studies of one size that are correlated together, without groups.
POOLED = 300_000
# Larger studies are foretold by the law, not simulated.
MOST_CELLS = 20_000
MOST_RATINGS = 200_000
Key = tuple[str, str, str]  # metric, level, statistic


@dataclass(frozen=True)
class Pilot:
    """One question of a pilot study.

    Attributes
    ----------
    question, rows, cells
        Name, kept ratings, and their means by annotator.
    grid
        People and metrics, or people alone.
    metrics
        All metrics asked for.
    size, noise
        How large it is, and how noisy its ratings are; a size with whole numbers.
    noise_reason
        Why the noise is unknown; empty where it is known.
    options
        Levels, coefficients, confidence, seed.
    """

    question: str
    rows: pd.DataFrame
    cells: pd.DataFrame
    grid: Grid
    metrics: tuple[str, ...]
    size: Size
    noise: Noise
    noise_reason: str
    options: AlignOptions

    def sizes(self, grows: str) -> list[Size]:
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
    """Lay out one question of a pilot, and measure its noise.

    Parameters
    ----------
    question, rows
        A dimension and its kept ratings.
    table
        The scores, or None.
    options
        The options of the command line.
    notes
        Is told what was dropped.
    """
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
        size, per_output=k, annotators=max(k, size.annotators),
        per_story=max(k, size.per_story), stories=round(size.stories),
        methods=round(size.methods),
    )  # fmt: skip
    reason, noise = "", Noise()
    if are_means(rows):
        reason = "the ratings are means over raters, whose noise cannot be told"
    elif not cells.duplicated(["story", "method"]).any():
        reason = "no output has two ratings, so that their noise cannot be told"
    else:
        noise, _ = rating_noise(cells)
    return Pilot(question, rows, cells, grid, metrics, size, noise, reason, options)


@dataclass(frozen=True)
class Point:
    """What one size of study is expected to show."""

    size: Size
    value: float
    low: float
    high: float
    half: float
    n: int


@dataclass(frozen=True)
class Curve:
    """A statistic as the study grows.

    Attributes
    ----------
    metric, level, statistic
        What it is.
    pilot
        Its estimate on the pilot.
    points
        What grows to the sizes, the smallest first; none where it is undefined.
    reasons
        What grows to why it is not foretold.
    bounds
        Least and largest possible value.
    target
        The half-width asked for, where it is not the common one.
    """

    metric: str
    level: str
    statistic: str
    pilot: Estimate
    points: dict[str, list[Point]]
    reasons: dict[str, str]
    target: float | None = None


def extent(size: Size, grows: str) -> float:
    """Return how many there are of what grows."""
    return {
        "annotators": size.per_output, "stories": size.stories, "methods": size.methods
    }[grows]  # fmt: skip


def coefficients(pilot: Pilot) -> list[Curve]:
    """Foretell every coefficient of every metric at every level."""
    options, grid = pilot.options, pilot.grid
    if not pilot.metrics:
        return []
    found = _pilot_estimates(pilot)
    usable = {key: e for key, e in found.items() if np.isfinite(e.value)}
    simulated = _simulated(pilot, list(usable)) if usable else {}
    curves = []
    for metric in pilot.metrics:
        for level in options.levels:
            for name in options.coefficients:
                key = (metric, level, name)
                if key not in usable:
                    why = found.get(key, undefined(_no_metric(grid, level, metric)))
                    curves.append(_undefined(metric, level, name, why))
                    continue
                points = {
                    grows: _coefficient_points(
                        pilot, grows, key, usable[key], simulated
                    )
                    for grows in GROWS
                }
                curves.append(_curve(pilot, key, usable[key], points))
    return curves


def _undefined(metric: str, level: str, name: str, why: Estimate) -> Curve:
    return Curve(metric, level, name, why, {}, dict.fromkeys(GROWS, why.reason))


def _curve(
    pilot: Pilot, key: Key, value: Estimate, points: dict[str, list[Point]]
) -> Curve:
    reasons = dict.fromkeys(GROWS, "")
    reasons["annotators"] = pilot.noise_reason
    if pilot.grid.human_is_method_level:
        why = "ratings are method-level values, without stories"
        reasons |= {"stories": why, "annotators": pilot.noise_reason or why}
    return Curve(
        *key, value, {g: p for g, p in points.items() if not reasons[g]}, reasons
    )


def _no_metric(grid: Grid, level: str, metric: str) -> str:
    if metric not in grid.metrics:
        return "no rated output has a score of this metric"
    side = "ratings" if grid.human_is_method_level else "scores"
    return f"{side} are method-level values, without stories"


def _pilot_estimates(pilot: Pilot) -> dict[Key, Estimate]:
    """Correlate the pilot, with intervals over stories."""
    options, grid = pilot.options, pilot.grid
    found: dict[Key, Estimate] = {}
    for level in options.levels:
        names = tuple(
            m for m in grid.metrics
            if level == "method"
            or not (grid.human_is_method_level or m in grid.method_level)
        )  # fmt: skip
        if not names or not grid.cells.any():
            continue
        here, _ = level_estimates(
            grid.with_metrics(names), level, coefficients=options.coefficients,
            parts=("stories",),
            resamples=0 if level == "method" else options.resamples,
            confidence=options.confidence, seed=options.seed,
        )  # fmt: skip
        found |= {(m, level, name): value for (m, name), value in here.items()}
    return found


@dataclass(frozen=True)
class Drawn:
    """A statistic in pairs of simulated studies that share methods and annotators.

    Attributes
    ----------
    values
        Shape (2, R): studies of a pair have different stories.
    """

    values: Array

    @property
    def mean(self) -> float:
        """What the statistic is expected to be."""
        return float(np.nanmean(self.values))

    @property
    def over_stories(self) -> float:
        """Return the variance that stories alone make."""
        return float(np.nanmean(np.diff(self.values, axis=0) ** 2)) / 2

    @property
    def over_all(self) -> float:
        """Return the whole variance."""
        return float(np.nanvar(self.values, ddof=1))

    def half(self, confidence: float, ratio: float) -> float:
        """Return half an interval; the part of the stories is scaled by a ratio."""
        others = max(0.0, self.over_all - self.over_stories)
        z = stats.norm.ppf((1 + confidence) / 2)
        return float(z * np.sqrt(ratio**2 * self.over_stories + others))

    def middle(self, confidence: float) -> float:
        """Return half the central interval; few methods make values skewed."""
        tail = (1 - confidence) / 2
        low, high = np.nanquantile(self.values, [tail, 1 - tail])
        return float(high - low) / 2


Simulated = dict[tuple[Key, Size], Drawn]


def _simulated(pilot: Pilot, keys: list[Key]) -> Simulated:
    """Draw pairs of studies of every size and correlate them."""
    metrics = tuple(dict.fromkeys(key[0] for key in keys))
    model = fit_model(pilot.grid.with_metrics(metrics), pilot.noise, pilot.size)
    found: Simulated = {}
    for size in _sizes_to_draw(pilot):
        cells = int(size.stories * size.methods)
        n = min(PAIRS, pilot.options.resamples, max(LEAST, 5 * POOLED // cells))
        names = [str(part) for part in (size.per_output, size.stories, size.methods)]
        rng = stream(pilot.options.seed, "power", pilot.question, *names)
        human, scores = model.study(replace(size, stories=2 * size.stories), n, rng)
        human, scores = _halves(human), _halves(scores)
        for level in dict.fromkeys(key[1] for key in keys):
            few = min(n, max(LEAST, POOLED // (2 * cells))) if level == "pooled" else n
            h = level_points(human[:, :few], level)
            for k, metric in enumerate(metrics):
                wanted = [c for m, lev, c in keys if (m, lev) == (metric, level)]
                if not wanted:
                    continue
                x = level_points(scores[k, :, :few], level)
                for name, values in correlated(h, x, wanted).items():
                    found[(metric, level, name), size] = Drawn(values)
    return found


def _halves(values: Array) -> Array:
    """Divide the stories of (..., R, 2 S, M) into two studies: (..., 2, R, S, M)."""
    return np.stack(np.split(values, 2, axis=-2), axis=-4)


def _sizes_to_draw(pilot: Pilot) -> list[Size]:
    sizes = [pilot.size]
    for grows in GROWS:
        series = pilot.sizes(grows)
        small = [s for s in series if s.stories * s.methods <= MOST_CELLS]
        sizes += [*series[:2], *small]
    return list(dict.fromkeys(sizes))


def _anchor(pilot: Pilot, key: Key, value: Estimate, drawn: Drawn) -> float:
    """Return the pilot's own deviation over stories as a multiple of the simulated.

    Never below 1: ties and odd distributions widen it, while a bootstrap of few stories
    alone is narrow.
    """
    own = (value.high - value.low) / 2 / pilot.z
    if key[1] == "method" or not own > 0 or not drawn.over_stories > 0:
        return 1.0
    return max(1.0, float(own / np.sqrt(drawn.over_stories)))


def _coefficient_points(
    pilot: Pilot, grows: str, key: Key, value: Estimate, found: Simulated
) -> list[Point]:
    confidence, base = pilot.options.confidence, found[key, pilot.size]
    ratio = _anchor(pilot, key, value, base)
    series = {s: found[key, s] for s in pilot.sizes(grows) if (key, s) in found}
    halves = {s: drawn.half(confidence, ratio) for s, drawn in series.items()}
    if key[1] == "method":
        halves = {s: drawn.middle(confidence) for s, drawn in series.items()}
    floor, slope = law([(extent(s, grows), half) for s, half in halves.items()])
    points, shift = [], 0.0
    for size in pilot.sizes(grows):
        half = float(np.sqrt(floor**2 + slope**2 / extent(size, grows)))
        if size in series:
            shift = series[size].mean - base.mean
            # The law is smooth, but the pilot is one, and few methods do not obey it.
            if size == pilot.size or (key[1] == "method" and grows == "methods"):
                half = halves[size]
        expected = float(np.clip(value.value + shift, -1, 1))
        low, high = np.clip([expected - half, expected + half], -1, 1)
        n = series[size].values.size if size in series else 0
        points.append(Point(size, expected, float(low), float(high), half, n))
    return points


def law(known: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Fit ``half^2 = floor^2 + slope^2 / n``, both squares at least 0.

    Parameters
    ----------
    known
        Pairs of n and half-width; NaN ones are left out.

    Returns
    -------
    tuple of float
        Floor and slope; NaN without a pair. Relative errors are least squared.

    Examples
    --------
    >>> floor, slope = law([(4, 0.5), (16, 0.25)])
    >>> round(floor, 6), round(slope, 6)
    (0.0, 1.0)
    """
    pairs = np.array([p for p in known if np.isfinite(p[1]) and p[1] > 0], float)
    if len(pairs) == 0:
        return (0.0, 0.0) if known and all(h == 0 for _, h in known) else (NAN, NAN)
    n, squares = pairs[:, 0], pairs[:, 1] ** 2
    sides = np.stack([np.ones(len(n)), 1 / n], axis=1) / squares[:, None]
    found, _ = optimize.nnls(sides, np.ones(len(n)))
    return float(np.sqrt(found[0])), float(np.sqrt(found[1]))


def gap(pilot: Pilot) -> Curve:
    """Foretell the interval of the difference of the two best methods' means."""
    grid = rated_grid(pilot.question, pilot.cells)
    if len(grid.methods) < 2:
        return _undefined("", "method", "gap", undefined("only one method"))
    if grid.human_is_method_level:
        why = "ratings are method-level values, without stories"
        return _undefined("", "method", "gap", undefined(why))
    means = method_means(grid, no_draws(*grid.cells.shape))[0][0]
    first, second = np.argsort(-means, kind="stable")[:2]
    value = float(means[first] - means[second])
    options = pilot.options
    draws = draw(
        ("stories",), cells=grid.cells, n_annotators=len(grid.votes),
        resamples=options.resamples, rng=stream(options.seed, "gap", pilot.question),
    )  # fmt: skip
    if not can_vary(("stories",), grid, draws):
        return _undefined("", "method", "gap", undefined("only one story"))
    drawn, _, weights = method_means(grid, draws)
    used = (weights[:, [first, second]] > 0).all(axis=1)
    spread = float((drawn[used, first] - drawn[used, second]).var(ddof=1))
    estimate = Estimate(value, n=len(grid.stories))
    fit = fit_model(
        replace(grid, scores=grid.scores[:0], metrics=()), pilot.noise, pilot.size
    )
    own = float(fit.parts["cell"][0, 0] ** 2)
    points = {
        grows: [
            _gap_point(pilot, size, value, spread, own) for size in pilot.sizes(grows)
        ]
        for grows in GROWS
        if not (grows == "annotators" and pilot.noise_reason)
    }
    reasons = {
        "annotators": pilot.noise_reason, "stories": "",
        "methods": "more methods do not narrow the difference of two",
    }  # fmt: skip
    return Curve("", "method", "gap", estimate, points, reasons, target=value)


def _gap_point(
    pilot: Pilot, size: Size, value: float, spread: float, own: float
) -> Point:
    """Scale the pilot's variance over stories; add that of annotators' preferences."""

    def over_stories(of: Size) -> float:
        return (own + pilot.noise.at(of)[2]) / of.stories

    base = over_stories(pilot.size)
    ratio = over_stories(size) / base if base > 0 else pilot.size.stories / size.stories
    half = pilot.z * float(np.sqrt(spread * ratio + 2 * pilot.noise.at(size)[0]))
    return Point(size, value, value - half, value + half, half, 0)


def alpha(pilot: Pilot) -> Curve:
    """Foretell ordinal alpha and its interval over stories."""
    options = pilot.options
    data = rating_reliability(pilot.rows, options.scale)
    value = agreement(
        data, ("alpha_ordinal",), parts=("stories",), resamples=options.resamples,
        confidence=options.confidence, seed=options.seed, question=pilot.question,
    )[0].estimate  # fmt: skip
    reason = value.reason or pilot.noise_reason
    if np.isnan(value.value) or np.isnan(value.low):
        why = undefined(reason or "only one story")
        return _undefined("", "", "alpha_ordinal", why)
    model = rating_model(pilot.cells)
    simulated: dict[Size, tuple[float, float, int]] = {}

    def at(size: Size) -> tuple[float, float, int]:
        if size not in simulated:
            ratings = int(2 * size.stories * size.methods * size.per_output)
            studies = min(options.resamples, PAIRS, 2 * 10**7 // ratings)
            names = [str(x) for x in (size.per_output, size.stories, size.methods)]
            rng = stream(options.seed, "alpha", pilot.question, *names)
            studies = max(studies, 10)
            one, two = model.alphas(size, studies, rng)
            mean = float((one.mean() + two.mean()) / 2)
            half = pilot.z * float(np.sqrt(((one - two) ** 2).mean() / 2))
            simulated[size] = mean, half, studies
        return simulated[size]

    base = at(replace(pilot.size, per_output=max(2, pilot.size.per_output)))
    own = (value.high - value.low) / 2
    ratio = own / base[1] if base[1] > 0 else 1.0
    points = {
        grows: _alpha_points(pilot, grows, value.value, ratio, base[0], at)
        for grows in GROWS
    }
    return Curve("", "", "alpha_ordinal", value, points, dict.fromkeys(GROWS, ""))


def _alpha_points(
    pilot: Pilot,
    grows: str,
    value: float,
    ratio: float,
    base: float,
    at: Callable[[Size], tuple[float, float, int]],
) -> list[Point]:
    sizes = [size for size in pilot.sizes(grows) if size.per_output > 1]
    small = [
        size for i, size in enumerate(sizes)
        if i < 2 or 2 * size.stories * size.methods * size.per_output <= MOST_RATINGS
    ]  # fmt: skip
    floor, slope = law([(extent(size, grows), ratio * at(size)[1]) for size in small])
    points, expected = [], value
    for size in sizes:
        half = float(np.sqrt(floor**2 + slope**2 / extent(size, grows)))
        if size in small:
            expected = min(1.0, value + at(size)[0] - base)
        if size == pilot.size:
            half = ratio * at(size)[1]
        high = min(1.0, expected + half)
        n = at(size)[2] if size in small else 0
        points.append(Point(size, expected, expected - half, high, half, n))
    return points
