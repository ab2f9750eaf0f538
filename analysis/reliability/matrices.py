"""Answers laid out by unit and annotator; ICC, and each annotator against the rest."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pandas as pd
from scipy import sparse

from analysis.correlations.coefficients import correlate, ratio
from analysis.inference.resampling import divided
from analysis.reading.cells import same_within_tolerance
from analysis.reading.kept_answers import are_means
from analysis.results import Array, Counts, Mask, TableRow

# Mean squares below this are rounding.
ROUNDING = 1e-12


@dataclass(frozen=True)
class Reliability:
    """Answers of one question, laid out for agreement."""

    values: Array
    units: Counts
    annotators: Counts
    codes: Counts
    n_units: int
    names: tuple[str, ...]
    clusters: dict[str, Counts]
    scale: tuple[int, int] | None = None
    of_means: bool = False

    @property
    def n_annotators(self) -> int:
        return len(self.names)

    @cached_property
    def counts(self) -> sparse.csr_array:
        """Sparse, shape (U, V): how often each unit got each answer."""
        shape = (self.n_units, len(self.values))
        ones = np.ones(len(self.units))
        counts = sparse.coo_array((ones, (self.units, self.codes)), shape=shape).tocsr()
        counts.sort_indices()
        return counts

    @cached_property
    def per_unit(self) -> Array:
        return np.bincount(self.units, minlength=self.n_units).astype(float)

    @cached_property
    def pairable(self) -> Mask:
        """Units with two answers or more."""
        return self.per_unit >= 2

    @cached_property
    def complete(self) -> Mask:
        """Units that every annotator answered."""
        return self.per_unit >= self.n_annotators

    @cached_property
    def matrix(self) -> Array:
        """Shape (C, A): the answers to the units that every annotator answered."""
        place = np.cumsum(self.complete) - 1
        rows = self.complete[self.units]
        found = np.full((int(self.complete.sum()), self.n_annotators), np.nan)
        answers = self.values[self.codes[rows]]
        found[place[self.units[rows]], self.annotators[rows]] = answers
        return found

    @property
    def top_share(self) -> float:
        """Share of the answers that say what most of them say."""
        return float(self.counts.sum(axis=0).max() / len(self.units))

    @property
    def exact_agreement(self) -> float:
        """Return the share of pairs of annotators who agree, mean over units."""
        counts, m = self.counts[self.pairable], self.per_unit[self.pairable]
        same = np.asarray(counts.multiply(counts).sum(axis=1)).ravel() - m
        return float((same / (m * (m - 1))).mean())

    def take(self, units: Counts) -> "Reliability":
        """Return some of the units, in ascending order; all annotators stay."""
        place = np.full(self.n_units, -1)
        place[units] = np.arange(len(units))
        rows = place[self.units] >= 0
        return replace(
            self,
            units=place[self.units[rows]],
            annotators=self.annotators[rows],
            codes=self.codes[rows],
            n_units=len(units),
            clusters={part: codes[units] for part, codes in self.clusters.items()},
        )


def rating_reliability(
    ratings: pd.DataFrame, scale: tuple[int, int] | None = None
) -> Reliability:
    """Lay out the ratings of one dimension."""
    keys = ["story", "method", *(c for c in ("shot", "round") if c in ratings)]
    return replace(
        _reliability(ratings, keys, "rating", scale), of_means=are_means(ratings)
    )


def choice_reliability(choices: pd.DataFrame) -> Reliability:
    """Lay out the answers of one criterion, methods in alphabetical order."""
    codes = pd.factorize(choices["choice"], sort=True)[0]
    rows = choices.assign(answer=codes.astype(float))
    keys = ["story", "method_a", "method_b", *(c for c in ("round",) if c in rows)]
    return _reliability(rows, keys, "answer", None)


def _reliability(
    rows: pd.DataFrame, keys: list[str], value: str, scale: tuple[int, int] | None
) -> Reliability:
    units = rows.groupby(keys, sort=True)
    first = units.head(1).sort_values(keys)
    # Factorised first: hashing a million answers is faster than sorting them.
    codes, given = pd.factorize(rows[value].to_numpy(float), sort=True)
    values, same = np.unique(same_within_tolerance(given), return_inverse=True)
    who, annotators = pd.factorize(rows["annotator"], sort=True)
    method_columns = [key for key in keys if key.startswith("method")]
    methods = np.unique(first[method_columns].to_numpy(str), return_inverse=True)[1]
    clusters = {
        "stories": _codes(first, ["story"]),
        "methods": methods.reshape(len(first), len(method_columns)),
        # Shots and rounds of one output are drawn together.
        "units": _codes(first, ["story", *method_columns]),
    }
    return Reliability(
        values,
        units.ngroup().to_numpy(int),
        who,
        same[codes],
        len(first),
        tuple(map(str, annotators)),
        clusters,
        scale,
    )


def _codes(rows: pd.DataFrame, keys: list[str]) -> Counts:
    return np.asarray(rows.groupby(keys, sort=True).ngroup(), int)[:, None]


# More different ratings than this are a continuous scale, which bars do not show.
MOST_RATINGS = 21


def rating_distribution(ratings: pd.DataFrame) -> list[TableRow]:
    """Count the ratings of every method, question by question."""
    found: list[TableRow] = []
    known = ratings.dropna(subset=["rating"])
    for question, rows in known.groupby("dimension", sort=True):
        given = rows["rating"].astype(float)
        if given.nunique() > MOST_RATINGS or ("annotator" in rows and are_means(rows)):
            continue
        counts = pd.crosstab(rows["method"].astype(str), given)
        for method, row in zip(counts.index, counts.to_numpy(), strict=True):
            for rating, n in zip(counts.columns, row, strict=True):
                found.append(
                    {
                        "question": str(question),
                        "method": method,
                        "rating": float(rating),
                        "n": int(n),
                        "share": float(n / row.sum()),
                    }
                )
    return found


# Rating values times values of the rest: a table of at most so many cells replaces
# the units, whatever their number.
LARGEST_TABLE = 20_000


def icc(
    data: Reliability, weights: Array, kind: str, people: Array | None = None
) -> Array:
    """Intraclass correlation, two-way random effects, absolute agreement.

    With mean squares of units (R), raters (C) and error (E): :math:`(R - E)/(R + (k-1)E
    + k(C - E)/n)` and :math:`(R - E)/(R + (C - E)/n)`. All three are means over pairs
    of different raters: of their covariances, half variances less covariances, and half
    squared differences of means. Drawn raters weight these pairs by :math:`v_a v_b`, so
    that nobody is paired with himself.

    Source: Shrout and Fleiss (1979), Psychological Bulletin 86(2).
    """
    x = data.matrix - data.matrix.mean()
    w = weights[:, data.complete]
    k, n = x.shape[1], w.sum(axis=1)
    v = np.ones((1, k)) if people is None else people
    V, Q = v.sum(axis=1), v.sum(axis=1) ** 2 - (v**2).sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        means = w @ x / n[:, None]
        own = (w @ x**2 / n[:, None] - means**2) * (n / (n - 1))[:, None]
        joint = _variance(x @ v.T, w, n)
        units = (joint - (v**2 * own).sum(axis=1)) / Q
        error = (v * (V[:, None] - v) * own).sum(axis=1) / Q - units
        raters = (V * (v * means**2).sum(axis=1) - (v * means).sum(axis=1) ** 2) / Q
        rest = raters - error / n + error
        rest = rest / k if kind == "icc_2_k" else rest
        value = units / (units + rest)
        total = (v * (own + means**2)).sum(axis=1) / V
    # Estimated variances may be negative: then there is no share of them.
    least = ROUNDING * np.maximum(total, 1)
    return np.where((total > least) & (units + rest > least), value, np.nan)


def _variance(y: Array, w: Array, n: Array) -> Array:
    """Weighted variance over units of y, shape (C, 1 or B): shape (B,)."""
    if y.shape[1] == 1:
        mean, square = w @ y[:, 0] / n, w @ y[:, 0] ** 2 / n
    else:
        mean = np.einsum("bu,ub->b", w, y) / n
        square = np.einsum("bu,ub->b", w, y**2) / n
    return np.asarray((square - mean**2) * n / (n - 1))


def rater_vs_rest(
    data: Reliability, weights: Array, coefficient: str, people: Array | None = None
) -> Array:
    """Correlate each annotator with the mean of the others, and average."""
    if people is not None:
        raise ValueError("rater_vs_rest: annotators cannot be drawn")
    w = weights[:, data.complete]
    values = [
        correlate_weighted(own, rest, w)[coefficient] for own, rest in _with_rest(data)
    ]
    defined = np.isfinite(values)
    count = defined.sum(axis=0)
    summed = np.where(defined, values, 0.0).sum(axis=0)
    return divided(summed, count)


def has_rest(data: Reliability) -> Mask:
    """Tell for which annotators a correlation with the mean of the others exists."""
    found = [np.ptp(own) > 0 and np.ptp(rest) > 0 for own, rest in _with_rest(data)]
    return np.array(found, bool)


def _with_rest(data: Reliability) -> Iterator[tuple[Array, Array]]:
    """Yield each annotator's ratings beside the means of all others."""
    total = data.matrix.sum(axis=1)
    for own in data.matrix.T:
        yield own, same_within_tolerance((total - own) / (data.n_annotators - 1))


