"""Answers averaged into cells: one value a story and method."""

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from analysis.reading.scores import (
    METHOD,
    OUTPUT,
    ScoreTable,
    compared_metrics,
    coverage_notes,
    few_scores,
    laid_out,
    score_cube,
)
from analysis.results import PEOPLE_AND_METRIC, Array, Counts, Mask
from analysis.sentences import sentence

# Means of equal sums may differ in the last bit; people's means closer than
# this are the same value. Scores are compared as given.
HUMAN_TOLERANCE = 1e-9
# Why there is no coefficient where the common subset is empty.
NO_CELL = sentence("no output has a rating and a score of every metric")


def same_within_tolerance(values: Array) -> Array:
    """Make people's means that differ by rounding exactly equal."""
    levels, where = np.unique(values, return_inverse=True)
    new_level = np.diff(levels, prepend=-np.inf) > HUMAN_TOLERANCE
    same = levels[new_level][np.cumsum(new_level) - 1]
    return np.asarray(same[where].reshape(values.shape))


def annotator_cells(ratings: pd.DataFrame) -> pd.DataFrame:
    """Average each annotator's ratings over the shots and rounds of an output."""
    keys = ["dimension", "story", "method", "annotator"]
    return ratings.groupby(keys)["rating"].mean().reset_index()


def human_cells(by_annotator: pd.DataFrame) -> pd.DataFrame:
    """Average annotators: columns dimension, story, method, human."""
    keys = ["dimension", "story", "method"]
    cells = by_annotator.groupby(keys)["rating"].mean().reset_index()
    cells["rating"] = same_within_tolerance(cells["rating"].to_numpy(float))
    return cells.rename(columns={"rating": "human"})


# Levels at which outputs of different stories are compared.
ACROSS_STORIES = ("pooled", "within_method", "residual")


@dataclass(frozen=True)
class CellGrid:
    """One question's common subset of cells, as stories-by-methods tables."""

    question: str
    stories: tuple[str, ...]
    methods: tuple[str, ...]
    metrics: tuple[str, ...]
    cells: Mask
    human: Array
    scores: Array
    votes: Array
    method_level: frozenset[str]
    judge: str = ""
    apart: frozenset[str] = frozenset()
    mixed: frozenset[str] = frozenset()

    @property
    def human_is_method_level(self) -> bool:
        """True if people's values are of methods, not of stories."""
        return self.stories == ("",)

    def has_level(self, level: str, metric: str) -> bool:
        """Return whether people's values and those of a metric have a level."""
        if level in ACROSS_STORIES and metric in self.mixed:
            return False
        whole = self.human_is_method_level or metric in self.method_level
        return level == "method" or not whole

    def why_no_level(self, metric: str) -> str:
        if metric not in self.metrics:
            return sentence("no rated output has a score of this metric")
        if not self.cells.any():
            return NO_CELL
        if metric in self.mixed and metric not in self.method_level:
            return sentence(
                "parts differ from story to story, whose outputs have no common scale"
            )
        return sentence(
            "ratings are method-level values, without stories"
            if self.human_is_method_level
            else "scores are method-level values, without stories"
        )

    def sides(self, k: int) -> tuple[str, str]:
        """Return in words who is compared: people or a judge, and a metric."""
        return (self.judge, self.metrics[k]) if self.judge else PEOPLE_AND_METRIC

    def with_metrics(self, names: tuple[str, ...]) -> "CellGrid":
        """Return the same cells with some of the metrics."""
        kept = [self.metrics.index(name) for name in names]
        return replace(
            self,
            metrics=names,
            scores=self.scores[kept],
            method_level=self.method_level & set(names),
        )


def common_grid(
    question: str, by_annotator: pd.DataFrame, table: ScoreTable, *, judge: str = ""
) -> tuple[CellGrid, list[str]]:
    """Find the cells that people and all metrics cover."""
    grid = rated_grid(question, by_annotator, judge=judge)
    cube, method_level = score_cube(table, table.metrics, grid.stories, grid.methods)
    covered = np.isfinite(cube) & grid.cells
    usable, cells = compared_metrics(table, covered)
    names = np.array(table.metrics, object)
    metrics = tuple(names[usable])
    scored = covered.any(axis=(1, 2))
    apart = scored & (covered != cells).any(axis=(1, 2))
    plain = np.array([name not in table.composites for name in names], bool)
    few = plain & scored & ~usable
    averaged = plain & ~few
    noun = METHOD if grid.human_is_method_level else OUTPUT
    own = tuple(names[averaged]), covered[averaged]
    notes = coverage_notes(grid.cells, grid.methods, *own, cells, noun)
    notes += few_scores(names, covered, few, noun)
    signs = np.array([1 if table.higher_is_better[m] else -1 for m in metrics])
    turned = cube[usable] * signs.reshape(-1, 1, 1)
    found = CellGrid(
        question,
        grid.stories,
        grid.methods,
        metrics,
        cells,
        np.where(cells, grid.human, 0.0),
        np.where(cells, turned, 0.0),
        grid.votes,
        method_level & set(metrics),
        judge,
        frozenset(names[apart]),
        frozenset(metrics if question in table.mixed else table.mixed & {*metrics}),
    )
    return found, notes


def rated_grid(
    question: str, by_annotator: pd.DataFrame, *, judge: str = ""
) -> CellGrid:
    """Lay out all cells of one question that people rated; no metric yet."""
    if judge:
        human = by_annotator.rename(columns={"rating": "human"})
    else:
        human = human_cells(by_annotator)
    stories = tuple(sorted(human["story"].unique()))
    methods = tuple(sorted(human["method"].unique()))
    rated = laid_out(human, "human", stories, methods)
    who, annotators = pd.factorize(by_annotator["annotator"], sort=True)
    votes = np.full((len(annotators), *rated.shape), np.nan)
    votes[
        who,
        pd.Index(stories).get_indexer(by_annotator["story"]),
        pd.Index(methods).get_indexer(by_annotator["method"]),
    ] = by_annotator["rating"]
    cells = np.isfinite(rated)
    return CellGrid(
        question,
        stories,
        methods,
        (),
        cells,
        np.where(cells, rated, 0.0),
        np.zeros((0, *cells.shape)),
        votes,
        frozenset(),
        judge,
    )


CELL_COLUMNS = (
    "question",
    "metric",
    "story",
    "method",
    "human",
    "score",
    "higher_is_better",
)


def cell_frame(grid: CellGrid, table: ScoreTable) -> pd.DataFrame:
    """Write the cells of a grid as rows: the points behind the figures."""
    k, s, m = np.nonzero(np.broadcast_to(grid.cells, grid.scores.shape))
    better = np.array([table.higher_is_better[name] for name in grid.metrics], bool)

    def named(labels: tuple[str, ...], codes: Counts) -> "pd.Series[str]":
        return pd.Series(pd.array(list(labels), dtype="str").take(codes))

    values = (
        grid.question,
        named(grid.metrics, k),
        named(grid.stories, s),
        named(grid.methods, m),
        grid.human[s, m],
        np.where(better[k], 1, -1) * grid.scores[k, s, m],
        better[k],
    )
    return pd.DataFrame(dict(zip(CELL_COLUMNS, values, strict=True)))
