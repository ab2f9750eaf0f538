"""One question at a time, laid out for every analysis, with its declared metrics.

A question is a dimension that was rated or a criterion of side-by-side answers or of
rankings, which enter as the pairs they order. What the analyses share (cells, the
common subset, pairs, the layout for agreement) is made here once.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from analysis.options import AlignOptions, Scale
from analysis.pairwise.output_pairs import Pairs, choice_pairs, rating_pairs
from analysis.problems import InputError, Problem, by_line, one_of
from analysis.rankings.composite_weights import Composite
from analysis.reading.cells import CellGrid, annotator_cells, common_grid
from analysis.reading.column_cleaning import (
    kept_rows,
    key_texts,
    numbers,
    without_methods,
)
from analysis.reading.files import Table, opened
from analysis.reading.rankings import implied_choices
from analysis.reading.scores import ScoreTable, score_table
from analysis.reading.shared_names import OF_METRICS, spelling_remarks
from analysis.reliability.agreement import CHOICE_STATISTICS, RATING_STATISTICS
from analysis.reliability.matrices import (
    Reliability,
    choice_reliability,
    rating_reliability,
)
from analysis.results import NAN, Array
from analysis.sentences import Notes
from analysis.tables import IDENTITY_COLUMNS, restored

SCORED = ("metric", "story", "method", "score")
SCORE_KEYS = ("metric", "story", "method", "shot", *IDENTITY_COLUMNS)


def kept_scores(scores: pd.DataFrame | None, excluded: tuple[str, ...]) -> ScoreTable:
    """Return the scores of the methods that stay, averaged over shots; perhaps none."""
    if scores is None:
        return ScoreTable(pd.DataFrame(columns=[*SCORED]), {})
    rows = without_methods(kept_rows(scores, SCORE_KEYS), excluded, ("method",))
    table = score_table(rows)
    alike = spelling_remarks({"scores": scores}, OF_METRICS, excluded)
    return replace(table, notes=(*alike, *table.notes))


@dataclass(frozen=True)
class QuestionData:
    """The answers to one question, and the scores of metrics.

    `answers` are kept rows: ratings, choices, or the choices that rankings imply.
    `by_annotator` and `grid` are None for a criterion. `alone` is the same question for
    each metric that scores other outputs than those on which metrics are compared.
    """

    name: str
    answers: pd.DataFrame
    by_annotator: pd.DataFrame | None
    grid: CellGrid | None
    pairs: Pairs
    scale: Scale | None
    alone: "tuple[QuestionData, ...]" = ()

    @property
    def is_method_level(self) -> bool:
        """True if people's values are of methods, not of stories."""
        return self.grid is not None and self.grid.human_is_method_level

    @property
    def is_compared(self) -> bool:
        """True if any metric has scores of rated outputs."""
        return bool(self.metrics) or any(each.is_compared for each in self.alone)

    @property
    def judged_grids(self) -> tuple[CellGrid, ...]:
        """The cells on which each metric of a dimension is judged.

        First the common ones, with the metrics that score exactly these.
        """
        assert self.grid is not None
        same = tuple(name for name in self.metrics if name not in self.grid.apart)
        own = (each.grid for each in self.alone)
        return self.grid.with_metrics(same), *(grid for grid in own if grid)

    @property
    def metrics(self) -> tuple[str, ...]:
        """The metrics that are compared with one another."""
        return self.pairs.metrics if self.grid is None else self.grid.metrics

    @property
    def statistics(self) -> tuple[str, ...]:
        """The statistics of agreement that suit the answers; none for rankings.

        Chance is estimated from which method's name comes first, which pairs of a
        ranking should not depend on: see `analysis.reliability.ranking_annotators`.
        """
        if self.pairs.source == "rankings":
            return ()
        return CHOICE_STATISTICS if self.by_annotator is None else RATING_STATISTICS

    @property
    def reliability(self) -> Reliability:
        """The answers by unit and annotator."""
        if self.by_annotator is None:
            return choice_reliability(self.answers)
        return rating_reliability(self.answers, self.scale)


def rated_questions(
    ratings: pd.DataFrame,
    table: ScoreTable,
    options: AlignOptions,
    notes: Notes,
) -> Iterator[QuestionData]:
    """Yield the dimensions of kept ratings in order, and note what was dropped."""
    by_annotator = annotator_cells(ratings)
    for dimension, cells in by_annotator.groupby("dimension", sort=True):
        name = str(dimension)
        grid, dropped = common_grid(name, cells, table)
        notes.extend(dropped, name)
        rows = ratings[ratings["dimension"] == name]
        scale = options.scale_of(name)
        whole = QuestionData(name, rows, cells, grid, rating_pairs(grid), scale)
        alone = []
        for metric in sorted(grid.apart):
            own, _ = common_grid(name, cells, table.only(metric))
            alone.append(replace(whole, grid=own, pairs=rating_pairs(own)))
        yield replace(whole, alone=tuple(alone))


