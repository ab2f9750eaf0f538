"""A coefficient of two matrices: people's values and a metric's scores."""

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd

from analysis.correlations.levels import level_point, why_undefined
from analysis.options import KNOWN_COEFFICIENTS, KNOWN_LEVELS, OptionError
from analysis.problems import InputError, Problem, Problems, one_of
from analysis.reading.cells import CellGrid, same_within_tolerance
from analysis.reading.column_cleaning import numbers
from analysis.reading.shared_names import LEAST_MET
from analysis.reading.texts import with_code_points
from analysis.results import Array

Matrix: TypeAlias = pd.DataFrame | npt.ArrayLike
METRIC = ("metric",)
SHOWN_LABELS = 5


@dataclass(frozen=True)
class Coefficient:
    """A coefficient, the points behind it, and the reason for those left out.

    Attributes
    ----------
    value
        NaN where it is undefined; ``float()`` of the whole gives it.
    n
        Number of points: outputs, or methods at level ``method``.
    n_groups
        Number of stories (methods) averaged; 1 where none are.
    reason
        Why there is no value, or why stories (methods) are left out; else empty.
    """

    value: float
    n: int
    n_groups: int
    reason: str = ""

    def __float__(self) -> float:
        return self.value


def correlation(
    human: Matrix, metric: Matrix, level: str = "story", coefficient: str = "kendall"
) -> Coefficient:
    r"""Correlate a metric's scores of outputs with people's values.

    Parameters
    ----------
    human, metric
        Stories by methods: arrays of one shape, or frames, whose rows and columns are
        matched by their labels. NaN where there is no value. Where less is better,
        give ``-metric``.
    level
        ``"story"``: across methods inside each story, averaged over stories (group by
        item). ``"method"``: of means over stories (system level). ``"pooled"``: all
        outputs together. ``"within_method"``: across stories inside each method,
        averaged over methods (group by system).
    coefficient
        ``"kendall"`` (tau-b), ``"spearman"``, ``"pearson"`` or ``"kendall_c"``.

    Returns
    -------
    Coefficient
        Positive means that the metric agrees with people.

    Raises
    ------
    InputError
        A cell that is no number, a label twice, shapes that differ, no common label.
    OptionError
        An unknown level or coefficient.

    Notes
    -----
    With C concordant and D discordant pairs, and :math:`T_h`, :math:`T_m` pairs tied
    by people only and by the metric only, tau-b is
    :math:`(C - D) / \sqrt{(C + D + T_m)(C + D + T_h)}`. Tau-c is
    :math:`2 (C - D) / (n^2 (m - 1) / m)`, m being the smaller number of distinct
    values. Spearman is Pearson of mid-ranks.

    Ties: people's values within 1e-9 are equal, since they are means; scores are
    compared as given. Missing: an output counts where both matrices have a value, for
    means over stories as well. A story (method) in which either side is constant, or
    that has fewer than two outputs, has no coefficient and is left out of the average,
    never counted as 0.

    References
    ----------
    Kendall, M. G. (1945), The treatment of ties in ranking problems, Biometrika 33(3).
    Deutsch, D., Foster, G., Freitag, M. (2023), Ties matter, arXiv 2305.14324, for the
    levels.

    Examples
    --------
    >>> human = [[1, 2, 3], [2, 2, 5], [4, 4, 4]]
    >>> metric = [[0.1, 0.4, 0.3], [0.2, 0.1, 0.9], [0.5, 0.6, 0.7]]
    >>> found = correlation(human, metric)
    >>> round(float(found), 3), found.n, found.n_groups
    (0.575, 6, 2)
    >>> found.reason
    "1 of 3 stories left out: people's values all the same in 1"
    """
    for name, given, known in (
        ("level", level, KNOWN_LEVELS),
        ("coefficient", coefficient, KNOWN_COEFFICIENTS),
    ):
        if given not in known:
            raise OptionError(f"{name}: {given!r}: expected {one_of(given, known)}")
    grid = _grid(*matched(human, metric))
    values, sizes = level_point(grid, level, (coefficient,))
    value = float(values[coefficient][0, 0])
    n, groups = sizes[coefficient][0]
    is_known = not np.isnan(value)
    reason = groups.why if groups else ""
    if not is_known:
        reason = why_undefined(grid, level, 0)
    return Coefficient(value, n, groups.averaged if groups else int(is_known), reason)


