"""Agreement of annotators who all answered the same units: ICC, and rater vs rest."""

from collections.abc import Iterator

import numpy as np
from scipy import sparse

from analysis.correlations.coefficients import correlate, ratio
from analysis.inference.scaling import divided
from analysis.reading.cells import same_within_tolerance
from analysis.reliability.chance_corrected import ROUNDING
from analysis.reliability.matrices import Reliability
from analysis.results import Array, Mask

# Rating values times values of the rest: a table of at most so many cells replaces
# the units, whatever their number.
LARGEST_TABLE = 20_000


def icc(
    data: Reliability, weights: Array, kind: str, people: Array | None = None
) -> Array:
    r"""Intraclass correlation, two-way random effects, absolute agreement.

    With mean squares of units (R), raters (C) and error (E):
    :math:`(R - E)/(R + (k-1)E + k(C - E)/n)` and
    :math:`(R - E)/(R + (C - E)/n)`.

    All three are means over pairs of different raters a, b of the covariance over
    units :math:`c_{ab}`, the variances and the means :math:`m_a`:
    :math:`(R - E)/k = \overline{c_{ab}}`,
    :math:`E = \overline{(c_{aa} + c_{bb})/2 - c_{ab}}` and
    :math:`C/n = \overline{(m_a - m_b)^2/2}`. Drawn raters weight these pairs by
    :math:`v_a v_b`, so that nobody is paired with himself (see `chance_corrected`);
    k stays the number of raters in the study.

    Source: Shrout, P. E. and Fleiss, J. L. (1979), Intraclass correlations,
    Psychological Bulletin 86(2).
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
