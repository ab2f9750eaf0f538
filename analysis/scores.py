"""From scores to one value a metric, story and method.

A metric is averaged over shots; one that occurs in several versions is several.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from analysis.kept import is_true, key_text
from analysis.options import OptionError
from analysis.printing import counted
from analysis.results import Array

# The metric that ties every pair stands beside the others under this name.
BASELINE = "constant"
UNVERSIONED = "no version"


@dataclass(frozen=True)
class ScoreTable:
    """Scores averaged over shots, and what is known of each metric.

    Attributes
    ----------
    cells
        Columns metric, story, method, score, sorted by the first three.
    higher_is_better
        By metric.
    notes
        Which rows were left out, in sentences.
    """

    cells: pd.DataFrame
    higher_is_better: Mapping[str, bool]
    notes: tuple[str, ...] = ()

    @property
    def metrics(self) -> tuple[str, ...]:
        """All metrics, sorted."""
        return tuple(sorted(self.higher_is_better))


def score_table(scores: pd.DataFrame) -> ScoreTable:
    """Average scores over shots.

    Parameters
    ----------
    scores
        Rows of `kept_rows`; rows without a score are absent. Where a metric has a
        value of a whole output, those of its shots are left out; where it has values
        of stories, those of whole methods are.

    Returns
    -------
    ScoreTable
        A metric that occurs with several versions or backends is several
        metrics, named ``metric (version, backend)``.

    Raises
    ------
    OptionError
        When no row has a score, a metric is marked both higher and lower is better,
        or it has the name of the baseline.

    Notes
    -----
    Means over shots are correctly rounded (``math.fsum``), so that outputs with
    the same scores in another order stay tied.
    """
    rows = scores.dropna(subset=["score"]).copy()
    if rows.empty:
        raise OptionError("scores: no row has a score")
    if (rows["metric"] == BASELINE).any():
        raise OptionError(
            f"scores: metric: {BASELINE!r}: expected another name, since the baseline "
            "that ties every pair has this one"
        )
    rows["metric"] = _versioned_names(rows)
    better = _directions(rows)
    rows, notes = _one_kind_of_score(rows)
    keys = ["metric", "story", "method"]
    if rows.duplicated(keys).any():
        cells = rows.groupby(keys)["score"].agg(_exact_mean).reset_index()
    else:
        cells = rows[[*keys, "score"]].sort_values(keys, ignore_index=True)
    return ScoreTable(cells, better, tuple(notes))


def _one_kind_of_score(rows: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
    """Leave out shots beside their whole output, and methods beside their stories."""
    notes = []
    named = rows["story"] != ""
    beside = ~named & named.groupby(rows["metric"]).transform("any")
    for metric, count in beside.groupby(rows["metric"]).sum().items():
        if count:
            notes.append(
                f"Metric {metric}: {counted(count, 'score')} without a story left out, "
                "since others name one."
            )
    if "shot" in rows:
        whole = rows["shot"].map(key_text) == ""
        keys = [rows["metric"], rows["story"], rows["method"]]
        shots = ~whole & whole.groupby(keys).transform("any")
        for metric, count in shots.groupby(rows["metric"]).sum().items():
            if count:
                notes.append(
                    f"Metric {metric}: {counted(count, 'score')} of shots left out, "
                    "since their outputs have a score as a whole."
                )
        beside |= shots
    return rows[~beside], notes


def _exact_mean(values: "pd.Series[float]") -> float:
    return math.fsum(values) / len(values)


def _versioned_names(rows: pd.DataFrame) -> pd.Series:
    tags = [tag for tag in ("metric_version", "backend") if tag in rows]
    if not tags:
        return rows["metric"]
    texts = rows[tags].map(key_text).to_numpy(str)
    joined = [", ".join(filter(None, row)) for row in texts]
    label = pd.Series(joined, index=rows.index, dtype=str).replace("", UNVERSIONED)
    several = label.groupby(rows["metric"]).transform("nunique") > 1
    return rows["metric"].where(~several, rows["metric"] + " (" + label + ")")


def _directions(rows: pd.DataFrame) -> dict[str, bool]:
    if "higher_is_better" not in rows:
        return dict.fromkeys(rows["metric"].unique(), True)
    texts = rows["higher_is_better"].map(key_text)
    better = pd.Series([text == "" or is_true(text) for text in texts], rows.index)
    found = {}
    for metric, values in better.groupby(rows["metric"]):
        if values.nunique() > 1:
            raise OptionError(
                f"scores: higher_is_better: metric {metric!r} is marked both "
                "true and false: one of them is expected in all its rows"
            )
        found[str(metric)] = bool(values.iloc[0])
    return found


def score_cube(
    table: ScoreTable,
    metrics: tuple[str, ...],
    stories: tuple[str, ...],
    methods: tuple[str, ...],
) -> tuple[Array, frozenset[str]]:
    """Lay scores out as metrics x stories x methods.

    Returns
    -------
    cube
        Scores as given, NaN where there is none. A method-level score (empty
        story) stands in every story; if the only story is "", a metric with
        stories is averaged over them.
    method_level
        The metrics that have method-level scores only.
    """
    cube = np.full((len(metrics), len(stories), len(methods)), np.nan)
    method_level = set()
    for k, metric in enumerate(metrics):
        rows = table.cells[table.cells["metric"] == metric]
        with_story = rows[rows["story"] != ""]
        if with_story.empty:
            method_level.add(metric)
            cube[k] = rows.set_index("method")["score"].reindex(methods).to_numpy()
        elif stories == ("",):
            means = with_story.groupby("method")["score"].agg(_exact_mean)
            cube[k] = means.reindex(methods).to_numpy()
        else:
            cube[k] = laid_out(with_story, "score", stories, methods)
    return cube, frozenset(method_level)


def laid_out(
    rows: pd.DataFrame, value: str, stories: tuple[str, ...], methods: tuple[str, ...]
) -> Array:
    """Lay one column out as stories x methods; NaN where there is no row."""
    table = rows.pivot(index="story", columns="method", values=value)
    return table.reindex(index=stories, columns=methods).to_numpy(float)
