"""From answers and scores to cells: one value a story and method.

A cell is the mean over shots and rounds within an annotator, then over
annotators; a metric is averaged over shots. Metrics are compared on the cells
that all of them cover.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from analysis.options import OptionError
from analysis.results import Array, Mask
from analysis.tables import FLAGS

# Means of equal sums may differ in the last bit; people's means closer than
# this are the same value. Scores are compared as given.
HUMAN_TOLERANCE = 1e-9


def kept_rows(frame: pd.DataFrame, keys: Iterable[str]) -> pd.DataFrame:
    """Drop gold, repeated and excluded rows, and sort by the keys.

    Parameters
    ----------
    frame
        Ratings, choices or scores.
    keys
        Columns that order the rows; absent ones are skipped. Missing keys
        become the empty string, and all keys become text.

    Returns
    -------
    DataFrame
        A copy whose order does not depend on the order of the file.
    """
    keep = np.ones(len(frame), bool)
    for column in FLAGS:
        if column in frame:
            keep &= ~frame[column].map(_is_true).to_numpy(bool)
    rows = frame[keep].copy()
    present = [key for key in keys if key in rows]
    for key in present:
        rows[key] = rows[key].map(_key_text)
    return rows.sort_values(present, kind="stable", ignore_index=True)


def _is_true(value: object) -> bool:
    return str(value).strip().lower() in {"true", "1", "1.0"}


def _key_text(value: object) -> str:
    return "" if pd.isna(value) else str(value)  # type: ignore[call-overload]


def without_methods(
    frame: pd.DataFrame, excluded: tuple[str, ...], columns: tuple[str, ...]
) -> pd.DataFrame:
    """Leave out rows that name an excluded method in one of the columns."""
    keep = ~frame[list(columns)].isin(excluded).any(axis=1)
    return frame[keep].reset_index(drop=True)


def same_within_tolerance(values: Array) -> Array:
    """Make people's means that differ by rounding exactly equal.

    Examples
    --------
    >>> a, b = same_within_tolerance(np.array([0.1 + 0.2, 0.3]))
    >>> bool(a == b)
    True
    """
    levels, where = np.unique(values, return_inverse=True)
    new_level = np.diff(levels, prepend=-np.inf) > HUMAN_TOLERANCE
    same = levels[new_level][np.cumsum(new_level) - 1]
    return np.asarray(same[where].reshape(values.shape))


def annotator_cells(ratings: pd.DataFrame) -> pd.DataFrame:
    """Average each annotator's ratings over the shots and rounds of an output.

    Parameters
    ----------
    ratings
        Rows of `kept_rows`.

    Returns
    -------
    DataFrame
        Columns dimension, story, method, annotator, rating, sorted by the first
        four.
    """
    keys = ["dimension", "story", "method", "annotator"]
    return ratings.groupby(keys)["rating"].mean().reset_index()


def human_cells(by_annotator: pd.DataFrame) -> pd.DataFrame:
    """Average annotators: columns dimension, story, method, human."""
    keys = ["dimension", "story", "method"]
    cells = by_annotator.groupby(keys)["rating"].mean().reset_index()
    cells["rating"] = same_within_tolerance(cells["rating"].to_numpy(float))
    return cells.rename(columns={"rating": "human"})


@dataclass(frozen=True)
class ScoreTable:
    """Scores averaged over shots, and what is known of each metric.

    Attributes
    ----------
    cells
        Columns metric, story, method, score, sorted by the first three.
    higher_is_better
        By metric.
    """

    cells: pd.DataFrame
    higher_is_better: Mapping[str, bool]

    @property
    def metrics(self) -> tuple[str, ...]:
        """All metrics, sorted."""
        return tuple(sorted(self.higher_is_better))


def score_table(scores: pd.DataFrame) -> ScoreTable:
    """Average scores over shots.

    Parameters
    ----------
    scores
        Rows of `kept_rows`; rows without a score are absent.

    Returns
    -------
    ScoreTable
        A metric that occurs with several versions or backends is several
        metrics, named ``metric (version, backend)``.

    Raises
    ------
    OptionError
        When a metric is marked both higher and lower is better.

    Notes
    -----
    Means over shots are correctly rounded (``math.fsum``), so that outputs with
    the same scores in another order stay tied.
    """
    rows = scores.dropna(subset=["score"]).copy()
    rows["metric"] = _versioned_names(rows)
    better = _directions(rows)
    keys = ["metric", "story", "method"]
    if rows.duplicated(keys).any():
        cells = rows.groupby(keys)["score"].agg(_exact_mean).reset_index()
    else:
        cells = rows[[*keys, "score"]].sort_values(keys, ignore_index=True)
    return ScoreTable(cells, better)


def _exact_mean(values: "pd.Series[float]") -> float:
    return math.fsum(values) / len(values)


def _versioned_names(rows: pd.DataFrame) -> pd.Series:
    tags = [tag for tag in ("metric_version", "backend") if tag in rows]
    if not tags:
        return rows["metric"]
    texts = rows[tags].map(_key_text).to_numpy(str)
    joined = [", ".join(filter(None, row)) for row in texts]
    label = pd.Series(joined, index=rows.index, dtype=str)
    several = label.groupby(rows["metric"]).transform("nunique") > 1
    return rows["metric"].where(~several, rows["metric"] + " (" + label + ")")


def _directions(rows: pd.DataFrame) -> dict[str, bool]:
    if "higher_is_better" not in rows:
        return dict.fromkeys(rows["metric"].unique(), True)
    texts = rows["higher_is_better"].map(_key_text)
    better = pd.Series([text == "" or _is_true(text) for text in texts], rows.index)
    found = {}
    for metric, values in better.groupby(rows["metric"]):
        if values.nunique() > 1:
            raise OptionError(
                f"scores: higher_is_better: metric {metric!r} is marked both "
                "true and false: one of them is expected in all its rows"
            )
        found[str(metric)] = bool(values.iloc[0])
    return found


@dataclass(frozen=True)
class Grid:
    """One question's common subset of cells, as stories-by-methods tables.

    Attributes
    ----------
    question
        A dimension or a criterion.
    stories, methods, metrics
        Labels of the axes. With method-level ratings there is one story, "".
    cells
        Shape (S, M): cells that people and all metrics cover.
    human
        Shape (S, M); 0 outside `cells`.
    scores
        Shape (K, S, M), signs turned so that more is better; 0 outside `cells`.
    votes
        Shape (A, S, M): each annotator's value; NaN where there is none.
    method_level
        Metrics whose values hold for a method as a whole.
    """

    question: str
    stories: tuple[str, ...]
    methods: tuple[str, ...]
    metrics: tuple[str, ...]
    cells: Mask
    human: Array
    scores: Array
    votes: Array
    method_level: frozenset[str]

    @property
    def human_is_method_level(self) -> bool:
        """Whether people's values hold for methods, not for stories."""
        return self.stories == ("",)

    def with_metrics(self, names: tuple[str, ...]) -> "Grid":
        """Return the same cells with some of the metrics."""
        kept = [self.metrics.index(name) for name in names]
        return replace(
            self,
            metrics=names,
            scores=self.scores[kept],
            method_level=self.method_level & set(names),
        )


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