def _grid(human: Array, scores: Array) -> CellGrid:
    cells = np.isfinite(human) & np.isfinite(scores)
    stories, methods = (tuple(map(str, range(size))) for size in cells.shape)
    return CellGrid(
        "",
        stories,
        methods,
        METRIC,
        cells,
        same_within_tolerance(np.where(cells, human, 0.0)),
        np.where(cells, scores, 0.0)[None],
        np.zeros((0, *cells.shape)),
        frozenset(),
    )


def matched(
    human: Matrix, metric: Matrix, *, keep_scores: bool = False
) -> tuple[Array, Array]:
    """Return two arrays of one shape, rows and columns of frames matched.

    These are those of `human`, or of `metric` if scores without values are kept.
    """
    if isinstance(human, pd.DataFrame) and isinstance(metric, pd.DataFrame):
        for name, frame in (("human", human), ("metric", metric)):
            _check_labels(name, frame)
        _check_common(human, metric)
        if keep_scores:
            human = human.reindex(index=metric.index, columns=metric.columns)
        else:
            metric = metric.reindex(index=human.index, columns=human.columns)
    found = _values("human", human), _values("metric", metric)
    if found[0].shape != found[1].shape:
        expected = f"the shape of human, {found[0].shape}"
        raise InputError([Problem("metric", expected, value=str(found[1].shape))])
    return found


def _check_labels(name: str, frame: pd.DataFrame) -> None:
    problems = [
        Problem(f"{name}.{axis}", "a label once", value=str(label))
        for axis in ("index", "columns")
        for label in _repeated(getattr(frame, axis))
    ]
    if problems:
        raise InputError(problems)


def _repeated(labels: "pd.Index[Any]") -> list[Any]:
    return list(labels[labels.duplicated()].unique())


def _check_common(human: pd.DataFrame, metric: pd.DataFrame) -> None:
    """Refuse frames that share less than half of their stories, or methods."""
    problems = []
    for axis in ("index", "columns"):
        known, given = getattr(human, axis), getattr(metric, axis)
        fewest, met = min(len(known), len(given)), len(given.intersection(known))
        if met and met >= LEAST_MET * fewest:
            continue
        few = f" (at least half of {fewest}, not {met})" if met else ""
        expected = f"labels of human.{axis}{few}, such as {_shown(known)}"
        problems.append(Problem(f"metric.{axis}", expected, value=_shown(given)))
    if problems:
        raise InputError(problems)


def _shown(labels: "pd.Index[Any]") -> str:
    more = ", ..." if len(labels) > SHOWN_LABELS else ""
    return ", ".join(map(repr, labels[:SHOWN_LABELS].tolist())) + more


def _values(name: str, given: Matrix) -> Array:
    """Return a matrix as numbers, or raise what is wrong with it."""
    frame = given if isinstance(given, pd.DataFrame) else _framed(name, given)
    columns = [numbers(frame.iloc[:, m]) for m in range(frame.shape[1])]
    found = np.empty(frame.shape)
    problems: Problems[Problem] = Problems()
    for m, (values, empty) in enumerate(columns):
        found[:, m] = values
        problems += _wrong_cells(name, given, frame.iloc[:, m], m, values, empty)
    if problems:
        raise InputError(problems)
    return found


def _framed(name: str, given: Any) -> pd.DataFrame:
    try:
        rows = np.asarray(given)
    except ValueError:  # rows of several lengths
        rows = np.empty(0)
    if rows.ndim != 2:
        raise InputError([Problem(name, "a matrix: a row a story, a column a method")])
    return pd.DataFrame(rows)


def _wrong_cells(
    name: str,
    given: Matrix,
    column: "pd.Series[Any]",
    m: int,
    values: Array,
    empty: npt.NDArray[np.bool_],
) -> list[Problem]:
    """Return the cells of a column that are neither finite numbers nor empty."""
    at = ".iloc" if isinstance(given, pd.DataFrame) else ""
    return [
        Problem(
            f"{name}{at}[{s}, {m}]",
            "a number, or NaN where there is none",
            value=with_code_points(str(column.iloc[s])),
        )
        for s in np.flatnonzero(~np.isfinite(values) & ~empty)
    ]
