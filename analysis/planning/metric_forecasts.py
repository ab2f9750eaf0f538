"""Studies that were not made: a model of a pilot, and studies drawn from it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from analysis.correlations.level_estimates import level_estimates, level_spread
from analysis.inference.resampling import divided, near_one, stream
from analysis.planning.pilots import GROWS, Curve, Noise, Pilot, Point, undefined_curve
from analysis.planning.sums_of_squares import METHOD, STORY, Design, estimate_components
from analysis.planning.variance_components import StudySize
from analysis.reading.cells import CellGrid
from analysis.results import NAN, Array, Counts, Estimate, undefined
from analysis.sentences import sentence
from analysis.statistics import coefficient

# Up to this many points all pairs are compared; above, inversions are counted.
FEW = 12


@dataclass(frozen=True)
class Model:
    """Normal model of people's true values and K metrics."""

    parts: Mapping[str, Array]
    noise: Noise

    def blocks(
        self,
        size: StudySize,
        *,
        stories: int,
        each: float = 1,
        studies: int,
        rng: np.random.Generator,
    ) -> tuple[Array, Array]:
        """Draw four studies at a time: two sets of stories, by two of methods."""
        R, S, M = studies, 2 * stories, 2 * int(size.methods)
        shapes = {"method": (R, 1, M), "story": (R, S, 1), "cell": (R, S, M)}
        P = len(self.parts["cell"])
        values = np.zeros((P, R, S, M))
        added = dict(zip(shapes, self.noise.at(size), strict=True))
        for name, shape in shapes.items():
            drawn = rng.standard_normal((P, *shape))
            shrunk = 1.0 if name == "method" else 1 / np.sqrt(each)
            values += np.tensordot(shrunk * self.parts[name], drawn, axes=1)
            extra = shrunk * np.sqrt(added[name])
            values[0] += extra * rng.standard_normal(shape)
        apart = values.reshape(P, R, 2, stories, 2, M // 2).transpose(0, 2, 4, 1, 3, 5)
        return apart[0], apart[1:]


def fit_model(grid: CellGrid, noise: Noise, size: StudySize) -> Model:
    """Fit the model to a pilot's common subset of cells."""
    s, m = np.nonzero(grid.cells)
    values = np.stack([grid.human[s, m], *near_one(grid.scores[:, s, m])], axis=1)
    spread = values.std(axis=0)
    scale = np.where(spread > 0, spread, 1.0)
    design = Design({METHOD: _dense(m), STORY: _dense(s)})
    fit = estimate_components(design, values / scale)
    sources = {"method": (METHOD,), "story": (STORY,), "cell": (METHOD, STORY)}
    parts = {}
    for (name, source), added in zip(sources.items(), noise.at(size), strict=True):
        matrix = fit.matrix(*source).copy()
        matrix[0, 0] -= added / scale[0] ** 2
        parts[name] = scale[:, None] * _root(matrix)
    return Model(parts, noise)


def _dense(codes: Counts) -> Counts:
    return np.asarray(np.unique(codes, return_inverse=True)[1])


def _root(matrix: Array) -> Array:
    """Return a factor F of the nearest covariance matrix F F'."""
    variances = np.clip(np.diag(matrix), 0, None)
    deviations = np.sqrt(variances)
    safe = np.where(deviations > 0, deviations, 1.0)
    known = deviations > 0
    correlations = np.where(known[:, None] & known, matrix / np.outer(safe, safe), 0.0)
    np.fill_diagonal(correlations, 1.0)
    values, vectors = np.linalg.eigh(correlations)
    root = vectors * np.sqrt(np.clip(values, 0, None))
    root /= np.linalg.norm(root, axis=1, keepdims=True)
    return np.asarray(deviations[:, None] * root)


def level_points(values: Array, level: str) -> Array:
    """Arrange values (..., S, M) as (..., groups, points) of a level."""
    if level == "method":
        return np.asarray(values.mean(axis=-2)[..., None, :])
    if level == "story":
        return values
    if level == "residual":
        return np.asarray(values - values.mean(axis=-2, keepdims=True))
    if level == "within_method":
        return np.swapaxes(values, -2, -1)
    return values.reshape(*values.shape[:-2], 1, -1)


def correlated(
    human: Array, scores: Array, coefficients: Sequence[str]
) -> dict[str, Array]:
    """Correlate values without ties, and average over groups."""
    counted = {name: coefficient(name).counts for name in coefficients}
    found: dict[str, Array] = {}
    order = np.argsort(human, axis=-1)
    there = np.argsort(np.argsort(np.take_along_axis(scores, order, -1), axis=-1), -1)
    n = human.shape[-1]
    if "pairs" in counted.values():
        found["pairs"] = 1 - 2 * inversions(there) / (n * (n - 1) / 2)
    if "ranks" in counted.values():
        squares = ((there - np.arange(n)) ** 2).sum(axis=-1)
        found["ranks"] = 1 - 6 * squares / (n * (n**2 - 1))
    if "values" in counted.values():
        h = human - human.mean(axis=-1, keepdims=True)
        x = scores - scores.mean(axis=-1, keepdims=True)
        product = np.sqrt((h * h).sum(axis=-1) * (x * x).sum(axis=-1))
        found["values"] = divided((h * x).sum(axis=-1), product)
    return {name: found[counts].mean(axis=-1) for name, counts in counted.items()}


def inversions(ranks: Counts) -> Array:
    """Count the pairs that stand in the wrong order."""
    n = ranks.shape[-1]
    if n <= FEW:
        steps = range(1, n)
        each = [(ranks[..., :-k] > ranks[..., k:]).sum(axis=-1) for k in steps]
        return np.asarray(sum(each), float)
    rows = ranks.reshape(-1, n).astype(np.int32)
    wrong = np.zeros(len(rows), float)
    place = np.arange(n, dtype=np.int32)
    for bit in range(int(n - 1).bit_length() - 1, -1, -1):
        one = (rows >> bit) & 1
        start = (rows >> (bit + 1)) << (bit + 1)
        before = np.zeros((len(rows), n + 1), np.int32)
        np.cumsum(one, axis=1, out=before[:, 1:])
        ones = before[:, :-1] - np.take_along_axis(before, start, 1)
        wrong += (ones * (1 - one)).sum(axis=1)
        goal = np.where(one, start + (1 << bit) + ones, place - ones)
        np.put_along_axis(arranged := np.empty_like(rows), goal, rows, 1)
        rows = arranged
    return wrong.reshape(ranks.shape[:-1])


# Cells of one simulated study; the law of the mean extends it to more stories.
CELLS, LEAST_STORIES = 800, 10
# Times that four studies of one size are drawn, while those have so many cells in all;
# and at method level, where a study is nothing but its methods.
TIMES, LEAST_TIMES, AT_ONCE = 120, 25, 400_000
OF_MEANS = 250
ForecastKey = tuple[str, str, str]  # metric, level, statistic


def coefficients(pilot: Pilot) -> list[Curve]:
    """Predict every coefficient of every metric at every level."""
    options, grid = pilot.options, pilot.grid
    if not pilot.metrics:
        return []
    found, deviations = _of_pilot(pilot)
    usable = {key: e for key, e in found.items() if np.isfinite(e.value)}
    simulated = _simulated(pilot, list(usable)) if usable else {}
    curves = []
    for key in product(pilot.metrics, options.levels, options.coefficients):
        if key in usable:
            deviation = deviations.get(key, NAN)
            curves.append(_curve(pilot, key, usable[key], deviation, simulated))
        else:
            why = found.get(key, undefined(grid.why_no_level(key[0])))
            curves.append(undefined_curve(*key, why))
    return curves


def _curve(
    pilot: Pilot,
    key: ForecastKey,
    value: Estimate,
    deviation: float,
    found: "Simulated",
) -> Curve:
    reasons = dict.fromkeys(GROWS, "")
    reasons["annotators"] = pilot.noise_reason
    if pilot.size.stories == 1:
        reasons["stories"] = sentence(
            "only one story: what others would change is unknown"
        )
    if pilot.size.methods == 1:
        reasons["methods"] = sentence(
            "only one method: what others would change is unknown"
        )
    if pilot.grid.human_is_method_level:
        why = sentence("ratings are method-level values, without stories")
        reasons |= {"stories": why, "annotators": pilot.noise_reason or why}
    base = found[key, pilot.size]
    ratio = _anchor(deviation, base)
    points = {
        grows: [
            _point(pilot, size, key[1], value, base, found[key, size], ratio)
            for size in pilot.sizes(grows)
        ]
        for grows in GROWS
        if not reasons[grows]
    }
    return Curve(*key, value, points, reasons)


def _of_pilot(
    pilot: Pilot,
) -> tuple[dict[ForecastKey, Estimate], dict[ForecastKey, float]]:
    """Correlate the pilot; return values, and their deviations over stories."""
    options, grid = pilot.options, pilot.grid
    found: dict[ForecastKey, Estimate] = {}
    deviations: dict[ForecastKey, float] = {}
    nothing = replace(options, resamples=0).sampling
    for level in options.levels:
        names = tuple(m for m in grid.metrics if grid.has_level(level, m))
        if not names or not grid.cells.any():
            continue
        asked = grid.with_metrics(names), level, options.coefficients
        sampling = nothing if level == "method" else options.sampling
        spread = level_spread(*asked, ("stories",), sampling)
        for (m, name), value in level_estimates(*asked, spread, nothing).items():
            key = m, level, name
            found[key] = value
            if name in spread.variances and np.isfinite(value.value):
                own = spread.variances[name].of(names.index(m))
                deviations[key] = float(np.sqrt(own.variance))
    return found, deviations


@dataclass(frozen=True)
class Drawn:
    """A statistic in simulated studies of one size."""

    values: Array
    shrink: float = 1.0

    @property
    def mean(self) -> float:
        """The expected value of the statistic."""
        return float(np.nanmean(self.values))

    @property
    def over_stories(self) -> float:
        """Return the variance that other stories make, the methods being the same."""
        return self.shrink * self._between(0)

    @property
    def over_methods(self) -> float:
        """Return the variance that other methods make, in endless stories."""
        whole = float(np.nanvar(self.values, ddof=1))
        return max(0.0, whole - self._between(0))

    def _between(self, axis: int) -> float:
        return float(np.nanmean(np.diff(self.values, axis=axis) ** 2)) / 2

    def middle(self, confidence: float) -> float:
        """Return half the central interval; few methods make values skewed."""
        tail = (1 - confidence) / 2
        low, high = np.nanquantile(self.values, [tail, 1 - tail])
        return float(high - low) / 2


Simulated = dict[tuple[ForecastKey, StudySize], Drawn]


def _simulated(pilot: Pilot, keys: list[ForecastKey]) -> Simulated:
    """Draw studies of every size and correlate them."""
    metrics = tuple(dict.fromkeys(key[0] for key in keys))
    model = fit_model(pilot.grid.with_metrics(metrics), pilot.noise, pilot.size)
    of_methods = [key for key in keys if key[1] == "method"]
    of_cells = [key for key in keys if key[1] != "method"]
    found: Simulated = {}
    # Studies that differ by their stories alone are drawn once.
    drawn: dict[tuple[float, float], dict[ForecastKey, Array]] = {}
    for size in dict.fromkeys(s for grows in GROWS for s in pilot.sizes(grows)):
        values = _correlated(pilot, model, metrics, size, 1, of_methods)
        found |= {(key, size): Drawn(x) for key, x in values.items()}
        stories, same = _stories(pilot, size), (size.per_output, size.methods)
        if same not in drawn:
            drawn[same] = _correlated(pilot, model, metrics, size, stories, of_cells)
        shrink = stories / size.stories
        found |= {(key, size): Drawn(x, shrink) for key, x in drawn[same].items()}
    return found


def _stories(pilot: Pilot, size: StudySize) -> int:
    """Return the stories that are drawn for a size, whatever stories it has."""
    room = max(LEAST_STORIES, CELLS // int(size.methods))
    return int(min(pilot.size.stories, room))


def _correlated(
    pilot: Pilot,
    model: Model,
    metrics: tuple[str, ...],
    size: StudySize,
    stories: int,
    keys: list[ForecastKey],
) -> dict[ForecastKey, Array]:
    """Correlate simulated studies of one size: shapes (2, 2, R)."""
    if not keys:
        return {}
    of_methods = keys[0][1] == "method"
    each = size.stories if of_methods else 1
    cells = 4 * stories * int(size.methods)
    times = OF_MEANS if of_methods else min(TIMES, max(LEAST_TIMES, AT_ONCE // cells))
    # The same numbers whatever the annotators and stories: such sizes differ smoothly.
    names = pilot.question, "method" if of_methods else "cells", str(size.methods)
    rng = stream(pilot.options.seed, "power", *names)
    human, scores = model.blocks(
        size, stories=stories, each=each, studies=times, rng=rng
    )
    found: dict[ForecastKey, Array] = {}
    for level in dict.fromkeys(key[1] for key in keys):
        h = level_points(human, level)
        for k, metric in enumerate(metrics):
            wanted = [name for m, at, name in keys if (m, at) == (metric, level)]
            if wanted:
                values = correlated(h, level_points(scores[k], level), wanted)
                found |= {(metric, level, name): x for name, x in values.items()}
    return found


def _anchor(deviation: float, drawn: Drawn) -> float:
    """Return the pilot's own deviation over stories as a multiple of the simulated."""
    if not deviation > 0 or not drawn.over_stories > 0:
        return 1.0
    return max(1.0, float(deviation / np.sqrt(drawn.over_stories)))


def _point(
    pilot: Pilot,
    size: StudySize,
    level: str,
    value: Estimate,
    base: Drawn,
    drawn: Drawn,
    ratio: float,
) -> Point:
    z = pilot.z
    half = z * float(np.sqrt(ratio**2 * drawn.over_stories + drawn.over_methods))
    if level == "method":
        half = drawn.middle(pilot.options.confidence)
    expected = float(np.clip(value.value + drawn.mean - base.mean, -1, 1))
    low, high = np.clip([expected - half, expected + half], -1, 1)
    n = drawn.values.size
    return Point(size, expected, float(low), float(high), half, n)
