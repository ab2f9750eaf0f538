"""Rows on what a metric may be used for: favoured methods, equals, all questions."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from analysis.correlations.equivalence import equivalence_rows
from analysis.correlations.method_deviation import (
    MethodCells,
    method_deviations,
    rated_cells,
)
from analysis.inference.cluster_variance import with_holm
from analysis.inference.meta_analysis import ALL
from analysis.options import resample_parts, supported_parts
from analysis.pairwise.output_pairs import Pairs
from analysis.pairwise.over_questions import (
    accuracy_over_questions,
    coefficients_over_questions,
)
from analysis.questions import QuestionData, declared
from analysis.reading.cells import CellGrid
from analysis.result_tables.contract import TableCollector
from analysis.results import NAN, Array, Counts, TableRow

DRAWN = ("stories", "annotators")
# What rows lack where no intervals are asked for.
UNTESTED = dict.fromkeys(
    ("low", "high", "p_value", "p_adjusted", "difference_low", "difference_high"), NAN
) | {"drawn": ""}


def add_metric_claims(
    questions: Sequence[QuestionData],
    hypotheses: pd.DataFrame | None,
    trained_on: pd.DataFrame | None,
    found: TableCollector,
) -> None:
    """Add which methods metrics favour, equal metrics, and values of all questions."""
    trained = set()
    if trained_on is not None:
        trained = {*zip(trained_on["method"], trained_on["metric"], strict=True)}
    parts = supported_parts(found.options.resample, "stories+annotators", DRAWN)
    for question in questions:
        for source, cells in _method_cells(question, parts):
            rows = method_deviations(
                cells, confidence=found.options.confidence, trained=trained
            )
            about = {"source": source, **({} if found.options.resamples else UNTESTED)}
            found.extend("method_deviation", [row | about for row in rows], parts)
    if found.options.equivalent_within and found.options.resamples:
        _add_equivalence(questions, hypotheses, found)
    _add_meta_analysis(questions, hypotheses, found)


def _method_cells(
    question: QuestionData, parts: tuple[str, ...]
) -> Iterator[tuple[str, MethodCells]]:
    """Yield the kind of answers, and people's and metrics' values by story and method.

    Metrics with other outputs than the common ones have values of their own.
    """
    if question.grid is None:
        every = (question, *question.alone)
        for pairs in (each.pairs for each in every):
            kept = [
                m for m, name in enumerate(pairs.metrics) if name not in pairs.apart
            ]
            if kept and len(pairs.human):
                yield pairs.source, _win_cells(pairs, kept)
        return
    for grid in question.judged_grids:
        if grid.metrics and grid.cells.any():
            yield "ratings", rated_cells(grid, parts, question.scale)


def _win_cells(pairs: Pairs, kept: Sequence[int]) -> MethodCells:
    """Return how often each method wins inside each story, by people and metrics.

    A tie counts half. Annotators are not drawn.
    """
    S, M = len(pairs.stories), len(pairs.methods)

    def shares(wins: Array) -> Array:
        both = np.concatenate([wins, 1 - wins])
        return np.asarray(np.bincount(place, both, S * M).reshape(S, M), float)

    place: Counts = np.concatenate(
        [pairs.story * M + pairs.first, pairs.story * M + pairs.second]
    )
    size = np.bincount(place, minlength=S * M).reshape(S, M)
    n = np.maximum(size, 1)
    human = shares((1 + pairs.sides[0] - pairs.sides[1]) / 2) / n
    scores = [shares((1 + np.sign(pairs.scores[k])) / 2) / n for k in kept]
    used = size.any(axis=0)
    return MethodCells(
        pairs.question,
        tuple(np.array(pairs.methods, object)[used]),
        tuple(pairs.metrics[k] for k in kept),
        size[:, used] > 0,
        human[:, used],
        np.array(scores)[:, :, used],
        None,
        (0.0, 1.0),
    )


def _add_equivalence(
    questions: Sequence[QuestionData],
    hypotheses: pd.DataFrame | None,
    found: TableCollector,
) -> None:
    """Add the tests of equivalence, from the existing comparisons."""
    comparisons: list[TableRow] = [
        row
        | {
            "question": row["dimension"],
            "source": "ratings",
            "statistic": row["coefficient"],
            "n": row["n_groups"],
        }
        for row in found.rows.get("metric_comparisons", [])
    ]
    comparisons += [
        row | {"level": "method" if row["statistic"] == "spa" else "pairs"}
        for row in found.rows.get("accuracy_comparisons", [])
    ]
    names = {
        question.name: declared(hypotheses, question.name) for question in questions
    }
    options = found.options
    rows = equivalence_rows(
        comparisons,
        names,
        margin=options.equivalent_within,
        confidence=options.confidence,
    )
    found.extend("equivalence", rows)


def _add_meta_analysis(
    questions: Sequence[QuestionData],
    hypotheses: pd.DataFrame | None,
    found: TableCollector,
) -> None:
    """Add each metric over the questions that it was declared for, else over all.

    Coefficients are only those of declared metrics.
    """
    options = found.options
    parts = resample_parts(options.resample, default="stories+methods")
    every = [one for question in questions for one in (question, *question.alone)]
    asked = [declared(hypotheses, question.name) for question in every]
    has_declared = any(asked)

    def wanted(one: Pairs | CellGrid, own: tuple[str, ...]) -> tuple[str, ...]:
        kept = (name for name in one.metrics if name not in one.apart)
        return tuple(name for name in kept if not has_declared or name in own)

    rows: list[TableRow] = []
    pairs = [
        _with_metrics(one.pairs, wanted(one.pairs, own))
        for one, own in zip(every, asked, strict=True)
    ]
    metrics = dict.fromkeys(name for one in pairs for name in one.metrics)
    rows += accuracy_over_questions(pairs, [*metrics], parts, options.sampling)
    if has_declared:
        grids = [
            one.grid.with_metrics(wanted(one.grid, own))
            for one, own in zip(every, asked, strict=True)
            if one.grid is not None
        ]
        names = dict.fromkeys(name for grid in grids for name in grid.metrics)
        first = options.coefficients[0]
        rows += coefficients_over_questions(
            grids, [*names], options.levels, first, parts, options.sampling
        )
    known, keys = _known_tests(found), ("part", "metric", "statistic", "level")
    rows = [row | known.get(tuple(row[key] for key in keys), {}) for row in rows]
    found.extend("meta_analysis", _adjusted(rows), parts)


def _with_metrics(pairs: Pairs, names: tuple[str, ...]) -> Pairs:
    kept = [pairs.metrics.index(name) for name in names]
    return replace(pairs, metrics=names, scores=pairs.scores[kept])


def _known_tests(found: TableCollector) -> dict[tuple[object, ...], TableRow]:
    """Return interval and test of each question's coefficients, as in their table."""
    keys = ("dimension", "metric", "coefficient", "level")
    names = ("low", "high", "p_value", "drawn", "reason")
    return {
        tuple(row[key] for key in keys): {name: row[name] for name in names}
        for row in found.rows.get("correlations", [])
    }


def _adjusted(rows: list[TableRow]) -> list[TableRow]:
    """Adjust the tests over all questions (Holm) over the metrics of a statistic."""
    families: dict[tuple[object, object], list[TableRow]] = {}
    for row in rows:
        if row["part"] == ALL:
            families.setdefault((row["statistic"], row["level"]), []).append(row)
    adjusted = {
        (row["metric"], row["statistic"], row["level"]): row["p_adjusted"]
        for family in families.values()
        for row in with_holm(family)
    }
    return [
        row
        | {
            "p_adjusted": adjusted[row["metric"], row["statistic"], row["level"]]
            if row["part"] == ALL
            else NAN
        }
        for row in rows
    ]