def common_grid(
    question: str, by_annotator: pd.DataFrame, table: ScoreTable
) -> tuple[Grid, list[str]]:
    """Find the cells that people and all metrics cover.

    Parameters
    ----------
    question
        A dimension of `by_annotator`.
    by_annotator
        Rows of `annotator_cells` of this dimension only.
    table
        The scores.

    Returns
    -------
    Grid
        Metrics that share no cell with the ratings are left out of it.
    list of str
        What was dropped, in sentences.
    """
    grid = rated_grid(question, by_annotator)
    cube, method_level = score_cube(table, table.metrics, grid.stories, grid.methods)
    covered = np.isfinite(cube) & grid.cells
    usable = covered.any(axis=(1, 2))
    cells = grid.cells & covered[usable].all(axis=0) & usable.any()
    notes = _coverage_notes(question, table.metrics, grid.cells, covered, cells)
    metrics = tuple(np.array(table.metrics, object)[usable])
    signs = np.array([1 if table.higher_is_better[m] else -1 for m in metrics])
    turned = cube[usable] * signs.reshape(-1, 1, 1)
    found = Grid(
        question, grid.stories, grid.methods, metrics, cells,
        np.where(cells, grid.human, 0.0), np.where(cells, turned, 0.0),
        grid.votes, method_level & set(metrics),
    )  # fmt: skip
    return found, notes


def rated_grid(question: str, by_annotator: pd.DataFrame) -> Grid:
    """Lay out all cells of one question that people rated; no metric yet.

    Parameters
    ----------
    question
        A dimension.
    by_annotator
        Rows of `annotator_cells` of this dimension only; either all name a story
        or none does.
    """
    human = human_cells(by_annotator)
    stories = tuple(sorted(human["story"].unique()))
    methods = tuple(sorted(human["method"].unique()))
    rated = laid_out(human, "human", stories, methods)
    votes = [
        laid_out(rows, "rating", stories, methods)
        for _, rows in by_annotator.groupby("annotator")
    ]
    cells = np.isfinite(rated)
    return Grid(
        question, stories, methods, (), cells, np.where(cells, rated, 0.0),
        np.zeros((0, *cells.shape)), np.stack(votes), frozenset(),
    )  # fmt: skip


def _coverage_notes(
    question: str,
    metrics: tuple[str, ...],
    rated: Mask,
    covered: Mask,
    cells: Mask,
) -> list[str]:
    n_rated = int(rated.sum())
    lacking = {
        metric: n_rated - int(covered[k].sum())
        for k, metric in enumerate(metrics)
        if 0 < covered[k].sum() < n_rated
    }
    notes = [
        f"{question}: metric {metric} has no score for any rated output."
        for k, metric in enumerate(metrics)
        if not covered[k].any()
    ]
    if lacking:
        listed = ", ".join(f"{metric} lacks {n}" for metric, n in lacking.items())
        notes.append(
            f"{question}: {int(cells.sum())} of {n_rated} rated outputs are used, "
            f"those with a score of every metric ({listed})."
        )
    return notes
