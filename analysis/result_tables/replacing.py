"""Table of whether metrics may take an annotator's place."""

from collections.abc import Collection

import numpy as np
import pandas as pd

from analysis.pairwise.accuracy_differences import CHANCE
from analysis.pairwise.output_pairs import Pairs
from analysis.questions import QuestionData, declared_epsilon
from analysis.reading.cells import CellGrid
from analysis.reading.scores import ScoreTable
from analysis.reliability.alternative_annotators import (
    label_items,
    measured,
    pair_items,
)
from analysis.reliability.annotator_replacement import STORIES, replacement_rows
from analysis.result_tables.contract import TableCollector
from analysis.results import Array, TableRow

TABLE = "alternative_annotator"
BY_RATING, BY_PAIRS = "rating", "ppa_half"
# Metrics at a time.
CHUNK = 100


def judges(scores: pd.DataFrame | None) -> frozenset[str]:
    """Return the metrics whose scores name a judge."""
    if scores is None or "judge" not in scores:
        return frozenset()
    named = scores["judge"].fillna("").astype(str).str.strip() != ""
    return frozenset(scores.loc[named, "metric"].astype(str))


def add_replacing(
    questions: Collection[QuestionData],
    table: ScoreTable,
    scores: pd.DataFrame | None,
    hypotheses: pd.DataFrame | None,
    found: TableCollector,
) -> None:
    """Add whether metrics may take an annotator's place, question by question.

    Judges whose scores lie on the scale of the ratings answer as annotators do; other
    metrics are compared by pairs of outputs.
    """
    known = judges(scores)
    for question in questions:
        if question.is_method_level:
            continue
        adder = _Adder(question, hypotheses, found)
        by_rating: set[str] = set()
        for grid in question.judged_grids if question.grid else ():
            own = [m for m in grid.metrics if m in known and table.higher_is_better[m]]
            own = [m for m in own if _is_on_scale(question, grid, m)]
            by_rating |= {*own}
            adder.add_ratings(grid.with_metrics(tuple(own)))
        apart = question.pairs.apart
        adder.add_pairs(question.pairs, without=by_rating | apart)
        for each in question.alone:
            adder.add_pairs(each.pairs, without=by_rating)
    found.resample(TABLE, (STORIES,))


def _is_on_scale(question: QuestionData, grid: CellGrid, metric: str) -> bool:
    if metric in grid.method_level or not grid.cells.any():
        return False
    low, high = question.scale or (np.nanmin(grid.votes), np.nanmax(grid.votes))
    scores = grid.scores[grid.metrics.index(metric)][grid.cells]
    return bool((scores >= low).all() and (scores <= high).all())


class _Adder:
    """Rows of one question."""

    def __init__(
        self,
        question: QuestionData,
        hypotheses: pd.DataFrame | None,
        found: TableCollector,
    ) -> None:
        self._question, self._found = question, found
        self._hypotheses = hypotheses
        self._annotators = sorted(question.answers["annotator"].unique())
        options = found.options
        self._confidence = options.confidence if options.resamples else None

    def _epsilon(self, metrics: tuple[str, ...]) -> Array:
        usual = self._found.options.replaces_within
        return declared_epsilon(self._hypotheses, self._question.name, metrics, usual)

    def _add(self, rows: list[TableRow], statistic: str) -> None:
        keys = {"question": self._question.name, "source": self._question.pairs.source}
        keys |= {"statistic": statistic}
        self._found.extend(TABLE, [keys | row for row in rows])

    def add_ratings(self, grid: CellGrid) -> None:
        """Add judges that rate on the annotators' scale, by two tests."""
        if not grid.metrics:
            return
        story = np.nonzero(grid.cells)[0]
        votes, labels = grid.votes[:, grid.cells], grid.scores[:, grid.cells]
        epsilon = self._epsilon(grid.metrics)
        constant = np.ptp(labels, axis=1) == 0
        items = label_items(votes, labels, story, self._annotators)
        advantages = measured(items, epsilon, with_items=True)
        for by_items in (False, True) if np.isfinite(epsilon).any() else (False,):
            rows = replacement_rows(
                advantages,
                grid.metrics,
                epsilon,
                constant,
                confidence=self._confidence,
                by_items=by_items,
            )
            self._add(rows, BY_RATING)

    def add_pairs(self, pairs: Pairs, without: Collection[str]) -> None:
        """Add other metrics, by pairs of outputs of a story."""
        chosen = [k for k, name in enumerate(pairs.metrics) if name not in without]
        for start in range(0, len(chosen), CHUNK):
            part = chosen[start : start + CHUNK]
            metrics = tuple(pairs.metrics[k] for k in part)
            signs = np.sign(pairs.scores[part])
            epsilon = self._epsilon(metrics)
            items = pair_items(pairs.left_out(), signs, pairs.story, self._annotators)
            rows = replacement_rows(
                measured(items, epsilon),
                metrics,
                epsilon,
                np.asarray(~signs.any(axis=1)),
                confidence=self._confidence,
                chance=CHANCE,
            )
            self._add(rows, BY_PAIRS)
