"""Variance components of unbalanced data, by equating sums of squares."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd
from scipy import sparse

from analysis.results import Array, Counts
from analysis.sentences import sentence

METHOD, STORY, ANNOTATOR = "method", "story", "annotator"
FACTORS = (METHOD, STORY, ANNOTATOR)
NAMES = {
    METHOD: sentence("method"),
    STORY: sentence("story"),
    ANNOTATOR: sentence("annotator"),
}
# Values held at once while resampling.
CHUNK = 4_000_000
# A worse conditioned design tells its components apart by rounding only.
CONDITION = 1e8
# More combinations than this many times the rows are looked up, not laid out.
LAID_OUT = 4
VarianceSource = tuple[str, ...]


def component_name(source: VarianceSource, factors: Sequence[str] = FACTORS) -> str:
    """Return the name of a component as tables write it."""
    return "rest" if len(source) == len(factors) else " x ".join(source)


@dataclass(frozen=True)
class Design:
    """The level of each factor to which each value belongs."""

    codes: Mapping[str, Counts]

    @property
    def factors(self) -> VarianceSource:
        """The factors, in order; all of them together name the rest."""
        return tuple(self.codes)

    @property
    def size(self) -> int:
        return len(next(iter(self.codes.values())))

    @cached_property
    def _groups(self) -> dict[VarianceSource, tuple[Counts, int]]:
        return {}

    def groups(self, source: VarianceSource) -> tuple[Counts, int]:
        if source not in self._groups:
            self._groups[source] = self._grouped(source)
        return self._groups[source]

    def _grouped(self, source: VarianceSource) -> tuple[Counts, int]:
        if not source:
            return np.zeros(self.size, int), 1
        if len(source) == len(self.factors):
            return np.arange(self.size), self.size
        joint, cells = np.zeros(self.size, int), 1
        for name in source:
            levels = int(self.codes[name].max()) + 1
            joint, cells = joint * levels + self.codes[name], cells * levels
        if cells > LAID_OUT * self.size:
            found, labels = np.unique(joint, return_inverse=True)
            return labels, len(found)
        used = np.bincount(joint, minlength=cells) > 0
        return (np.cumsum(used) - 1)[joint], int(used.sum())

    def union(self, one: VarianceSource, other: VarianceSource) -> VarianceSource:
        """Return the factors of both."""
        return tuple(name for name in self.factors if name in one or name in other)

    def parents(self, inner: VarianceSource, outer: VarianceSource) -> Counts:
        """Return the outer group in which each inner one lies."""
        labels, n = self.groups(inner)
        found = np.zeros(n, int)
        found[labels] = self.groups(outer)[0]
        return found

    def sources(self) -> tuple[list[VarianceSource], dict[VarianceSource, str]]:
        """Return the components that the design identifies."""
        names = self.factors
        pairs = [(a, b) for i, a in enumerate(names) for b in names[i + 1 :]]
        candidates: list[VarianceSource] = [names, *((name,) for name in names)]
        candidates += [pair for pair in pairs if len(pair) < len(names)]
        kept: list[VarianceSource] = []
        reasons: dict[VarianceSource, str] = {}
        for source in candidates:
            reason = self._confounded(source, kept)
            if reason:
                reasons[source] = reason
            else:
                kept.append(source)
        while len(kept) > 1 and _condition(_expectations(self, kept)) > CONDITION:
            reasons[kept.pop()] = sentence(
                "the design cannot separate it from the others"
            )
        return kept, reasons

    def _confounded(self, source: VarianceSource, kept: list[VarianceSource]) -> str:
        if len(source) < len(self.factors):
            for name in source:
                if self.groups((name,))[1] == 1:
                    return sentence("only one {factor}", factor=NAMES.get(name, name))
        for other in kept:
            n, m = self.groups(source)[1], self.groups(other)[1]
            # One lies inside the other and there are as many: the same groups.
            inside = set(source) <= set(other) or set(other) <= set(source)
            if n == m and (inside or self._same(source, other)):
                name = component_name(other, self.factors)
                return sentence(
                    "cannot be separated from {name}: the same ratings share both",
                    name=name,
                )
        return ""

    def _same(self, one: VarianceSource, other: VarianceSource) -> bool:
        both = self.union(one, other)
        return self.groups(both)[1] == self.groups(one)[1]


def _expectations(design: Design, kept: list[VarianceSource]) -> Array:
    """Return how often each component enters the expectation of each sum of squares."""
    rows = []
    for outer in [(), *kept]:
        size = _sizes(design, outer)
        row = [float(design.size)]
        for source in kept:
            both = design.union(outer, source)
            inner = _sizes(design, both) ** 2
            row.append(float((inner / size[design.parents(both, outer)]).sum()))
        rows.append(row)
    return np.array(rows)


def _sizes(design: Design, source: VarianceSource) -> Array:
    labels, n = design.groups(source)
    return np.bincount(labels, minlength=n).astype(float)


def _condition(matrix: Array) -> float:
    return float(np.linalg.cond(matrix / np.abs(matrix).max(axis=0)))


@dataclass(frozen=True)
class Components:
    """Variance components, or covariance components of several variables."""

    values: Mapping[VarianceSource, Array]
    levels: Mapping[VarianceSource, int]
    reasons: Mapping[VarianceSource, str]

    def matrix(self, *source: str) -> Array:
        """Return the component of one source; 0 where the design cannot tell it."""
        size = next(iter(self.values.values())).shape
        return self.values.get(source, np.zeros(size))

    def variance(self, *source: str) -> float:
        """Return the first variable's component, 0 where it is negative or unknown."""
        return max(0.0, float(self.matrix(*source)[0, 0]))


