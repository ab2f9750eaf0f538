"""Further tables of a report, beside those of the contract.

Each function passes the data of a question to one analysis, and its rows to the tables.
"""

from collections.abc import Iterable, Mapping

import numpy as np
import pandas as pd

from analysis.correlations.marked_shots import blame_rows, share_rows
from analysis.correlations.metric_differences import cluster_rows
from analysis.options import check_known, resample_parts, supported_parts
from analysis.pairwise.fitted_weights import calibrate
from analysis.pairwise.human_ceiling import human_pairs
from analysis.pairwise.metric_errors import (
    cell_disagreement,
    pair_disagreement,
    sanity_rows,
)
from analysis.pairwise.position_bias import position_bias, sides_of_annotators
from analysis.pairwise.soft_accuracy import soft_pairwise_accuracy, spa_differences
from analysis.planning.variance_components import (
    expected_reliability,
    variance_components,
)
from analysis.problems import listed
from analysis.questions import SCORE_KEYS, QuestionData, declared
from analysis.rankings.composite_weights import (
    AT,
    Composite,
    by_name,
    leaves,
    rank_composite,
)
from analysis.rankings.composites import (
    composites,
    counted_once,
    counted_twice,
    part_cells,
    range_remarks,
)
from analysis.reading.cells import annotator_cells, human_cells
from analysis.reading.column_cleaning import kept_rows, without_methods
from analysis.reading.identities import identities
from analysis.reading.kept_answers import KeptAnswers
from analysis.reading.scores import ScoreTable
from analysis.reliability.annotators import choice_annotators, rating_annotators
from analysis.reliability.checklist_labels import label_rows
from analysis.reliability.label_shares import aggregation_rows
from analysis.reliability.matrices import rating_distribution
from analysis.reliability.ranking_annotators import (
    ranking_agreement,
    ranking_annotators,
)
from analysis.reliability.retest import choice_repeats, rating_repeats
from analysis.result_tables.contract import TableCollector
from analysis.result_tables.parts import add_without_marked
from analysis.results import NAN, TableRow, records
from analysis.sentences import counted, sentence
from analysis.tables import TYPED_COLUMNS
from analysis.verdicts import verdict_rows

# With more ratings than this, annotators' intervals resample stories, which is faster.
MOST_UNITS_DRAWN = 100_000


def add_rated(question: QuestionData, table: ScoreTable, found: TableCollector) -> None:
    """Add the tables of ratings of stories: variance, reliability, accuracies."""
    assert question.by_annotator is not None
    assert question.grid is not None
    if question.is_method_level:
        return
    for table_name, analyse in (
        ("variance", variance_components),
        ("reliability", expected_reliability),
    ):
        rows = analyse(
            question.by_annotator, question=question.name, **found.options.sampling
        )
        found.extend(table_name, rows, ("stories",))
    if question.grid.metrics:
        rows = spa_differences(
            question.grid, sampling=found.options.sampling, own=found.own
        )
        found.extend("accuracy_comparisons", rows)
    for grid in question.judged_grids:
        if grid.metrics:
            rows = soft_pairwise_accuracy(grid, **found.options.sampling)
            found.extend("spa", rows, ("stories",))
            rows = cell_disagreement(grid, table.higher_is_better)
            found.extend("disagreement", rows)


def add_pairs_further(
    question: QuestionData, table: ScoreTable, found: TableCollector
) -> None:
    """Add the tables of metrics on pairs of outputs of one story."""
    options, drawn = found.options, found.options.sampling
    pairs = question.pairs
    parts = resample_parts(options.resample, default="stories+methods")
    rows = human_pairs(
        pairs,
        parts=parts,
        with_intervals=options.resamples > 0,
        confidence=options.confidence,
    )
    with_people = dict.fromkeys((*parts, "annotators"))
    found.extend("human_pairs", rows, tuple(with_people))
    check_known("--components", options.components, table.metrics)
    components = [m for m in options.components or pairs.metrics if m in pairs.metrics]
    rows = calibrate(pairs, metrics=components, parts=parts, **drawn)
    found.extend("calibration", rows, parts)
    found.extend("disagreement", pair_disagreement(pairs, table.higher_is_better))


def add_sides(choices: pd.DataFrame, found: TableCollector) -> None:
    """Add the tables of side preference."""
    if "left_method" not in choices:
        return
    options = found.options
    allowed = ("stories", "annotators")
    parts = supported_parts(options.resample, "stories+annotators", allowed)
    drawn, confidence = parts if options.resamples else (), options.confidence
    bias = position_bias(choices, parts=drawn, confidence=confidence)
    found.extend("position_bias", bias, parts)
    exact = sides_of_annotators(choices, confidence=confidence if drawn else None)
    found.extend("annotator_sides", exact)


