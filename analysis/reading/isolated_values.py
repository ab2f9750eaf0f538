"""Ratings that lie far from all others, as two digits typed for one."""

from collections.abc import Iterator

import numpy as np
import pandas as pd

from analysis.printing import counted
from analysis.reading.files import address
from analysis.reading.shared_names import FILE
from analysis.results import Array, Mask
from analysis.sentences import sentence

# Of so many ratings one may be isolated; of fewer than four hundred, two.
ONE_IN, LEAST, LEAST_RATINGS = 200, 2, 40
# So many times as many ratings have the value next to the isolated ones: the tail of
# counts, or of a slider that few people push far, has fewer and fewer.
TIMES = 10
# Scales on which a rare rating may be far from the others and meant.
USUAL_SCALES = ((0, 10), (-5, 5), (0, 100), (-100, 100))
# Values of a question that are named.
MOST_VALUES = 5


def isolated(values: Array) -> Mask:
    """Say which ratings lie farther from the others than these from one another.

    Only whole numbers are looked at, 40 or more. The others are the shortest range that
    holds all ratings but one in 200 (two of fewer than 400), and whatever lies no
    farther from it than it is wide, until nothing more does. Ratings outside are
    isolated, unless they are within the smallest usual scale that holds the range (0 to
    10, -5 to 5, 0 to 100, -100 to 100), or the end of the range next to them has not
    ten times as many ratings.
    """
    values = np.asarray(values, float)
    none = np.zeros(len(values), bool)
    if len(values) < LEAST_RATINGS or not (values == np.round(values)).all():
        return none
    low, high = _range_of_others(values)
    usual = [scale for scale in USUAL_SCALES if scale[0] <= low and high <= scale[1]]
    bottom, top = usual[0] if usual else (low, high)
    for far, end in ((values < bottom, low), (values > top, high)):
        if (values == end).sum() >= TIMES * far.sum():
            none |= far
    return none


def _range_of_others(values: Array) -> tuple[float, float]:
    ordered = np.sort(values)
    rare = max(LEAST, len(values) // ONE_IN)
    widths = ordered[len(values) - rare - 1 :] - ordered[: rare + 1]
    start = int(np.argmin(widths))
    low, high = ordered[start], ordered[len(values) - rare - 1 + start]
    while True:
        width = high - low
        near = ordered[(ordered >= low - width) & (ordered <= high + width)]
        if near[0] == low and near[-1] == high:
            return float(low), float(high)
        low, high = near[0], near[-1]


def isolated_ratings(ratings: pd.DataFrame) -> Iterator[str]:
    """Remark on isolated ratings, question by question."""
    file = str(ratings.attrs.get(FILE, "ratings"))
    for question, rows in ratings.groupby("dimension", sort=True):
        values = rows["rating"].to_numpy(float)
        alone = isolated(values)
        if alone.any():
            yield _remark(str(question), rows["rating"], alone, file)


def _remark(question: str, ratings: "pd.Series[float]", alone: Mask, file: str) -> str:
    told = []
    for value, own in ratings[alone].groupby(ratings[alone]):
        where = address(file, own.index, own.index[0])
        told.append(
            sentence("{value} ({where})", value=f"{value:g}", where=where)
            if len(own) == 1
            else sentence(
                "{value} ({where}, {times})",
                value=f"{value:g}",
                where=where,
                times=counted(len(own), "time"),
            )
        )
    others = ratings[~alone]
    low, high = others.min(), others.max()
    rest = len(told) - MOST_VALUES
    first = sentence("{names}", names=told[:MOST_VALUES])
    if rest > 0:
        first = sentence("{names} and {n} other values", names=first, n=rest)
    few = int(alone.sum())
    return sentence(
        "{question}: {n} of {total} ratings lies far from all others, which go from "
        "{low} to {high}: {told}. They are used as they are; if they are typing "
        "errors, --scale {low}:{high} refuses them."
        if few == 1
        else "{question}: {n} of {total} ratings lie far from all others, which go "
        "from {low} to {high}: {told}. They are used as they are; if they are typing "
        "errors, --scale {low}:{high} refuses them.",
        question=question,
        n=few,
        total=f"{len(ratings):,}",
        low=f"{low:g}",
        high=f"{high:g}",
        told=first,
    )
