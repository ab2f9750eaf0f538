"""Tables by tags of stories, and without annotators at chance level."""

from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from analysis.inference.resampling import holm
from analysis.options import PARTS as UNITS
from analysis.options import Progress, check_known, resample_parts, supported_parts
from analysis.questions import QuestionData
from analysis.rankings.bradley_terry import PARTS, leaderboard
from analysis.rankings.choice_votes import with_weights
from analysis.rankings.plackett_luce import ranking_leaderboard
from analysis.rankings.standings import ranks
from analysis.rankings.win_rates import win_rates
from analysis.reading.cells import annotator_cells, human_cells
from analysis.reading.kept_answers import KeptAnswers
from analysis.reading.rankings import KEPT_ANSWER, answer_codes
from analysis.reading.scores import ScoreTable
from analysis.reading.story_tags import with_classes
from analysis.reliability.agreement import agreement
from analysis.reliability.annotators import ABOVE_CHANCE, SPEARMAN
from analysis.reliability.matrices import choice_reliability, rating_reliability
from analysis.reliability.random_responding import ALL_QUESTIONS, MARKED
from analysis.reliability.ranking_annotators import (
    MEAN_KENDALL,
    STATISTIC,
    ranking_agreement,
)
from analysis.result_tables.contract import TableCollector
from analysis.result_tables.leaderboards import parts_drawn
from analysis.results import NAN, TableRow
from analysis.sentences import sentence
from analysis.subgroups.differences import difference_rows, score_difference_rows
from analysis.subgroups.estimates import Split, score_strata_rows, splits, strata_rows


def add_strata(
    questions: list[QuestionData],
    table: ScoreTable,
    tags: pd.DataFrame,
    found: TableCollector,
    progress: Progress,
) -> None:
    """Split every question that has stories by every tag, and the scores as well."""
    options = found.options
    tags, notes = with_classes(_asked_for(tags, options.split_by))
    found.notes.extend(notes)
    parts = resample_parts(options.resample, default="stories+methods")
    judged: set[str] = set()
    for question in questions:
        if question.is_method_level:
            found.notes.add(
                sentence("not split by tags, since ratings name no story."),
                question.name,
            )
            continue
        if question.pairs.source == "rankings" and not question.pairs.metrics:
            note = sentence("not split by tags: ranks of methods are over all stories.")
            found.notes.add(note, question.name)
            continue
        is_weighted = False
        if question.pairs.source == "choices":
            answers, is_weighted = with_weights(question.answers)
            question = replace(question, answers=answers)
        stories = sorted(question.answers["story"].unique())
        judged |= set(stories)
        here, notes = splits(tags, stories)
        found.notes.extend(notes, question.name)
        for split in here:
            progress(f"{question.name}: split by {split.tag}")
            rows = strata_rows(question, split, parts=parts, options=options)
            found.extend("strata", rows)
            rows = difference_rows(question, split, options=options)
            found.extend("strata_differences", rows)
            if question.pairs.source == "choices":
                _add_win_rates(question, split, found, is_weighted)
    for split in splits(tags, sorted(judged))[0]:
        rows = score_strata_rows(table, split, options=options)
        found.extend("strata", rows)
        rows = score_difference_rows(table, split, options=options)
        found.extend("strata_differences", rows)
    for name in ("strata", "strata_differences"):
        found.resample(name, _drawn(found.rows.get(name, [])))


def _drawn(rows: list[TableRow]) -> tuple[str, ...]:
    """Return the sampled units of all rows of a table."""
    drawn = {part for row in rows for part in str(row["drawn"]).split("+")}
    return tuple(part for part in UNITS if part in drawn)


def _asked_for(tags: pd.DataFrame, names: tuple[str, ...] | None) -> pd.DataFrame:
    """Return the tags to split by: the named ones, or all."""
    if names is None:
        return tags
    check_known("--split-by", names, tuple(tags.columns.drop("story")))
    return tags[["story", *names]]