def add_ranking_agreement(people: KeptAnswers, found: TableCollector) -> None:
    """Add the agreement of rankings."""
    if people.rankings is None:
        return
    for criterion, rows in people.rankings.groupby("criterion", sort=True):
        row = ranking_agreement(rows, question=str(criterion), **found.options.sampling)
        found.add("agreement", row)
    if people.ratings is None and people.choices is None:
        found.resample("agreement", ("stories",))


def add_people(
    people: KeptAnswers,
    raw: tuple[pd.DataFrame | None, pd.DataFrame | None],
    found: TableCollector,
) -> None:
    """Add each annotator against the others, and against repeated answers."""
    drawn = found.options.sampling
    part = "units"
    if people.ratings is not None:
        part = "units" if len(people.ratings) <= MOST_UNITS_DRAWN else "stories"
        found.extend("distributions", rating_distribution(people.ratings))
        found.extend("labels", label_rows(people.ratings, **drawn), ("stories",))
        level = found.options.confidence if found.options.resamples else None
        rows = aggregation_rows(people.ratings, level)
        found.extend("label_aggregation", rows, ("stories",))
        rows = rating_annotators(people.ratings, part=part, **drawn)
        found.extend("annotators", rows)
    found.resample("annotators", (part,))
    if people.choices is not None:
        found.extend("annotators", choice_annotators(people.choices, **drawn))
    if people.rankings is not None:
        found.extend("annotators", ranking_annotators(people.rankings, **drawn))
    add_without_marked(people, found)
    left_out = found.options.exclude_methods
    ratings, choices = raw
    if ratings is not None:
        again = without_methods(ratings, left_out, ("method",))
        found.extend("annotators", rating_repeats(again, notes=found.notes, **drawn))
    if choices is not None:
        again = without_methods(choices, left_out, ("method_a", "method_b"))
        found.extend("annotators", choice_repeats(again, notes=found.notes, **drawn))


def add_marked_shots(
    marked: pd.DataFrame | None, scores: pd.DataFrame | None, found: TableCollector
) -> None:
    """Add how often people marked shots, and whether metrics blame the same shots."""
    if marked is None:
        return
    drawn, left_out = found.options.sampling, found.options.exclude_methods
    found.extend("marked_shots", share_rows(marked, drawn), ("stories",))
    if scores is not None:
        kept = without_methods(kept_rows(scores, SCORE_KEYS), left_out, ("method",))
        found.extend("shot_agreement", blame_rows(marked, kept, drawn), ("stories",))


def add_hypotheses(
    hypotheses: pd.DataFrame | None, table: ScoreTable, found: TableCollector
) -> None:
    """Add the declared metrics, with remarks on those without a score."""
    if hypotheses is None:
        return
    chosen = found.options.metrics is not None
    for row in records(hypotheses):
        found.add("hypotheses", row)
        if row["metric"] not in table.metrics:
            found.notes.add(
                sentence(
                    "metric {metric} was declared for it, but is not among the chosen "
                    "metrics."
                    if chosen
                    else "metric {metric} was declared for it, but has no score.",
                    metric=row["metric"],
                ),
                str(row["question"]),
            )


def add_identities(scores: pd.DataFrame | None, found: TableCollector) -> None:
    """Add what made the scores of each metric, if the table tells."""
    if scores is not None and any(name in scores for name in TYPED_COLUMNS):
        kept = without_methods(scores, found.options.exclude_methods, ("method",))
        found.extend("identities", records(identities(kept.dropna(subset=["score"]))))


def add_sanity(
    twins: pd.DataFrame | None, table: ScoreTable, found: TableCollector
) -> None:
    """Add whether metrics detect degraded copies."""
    if twins is None:
        return
    kept = without_methods(twins, found.options.exclude_methods, ("method",))
    others = sorted({*kept["metric"].astype(str)} - {*table.metrics})
    if others and found.options.metrics is None:
        found.notes.add(
            sentence(
                "Degraded copies of {metrics} left out: no metric of the report is "
                "called so.",
                metrics=others,
            )
        )
    rows = sanity_rows(table, kept, confidence=found.options.confidence)
    found.extend("sanity", rows)
    unknown = sum(int(str(row["n_unknown"])) for row in rows)
    if unknown:
        found.notes.add(
            sentence(
                "{scores} of degraded copies left out, since their originals have no "
                "score.",
                scores=counted(unknown, "score"),
            )
        )


def add_clusters(found: TableCollector) -> None:
    """Add the clusters of metrics, from the existing tables."""
    tables = found.frames()
    if "metric_comparisons" in tables:
        rows = cluster_rows(tables["correlations"], tables["metric_comparisons"])
        found.extend("clusters", rows)


