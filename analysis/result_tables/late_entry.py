"""Tables of a method that people judged after a study had ended."""

import pandas as pd

from analysis.options import OptionError
from analysis.problems import one_of
from analysis.rankings.bradley_terry import leaderboard
from analysis.rankings.late_entry import choice_drift_rows, late_rows
from analysis.reading.cells import annotator_cells
from analysis.reading.kept_answers import KeptAnswers
from analysis.result_tables.contract import TableCollector
from analysis.results import NAN, TableRow

PARTS = ("stories", "annotators")


def add_late_entry(
    before: KeptAnswers,
    after: KeptAnswers,
    method: str,
    found: TableCollector,
    *,
    same_people: bool = False,
) -> None:
    """Add the late method on the scale of the first study, and how people drifted."""
    confidence = found.options.confidence
    if before.ratings is not None and after.ratings is not None:
        earlier = annotator_cells(before.ratings)
        later = annotator_cells(after.ratings)
        for question, rows in later.groupby("dimension", sort=True):
            first = earlier[earlier["dimension"] == question]
            if len(first) and (rows["method"] == method).any():
                of_question = late_rows(
                    first,
                    rows,
                    question=str(question),
                    late=method,
                    confidence=confidence,
                    same_people=same_people,
                )
                for table, listed in of_question.items():
                    found.extend(table, listed, PARTS)
    if before.choices is not None and after.choices is not None:
        for question, rows in after.choices.groupby("criterion", sort=True):
            first = before.choices[before.choices["criterion"] == question]
            if len(first):
                name = str(question)
                drift = choice_drift_rows(
                    first,
                    rows,
                    question=name,
                    late=method,
                    confidence=confidence,
                    same_people=same_people,
                )
                found.extend("late_drift", drift, PARTS)
                _add_places(first, rows, name, method, found, same_people)


def check_late(method: str, before: KeptAnswers, after: KeptAnswers) -> None:
    """Refuse a method that the later table lacks, or the first one has."""
    earlier, later = (
        {
            str(name)
            for table, columns in (
                (people.ratings, ("method",)),
                (people.choices, ("method_a", "method_b")),
            )
            if table is not None
            for column in columns
            for name in table[column].unique()
        }
        for people in (before, after)
    )
    fresh = later - earlier
    if method not in fresh:
        expected = one_of(method, fresh) if fresh else "a method of the later table"
        raise OptionError(
            f"--method: {method!r}: expected {expected}, which the first lacks"
        )


def _add_places(
    before: pd.DataFrame,
    after: pd.DataFrame,
    question: str,
    method: str,
    found: TableCollector,
    same_people: bool,
) -> None:
    """Add the late method's place by all choices of both studies together."""
    if not same_people:
        after = after.assign(annotator="later " + after["annotator"].astype(str))
    both = pd.concat([before, after], ignore_index=True)
    standings = leaderboard(
        both,
        criterion=question,
        parts=PARTS,
        confidence=found.options.confidence,
        ties="half",
        by_majority=False,
    )
    about: TableRow = {"question": question, "source": "choices", "method": method}
    for row in standings.rows:
        if row.method == method:
            of_late = about | {
                "value": row.rating,
                "low": row.low,
                "high": row.high,
                "n": row.n_comparisons,
                "reason": row.reason,
                "n_linking": 0,
                **dict.fromkeys(("unlinked", "unlinked_low", "unlinked_high"), NAN),
                "extra_error": NAN,
            }
            found.extend("late_methods", [of_late], PARTS)
    for pair in standings.comparisons:
        first, second = str(pair["method_a"]), str(pair["method_b"])
        if method in (first, second):
            turned = second == method
            low, high, gap = (
                float(str(pair[k])) for k in ("low", "high", "difference")
            )
            found.add(
                "late_differences",
                about
                | {
                    "other": first if turned else second,
                    "difference": -gap if turned else gap,
                    "low": -high if turned else low,
                    "high": -low if turned else high,
                    "p_value": pair["p_value"],
                    "p_adjusted": pair["p_adjusted"],
                    "reason": "",
                },
            )
