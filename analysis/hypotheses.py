"""Which metric was declared, before the data, to measure which question.

A declared metric is a hypothesis of its own; all others are explored.
"""

from collections.abc import Collection
from pathlib import Path

import pandas as pd

from analysis.problems import InputError, Problem, by_line, listed
from analysis.reading.files import read_file
from analysis.reading.kept_rows import key_texts

HYPOTHESIS_COLUMNS = ("question", "metric")


def read_hypotheses(
    path: Path, questions: Collection[str], metrics: Collection[str]
) -> pd.DataFrame:
    """Read a table of hypotheses: columns question and metric.

    Parameters
    ----------
    path
        A file of any kind that `analysis.reading.files` reads.
    questions, metrics
        What the answers ask and the scores hold.

    Raises
    ------
    InputError
        With every problem: a missing column, an unknown question or metric, the same
        hypothesis twice.
    """
    frame = read_file(path, HYPOTHESIS_COLUMNS)
    missing = [column for column in HYPOTHESIS_COLUMNS if column not in frame]
    if missing:
        expected = f"the columns {', '.join(HYPOTHESIS_COLUMNS)}"
        raise InputError([Problem(path.name, expected, 1, name) for name in missing])
    found = pd.DataFrame(
        {name: key_texts(frame[name]).str.strip() for name in HYPOTHESIS_COLUMNS}
    )
    problems = []
    doubled = found.duplicated()
    for k, row in enumerate(found.to_dict("records")):
        line = int(found.index[k])
        problems += [
            Problem(path.name, f"one of {listed(sorted(known))}", line, name, row[name])
            for name, known in (("question", questions), ("metric", metrics))
            if row[name] not in known
        ]
        if doubled.iloc[k]:
            once = "a hypothesis once"
            problems.append(Problem(path.name, once, line, "metric", row["metric"]))
    if problems:
        raise InputError(by_line(problems))
    return found.reset_index(drop=True)


def declared(hypotheses: pd.DataFrame | None, question: str) -> tuple[str, ...]:
    """Return the metrics that were declared to measure a question.

    Examples
    --------
    >>> table = pd.DataFrame({"question": ["look"], "metric": ["csd"]})
    >>> declared(table, "look"), declared(table, "plot"), declared(None, "look")
    (('csd',), (), ())
    """
    if hypotheses is None:
        return ()
    own = hypotheses["question"] == question
    return tuple(map(str, hypotheses.loc[own, "metric"]))
