"""Side-by-side answers: orientation, counts, majorities, win rates."""

import numpy as np
import pandas as pd
from scipy import sparse

from analysis.problems import InputError, Problem
from analysis.reading.column_checks import TableCheck
from analysis.reading.column_cleaning import Column, combined
from analysis.results import Array, Counts, Mask
from analysis.tables import FLAGS, RANKING_ANSWER

OUTCOMES = ("a", "b", "tie", "both_bad")


def ordered_choices(choices: pd.DataFrame) -> pd.DataFrame:
    """Return choices with method_a before method_b, answers turned to match."""
    data = choices.copy(deep=False)
    swap = choices["method_a"] > choices["method_b"]
    data["method_a"] = choices["method_a"].where(~swap, choices["method_b"])
    data["method_b"] = choices["method_b"].where(~swap, choices["method_a"])
    turned = choices["choice"].replace({"a": "b", "b": "a"})
    data["choice"] = choices["choice"].where(~swap, turned)
    return data


def majority(votes: Array) -> Array:
    """Return the preference of more than half of the votes."""
    half = votes.sum(axis=-1) / 2
    return np.asarray((votes[..., 0] > half).astype(float) - (votes[..., 1] > half))


def annotator_votes(choices: pd.DataFrame) -> tuple[pd.DataFrame, sparse.csr_array]:
    """Count answers by story, pair of methods and annotator."""
    keys = ["story", "method_a", "method_b"]
    groups = choices.groupby(keys, sort=True)
    pairs = groups.size().index.to_frame(index=False)
    annotators, who = np.unique(choices["annotator"], return_inverse=True)
    answer = choices["choice"].map(OUTCOMES.index).to_numpy(int)
    column = groups.ngroup().to_numpy(int) * len(OUTCOMES) + answer
    shape = (len(annotators), len(pairs) * len(OUTCOMES))
    votes = sparse.coo_array((np.ones(len(choices)), (who, column)), shape=shape)
    return pairs, votes.tocsr()


PAIR_COLUMNS = ("story", "method_a", "method_b", "criterion", "annotator", "choice")
# Of rows that are kept none is a repetition.
KEPT_ANSWER = tuple(key for key in RANKING_ANSWER if key not in FLAGS)
APART = "; several answers of one annotator to one story need a slot each"


def answer_codes(rows: pd.DataFrame, keys: tuple[str, ...] = RANKING_ANSWER) -> Counts:
    """Return the answer of each row, numbered in the order of its keys."""
    codes = combined(rows[key] for key in keys if key in rows)
    return np.unique(codes, return_inverse=True)[1]


def check_orders(check: TableCheck) -> None:
    """Refuse answers that are no order of two or more methods; ties are allowed."""
    data = check.frame
    check.refuse(data["rank"] == "", "rank", "a whole number from 1")
    rank = pd.to_numeric(data["rank"], errors="coerce").to_numpy(float)
    readable = (rank >= 1) & (rank % 1 == 0)
    answer = answer_codes(data)
    known = readable & (data["method"] != "").to_numpy()
    whole = np.bincount(answer[~known], minlength=answer.max(initial=-1) + 1) == 0
    whole &= ~_some(_repeated(answer, data["method"]), answer)
    looked = whole[answer]
    size = np.bincount(answer)[answer]
    apart = "" if "slot" in data else APART
    alone = f"two or more methods in an answer, each in a row of its own{apart}"
    check.refuse(looked & (size == 1), "method", alone)
    for flag in FLAGS:
        if flag in data:
            first = data[flag].groupby(answer).transform("first")
            expected = "the same in all rows of an answer"
            check.refuse(data[flag] != first, flag, expected)
    check.refuse(
        _asked_again(data, answer) & looked,
        "annotator",
        "each set of methods once for a story, criterion and round; mark a planned "
        "repetition by is_repeat",
    )


def _repeated(answer: Counts, column: Column) -> Mask:
    """Say which rows have a value that an earlier row of their answer has."""
    keys = pd.DataFrame({"answer": answer, "value": column.to_numpy()})
    return keys.duplicated().to_numpy()


def _some(rows: Mask, answer: Counts) -> Mask:
    return np.bincount(answer[rows], minlength=answer.max(initial=-1) + 1) > 0


def _asked_again(data: pd.DataFrame, answer: Counts) -> Mask:
    """Mark the first row of answers whose set their annotator has ranked before."""
    if "slot" not in data:
        return np.zeros(len(data), bool)
    order = np.lexsort((combined([data["method"]]), answer))
    sets = data["method"].iloc[order].groupby(answer[order]).agg("\0".join)
    first = ~pd.Series(answer).duplicated().to_numpy()
    rows = data[first]
    keys = ("story", "criterion", "annotator", "round")
    answers = pd.DataFrame(
        {
            **{key: rows[key] for key in keys if key in rows},
            "set": sets.to_numpy()[answer[first]],
        }
    )
    if "is_repeat" in rows:
        answers = answers[~rows["is_repeat"]]
    again = answers.index[answers.duplicated().to_numpy()]
    return first & data.index.isin(again)


def in_orders(rankings: pd.DataFrame) -> tuple[pd.DataFrame, Counts, Counts]:
    """Sort rows by answer and rank; also number answers and the places in each.

    The place is how many methods stand above, the same for those that tie: of ranks
    only the order counts.
    """
    answer = answer_codes(rankings, KEPT_ANSWER)
    rank = rankings["rank"].to_numpy(float)
    doubled = _repeated(answer, rankings["method"])
    if doubled.any():
        row = rankings[doubled].iloc[0]
        cells = [str(row[c]) for c in ("story", "criterion", "annotator", "method")]
        expected = "each method once in an answer"
        raise InputError(
            [Problem("rankings", expected, None, "method", " / ".join(cells))]
        )
    several = np.bincount(answer)[answer] > 1
    order = np.lexsort((rank, answer))
    order = order[several[order]]
    codes = np.unique(answer[order], return_inverse=True)[1]
    changes = np.diff(codes, prepend=-1) != 0
    starts = np.flatnonzero(changes)[codes]
    changes |= np.diff(rank[order], prepend=0) != 0
    same = np.flatnonzero(changes)[np.cumsum(changes) - 1]
    return rankings.iloc[order], codes, same - starts


def implied_choices(rankings: pd.DataFrame) -> pd.DataFrame:
    """Return rankings as choices between pairs of outputs; ties stay ties."""
    rows, answer, place = in_orders(rankings)
    size = np.bincount(answer)[answer] if len(answer) else answer
    position = np.arange(len(rows)) - np.searchsorted(answer, answer)
    # Every row beside each one below it in its answer.
    below = size - position - 1
    first = np.repeat(np.arange(len(rows)), below)
    ends = np.cumsum(below)
    second = first + 1 + np.arange(len(first)) - np.repeat(ends - below, below)
    methods = rows["method"].to_numpy(object)
    better, worse = methods[first], methods[second]
    swap = better > worse
    won = np.where(swap, "b", "a")
    columns = {key: rows[key].to_numpy()[first] for key in PAIR_COLUMNS if key in rows}
    return pd.DataFrame(
        columns
        | {
            "method_a": np.where(swap, worse, better),
            "method_b": np.where(swap, better, worse),
            "choice": np.where(place[first] == place[second], OUTCOMES[2], won),
        },
        columns=list(PAIR_COLUMNS),
    )
