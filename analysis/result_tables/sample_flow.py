"""The way from the answers that were given to those that were analysed."""

from collections.abc import Iterator, Mapping

import numpy as np
import pandas as pd

from analysis.reading.column_cleaning import true_flags
from analysis.reading.kept_answers import KeptAnswers
from analysis.reading.rankings import KEPT_ANSWER, answer_codes
from analysis.result_tables.contract import TableCollector
from analysis.results import Mask, TableRow
from analysis.sentences import sentence
from analysis.tables import MEAN_OF_RATERS

TABLE = "sample_flow"
# Flags of answers in the order in which they are counted; each row counts once.
REASONS = {
    "is_gold": sentence("known-answer checks"),
    "is_repeat": sentence("repeated answers"),
    "excluded": sentence("excluded answers"),
}
# Why a row is excluded; tables of files have no such column.
EXCLUDED_BY = "excluded_by"
OTHERS = sentence("methods or rows that the report leaves out")


def add_sample_flow(
    given: Mapping[str, pd.DataFrame | None], people: KeptAnswers, found: TableCollector
) -> None:
    """Add how many answers and annotators each table has, leaves out and keeps.

    Answers count under the first reason that holds, annotators under the one that
    leaves out the last of their answers: both add up. The judged stories of each
    question are kept beside them.
    """
    for source, frame in given.items():
        kept = getattr(people, source)
        if frame is not None and kept is not None:
            found.extend(TABLE, _rows(source, frame, kept))
            question = "dimension" if source == "ratings" else "criterion"
            for name, stories in kept.groupby(question)["story"]:
                judged = {*map(str, stories.unique())} - {""}
                before = found.judged.get(str(name), frozenset())
                found.judged[str(name)] = before | judged


def _rows(source: str, frame: pd.DataFrame, kept: pd.DataFrame) -> Iterator[TableRow]:
    before = _counts(source, frame)
    yield _row(source, "given", "", before)
    rest: Mask = np.ones(len(frame), bool)
    for reason, flagged in _flags(frame):
        if (rest & flagged).any():
            rest &= ~flagged
            after = _counts(source, frame[rest])
            yield _left_out(source, reason, before, after)
            before = after
    after = _counts(source, kept)
    # Of rankings, a method may be left out of an answer that stays.
    if before[1] > after[1]:
        yield _left_out(source, OTHERS, before, after)
    yield _row(source, "analysed", "", after)


def _flags(frame: pd.DataFrame) -> Iterator[tuple[str, Mask]]:
    """Yield each reason with its rows."""
    for flag, reason in REASONS.items():
        if flag not in frame:
            continue
        flagged = true_flags(frame[flag])
        if flag == "excluded" and EXCLUDED_BY in frame:
            because = frame[EXCLUDED_BY]
            for own in sorted(because[flagged].unique()):
                yield own, flagged & (because == own).to_numpy()
        else:
            yield reason, flagged


def _counts(source: str, rows: pd.DataFrame) -> tuple[int | None, int]:
    """Return the numbers of annotators, None if these are means, and of answers."""
    is_ranking = source == "rankings" and len(rows) > 0
    n = len(np.unique(answer_codes(rows, KEPT_ANSWER))) if is_ranking else len(rows)
    names = set(rows["annotator"].astype(str))
    return None if names == {MEAN_OF_RATERS} else len(names), n


def _left_out(
    source: str,
    reason: str,
    before: tuple[int | None, int],
    after: tuple[int | None, int],
) -> TableRow:
    people = None
    if before[0] is not None and after[0] is not None:
        people = before[0] - after[0]
    return _row(source, "left out", reason, (people, before[1] - after[1]))


def _row(
    source: str, step: str, reason: str, counts: tuple[int | None, int]
) -> TableRow:
    return {
        "source": source,
        "step": step,
        "reason": reason,
        "n_annotators": counts[0],
        "n_answers": counts[1],
    }
