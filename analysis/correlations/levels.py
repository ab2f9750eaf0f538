"""Values to correlate: people's cell means by resample, and method means."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from analysis.correlations.coefficients import correlate
from analysis.inference.resampling import Draws, divided, no_draws
from analysis.reading.cells import CellGrid
from analysis.results import Array, Groups, Mask
from analysis.sentences import sentence

HUMAN_DIGITS = 9
# Means of metric scores are computed numbers: those that differ by less than this share
# of what they are means of are equal.
ROUNDING = 1e-12


def resampled_human(grid: CellGrid, draws: Draws) -> tuple[Array, Array]:
    """Return people's cell means, and the weight of each cell, by resample."""
    weights = draws.methods[:, None, :] * grid.cells[None].astype(float)
    if draws.units is not None:
        weights = weights * draws.units
    if draws.annotators is None:
        return grid.human[None], np.broadcast_to(
            weights, (draws.resamples, *grid.cells.shape)
        )
    drawn = draws.annotators.astype(float)
    present = np.isfinite(grid.votes)
    total = np.einsum("ba,asm->bsm", drawn, np.where(present, grid.votes, 0.0))
    count = np.einsum("ba,asm->bsm", drawn, present.astype(float))
    human = total / np.maximum(count, 1)
    if not grid.judge:
        human = np.round(human, HUMAN_DIGITS)
    return human, weights * (count > 0)


def turned(grid: CellGrid) -> CellGrid:
    """Exchange stories and methods: what holds inside stories then does in methods."""
    return replace(
        grid,
        stories=grid.methods,
        methods=grid.stories,
        cells=grid.cells.T,
        human=grid.human.T,
        scores=grid.scores.transpose(0, 2, 1),
        votes=grid.votes.transpose(0, 2, 1),
    )


def method_means(grid: CellGrid, draws: Draws) -> tuple[Array, Array, Array]:
    """Average people's values and scores over the cells of each method."""
    if grid.judge:
        scores = np.concatenate([grid.human[None], grid.scores])
        _, x, weights = method_means(replace(grid, scores=scores, judge=""), draws)
        return x[0], x[1:], weights
    known = np.where(grid.cells, grid.scores, 0.0)
    both_signs = (known < 0).any(axis=(1, 2)) & (known > 0).any(axis=(1, 2))
    if draws.units is None and draws.annotators is None:
        # Drawing stories is one matrix product.
        times = draws.stories.astype(float)
        total = np.where(draws.methods > 0, times @ grid.cells.astype(float), 0.0)
        h = np.where(total > 0, times @ np.where(grid.cells, grid.human, 0.0), 0.0)

        def summed(values: Array) -> Array:
            return np.where(total > 0, np.matmul(times, values), 0.0)
    else:
        human, weights = resampled_human(grid, draws)
        once = np.where(draws.methods[:, None, :] > 0, weights, 0.0)
        once = once * draws.stories[:, :, None]
        total = once.sum(axis=1)
        h = np.einsum("bsm,bsm->bm", once, np.broadcast_to(human, once.shape))

        def summed(values: Array) -> Array:
            return np.asarray(np.einsum("bsm,ksm->kbm", once, values))

    divisor = np.maximum(total, 1)
    x = summed(known) / divisor
    size = np.abs(x)
    size[both_signs] = summed(np.abs(known[both_signs])) / divisor
    return (
        np.round(h / divisor, HUMAN_DIGITS),
        merged_by_rounding(x, size),
        np.where(total > 0, draws.methods, 0).astype(float),
    )


def merged_by_rounding(values: Array, size: Array) -> Array:
    """Make means along the last axis equal that differ by no more than rounding."""
    tolerance = ROUNDING * size
    gaps = np.diff(np.sort(values))
    near = (gaps > 0) & (gaps <= tolerance.max(axis=-1, keepdims=True, initial=0))
    rows = near.any(axis=-1)
    found = values.copy()
    found[rows] = _merged_rows(values[rows], tolerance[rows])
    return found


