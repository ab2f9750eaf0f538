"""True labels behind the answers of annotators who err: Dawid and Skene's model."""

from dataclasses import dataclass

import numpy as np

from analysis.results import Array, Counts, Mask

# Iterations of expectation and maximisation, and the change of chances that ends them.
STEPS, CONVERGED = 2000, 1e-8
# No probability is smaller, so that one answer excludes no label.
LEAST = 1e-10
# Probabilities so close to 0 or 1 do not vary, and a share of information is none.
EDGE, SINGULAR = 1e-6, 1e-6


@dataclass(frozen=True)
class LabelAnswers:
    """N answers to I items of Q questions, each one of K labels, by A annotators.

    `question` is that of each item, (I,); the others are of each answer, (N,).
    An annotator of two questions counts as two.
    """

    question: Counts
    item: Counts
    annotator: Counts
    label: Counts
    n_labels: int

    def votes(self) -> Array:
        """Return the share of its answers that each item has of each label, (I, K)."""
        shape = len(self.question), self.n_labels
        key = self.item * self.n_labels + self.label
        votes = np.bincount(key, minlength=shape[0] * shape[1]).reshape(shape)
        return np.asarray(votes / votes.sum(axis=1, keepdims=True))


@dataclass(frozen=True)
class TrueLabels:
    """Estimated labels.

    `share` of each label by question, (Q, K); `chance` of each label by item, (I, K);
    `errors`, (A, K, K): how likely each annotator gives the last label where the middle
    one is true; `converged` by question, (Q,).
    """

    share: Array
    chance: Array
    errors: Array
    converged: Mask


def dawid_skene(answers: LabelAnswers) -> TrueLabels:
    r"""Estimate true labels and annotators' errors by maximum likelihood.

    Item i has the label k with probability :math:`p_k`, and annotator a then answers l
    with probability :math:`\pi^a_{kl}`, whatever others answer. Expectation and
    maximisation begin at the shares of votes; all questions are fitted at once.

    Source: Dawid and Skene (1979), Applied Statistics 28(1), equations 2.3 to 2.5.
    """
    K, a, i = answers.n_labels, answers.annotator, answers.item
    Q, A = int(answers.question.max()) + 1, int(a.max()) + 1
    items = np.bincount(answers.question, minlength=Q)
    chance, change = answers.votes(), np.ones(len(answers.question))
    share, errors = np.ones((Q, K)), np.ones((A, K, K))
    for _ in range(STEPS):
        before = chance
        share = _summed(chance, answers.question, Q) / items[:, None]
        given = _summed(chance[i], a * K + answers.label, A * K).reshape(A, K, K)
        given = np.maximum(given.transpose(0, 2, 1), LEAST)
        errors = given / given.sum(axis=2, keepdims=True)
        log = _summed(np.log(errors)[a, :, answers.label], i, len(chance))
        log += np.log(np.maximum(share, LEAST))[answers.question]
        chance = np.exp(log - log.max(axis=1, keepdims=True))
        chance /= chance.sum(axis=1, keepdims=True)
        change = np.abs(chance - before).max(axis=1)
        if change.max() < CONVERGED:
            break
    moving = np.bincount(answers.question, change >= CONVERGED, minlength=Q)
    return TrueLabels(share, chance, errors, moving == 0)


def _summed(values: Array, codes: Counts, n: int) -> Array:
    """Sum rows, (N, K), by code: (n, K)."""
    return np.stack([np.bincount(codes, column, n) for column in values.T], axis=1)


def share_influence(
    answers: Array, chance: Array, share: float, errors: Array
) -> Array | None:
    r"""Return what each item adds to the share of items whose true label is 1.

    For two labels. The influence is :math:`I^{-1} s_i` with the score :math:`s_i` and
    the observed information I of share and errors: that of the complete data less what
    is unknown of the true labels (Louis 1982, Journal of the Royal Statistical Society
    B 44(2)). Errors of exactly 0 or 1 are taken as known.

    Parameters
    ----------
    answers
        Of each item by each annotator, (I, A); NaN where there is none.
    chance
        That the true label is 1, (I,).
    share
        The estimated share.
    errors
        How likely each annotator answers 1 where 0 and where 1 is true, (A, 2).

    Returns
    -------
    ndarray or None
        Shape (I,), of sum 0; None where the answers do not determine the parameters.
    """
    given, value = np.isfinite(answers), np.nan_to_num(answers)
    falsely, rightly = errors.T
    none = np.zeros_like(value)
    # Scores of the complete data: by the share, and by the errors under either label.
    one = np.column_stack(
        [np.full(len(value), 1 - share), none, given * (value - rightly)]
    )
    zero = np.column_stack(
        [np.full(len(value), -share), given * (value - falsely), none]
    )
    q = chance[:, None]
    score, apart = q * one + (1 - q) * zero, one - zero
    complete = np.concatenate(
        [
            [len(value) * share * (1 - share)],
            ((1 - q) * given).sum(axis=0) * falsely * (1 - falsely),
            (q * given).sum(axis=0) * rightly * (1 - rightly),
        ]
    )
    varies = np.concatenate([[share], falsely, rightly])
    free = (varies * (1 - varies) > EDGE) & (complete > EDGE)
    if not free[0]:
        return None
    unit = 1 / np.sqrt(complete[free])
    apart = apart[:, free] * unit
    information = np.eye(free.sum()) - apart.T @ (q * (1 - q) * apart)
    if np.linalg.eigvalsh(information)[0] < SINGULAR:
        return None
    first = np.linalg.solve(information, np.eye(free.sum())[0])
    own = (score[:, free] * unit) @ first
    return np.asarray(own * unit[0] * share * (1 - share))
