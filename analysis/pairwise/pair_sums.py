"""Sums over pairs of outputs of one story, in many resamples at once."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from analysis.inference.parallel import in_threads
from analysis.inference.resampling import cluster_counts
from analysis.results import Array, Counts

# Numbers held at once.
CHUNK = 4_000_000
# With fewer of all (story, pair of methods) taken, pairs are weighted one by one.
LEAST_FILLED = 0.1


@dataclass(frozen=True)
class Clusters:
    """Which story and which two methods each of P pairs belongs to."""

    story: Counts
    first: Counts
    second: Counts
    n_stories: int
    n_methods: int

    def codes(self) -> tuple[Counts, Counts, int]:
        """Return the method pair of each pair, and which of all method pairs occur."""
        keys = self.first * self.n_methods + self.second
        present, code = np.unique(keys, return_inverse=True)
        return code, present, len(present)


def story_sums(clusters: Clusters, features: Array) -> Array:
    return _grouped(clusters.story, clusters.n_stories, features)


def _grouped(code: Counts, n: int, features: Array) -> Array:
    columns = [np.bincount(code, column, minlength=n) for column in features.T]
    return np.stack(columns, axis=1) if columns else np.zeros((n, 0))


def weighted_sums(
    clusters: Clusters, features: Array, stories: Array | None, methods: Array | None
) -> Array:
    if methods is None:
        sums = story_sums(clusters, features)
        if stories is None:
            return np.asarray(sums.sum(axis=0, keepdims=True))
        return np.asarray(stories @ sums, float)
    code, present, n = clusters.codes()
    i, j = np.divmod(present, clusters.n_methods)
    if stories is None:
        sums = _grouped(code, n, features)
        return np.asarray((methods[:, i] * methods[:, j]) @ sums, float)
    if len(code) < LEAST_FILLED * clusters.n_stories * n:
        return _one_by_one(clusters, features, stories, methods)
    return _by_story_and_pair(clusters, features, stories, methods, code, (i, j))


def _one_by_one(
    clusters: Clusters, features: Array, stories: Array, methods: Array
) -> Array:
    found = []
    features = np.asarray(features, float)
    step = max(1, CHUNK // max(len(features), 1))
    for start in range(0, len(stories), step):
        rows = slice(start, start + step)
        weights = stories[rows][:, clusters.story].astype(float)
        weights *= methods[rows][:, clusters.first]
        weights *= methods[rows][:, clusters.second]
        found.append(weights @ features)
    return np.concatenate(found)


def _by_story_and_pair(
    clusters: Clusters,
    features: Array,
    stories: Array,
    methods: Array,
    code: Counts,
    pair: tuple[Counts, Counts],
) -> Array:
    """Sum over stories first: single precision holds whole numbers below 2^24."""
    B, S = stories.shape
    n, F = len(pair[0]), features.shape[1]
    order = np.argsort(code, kind="stable")
    bounds = np.searchsorted(code[order], np.arange(n + 1))
    a = stories.astype(np.float32)
    step = max(1, CHUNK // max(S * F, B * F, 1))

    def part(start: int) -> Array:
        stop = min(start + step, n)
        rows = order[bounds[start] : bounds[stop]]
        size = stop - start
        table = np.empty((S, size, F), np.float32)
        cell = clusters.story[rows] * size + (code[rows] - start)
        for f in range(F):
            sums = np.bincount(cell, features[rows, f], minlength=S * size)
            table[:, :, f] = sums.reshape(S, size)
        weights = methods[:, pair[0][start:stop]] * methods[:, pair[1][start:stop]]
        by_pair = (a @ table.reshape(S, -1)).reshape(B, size, F)
        return np.asarray(np.matmul(weights[:, None, :].astype(float), by_pair)[:, 0])

    return np.asarray(sum(in_threads(part, range(0, n, step)), np.zeros((B, F))))


def resampled_sums(
    clusters: Clusters,
    features: Array,
    parts: tuple[str, ...],
    resamples: int,
    rng: np.random.Generator,
) -> Array:
    """Sum features in resamples of stories, methods or single pairs."""
    if resamples == 0 or not can_vary(clusters, parts):
        return np.empty((0, features.shape[1]))
    drawn = draw_clusters(clusters, parts, resamples, rng)
    if "units" not in parts:
        return weighted_sums(clusters, features, *drawn)
    found = []
    for rows, units in _unit_draws(len(features), resamples, rng):
        weights = units.astype(float)
        for counts, columns in (
            (drawn[0], (clusters.story,)),
            (drawn[1], (clusters.first, clusters.second)),
        ):
            for column in columns if counts is not None else ():
                weights *= counts[rows][:, column]  # type: ignore[index]
        found.append(weights @ features)
    return np.concatenate(found)


def _unit_draws(
    n: int, resamples: int, rng: np.random.Generator
) -> Iterator[tuple[slice, Counts]]:
    step = max(1, CHUNK // max(n, 1))
    for start in range(0, resamples, step):
        size = min(step, resamples - start)
        yield slice(start, start + size), cluster_counts(n, size, rng)


def draw_clusters(
    clusters: Clusters, parts: tuple[str, ...], resamples: int, rng: np.random.Generator
) -> tuple[Array | None, Array | None]:
    """Draw stories and methods that have a pair; None for what is not drawn."""

    def drawn(part: str, present: Counts, n: int) -> Array | None:
        if part not in parts:
            return None
        counts = np.zeros((resamples, n))
        counts[:, present] = cluster_counts(len(present), resamples, rng)
        return counts

    both = np.unique(np.concatenate([clusters.first, clusters.second]))
    stories = drawn("stories", np.unique(clusters.story), clusters.n_stories)
    return stories, drawn("methods", both, clusters.n_methods)


def can_vary(clusters: Clusters, parts: tuple[str, ...], n_annotators: int = 1) -> bool:
    """Tell whether at least one kind of cluster has two members to draw from."""
    sizes = {
        "stories": len(np.unique(clusters.story)),
        "methods": len(np.unique([clusters.first, clusters.second])),
        "annotators": n_annotators,
        "units": len(clusters.story),
    }
    return any(sizes[part] > 1 for part in parts)
