"""Prediction-powered estimates of two matrices: people's values and a metric's."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from analysis.notebook.matrices import Matrix, matched
from analysis.options import OptionError
from analysis.problems import InputError, Problem
from analysis.rankings.prediction_powered import rated_study
from analysis.rankings.saved_ratings import LEAST_STORIES
from analysis.result_tables.prediction import OWN, TABLE, estimate_rows
from analysis.results import Array
from analysis.statistics import TABLES

# Columns that are about tables.
ABOUT = ("question", "metric", "source", "n_drawn", "n_stories", "rho_squared", "drawn")

COLUMNS = [name for name in TABLES[TABLE].columns if name not in (*ABOUT, "reason")]


def prediction_powered(
    human: Matrix,
    metric: Matrix,
    probabilities: "float | Sequence[float] | pd.Series[float]",
    *,
    confidence: float = 0.95,
) -> pd.DataFrame:
    r"""Estimate means and differences of methods with a metric's scores of all stories.

    Parameters
    ----------
    human, metric
        Stories by methods: arrays of one shape, or frames, whose rows and columns are
        matched by their labels. NaN where there is no value: people judge some of the
        stories, the metric scores all. Where less is better, give ``-metric``.
    probabilities
        With which each story was drawn to be judged: one number, or one a story.
    confidence
        Of the intervals, which treat stories as sampled.

    Returns
    -------
    DataFrame
        Columns of the table ``prediction_powered``, a row a method (``mean``) and a row
        two methods (``difference``).

    Raises
    ------
    InputError
        A cell that is no number, shapes that differ, a probability of 0 or above 1.
    OptionError
        Fewer than five judged stories, or none that is not judged.

    Notes
    -----
    :math:`\lambda \bar f + \sum W (Y - \lambda f)` with the weights :math:`W` of the
    judged stories, 1 / probability, and the :math:`\lambda \ge 0` that minimises the
    sum of the variances. Ties need no rule.

    References
    ----------
    Angelopoulos, A. N., Duchi, J. C., Zrnic, T. (2023), PPI++, arXiv 2311.01453.
    Chatzi, I., Straitouri, E., Thejaswi, S., Gomez-Rodriguez, M. (2024),
    Prediction-powered ranking, arXiv 2402.17826, for the ranks.

    Examples
    --------
    >>> metric = [[story % 5, story % 3] for story in range(20)]
    >>> human = [[a + 1, b] if s < 8 else [None] * 2 for s, (a, b) in enumerate(metric)]
    >>> rows = prediction_powered(human, metric, 0.4)
    >>> rows.loc[0, ["value", "classical"]].astype(float).round(2).tolist()
    [2.94, 2.62]
    """
    people, scores = matched(human, metric, keep_scores=True)
    frame = metric if isinstance(metric, pd.DataFrame) else pd.DataFrame(scores)
    chance = _probabilities(probabilities, frame.index)
    rated = np.isfinite(people) & np.isfinite(scores)
    n = int(rated.any(axis=1).sum())
    if n < LEAST_STORIES or n == len(people):
        expected = f"{LEAST_STORIES} judged stories or more, and others"
        raise OptionError(f"human: {n} of {len(people)} stories: expected {expected}")
    rows = pd.DataFrame(np.argwhere(rated), columns=["story", "method"])
    rows["rating"], rows["annotator"] = people[rated], ""
    study = rated_study(rows, pd.DataFrame(scores), 1 / chance)
    named = replace(study, methods=tuple(map(str, frame.columns)))
    found = estimate_rows(
        named,
        {"statistic": OWN["ratings"], "other": ""},
        ("stories",),
        confidence,
        None,
    )
    return pd.DataFrame(found, columns=COLUMNS)


def _probabilities(
    given: "float | Sequence[float] | pd.Series[float]", stories: pd.Index
) -> Array:
    if isinstance(given, pd.Series):
        given = given.reindex(stories)
    chance = np.broadcast_to(np.asarray(given, float), len(stories)).copy()
    problems = [
        Problem(f"probabilities[{story!r}]", "above 0, at most 1", value=str(value))
        for story, value in zip(stories, chance, strict=True)
        if not 0 < value <= 1
    ]
    if problems:
        raise InputError(problems)
    return chance