def add_verdicts(found: TableCollector) -> None:
    """Add the verdicts on metrics, from the existing tables."""
    found.extend("verdicts", verdict_rows(found.frames(), found.options.demanded))


def asked_composites(
    composites: Iterable[Composite], found: TableCollector
) -> dict[str, Composite]:
    """Return composites by name; without metrics, only those over questions."""
    known = by_name(composites)
    if found.options.metrics != ():
        return known
    left = {name for name, one in known.items() if one.over == "metrics"}
    if left:
        note = sentence(
            "Composites left out, since the report has no metrics: {names}.",
            names=listed(sorted(left)),
        )
        found.notes.add(note)
    return {name: one for name, one in known.items() if name not in left}


def with_counterparts(
    composites: Mapping[str, Composite],
    hypotheses: pd.DataFrame | None,
    found: TableCollector,
) -> dict[str, Composite]:
    """Return composites by name, with a composite of metrics for each over questions.

    It combines the metrics declared for the questions, at the same tags and with the
    same weights, if each question has exactly one.
    """
    known = dict(composites)
    for name, composite in composites.items():
        parts = leaves(known, name) if composite.over == "questions" else {}
        own: dict[str, float] = {}
        without = []
        for text, weight in parts.items():
            question = text if declared(hypotheses, text) else text.rpartition(AT)[0]
            metrics = declared(hypotheses, question)
            if len(metrics) != 1:
                without.append(text)
                continue
            part = metrics[0] + text.removeprefix(question)
            own[part] = own.get(part, 0.0) + weight
        if without:
            found.notes.add(
                sentence(
                    "has no counterpart from metrics, since not exactly one metric was "
                    "declared for {names}.",
                    names=[*without],
                ),
                name,
            )
        elif own:
            known[f"{name} (metrics)"] = Composite(f"{name} (metrics)", own)
    return known


def add_composites(
    people: KeptAnswers,
    table: ScoreTable,
    known: Mapping[str, Composite],
    tags: pd.DataFrame | None,
    found: TableCollector,
) -> None:
    """Add the composites of each method, and the mean of its ranks over metrics."""
    sides: dict[str, pd.DataFrame] = {}
    values: dict[str, pd.DataFrame] = {}
    if table.metrics:
        names = {"metric": "part", "score": "value"}
        values["metrics"] = sides["metrics"] = table.cells.rename(columns=names)
    if people.ratings is not None:
        sides["questions"] = _as_parts(people.ratings)
        names = {"dimension": "part", "rating": "value"}
        values["questions"] = people.ratings.rename(columns=names)
    lower = frozenset(m for m in table.metrics if not table.higher_is_better[m])
    for over, cells in sides.items():
        own = {n: each for n, each in known.items() if each.over == over}
        for name, remark in counted_twice(own.values()):
            found.notes.add(remark, name)
        scale_of = found.options.scale_of if over == "questions" else None
        for name, remark in range_remarks(values[over], own, scale_of):
            found.notes.add(remark, name)
        ranks = rank_composite(table.metrics)
        if over == "metrics" and len(table.metrics) > 1 and ranks.name not in own:
            once, remarks = counted_once(table.metrics)
            own = {ranks.name: rank_composite(once), **own}
            found.notes.extend(remarks, ranks.name)
        cells = part_cells(cells, own, tags)
        turned = lower if over == "metrics" else frozenset()
        rows = composites(cells, own, lower_is_better=turned, **found.options.sampling)
        if over == "questions":
            rows = _with_rounds(rows, people.ratings, own, tags)
        found.extend("composites", rows, ("stories",))


def _as_parts(ratings: pd.DataFrame) -> pd.DataFrame:
    cells = human_cells(annotator_cells(ratings))
    return cells.rename(columns={"dimension": "part", "human": "value"})


def _with_rounds(
    rows: list[TableRow],
    ratings: pd.DataFrame | None,
    known: Mapping[str, Composite],
    tags: pd.DataFrame | None,
) -> list[TableRow]:
    """Add the standard deviation of each value over the rounds of the ratings."""
    if ratings is None or "round" not in ratings:
        return rows
    found: dict[tuple[object, object], list[float]] = {}
    for _round, own in ratings.groupby("round"):
        cells = part_cells(_as_parts(own), known, tags)
        for row in composites(cells, known, resamples=0):
            place = row["composite"], row["method"]
            found.setdefault(place, []).append(float(str(row["value"])))
    return [
        row | {"n_rounds": len(values), "sd_rounds": _sd(values)}
        for row in rows
        for values in [found[row["composite"], row["method"]]]
    ]


def _sd(values: list[float]) -> float:
    return float(np.std(values, ddof=1)) if len(values) > 1 else NAN
