"""Everything once more by tags of stories, and how groups of stories differ."""

from dataclasses import replace

import numpy as np
import pandas as pd

from analysis.inference.significance import holm
from analysis.options import PARTS as UNITS
from analysis.options import Progress, check_known, resample_parts, supported_parts
from analysis.questions import QuestionData
from analysis.rankings.bradley_terry import PARTS
from analysis.rankings.choice_votes import with_weights
from analysis.rankings.win_rates import win_rates
from analysis.reading.scores import ScoreTable
from analysis.reading.story_tags import with_classes
from analysis.result_tables.contract import TableCollector
from analysis.result_tables.leaderboards import parts_drawn
from analysis.results import TableRow
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
            told = sentence("not split by tags: ranks of methods are over all stories.")
            found.notes.add(told, question.name)
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
    """Return all that intervals of a table draw, each row some of it."""
    drawn = {part for row in rows for part in str(row["drawn"]).split("+")}
    return tuple(part for part in UNITS if part in drawn)


def _asked_for(tags: pd.DataFrame, names: tuple[str, ...] | None) -> pd.DataFrame:
    """Return the tags to split by: those named, or all."""
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
        rates = win_rates(answers, parts=drawn, confidence=options.confidence)
        rows += [about | rate for rate in rates]
    # One family: every pair in every stratum.
    adjusted = holm(np.array([row["p_value"] for row in rows], float))
    for row, p_value in zip(rows, adjusted, strict=True):
        row["p_adjusted"] = float(p_value)
    found.extend("strata_win_rates", rows, parts)
