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
OTHERS = sentence("methods or rows that the report leaves out")


def add_sample_flow(
    given: Mapping[str, pd.DataFrame | None], people: KeptAnswers, found: TableCollector
) -> None:
    """Add how many answers and annotators each table has, leaves out and keeps."""
    for source, frame in given.items():
        kept = getattr(people, source)
        if frame is not None and kept is not None:
            found.extend(TABLE, _rows(source, frame, kept))


def _rows(source: str, frame: pd.DataFrame, kept: pd.DataFrame) -> Iterator[TableRow]:
    yield _row(source, "given", "", frame)
    rest: Mask = np.ones(len(frame), bool)
    for flag, reason in REASONS.items():
        if flag in frame:
            here = rest & true_flags(frame[flag])
            rest &= ~here
            if here.any():
                yield _row(source, "left out", reason, frame[here])
    left, analysed = _row(source, "", "", frame[rest]), _row(source, "", "", kept)
    others = int(str(left["n_answers"])) - int(str(analysed["n_answers"]))
    if others > 0:
        # Which annotators gave them is unknown where methods are left out of rankings.
        yield _step(source, "left out", OTHERS, None, others)
    yield _row(source, "analysed", "", kept)


def _row(source: str, step: str, reason: str, rows: pd.DataFrame) -> TableRow:
    is_ranking = source == "rankings" and len(rows) > 0
    n = len(np.unique(answer_codes(rows, KEPT_ANSWER))) if is_ranking else len(rows)
    names = set(rows["annotator"].astype(str))
    people = None if names == {MEAN_OF_RATERS} else len(names)
    return _step(source, step, reason, people, n)


def _step(source: str, step: str, reason: str, people: int | None, n: int) -> TableRow:
    return {
        "source": source,
        "step": step,
        "reason": reason,
        "n_annotators": people,
        "n_answers": n,
    }