def _merged_rows(values: Array, tolerance: Array) -> Array:
    """Make neighbours equal that differ by no more than their tolerance, (R, M)."""
    order = np.argsort(values, axis=1)
    ordered = np.take_along_axis(values, order, 1)
    slack = np.take_along_axis(tolerance, order, 1)
    new = np.ones(values.shape, bool)
    new[:, 1:] = np.diff(ordered) > np.maximum(slack[:, 1:], slack[:, :-1])
    first = np.maximum.accumulate(np.where(new, np.arange(values.shape[1]), 0), 1)
    found = np.empty_like(values)
    np.put_along_axis(found, order, np.take_along_axis(ordered, first, 1), 1)
    return found


RESIDUAL = "residual"


def at_level(grid: CellGrid, level: str) -> tuple[CellGrid, str]:
    """Return the cells to correlate, and how: residuals are compared within stories."""
    return (without_methods(grid), "story") if level == RESIDUAL else (grid, level)


# The least and the most of the highest power of effects whose products are removed, and
# the degrees of freedom for each product. Both sides lose products of their own: more
# of them make a correlation smaller.
POWERS, FREEDOM_EACH = (1, 5), 8
# Ranks keep some of what a bounded scale does to both sides.
RESIDUAL_TESTED = "pearson"
NOT_TESTED = sentence(
    "with method and story removed, only Pearson's r is tested: ranks keep some of "
    "what a bounded scale does to both sides"
)


def is_tested(level: str, coefficient: str) -> bool:
    """Return whether a coefficient has a valid test against 0 at a level."""
    return level != RESIDUAL or coefficient == RESIDUAL_TESTED


def without_methods(grid: CellGrid) -> CellGrid:
    """Take the effects of methods, and their bending, off people's values and scores.

    Effects are those of the least squares fit of methods m and stories s to the cells
    of each side (Liu, Li, Wanga and Shepherd 2018, Biometrics 74(2), take covariates
    off both sides in the same way). Bounded scales bend them: the fit of products of
    powers of both goes too (Tukey 1949, Biometrics 5(3), for sm), of higher ones where
    there are many cells, in which a test would find what is left. Effects of stories
    make no difference within stories, and stay. A story counts where neither side gives
    all its outputs one value. Values that differ by rounding are equal.
    """
    sides = np.where(grid.cells, np.concatenate([grid.human[None], grid.scores]), 0.0)
    size = np.abs(sides).max(axis=(1, 2), keepdims=True)
    of_methods, of_stories = _effects(sides, grid.cells)
    of_stories = of_stories - of_stories.mean(axis=1, keepdims=True)
    s, m = (_of_largest(v, ROUNDING * size) for v in (of_stories, of_methods))
    powers = range(1, highest_power(grid.cells) + 1)
    bent = np.stack([s**i * m**j for i in powers for j in powers]) * grid.cells
    bent = np.where(grid.cells, bent - sum(_effects(bent, grid.cells)), 0.0)
    length = np.sqrt((bent**2).sum(axis=(2, 3), keepdims=True))
    bent /= np.where(length > ROUNDING, length, np.inf)
    normal = np.einsum("iksm,jksm->kij", bent, bent)
    along = np.einsum("iksm,ksm->ki", bent, sides)
    shares = np.einsum("kij,kj->ki", np.linalg.pinv(normal, 1e-9), along)
    fitted = of_methods + np.einsum("ki,iksm->ksm", shares, bent)
    # Where a side gives all outputs of a story one value, only the fit's error is left.
    best = np.where(grid.cells, sides, -np.inf).max(axis=2, keepdims=True)
    worst = np.where(grid.cells, sides, np.inf).min(axis=2, keepdims=True)
    left = np.where(grid.cells & (best > worst), sides - fitted, 0.0)
    left = merged_by_rounding(left, np.broadcast_to(size, left.shape))
    human = np.where(grid.cells, np.round(left[0], HUMAN_DIGITS), 0.0)
    return replace(grid, human=human, scores=left[1:], votes=grid.votes - fitted[0])


def _of_largest(effects: Array, least: Array) -> Array:
    """Divide effects, (K, ...), by the largest; they are 0 if it is only rounding."""
    largest = np.abs(effects).max(axis=(1, 2), keepdims=True)
    effects = np.where(largest > least, effects, 0.0)
    return np.asarray(effects / np.where(largest > 0, largest, 1.0))


