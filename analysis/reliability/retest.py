"""Each annotator against himself: answers to what he judged a second time."""

from collections.abc import Callable
from typing import Unpack

import numpy as np
import pandas as pd

from analysis.inference.resampling import divided
from analysis.options import Sampling
from analysis.reading.column_cleaning import is_true, kept_rows
from analysis.reading.kept_answers import CHOICE_KEYS, RATING_KEYS
from analysis.reading.rankings import ordered_choices
from analysis.reliability.agreement import LEAST_DRAWN
from analysis.reliability.chance_corrected import alpha
from analysis.reliability.matrices import ROUNDING, Reliability
from analysis.reliability.random_responding import (
    AnnotatorMeasure,
    Sheet,
    mean_measure,
    renumbered,
    sheet_rows,
    summed,
)
from analysis.results import Array, Counts, TableRow
from analysis.sentences import Notes, counted, sentence

# The row that takes everybody's repeats together.
EVERYBODY = "all annotators"


def rating_repeats(
    ratings: pd.DataFrame, *, notes: Notes | None = None, **sampling: Unpack[Sampling]
) -> list[TableRow]:
    """Hold repeated ratings against the same annotator's first ones.

    Intervals draw an annotator's repeated outputs; `EVERYBODY`'s draw annotators, or
    outputs where fewer than `LEAST_DRAWN` annotators repeated any.

    Source: Cohen, J. (1968), Weighted kappa, Psychological Bulletin 70(4).
    """
    sheets: list[Sheet] = []
    pairs = _repeated(ratings, "dimension", RATING_KEYS, "rating", notes)
    for name, rows in pairs.groupby("dimension", sort=True):
        sheets += _repeat_sheets(str(name), rows, _rating_repeat_measures)
    return sheet_rows(sheets, **sampling)


def choice_repeats(
    choices: pd.DataFrame, *, notes: Notes | None = None, **sampling: Unpack[Sampling]
) -> list[TableRow]:
    """Hold repeated side-by-side answers against the same annotator's first ones."""
    sheets: list[Sheet] = []
    ordered = ordered_choices(choices.reset_index(drop=True))
    pairs = _repeated(ordered, "criterion", CHOICE_KEYS, "choice", notes)
    for name, rows in pairs.groupby("criterion", sort=True):
        sheets += _repeat_sheets(str(name), rows, _choice_repeat_measures)
    return sheet_rows(sheets, **sampling)


def _repeated(
    frame: pd.DataFrame,
    question: str,
    keys: tuple[str, ...],
    answer: str,
    notes: Notes | None,
) -> pd.DataFrame:
    """Pair repeats with first answers: columns of the keys, first, second."""
    if "is_repeat" not in frame:
        return pd.DataFrame(columns=[question])
    repeat = frame["is_repeat"].map(is_true).to_numpy(bool)
    order = tuple(dict.fromkeys([*keys, "submitted_at"]))
    parts = []
    for rows in (frame[~repeat], frame[repeat]):
        kept = kept_rows(rows.drop(columns="is_repeat"), order)
        present = [key for key in keys if key in kept]
        parts.append(kept[[*present, answer]])
    first, second = parts
    once = first.drop_duplicates(present).rename(columns={answer: "first"})
    again = second.rename(columns={answer: "second"})
    both = once.merge(again, on=present, how="right")
    alone = both["first"].isna()
    for name, count in both[alone].groupby(question, sort=True).size().items():
        if notes is not None:
            notes.add(
                sentence(
                    "{answers} without a first answer of the same annotator, "
                    "so in no table.",
                    answers=counted(count, "repeated answer"),
                ),
                str(name),
            )
    return both[~alone]


def _repeat_sheets(
    question: str,
    pairs: pd.DataFrame,
    measures: Callable[[pd.DataFrame, Counts], list[AnnotatorMeasure]],
) -> list[Sheet]:
    own = pairs["annotator"].to_numpy(str)
    names = sorted(set(own))
    output = [c for c in ("story", "method", "method_a", "method_b") if c in pairs]
    by_output = pairs.groupby(output, sort=True).ngroup().to_numpy(int)
    draw_people = len(names) >= LEAST_DRAWN
    sheets = []
    for name in (EVERYBODY, *names):
        rows = (own == name) | (name == EVERYBODY)
        of_people = name == EVERYBODY and draw_people
        clusters = renumbered((own if of_people else by_output)[rows])
        n, found = int(clusters.max()) + 1, measures(pairs[rows], clusters)
        sheets.append(Sheet(question, name, int(rows.sum()), n, found, of_people))
    return sheets


def _rating_repeat_measures(
    pairs: pd.DataFrame, clusters: Counts
) -> list[AnnotatorMeasure]:
    x, y = (pairs[column].to_numpy(float) for column in ("first", "second"))
    sums = summed(np.stack([np.ones(len(x)), x, y, x**2, y**2, x * y]), clusters)

    def kappa(counts: Array) -> list[Array]:
        total, *moments = sums @ counts
        mx, my, xx, yy, xy = np.stack(moments) / np.maximum(total, 1)
        apart = xx + yy - 2 * xy
        # s_x^2 + s_y^2 + (m_x - m_y)^2, without the difference of near numbers.
        chance = xx + yy - 2 * mx * my
        varied = chance > ROUNDING * (xx + yy)
        return [np.where(varied, 1 - apart / np.where(varied, chance, 1.0), np.nan)]

    return [
        mean_measure("intra_rater_exact", x == y, clusters),
        AnnotatorMeasure(("intra_rater_kappa",), kappa, len(x)),
        _alpha_measure(x, y, clusters, "ordinal"),
        mean_measure("intra_rater_difference", np.abs(y - x), clusters),
        mean_measure("intra_rater_shift", y - x, clusters),
    ]


def _choice_repeat_measures(
    pairs: pd.DataFrame, clusters: Counts
) -> list[AnnotatorMeasure]:
    both = pairs[["first", "second"]].to_numpy(str)
    codes = np.unique(both, return_inverse=True)[1].reshape(both.shape)
    x, y = codes.T
    q = int(codes.max()) + 1
    same = (x == y).astype(float)
    columns = [np.ones((1, len(x))), same[None], np.eye(q)[x].T, np.eye(q)[y].T]
    sums = summed(np.vstack(columns), clusters)

    def kappa(counts: Array) -> list[Array]:
        total, equal, *each = sums @ counts
        shares = np.stack(each) / total  # no cluster is empty
        # Of whole numbers: exactly 1 where all answers are the same.
        chance = (shares[:q] * shares[q:]).sum(axis=0)
        return [divided(equal / total - chance, 1 - chance)]

    return [
        mean_measure("intra_rater_exact", same, clusters),
        AnnotatorMeasure(("intra_rater_kappa",), kappa, len(x)),
        _alpha_measure(x.astype(float), y.astype(float), clusters, "nominal"),
    ]


def _alpha_measure(
    x: Array, y: Array, clusters: Counts, metric: str
) -> AnnotatorMeasure:
    """Krippendorff's alpha with the two occasions for raters."""
    n = len(x)
    values, codes = np.unique(np.concatenate([x, y]), return_inverse=True)
    occasions = np.repeat([0, 1], n)
    data = Reliability(
        values, np.tile(np.arange(n), 2), occasions, codes, n, ("first", "second"), {}
    )

    def compute(counts: Array) -> list[Array]:
        return [alpha(data, counts[clusters].T, metric)]

    return AnnotatorMeasure((f"intra_rater_alpha_{metric}",), compute, n)
