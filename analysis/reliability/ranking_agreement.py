"""How alike two annotators rank the same outputs."""

import numpy as np
import pandas as pd
from scipy import sparse

from analysis.inference.resampling import cluster_counts, interval, stream
from analysis.reading.choices import annotator_votes
from analysis.reading.rankings import implied_choices
from analysis.results import NAN, TableRow
from analysis.sentences import sentence

STATISTIC = "kendall_between_annotators"


def ranking_agreement(
    rankings: pd.DataFrame,
    *,
    question: str,
    resamples: int = 1000,
    confidence: float = 0.95,
    seed: int = 0,
) -> TableRow:
    r"""Return Kendall's tau of two annotators over outputs that both ranked.

    :math:`\tau = (C - D)/(C + D)` over all pairs of annotators and all pairs of
    outputs that both ordered, C alike and D not; orders are strict. Two who rank
    without looking have 0, whichever methods are strong: no chance is estimated from
    the answers. Annotators are not drawn, as one drawn twice would be paired with
    himself.
    """
    pairs, votes = annotator_votes(implied_choices(rankings))
    given = np.asarray(votes.sum(axis=0)).reshape(len(pairs), -1)
    total = given.sum(axis=1)
    both = total > 1
    alike = (given * (given - 1) / 2).sum(axis=1)
    compared = total * (total - 1) / 2
    codes, stories = pd.factorize(pairs["story"].to_numpy(object), sort=True)
    sums = np.stack(
        [
            np.bincount(codes, weights=x, minlength=len(stories))
            for x in (alike, compared)
        ]
    )
    columns = np.flatnonzero(np.repeat(both, given.shape[1]))
    people = np.diff(sparse.csr_array(votes[:, columns]).indptr)
    row: TableRow = {
        "question": question,
        "statistic": STATISTIC,
        "value": NAN,
        "low": NAN,
        "high": NAN,
        "n_units": int(both.sum()),
        "n_annotators": int((people > 0).sum()),
        "n_answers": int(total[both].sum()),
        "reason": "",
    }
    if not both.any():
        return row | {
            "reason": sentence("no two annotators ranked the same two outputs")
        }
    rng = stream(seed, "ranking agreement", question)
    drawn = cluster_counts(len(stories), resamples * (len(stories) > 1), rng)
    here, all_ = drawn @ sums.T[:, 0], drawn @ sums.T[:, 1]
    with np.errstate(invalid="ignore"):
        low, high, reason = interval(2 * here / all_ - 1, confidence)
    value = float(2 * alike.sum() / compared.sum() - 1)
    return row | {"value": value, "low": low, "high": high, "reason": reason}