def highest_power(cells: Mask) -> int:
    """Return the highest power of effects whose products are removed."""
    effects = cells.any(axis=0).sum() + cells.any(axis=1).sum() - 1
    freedom = max(int(cells.sum() - effects), 0)
    return int(np.clip(np.sqrt(freedom / FREEDOM_EACH), *POWERS))


def _effects(values: Array, cells: Mask) -> tuple[Array, Array]:
    """Return the effects of methods, (..., 1, M), and stories' means less these.

    Effects are of least squares. Values are 0 outside cells.
    """
    known = cells.astype(float)
    n = np.maximum(known.sum(axis=1, keepdims=True), 1)
    normal = np.diag(known.sum(axis=0)) - known.T @ (known / n)
    means = values.sum(axis=-1, keepdims=True) / n
    within = (values - known * means).sum(axis=-2, keepdims=True)
    # One eigenvalue is 0 but for rounding, and must not be inverted.
    of_methods = within @ np.linalg.pinv(normal, ROUNDING, hermitian=True)
    of_stories = means - (known * of_methods).sum(axis=-1, keepdims=True) / n
    return of_methods, of_stories


# Values held at once while resampling: resamples x stories x methods.
CHUNK = 10_000_000


def level_values(
    grid: CellGrid, level: str, draws: Draws, coefficients: Sequence[str]
) -> dict[str, Array]:
    """Correlate every metric at one level in every resample."""
    grid, level = at_level(grid, level)
    compute = {"method": _at_methods, "pooled": _over_cells}.get(level, _averaged)
    size = max(1, CHUNK // max(grid.cells.size, 1))
    if level == "within_method":
        grid, draws = turned(grid), _turned(draws)
    parts = [compute(grid, chunk, coefficients) for chunk in draws.chunks(size)]
    return {name: np.concatenate([p[name] for p in parts], 1) for name in coefficients}


LevelValues = dict[str, Array]


def _over_cells(
    grid: CellGrid, draws: Draws, coefficients: Sequence[str]
) -> LevelValues:
    story, method = np.nonzero(grid.cells)
    x = grid.scores[:, None, grid.cells]
    if draws.annotators is None:
        times = draws.stories[:, story] * draws.methods[:, method]
        if draws.units is not None:
            times = times * draws.units[:, story, method]
        human = grid.human[grid.cells][None]
        found = correlate(human, x, times[None].astype(float), coefficients)
        return {name: v[:, 0, :] for name, v in found.items()}
    drawn, weights = resampled_human(grid, draws)
    weights = weights[:, grid.cells] * draws.stories[:, story]
    human = drawn[:, grid.cells]
    x = np.repeat(x, len(human), axis=1)
    found = correlate(human, x, weights[:, None, :], coefficients)
    return {name: v[:, :, 0] for name, v in found.items()}


def story_values(
    grid: CellGrid, draws: Draws, coefficients: Sequence[str]
) -> LevelValues:
    """Correlate inside every story: coefficient to (K, S, B)."""
    B, K = draws.resamples, len(grid.scores)
    S, M = grid.cells.shape
    if draws.annotators is not None:
        human, weights = resampled_human(grid, draws)
        x = np.tile(grid.scores, (1, B, 1))
        flat = correlate(
            human.reshape(B * S, M), x, weights.reshape(B * S, 1, M), coefficients
        )
        return {n: v.reshape(K, B, S).transpose(0, 2, 1) for n, v in flat.items()}
    if draws.units is None and (draws.methods == 1).all():
        # A story drawn as a whole keeps its coefficient.
        once = grid.cells[:, None, :].astype(float)
        found = correlate(grid.human, grid.scores, once, coefficients)
        return {name: np.broadcast_to(v, (K, S, B)) for name, v in found.items()}
    weights = resampled_human(grid, draws)[1].transpose(1, 0, 2)
    return correlate(grid.human, grid.scores, weights, coefficients)


def _averaged(grid: CellGrid, draws: Draws, coefficients: Sequence[str]) -> LevelValues:
    found = story_values(grid, draws, coefficients)
    return {name: _average(values, draws) for name, values in found.items()}


def _average(values: Array, draws: Draws) -> Array:
    """Average over the drawn stories in which a coefficient is defined: (K, B)."""
    times = draws.stories.T[None].astype(float)  # (1, S, B)
    here = np.isfinite(values)
    count = (times * here).sum(axis=1)
    total = (times * np.where(here, values, 0.0)).sum(axis=1)
    return divided(total, count)


def _turned(draws: Draws) -> Draws:
    units = None if draws.units is None else draws.units.transpose(0, 2, 1)
    return Draws(draws.methods, draws.stories, units, draws.annotators)


def _at_methods(
    grid: CellGrid, draws: Draws, coefficients: Sequence[str]
) -> LevelValues:
    if draws.keep_cells:
        # The means are those of every resample: one group under many weights.
        h, x, once = method_means(grid, no_draws(*grid.cells.shape))
        weights = np.where(once > 0, draws.methods, 0)[None]
    else:
        h, x, drawn = method_means(grid, draws)
        weights = drawn[:, None, :]
    found = correlate(h, x, weights, coefficients)
    return {name: v.reshape(len(v), -1) for name, v in found.items()}


def can_vary(parts: tuple[str, ...], grid: CellGrid, draws: Draws) -> bool:
    """Return whether at least one kind of cluster has two members to draw from."""
    sizes = {
        "stories": len(grid.stories),
        "methods": len(grid.methods),
        "annotators": len(grid.votes),
        "units": int(grid.cells.sum()),
    }
    return draws.resamples > 0 and any(sizes[part] > 1 for part in parts)


LevelSize = tuple[int, Groups | None]


def level_point(
    grid: CellGrid, level: str, coefficients: Sequence[str]
) -> tuple[LevelValues, dict[str, list[LevelSize]]]:
    """Correlate the data as they are, and count what enters, for every metric."""
    grid, level = at_level(grid, level)
    once, every = no_draws(*grid.cells.shape), range(len(grid.metrics))
    if level in ("method", "pooled"):
        n = grid.cells.any(axis=0).sum() if level == "method" else grid.cells.sum()
        found = level_values(grid, level, once, coefficients)
        return found, {name: [(int(n), None) for _ in every] for name in coefficients}
    if level == "within_method":
        grid, once = turned(grid), _turned(once)
    inside = story_values(grid, once, coefficients)
    defined = {name: np.isfinite(values[:, :, 0]) for name, values in inside.items()}
    kind = "method" if level == "within_method" else "story"
    return {name: _average(values, once) for name, values in inside.items()}, {
        name: [_entering(grid, k, here[k], kind) for k in every]
        for name, here in defined.items()
    }


def _entering(grid: CellGrid, k: int, defined: Mask, kind: str) -> LevelSize:
    """Count the cells and the stories that enter, and say why the others do not."""
    cells = grid.cells
    lost = cells.any(axis=1) & ~defined
    few = lost & (cells.sum(axis=1) < 2)
    high = np.where(cells, grid.human, -np.inf).max(axis=1)
    low = np.where(cells, grid.human, np.inf).min(axis=1)
    same = lost & ~few & (high == low)
    averaged, too_few, people_same, metric_same = (
        int(mask.sum()) for mask in (defined, few, same, lost & ~few & ~same)
    )
    groups = Groups(
        kind, averaged, too_few, people_same, metric_same, sides=grid.sides(k)
    )
    return int(cells[defined].sum()), groups


def why_undefined(grid: CellGrid, level: str, k: int) -> str:
    """Return why the k-th metric has no coefficient at a level."""
    people, metric = grid.sides(k)
    if level == RESIDUAL:
        return sentence(
            "in no story do {people} or {metric} distinguish two methods by more than "
            "their means",
            people=people,
            metric=metric,
        )
    if level == "story":
        return sentence(
            "in no story do both {people} and {metric} distinguish two methods",
            people=people,
            metric=metric,
        )
    if level == "within_method":
        return sentence(
            "in no method do both {people} and {metric} distinguish two stories",
            people=people,
            metric=metric,
        )
    if level == "method":
        h, x, weights = method_means(grid, no_draws(*grid.cells.shape))
        h, x, used = h[0], x[k, 0], weights[0] > 0
    else:
        h, x, used = grid.human, grid.scores[k], grid.cells
    if used.sum() < 2:
        return sentence(
            "fewer than two methods" if level == "method" else "fewer than two outputs"
        )
    if np.ptp(h[used]) == 0:
        return sentence("{people}'s values are all the same", people=people)
    return sentence("{metric}'s scores are all the same", metric=metric)