def estimate_components(design: Design, values: Array) -> Components:
    r"""Estimate components by equating sums of squares with their expectations.

    Henderson's method I. For a source A with groups i let
    :math:`T_A = \sum_i y_{i\cdot}^2 / n_i`; then
    :math:`E\,T_A = N\mu^2 + \sum_C \sigma_C^2 \sum_i \sum_j n_{ij}^2 / n_i`
    over the groups j of C inside i. As many equations as components: one small linear
    system, exact for any pattern of missing ratings, and the usual analysis of
    variance where nothing is missing. All effects are random. Estimates are unbiased
    and therefore sometimes negative. The cost is linear in the rows.

    Source: Henderson, C. R. (1953), Estimation of variance and covariance components,
    Biometrics 9(2); Brennan, R. L. (2001), Generalizability Theory, section 7.1.1.
    """
    kept, reasons = design.sources()
    centred = values - values.mean(axis=0)
    squares = []
    for source in [(), *kept]:
        labels, n = design.groups(source)
        sums = np.stack(
            [np.bincount(labels, column, minlength=n) for column in centred.T], axis=1
        )
        squares.append(sums.T @ (sums / _sizes(design, source)[:, None]))
    stacked = np.stack(squares).reshape(len(squares), -1)
    solved = np.linalg.solve(_expectations(design, kept), stacked)
    shape = (values.shape[1], values.shape[1])
    found = {s: row.reshape(shape) for s, row in zip(kept, solved[1:], strict=True)}
    levels = {s: design.groups(s)[1] for s in [*kept, *reasons]}
    return Components(found, levels, reasons)


