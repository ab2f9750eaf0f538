"""What stands beside answers and scores: tags, composites, twins, declared metrics."""

from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, TypeAlias

import pandas as pd

from analysis.commands.given_tables import declared_metrics, known_composites
from analysis.notebook.calls import named, names
from analysis.problems import InputError, Problem
from analysis.rankings.composite_weights import Composite
from analysis.reading.files import Table
from analysis.reading.inputs import read_twins
from analysis.reading.story_tags import read_stories

# Name to what it is made of, as in a file of composites, or such a file.
Composites: TypeAlias = Mapping[str, object] | PathLike[str] | str
# Question to the metric, or the metrics, that are declared to measure it.
Hypotheses: TypeAlias = Mapping[str, str | Sequence[str]] | Table


def tag_rows(stories: Table | None) -> pd.DataFrame | None:
    """Return the tags of stories, or None."""
    if stories is None:
        return None
    with named(stories, "stories"):
        return read_stories(stories)


def composite_parts(
    given: Any,
    tables: Mapping[str, pd.DataFrame | None],
    tags: pd.DataFrame | None,
) -> tuple[Composite, ...]:
    """Return composites, checked against the questions and metrics there are."""
    if given is None:
        return ()
    if not isinstance(given, Mapping | str | PathLike):
        expected = "composites by their names, or the path of a file of them"
        raise InputError([Problem("composites", expected, value=type(given).__name__)])
    with named(given, "composites"):
        whole = given if isinstance(given, Mapping) else Path(given)
        return known_composites(whole, tables, tags)


def twin_rows(twins: Table | None, scores: pd.DataFrame) -> pd.DataFrame | None:
    """Return scores of degraded twins, or None."""
    if twins is None:
        return None
    with named(twins, "twins"):
        return read_twins(twins, set(scores["metric"].astype(str)))


def hypothesis_rows(
    given: Any,
    tables: Mapping[str, pd.DataFrame | None],
    composites: Sequence[Composite],
) -> pd.DataFrame | None:
    """Return declared metrics, checked against the questions and metrics there are."""
    if given is None:
        return None
    table, rows = given, []
    if isinstance(given, Mapping):
        table = _rows_of(given)
        rows = [_of(question) for question in table["question"]]
    with named(given, "hypotheses", rows):
        return declared_metrics(table, tables, composites)


def _rows_of(given: Mapping[Any, Any]) -> pd.DataFrame:
    """Return question and metric, one row a hypothesis, of each question's metrics."""
    problems = [
        Problem(_of(question), "a metric, or a list of metrics", value=repr(metrics))
        for question, metrics in given.items()
        if not metrics or not isinstance(metrics, str | list | tuple)
    ]
    if problems:
        raise InputError(problems)
    return pd.DataFrame(
        [(question, m) for question, own in given.items() for m in names(own)],
        columns=["question", "metric"],
    )


def _of(question: object) -> str:
    """Return where the hypotheses of a question stand."""
    return f"hypotheses[{question!r}]"
