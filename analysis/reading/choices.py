"""Side-by-side answers: orientation, counts, majorities, win rates."""

import numpy as np
import pandas as pd
from scipy import sparse

from analysis.results import Array

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