def chosen_questions(
    answers: pd.DataFrame, table: ScoreTable, notes: Notes, source: str = "choices"
) -> Iterator[QuestionData]:
    """Yield the criteria of kept choices in order, and note what was dropped.

    If `source` is rankings, answers are these, and enter as the choices they imply.
    """
    for criterion, rows in answers.groupby("criterion", sort=True):
        name = str(criterion)
        choices = implied_choices(rows) if source == "rankings" else rows
        pairs = choice_pairs(name, choices, table, source=source)
        notes.extend(pairs.notes, name)
        whole = QuestionData(name, choices, None, None, pairs, None)
        alone = []
        for metric in sorted(pairs.apart):
            own = choice_pairs(name, choices, table.only(metric), source=source)
            alone.append(replace(whole, pairs=own))
        yield replace(whole, alone=tuple(alone))


def restricted_grid(grid: CellGrid, stories: Collection[str]) -> CellGrid:
    """Return the cells of some stories."""
    kept = np.array([story in stories for story in grid.stories], bool)
    return replace(
        grid,
        stories=tuple(np.array(grid.stories, object)[kept]),
        cells=grid.cells[kept],
        human=grid.human[kept],
        scores=grid.scores[:, kept],
        votes=grid.votes[:, kept],
    )


HYPOTHESIS_COLUMNS = ("question", "metric")
TRAINED_ON_COLUMNS = ("method", "metric")
# How much worse than an annotator a metric may be, to take the place of one.
EPSILON = "epsilon"


def read_hypotheses(
    table: Table, questions: Collection[str], metrics: Collection[str]
) -> pd.DataFrame:
    """Read a table of hypotheses: columns question, metric, and perhaps epsilon."""
    known = {"question": questions, "metric": metrics}
    return _read_names(table, "hypotheses", known, "a hypothesis once", (EPSILON,))


def read_trained_on(
    table: Table, methods: Collection[str], metrics: Collection[str]
) -> pd.DataFrame:
    """Read methods trained on a metric, or selected by it: columns method, metric."""
    known = {"method": methods, "metric": metrics}
    return _read_names(table, "trained_on", known, "a method and metric once")


def _read_names(
    table: Table,
    called: str,
    known: Mapping[str, Collection[str]],
    once: str,
    shares: Sequence[str] = (),
) -> pd.DataFrame:
    """Read columns of known names, each row once, and perhaps of shares."""
    frame, file = opened(table, called, [*known, *shares])
    missing = [column for column in known if column not in frame]
    if missing:
        expected = f"the columns {', '.join(known)}"
        raise InputError([Problem(file, expected, 1, name) for name in missing])
    found = pd.DataFrame(
        {name: key_texts(frame[name]).str.strip().map(restored) for name in known}
    )
    doubled = found.duplicated()
    problems = []
    for share in {*shares} & {*frame}:
        found[share], empty = numbers(frame[share])
        wrong = ~empty & ~found[share].between(0, 1)
        problems += [
            Problem(file, "a number from 0 to 1", int(str(line)), share, str(value))
            for line, value in frame.loc[wrong, share].items()
        ]
    for k, row in enumerate(found.to_dict("records")):
        line = int(found.index[k])
        problems += [
            Problem(file, one_of(row[name], names), line, name, row[name])
            for name, names in known.items()
            if row[name] not in names
        ]
        if doubled.iloc[k]:
            problems.append(Problem(file, once, line, "metric", row["metric"]))
    if problems:
        raise InputError(by_line(problems))
    return found.reset_index(drop=True)


def covered(
    hypotheses: pd.DataFrame | None,
    composites: Iterable[Composite],
    options: AlignOptions,
) -> pd.DataFrame | None:
    """Keep the hypotheses about questions that were asked for, or about composites."""
    if hypotheses is None or options.questions is None:
        return hypotheses
    asked = {*options.questions, *(each.name for each in composites)}
    return hypotheses[hypotheses["question"].isin(asked)]


def declared_epsilon(
    hypotheses: pd.DataFrame | None, question: str, metrics: Sequence[str], usual: float
) -> Array:
    """Return the declared epsilon of each metric, else that of all; NaN of neither."""
    found = np.full(len(metrics), usual or NAN)
    if hypotheses is None or EPSILON not in hypotheses:
        return found
    own = hypotheses[hypotheses["question"] == question].set_index("metric")[EPSILON]
    given = own.reindex(list(metrics)).to_numpy(float)
    return np.where(np.isnan(given), found, given)


def declared(hypotheses: pd.DataFrame | None, question: str) -> tuple[str, ...]:
    """Return the metrics that were declared to measure a question.

    >>> table = pd.DataFrame({"question": ["look"], "metric": ["csd"]})
    >>> declared(table, "look"), declared(table, "plot"), declared(None, "look")
    (('csd',), (), ())
    """
    if hypotheses is None:
        return ()
    own = hypotheses["question"] == question
    return tuple(map(str, hypotheses.loc[own, "metric"]))
