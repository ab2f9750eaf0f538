"""Answers laid out by unit and annotator, for statistics of agreement."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pandas as pd
from scipy import sparse

from analysis.reading.cells import same_within_tolerance
from analysis.reading.kept_answers import are_means
from analysis.results import Array, Counts, Mask, TableRow


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
        """How often two annotators of a unit give the same answer, mean over units."""
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