def correlate_weighted(x: Array, y: Array, weights: Array) -> dict[str, Array]:
    """Tau-b and Spearman of two columns under many weights of their rows."""
    levels_x, i = np.unique(x, return_inverse=True)
    levels_y, j = np.unique(y, return_inverse=True)
    shape = (len(levels_x), len(levels_y))
    if shape[0] * shape[1] > LARGEST_TABLE:
        found = correlate(
            x[None], y[None, None], weights[None], ["kendall", "spearman"]
        )
        return {name: values[0, 0] for name, values in found.items()}
    into = sparse.coo_array(
        (np.ones(len(x)), (i * shape[1] + j, np.arange(len(x)))),
        shape=(shape[0] * shape[1], len(x)),
    ).tocsr()
    return correlate_tables((into @ weights.T).reshape(*shape, -1))


def correlate_tables(tables: Array) -> dict[str, Array]:
    r"""Tau-b and Spearman of contingency tables whose rows and columns are ordered.

    :math:`C - D = \sum_{ij} t_{ij} (L_{ij} - R_{ij})` with the sums L of the cells
    above and to the left and R above and to the right. Whole numbers, so exact.
    """
    if tables.shape[0] > tables.shape[1]:
        tables = tables.transpose(1, 0, 2)
    rows, columns = tables.sum(axis=1), tables.sum(axis=0)
    n = rows.sum(axis=0)
    pairs = np.zeros(tables.shape[2])
    above = np.zeros(tables.shape[1:])
    for row, total in zip(tables, rows, strict=True):
        up_to = np.cumsum(above, axis=0)
        # Up to the left neighbour, less what lies to the right.
        pairs += np.einsum("jb,jb->b", row, 2 * up_to - above) - total * up_to[-1]
        above += row
    untied_rows = (n**2 - (rows**2).sum(axis=0)) / 2
    untied_columns = (n**2 - (columns**2).sum(axis=0)) / 2
    R = np.cumsum(rows, axis=0) - rows / 2 - n / 2
    C = np.cumsum(columns, axis=0) - columns / 2 - n / 2
    product = (R * np.einsum("ijb,jb->ib", tables, C)).sum(axis=0)
    return {
        "kendall": ratio(pairs, untied_rows, untied_columns),
        "spearman": ratio(
            product, (rows * R**2).sum(axis=0), (columns * C**2).sum(axis=0)
        ),
    }