def resampled_components(
    design: Design, values: Array, *, drawn: str, counts: Counts
) -> dict[VarianceSource, Array]:
    """Estimate the components again where one factor's levels are drawn."""
    kept, _ = design.sources()
    widest = max(design.groups(s)[1] for s in [(), *kept] if drawn not in s)
    step = max(1, CHUNK // widest)
    parts = []
    for start in range(0, len(counts), step):
        w = counts[start : start + step].astype(float)
        parts.append(_Resampled(design, values - values.mean(), drawn, w).solve(kept))
    stacked = np.concatenate(parts) if parts else np.empty((0, len(kept)))
    return {source: stacked[:, i] for i, source in enumerate(kept)}


class _Resampled:
    """Sums of squares and their expectations as functions of how often is drawn."""

    def __init__(self, design: Design, y: Array, drawn: str, w: Array) -> None:
        self.design, self.y, self.drawn, self.w = design, y, drawn, w
        self.code = design.codes[drawn]
        self.levels = int(self.code.max()) + 1
        self._sizes: dict[VarianceSource, Array] = {}

    def solve(self, kept: list[VarianceSource]) -> Array:
        left, right = [], []
        n = self._inside((), np.ones(self.design.size))
        for outer in [(), *kept]:
            left.append(
                np.stack([n, *(self._expected(outer, s) for s in kept)], axis=1)
            )
            right.append(self._squares(outer))
        system, squares = np.stack(left, axis=1), np.stack(right, axis=1)
        usable = np.linalg.cond(system) < CONDITION * len(self.y)
        found = np.full((len(self.w), len(kept)), np.nan)
        if usable.any():
            solved = np.linalg.solve(system[usable], squares[usable][:, :, None])
            found[usable] = solved[:, 1:, 0]
        return found

    def _split(self, source: VarianceSource) -> bool:
        """Return whether each group of a source lies in one drawn level."""
        return self.drawn in source

    def _inside(self, source: VarianceSource, values: Array) -> Array:
        """Sum values of rows in all drawn copies, shape (B,)."""
        return np.asarray(
            self.w @ np.bincount(self.code, values, minlength=self.levels)
        )

    def _sums(self, source: VarianceSource, values: Array) -> Array:
        """Sum rows by group, each as often as its level is drawn: shape (B, L)."""
        labels, n = self.design.groups(source)
        table = sparse.coo_array(
            (values, (self.code, labels)), shape=(self.levels, n)
        ).tocsr()
        if table.nnz * LAID_OUT > self.levels * n:
            return np.asarray(self.w @ table.toarray())
        return np.asarray((table.T @ self.w.T).T)

    def _size(self, source: VarianceSource) -> Array:
        if source not in self._sizes:
            self._sizes[source] = self._sums(source, np.ones(self.design.size))
        return self._sizes[source]

    def _squares(self, outer: VarianceSource) -> Array:
        if self._split(outer):
            labels, n = self.design.groups(outer)
            means = np.bincount(labels, self.y, minlength=n) / _sizes(
                self.design, outer
            )
            return self._inside(outer, self.y * means[labels])
        size = self._size(outer)
        return np.asarray(
            (self._sums(outer, self.y) ** 2 / np.maximum(size, 1)).sum(axis=1)
        )

    def _expected(self, outer: VarianceSource, source: VarianceSource) -> Array:
        design, both = self.design, self.design.union(outer, source)
        if not self._split(both):
            inner = self._size(both) ** 2
            parents = design.parents(both, outer)
            return np.asarray(
                (inner / np.maximum(self._size(outer), 1)[:, parents]).sum(axis=1)
            )
        # The share of its row in the squared size of the group in which it lies.
        with_drawn = design.union(both, (self.drawn,))
        per_row = _sizes(design, with_drawn)[design.groups(with_drawn)[0]]
        if self._split(outer):
            size = _sizes(design, outer)[design.groups(outer)[0]]
            return self._inside(outer, per_row / size)
        totals = self._sums(outer, per_row)
        return np.asarray((totals / np.maximum(self._size(outer), 1)).sum(axis=1))


def rating_design(by_annotator: pd.DataFrame) -> Design:
    """Return the groups of the rows of `analysis.reading.cells.annotator_cells`."""
    return Design(
        {
            name: np.unique(by_annotator[name].to_numpy(str), return_inverse=True)[1]
            for name in FACTORS
        }
    )
