"""Which metric was declared, before the data, to measure which question.

A declared metric is a hypothesis of its own; all others are explored.
"""

from collections.abc import Collection, Iterable

import pandas as pd

from analysis.options import AlignOptions
from analysis.problems import InputError, Problem, by_line, one_of
from analysis.rankings.composite_weights import Composite
from analysis.reading.column_cleaning import key_texts
from analysis.reading.files import Table, opened
from analysis.tables import restored

HYPOTHESIS_COLUMNS = ("question", "metric")


def read_hypotheses(
    table: Table, questions: Collection[str], metrics: Collection[str]
) -> pd.DataFrame:
    """Read a table of hypotheses: columns question and metric."""
    frame, file = opened(table, "hypotheses", HYPOTHESIS_COLUMNS)
    missing = [column for column in HYPOTHESIS_COLUMNS if column not in frame]
    if missing:
        expected = f"the columns {', '.join(HYPOTHESIS_COLUMNS)}"
        raise InputError([Problem(file, expected, 1, name) for name in missing])
    found = pd.DataFrame(
        {
            name: key_texts(frame[name]).str.strip().map(restored)
            for name in HYPOTHESIS_COLUMNS
        }
    )
    problems = []
    doubled = found.duplicated()
    for k, row in enumerate(found.to_dict("records")):
        line = int(found.index[k])
        problems += [
            Problem(file, one_of(row[name], known), line, name, row[name])
            for name, known in (("question", questions), ("metric", metrics))
            if row[name] not in known
        ]
        if doubled.iloc[k]:
            once = "a hypothesis once"
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
