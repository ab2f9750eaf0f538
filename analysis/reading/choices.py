"""Side-by-side answers: orientation, counts, majorities, win rates."""

import numpy as np
import pandas as pd
from scipy import sparse

from analysis.results import Array

OUTCOMES = ("a", "b", "tie", "both_bad")


def ordered_choices(choices: pd.DataFrame) -> pd.DataFrame:
    """Return choices with method_a before method_b, answers turned to match.

    Examples
    --------
    >>> row = {"method_a": "uno", "method_b": "sora", "choice": "a"}
    >>> ordered_choices(pd.DataFrame([row])).loc[0, "choice"]
    'b'
    """
    data = choices.copy(deep=False)
    swap = choices["method_a"] > choices["method_b"]
    data["method_a"] = choices["method_a"].where(~swap, choices["method_b"])
    data["method_b"] = choices["method_b"].where(~swap, choices["method_a"])
    turned = choices["choice"].replace({"a": "b", "b": "a"})
    data["choice"] = choices["choice"].where(~swap, turned)
    return data


def majority(votes: Array) -> Array:
    """Return the preference of more than half of the votes.

    Parameters
    ----------
    votes
        Shape (..., 4): numbers of answers in the order of `OUTCOMES`.

    Returns
    -------
    array
        1 for the first method, -1 for the second, 0 when neither has more than
        half: no majority is a tie.

    Examples
    --------
    >>> majority(np.array([[2.0, 1, 0, 0], [1, 1, 1, 0], [2, 0, 2, 0]]))
    array([1., 0., 0.])
    """
    half = votes.sum(axis=-1) / 2
    return np.asarray((votes[..., 0] > half).astype(float) - (votes[..., 1] > half))


def annotator_votes(choices: pd.DataFrame) -> tuple[pd.DataFrame, sparse.csr_array]:
    """Count answers by story, pair of methods and annotator.

    Parameters
    ----------
    choices
        Rows of one criterion, methods in alphabetical order.

    Returns
    -------
    DataFrame
        One row a story and pair: story, method_a, method_b, sorted.
    sparse array
        Shape (A, 4 P): answers of each annotator; those of a pair stand side by side
        in the order of `OUTCOMES`. Its memory grows with the answers.
    """
    keys = ["story", "method_a", "method_b"]
    groups = choices.groupby(keys, sort=True)
    pairs = groups.size().index.to_frame(index=False)
    annotators, who = np.unique(choices["annotator"], return_inverse=True)
    answer = choices["choice"].map(OUTCOMES.index).to_numpy(int)
    column = groups.ngroup().to_numpy(int) * len(OUTCOMES) + answer
    shape = (len(annotators), len(pairs) * len(OUTCOMES))
    votes = sparse.coo_array((np.ones(len(choices)), (who, column)), shape=shape)
    return pairs, votes.tocsr()


def win_rates(choices: pd.DataFrame) -> pd.DataFrame:
    """Count wins and ties of every pair of methods, by votes and by majority.

    Parameters
    ----------
    choices
        Kept rows, methods in alphabetical order.

    Returns
    -------
    DataFrame
        The columns of ``win_rates.csv``. Answers "both bad" are in neither the
        wins nor the ties of votes; a story without a majority is a tie.
    """
    rows = []
    for criterion, answers in choices.groupby("criterion", sort=True):
        pairs, votes = annotator_votes(answers)
        total = np.asarray(votes.sum(axis=0), float).reshape(len(pairs), len(OUTCOMES))
        winner = majority(total)
        counts = pairs[["method_a", "method_b"]].assign(
            wins_a=total[:, 0],
            ties=total[:, 2],
            wins_b=total[:, 1],
            majority_wins_a=winner == 1,
            majority_ties=winner == 0,
            majority_wins_b=winner == -1,
            n_stories=1,
        )
        summed = counts.groupby(["method_a", "method_b"], as_index=False).sum()
        rows.append(summed.assign(criterion=criterion))
    table = pd.concat(rows, ignore_index=True)
    keys = ["criterion", "method_a", "method_b"]
    return table.astype(dict.fromkeys(table.columns.difference(keys), int))