def _add_win_rates(
    question: QuestionData, split: Split, found: TableCollector, is_weighted: bool
) -> None:
    """Add how often methods win side by side, pair by pair in each group of stories."""
    options = found.options
    parts = supported_parts(options.resample, "stories+annotators", PARTS)
    drawn = parts if options.resamples else ()
    rows: list[TableRow] = []
    for stratum, stories in split.strata.items():
        answers = question.answers[question.answers["story"].isin(stories)]
        about = {
            "criterion": question.name,
            "tag": split.tag,
            "stratum": stratum,
            "drawn": parts_drawn(answers, drawn),
            "weighted": is_weighted,
        }
        rates = win_rates(
            answers,
            parts=drawn,
            confidence=options.confidence,
            baseline=options.baseline,
        )
        rows += [about | rate for rate in rates]
    # All pairs in all groups are one family.
    adjusted = holm(np.array([row["p_value"] for row in rows], float))
    for row, p_value in zip(rows, adjusted, strict=True):
        row["p_adjusted"] = float(p_value)
    found.extend("strata_win_rates", rows, parts)


SAME_MEAN = 1e-9
RANK = "rank"


@dataclass(frozen=True)
class _Kind:
    """The column of questions, the tested statistic, and the statistic of agreement."""

    question: str
    tested: str
    agreement: str


KINDS = {
    "ratings": _Kind("dimension", SPEARMAN, "alpha_ordinal"),
    "choices": _Kind("criterion", ABOVE_CHANCE[0], "alpha_nominal"),
    "rankings": _Kind("criterion", MEAN_KENDALL, STATISTIC),
}


def add_without_marked(people: KeptAnswers, found: TableCollector) -> None:
    """Add agreement and ranks without the annotators that ``annotators`` marks."""
    for kind, about in KINDS.items():
        answers = getattr(people, kind)
        marked = _marked(found, about.tested)
        if answers is None or not marked:
            continue
        for name, rows in answers.groupby(about.question, sort=True):
            names = marked.get(str(name), set()) | marked.get(ALL_QUESTIONS, set())
            names &= set(rows["annotator"].astype(str))
            if names:
                found.extend("without_marked", _rows(kind, str(name), rows, names))


def _marked(found: TableCollector, statistic: str) -> dict[str, set[str]]:
    """Return the marked annotators by question."""
    marked: dict[str, set[str]] = {}
    for row in found.rows.get("annotators", ()):
        if row["statistic"] == statistic and row.get("verdict") in MARKED:
            marked.setdefault(str(row["question"]), set()).add(str(row["annotator"]))
    return marked


def _rows(
    kind: str, question: str, rows: pd.DataFrame, names: Set[str]
) -> Iterator[TableRow]:
    rest = rows[~rows["annotator"].astype(str).isin(names)]
    left = {
        "question": question,
        "left_out": ", ".join(sorted(names)),
        "n_answers": len(np.unique(answer_codes(rest, KEPT_ANSWER)))
        if kind == "rankings"
        else len(rest),
    }
    without, why = _agreement(kind, question, rest)
    of_all, _why = _agreement(kind, question, rows)
    values = {"value": without, "value_all": of_all, "reason": why}
    yield {**left, "statistic": KINDS[kind].agreement, "method": "", **values}
    standing = _standing(kind, question, rest)
    for method, rank in _standing(kind, question, rows).items():
        values = {"value": standing.get(method, NAN), "value_all": rank, "reason": ""}
        yield {**left, "statistic": RANK, "method": method, **values}


def _agreement(kind: str, question: str, rows: pd.DataFrame) -> tuple[float, str]:
    if rows.empty:
        return NAN, ""
    if kind == "rankings":
        row = ranking_agreement(rows, question=question, resamples=0)
        return float(str(row["value"])), str(row["reason"])
    layout = rating_reliability if kind == "ratings" else choice_reliability
    (one,) = agreement(
        layout(rows),
        (KINDS[kind].agreement,),
        parts=("units",),
        resamples=0,
        confidence=0.95,
        seed=0,
        question=question,
    )
    return one.estimate.value, one.estimate.reason


def _standing(kind: str, question: str, rows: pd.DataFrame) -> Mapping[str, float]:
    """Return each method's rank: by mean rating, Bradley-Terry, or Plackett-Luce."""
    if rows.empty:
        return {}
    if kind != "ratings":
        rank_all = leaderboard if kind == "choices" else ranking_leaderboard
        board = rank_all(rows, criterion=question, parts=()).rows
        return {row.method: row.rank for row in sorted(board, key=lambda r: r.method)}
    means = human_cells(annotator_cells(rows)).groupby("method")["human"].mean()
    places = ranks(means.to_numpy(float), tolerance=SAME_MEAN)
    return dict(zip(map(str, means.index), np.asarray(places).tolist(), strict=True))
