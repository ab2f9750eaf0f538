"""True labels behind the answers of annotators who err: Dawid and Skene's model."""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from analysis.results import Array, Counts

# Iterations of expectation and maximisation, and the change of chances that ends them.
STEPS, CONVERGED = 2000, 1e-7
# No probability is smaller, so that one answer excludes no label.
LEAST = 1e-10
# Probabilities so close to 0 or 1 do not vary, and a share of information is none.
EDGE, SINGULAR = 1e-6, 1e-6


@dataclass(frozen=True)
class LabelAnswers:
    """N answers to one question about I items, each one of K labels, by A annotators.

    `item`, `annotator` and `label` are codes from 0, (N,).
    """

    item: Counts
    annotator: Counts
    label: Counts
    n_labels: int

    def votes(self) -> Array:
        """Return the share of its answers that each item has of each label, (I, K)."""
        given = np.eye(self.n_labels)[self.label]
        votes = _summed(given, self.item, int(self.item.max()) + 1)
        return np.asarray(votes / votes.sum(axis=1, keepdims=True))

    def patterns(self) -> tuple["LabelAnswers", Counts]:
        """Return each different set of answers once, and the one of each item, (I,)."""
        order = np.lexsort((self.label, self.annotator, self.item))
        item = self.item[order]
        place = np.arange(len(item)) - np.searchsorted(item, item)
        table = np.full((int(item.max()) + 1, int(place.max()) + 1), -1)
        table[item, place] = (self.annotator * self.n_labels + self.label)[order]
        found, which = np.unique(table, axis=0, return_inverse=True)
        given = found >= 0
        kind, (annotator, label) = (
            np.nonzero(given)[0],
            np.divmod(found[given], self.n_labels),
        )
        return LabelAnswers(kind, annotator, label, self.n_labels), which.ravel()


@dataclass(frozen=True)
class TrueLabels:
    """Estimated labels.

    `share` of each label, (K,); `chance` of each label by item, (I, K); `errors`,
    (A, K, K): how likely each annotator gives the last label where the middle one is
    true.
    """

    share: Array
    chance: Array
    errors: Array
    converged: bool


def dawid_skene(answers: LabelAnswers) -> TrueLabels:
    r"""Estimate true labels and annotators' errors by maximum likelihood.

    Item i has the label k with probability :math:`p_k`, and annotator a then answers l
    with probability :math:`\pi^a_{kl}`, whatever others answer. Expectation and
    maximisation begin at the shares of votes.

    Source: Dawid and Skene (1979), Applied Statistics 28(1), equations 2.3 to 2.5.
    """
    one, which = answers.patterns()
    weight = np.bincount(which)[:, None]
    K, a, i = one.n_labels, one.annotator, one.item
    A = int(a.max()) + 1
    chance, converged = one.votes(), False
    share, errors = np.ones(K), np.ones((A, K, K))
    for _ in range(STEPS):
        before = chance
        share = (weight * chance).sum(axis=0) / len(which)
        given = _summed((weight * chance)[i], a * K + one.label, A * K)
        given = np.maximum(given.reshape(A, K, K).transpose(0, 2, 1), LEAST)
        errors = given / given.sum(axis=2, keepdims=True)
        log = _summed(np.log(errors)[a, :, one.label], i, len(chance))
        log += np.log(np.maximum(share, LEAST))
        chance = np.exp(log - log.max(axis=1, keepdims=True))
        chance /= chance.sum(axis=1, keepdims=True)
        converged = bool(np.abs(chance - before).max() < CONVERGED)
        if converged:
            break
    return TrueLabels(share, chance[which], errors, converged)


def _summed(values: Array, codes: Counts, n: int) -> Array:
    """Sum rows, (N, K), by code: (n, K)."""
    return np.stack([np.bincount(codes, column, n) for column in values.T], axis=1)


def share_influence(answers: LabelAnswers, found: TrueLabels) -> Array | None:
    r"""Return what each item adds to the shares of items by true label.

    The influence is :math:`I^{-1} s_i` with the score :math:`s_i` and the observed
    information I of shares and errors: that of the complete data less what is unknown
    of the true labels (Louis 1982, Journal of the Royal Statistical Society B 44(2)).
    Probabilities of exactly 0 or 1 are taken as known.

    Parameters
    ----------
    answers
        The answers that the model was fitted to.
    found
        The fitted model.

    Returns
    -------
    ndarray or None
        Shape (I, K), of sum 0; None where the answers do not determine the parameters.
    """
    K, q = answers.n_labels, found.chance
    A = len(found.errors)
    # A row a distribution: the shares, and each annotator's answers by true label. The
    # parameters are log odds against the most probable label of the row.
    p = np.concatenate([found.share[None], found.errors.reshape(-1, K)])
    given = sparse.coo_array(
        (
            np.ones(len(answers.item)),
            (answers.item, answers.annotator * K + answers.label),
        ),
        shape=(len(q), A * K),
    ).tocsr()
    often = given @ sparse.kron(sparse.eye_array(A), np.ones((K, 1)), format="csr")
    n = np.concatenate([[len(q)], (often.T @ q).ravel()])
    free = (np.minimum(p, 1 - p) > EDGE) & (n[:, None] > EDGE)
    free &= np.arange(K) != p.argmax(axis=1)[:, None]
    if not free[0].any():
        return None
    row, label = np.nonzero(free)
    same = row[:, None] == row
    spread = np.diag(p[row, label]) - np.outer(p[row, label], p[row, label]) * same
    unit = 1 / np.sqrt(n[row] * spread.diagonal())
    # Scores of the complete data under each true label: an item has a few answers, so
    # that those of errors are mostly 0.
    is_share = row == 0
    of_share = np.eye(K)[:, label[is_share]] - p[0, label[is_share]]
    a, of = np.divmod(row[~is_share] - 1, K)
    drawn, chance = label[~is_share], p[row, label][~is_share]
    of_errors = given[:, a * K + drawn] - often[:, a] @ sparse.diags_array(chance)
    expected = sparse.csr_array((len(q), len(row)))
    unknown = sparse.csr_array((len(row), len(row)))
    for k, weight in enumerate(q.T):
        scores = sparse.hstack(
            [
                sparse.csr_array(np.tile(of_share[k], (len(q), 1))),
                of_errors @ sparse.diags_array((of == k).astype(float)),
            ],
            format="csr",
        ) @ sparse.diags_array(unit)
        weighted = sparse.diags_array(weight) @ scores
        expected += weighted
        unknown += scores.T @ weighted
    lost = (unknown - expected.T @ expected).toarray()
    information = n[row, None] * spread * np.outer(unit, unit) - lost
    if np.linalg.eigvalsh(information)[0] < SINGULAR:
        return None
    solved = np.linalg.solve(information, np.diag(unit)[:, is_share])
    slopes = np.diag(found.share) - np.outer(found.share, found.share)
    return np.asarray(expected @ solved @ slopes[label[is_share]])
