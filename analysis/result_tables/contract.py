"""Rows of the tables of a report, with the columns of the contract."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from analysis.correlations.level_estimates import level_estimates, level_spread
from analysis.correlations.metric_differences import metric_differences
from analysis.options import AlignOptions
from analysis.pairwise.accuracy import pair_agreement
from analysis.pairwise.accuracy_differences import accuracy_differences
from analysis.pairwise.output_pairs import Pairs
from analysis.reading.cells import CELL_COLUMNS, CellGrid
from analysis.reading.scores import BASELINES
from analysis.reliability.agreement import Agreement, agreement
from analysis.reliability.matrices import Reliability
from analysis.result_tables.by_method import by_method
from analysis.results import Estimate, TableRow, undefined
from analysis.sentences import Notes, Sentence, sentence
from analysis.statistics import COLUMNS, IN_WORDS, WHOLE_OR_EMPTY

# Digits in tables: the last bits of sums may differ between machines.
DIGITS = 12
# Below, alpha is low.
LOW_ALPHA = 0.2
# Answers are skewed if one of them, and agreement on it, is at least this frequent.
SKEWED = 0.75


@dataclass(frozen=True)
class Analysis:
    """The tables of a report, the points behind its figures, and its remarks.

    `cells` is the common subset of every question, with scores as given; `resampled`
    has the units resampled for the intervals of each table; `sentences` are the reasons
    in tables by their text, since frames lose the templates; `judged` has the stories
    that people judged in each question.
    """

    tables: dict[str, pd.DataFrame]
    cells: pd.DataFrame
    notes: tuple[str, ...]
    resampled: Mapping[str, tuple[str, ...]]
    sentences: Mapping[str, Sentence] = field(default_factory=dict)
    judged: Mapping[str, frozenset[str]] = field(default_factory=dict)


class TableCollector:
    """Collector of the rows of all tables, and of remarks."""

    def __init__(self, options: AlignOptions) -> None:
        self.options = options
        self.rows: dict[str, list[TableRow]] = {}
        self.notes = Notes()
        # Declared metrics and composites, which are compared two by two.
        self.own: frozenset[str] = frozenset()
        self.resampled: dict[str, tuple[str, ...]] = {}
        self.cells: list[pd.DataFrame] = []
        self.judged: dict[str, frozenset[str]] = {}
        self._framed: dict[str, pd.DataFrame] = {}

    def add(self, table: str, row: TableRow) -> None:
        """Append one row."""
        self.rows.setdefault(table, []).append(row)

    def extend(
        self, table: str, rows: Iterable[TableRow], parts: tuple[str, ...] = ()
    ) -> None:
        """Append several rows, whose intervals treat `parts` as sampled."""
        self.rows.setdefault(table, []).extend(rows)
        self.resample(table, parts)

    def resample(self, table: str, parts: tuple[str, ...]) -> None:
        """Record the units that the intervals of a table treat as sampled."""
        if self.options.resamples and parts:
            self.resampled[table] = parts

    def frames(self) -> dict[str, pd.DataFrame]:
        """Return the tables that have rows."""
        return {name: self._table(name) for name in COLUMNS if self.rows.get(name)}

    def _table(self, name: str) -> pd.DataFrame:
        """Return a copy of a table, which is laid out once for the same rows."""
        known = self._framed.get(name)
        if known is None or len(known) != len(self.rows[name]):
            known = self._framed[name] = _frame(self.rows[name], COLUMNS[name])
        return known.copy()

    def finished(self) -> Analysis:
        """Return the collected tables and remarks."""
        tables = self.frames()
        cells = pd.DataFrame(columns=list(CELL_COLUMNS))
        if self.cells:
            cells = pd.concat(self.cells, ignore_index=True)
        resampled = {
            name: parts
            for name, parts in self.resampled.items()
            if name in tables
            and tables[name].filter(regex="low$").notna().any(axis=None)
        }
        notes = self.notes.sentences()
        wide = by_method(tables)
        if not wide.empty:
            tables = {"by_method": wide, **tables}
        sentences = self._sentences()
        return Analysis(tables, cells, notes, resampled, sentences, self.judged)

    def _sentences(self) -> dict[str, Sentence]:
        texts: dict[str, Sentence] = {}
        for rows in self.rows.values():
            for name in IN_WORDS.intersection(rows[0] if rows else ()):
                cells = (row.get(name) for row in rows)
                texts |= {cell: cell for cell in cells if isinstance(cell, Sentence)}
        return texts


def _frame(rows: list[TableRow], columns: tuple[str, ...]) -> pd.DataFrame:
    frame = pd.DataFrame(rows, columns=list(columns))
    for column in frame.select_dtypes("float"):
        frame[column] = [_rounded(value) for value in frame[column]]
    for column in WHOLE_OR_EMPTY:
        if column in frame:
            frame[column] = frame[column].astype("Int64")
    return frame


def _rounded(value: float) -> float:
    # Adding 0.0 turns -0.0 into 0.0.
    return float(f"{value:.{DIGITS}g}") + 0.0


def add_levels(
    grid: CellGrid,
    metrics: tuple[str, ...],
    parts: tuple[str, ...],
    found: TableCollector,
) -> None:
    """Add correlations of `metrics` at all levels, and comparisons of all of a grid."""
    options = found.options
    found.resample("correlations", parts)
    found.resample("metric_comparisons", parts)
    estimates: dict[tuple[str, str, str], Estimate] = {}
    for level in options.levels:
        usable = tuple(m for m in grid.metrics if grid.has_level(level, m))
        if not usable or not grid.cells.any():
            continue
        part = grid.with_metrics(usable)
        asked = part, level, options.coefficients
        spread = level_spread(*asked, parts, options.sampling)
        here = level_estimates(*asked, spread, options.sampling)
        estimates |= {(m, level, name): value for (m, name), value in here.items()}
        rows = metric_differences(*asked, spread, options.sampling, found.own)
        found.extend("metric_comparisons", rows)
    for metric in metrics:
        for level in options.levels:
            for name in options.coefficients:
                none = undefined(grid.why_no_level(metric))
                value = estimates.get((metric, level, name), none)
                row: TableRow = {
                    "dimension": grid.question,
                    "metric": metric,
                    "level": level,
                    "coefficient": name,
                    **value.columns(),
                    "n_groups": value.n_groups,
                    "p_value": value.p_value,
                    "drawn": value.drawn,
                }
                found.add("correlations", row)
            if value.groups is not None:
                keys = {"question": grid.question, "metric": metric, "level": level}
                found.add("groups", keys | value.groups.columns())
    _note_undefined(grid.question, metrics, estimates, found)


def _note_undefined(
    question: str,
    metrics: tuple[str, ...],
    estimates: dict[tuple[str, str, str], Estimate],
    found: TableCollector,
) -> None:
    """Add remarks on metrics that figures and claims leave out, without a value."""
    for metric in metrics:
        own = [value for key, value in estimates.items() if key[0] == metric]
        if own and all(np.isnan(value.value) for value in own):
            found.notes.add(
                sentence(
                    "metric {metric} has no coefficient ({reason}).",
                    metric=metric,
                    reason=own[0].reason,
                ),
                question,
            )


def add_pairs(pairs: Pairs, parts: tuple[str, ...], found: TableCollector) -> None:
    """Add pairwise accuracies, except those of metrics with other pairs, and tests."""
    _add_accuracies(pairs, parts, found, without=pairs.apart)
    rows = accuracy_differences(
        pairs,
        epsilon=found.options.epsilon,
        parts=parts,
        sampling=found.options.sampling,
        own=found.own,
    )
    found.extend("accuracy_comparisons", rows, parts)


def add_pairs_alone(
    pairs: Pairs, parts: tuple[str, ...], found: TableCollector
) -> None:
    """Add pairwise accuracies of a metric on separate pairs, without baselines."""
    _add_accuracies(pairs, parts, found, without=BASELINES)


def _add_accuracies(
    pairs: Pairs,
    parts: tuple[str, ...],
    found: TableCollector,
    without: Collection[str],
) -> None:
    options = found.options
    found.resample("pairwise_accuracy", parts)
    for row in pair_agreement(
        pairs,
        epsilon=options.epsilon,
        parts=parts,
        **options.sampling,
    ):
        if row.metric in without:
            continue
        found.add(
            "pairwise_accuracy",
            {
                "question": pairs.question,
                "metric": row.metric,
                "source": pairs.source,
                **row.strict.bounds("ppa_strict"),
                **row.half.bounds("ppa_half"),
                "metric_tie_rate": row.tie_rate,
                "n_pairs": row.n_pairs,
                "n_all_pairs": row.acc_eq.n,
                **row.acc_eq.bounds("acc_eq"),
                "epsilon": row.epsilon,
                "epsilon_in_sample": row.in_sample,
                "p_half": row.half.p_value,
                "p_acc_eq": row.acc_eq.p_value,
                "chance_acc_eq": row.chance,
                "drawn": row.drawn,
                "reason": row.half.reason or row.acc_eq.reason,
            },
        )


def add_agreement(
    questions: list[tuple[str, Reliability, tuple[str, ...]]],
    found: TableCollector,
    parts: tuple[str, ...],
) -> None:
    """Add the agreement statistics of each (question, answers, statistics)."""
    options = found.options
    found.resample("agreement", parts)
    for question, data, statistics in questions:
        rows = agreement(
            data,
            statistics,
            parts=parts,
            **options.sampling,
            question=question,
        )
        for row in rows:
            found.add(
                "agreement",
                {
                    "question": question,
                    "statistic": row.statistic,
                    **row.estimate.columns(),
                    "n_units": row.estimate.n,
                    "n_annotators": row.n_annotators,
                    "n_answers": row.n_answers,
                },
            )
        found.notes.extend(_skew_notes(rows, data), question)


def _skew_notes(rows: list[Agreement], data: Reliability) -> list[str]:
    values = {row.statistic: row.estimate.value for row in rows}
    alpha = values.get("alpha_ordinal", values["alpha_nominal"])
    if not alpha < LOW_ALPHA or min(data.top_share, data.exact_agreement) < SKEWED:
        return []
    return [
        sentence(
            "{share} of the answers are the same, so alpha is low ({alpha}), although "
            "two annotators give the same answer in {exact} of cases. Such answers "
            "vary too little to show agreement.",
            share=f"{100 * data.top_share:.0f} %",
            alpha=f"{alpha:.2f}",
            exact=f"{100 * data.exact_agreement:.0f} %",
        )
    ]
