"""Further tables of a report, beside those which every report has."""

import pandas as pd

from analysis.options import Progress, check_known, resample_parts
from analysis.questions import Question
from analysis.rows import Tables
from analysis.scores import ScoreTable
from analysis.story_tags import with_classes
from analysis.strata import Split, score_strata_rows, splits, strata_rows
from analysis.strata_differences import difference_rows, score_difference_rows


def add_strata(
    questions: list[Question],
    table: ScoreTable,
    tags: pd.DataFrame,
    found: Tables,
    progress: Progress,
) -> None:
    """Split every question that has stories by every tag, and the scores as well."""
    options = found.options
    tags, notes = with_classes(_asked_for(tags, options.split_by))
    found.notes.extend(notes)
    parts = resample_parts(options.resample, default="stories+methods")
    shown: dict[str, Split] = {}
    for question in questions:
        if question.is_method_level:
            continue
        here, notes = splits(tags, sorted(question.answers["story"].unique()))
        found.notes.extend(notes, question.name)
        for split in here:
            progress(f"{question.name}: split by {split.tag}")
            shown.setdefault(split.tag, split)
            found.extend(
                "strata", strata_rows(question, split, parts=parts, options=options)
            )
            found.extend(
                "strata_differences",
                difference_rows(question, split, parts=parts, options=options),
            )
    for split in shown.values():
        found.extend("strata", score_strata_rows(table, split, options=options))
        found.extend(
            "strata_differences", score_difference_rows(table, split, options=options)
        )
    found.resample("strata", parts)
    found.resample("strata_differences", parts)


def _asked_for(tags: pd.DataFrame, names: tuple[str, ...]) -> pd.DataFrame:
    """Return the tags to split by: those named, or all."""
    check_known("--split-by", names, tuple(tags.columns.drop("story")))
    return tags[["story", *names]] if names else tags
