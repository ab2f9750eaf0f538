"""Tables as somebody gives them, files or frames: read, turned, and remarked on."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Any, TypeAlias

import pandas as pd

from analysis.options import WIDE, OptionError
from analysis.problems import InputError, Problem
from analysis.questions import read_hypotheses, read_trained_on
from analysis.rankings.composite_weights import (
    Composite,
    check_composites,
    given_composites,
    read_composites,
)
from analysis.reading import inputs
from analysis.reading.files import Table, placed_in
from analysis.reading.identities import NAMED
from analysis.reading.inputs import left_out_columns, left_out_ids, read_twins
from analysis.reading.kept_answers import COLUMNS, isolated_ratings
from analysis.reading.story_tags import read_stories
from analysis.reading.texts import UNTOLD, higher_by_name
from analysis.sentences import sentence

# Name to what it is made of, as in a file of composites, or such a file.
Composites: TypeAlias = Mapping[str, object] | PathLike[str] | str
# Question to the metric, or the metrics, that are declared to measure it.
Hypotheses: TypeAlias = Mapping[str, str | Sequence[str]] | Table
# What the reader of each table takes of the options.
READ = {
    "ratings": (*WIDE, "scale"),
    "choices": (),
    "rankings": (),
    "marked_shots": (),
    "scores": WIDE,
}
# Keywords that say which direction is better.
DIRECTIONS = ("lower_is_better", "higher_is_better")
READERS: Mapping[str, Callable[..., pd.DataFrame]] = {
    "ratings": inputs.read_ratings,
    "choices": inputs.read_choices,
    "rankings": inputs.read_rankings,
    "marked_shots": inputs.read_marked_shots,
    "scores": inputs.read_scores,
}


def read_table(kind: str, table: Table, options: Mapping[str, object]) -> pd.DataFrame:
    """Read a table by its reader in `READERS`, with the options of that reader."""
    return READERS[kind](table, **{name: options[name] for name in READ[kind]})


def remarks_on(table: pd.DataFrame, kind: str) -> list[str]:
    """Note columns of a wide table that are no values, and metrics without any."""
    remarks = []
    if columns := [*left_out_columns(table)]:
        remarks.append(
            sentence(
                "Columns of {kind} that hold no numbers are left out: {columns}.",
                kind=kind,
                columns=columns,
            )
        )
    if columns := [*left_out_ids(table)]:
        remarks.append(
            sentence(
                "Columns of {kind} that look like ids or times are left out: "
                "{columns}. --value-columns takes them in.",
                kind=kind,
                columns=columns,
            )
        )
    if metrics := [*inputs.metrics_without_scores(table)]:
        remarks.append(
            sentence(
                "Metrics without a single score are left out: {metrics}.",
                metrics=metrics,
            )
        )
    return remarks


def isolated_remarks(
    table: pd.DataFrame, kind: str, options: Mapping[str, object]
) -> list[str]:
    """Remark on ratings far from all others, where no scale refuses them."""
    if kind != "ratings" or options["scale"] is not None or options.get("scales"):
        return []
    return list(isolated_ratings(table))


def directed(
    scores: pd.DataFrame, lower: Sequence[str] = (), higher: Sequence[str] = ()
) -> tuple[pd.DataFrame, list[str]]:
    """Return scores with the direction of every metric, and remarks on those guessed.

    Of metrics in `lower` and `higher` that is better, whatever the table says. Of
    others whose direction no cell tells, names do (`analysis.reading.texts`),
    else higher is taken to be better.
    """
    metrics = {str(name) for name in scores["metric"].unique()}
    for option, given in (("lower", lower), ("higher", higher)):
        _check_directed(f"--{option}-is-better", given, metrics)
    for name in sorted({*lower} & {*higher}):
        raise OptionError(f"--higher-is-better: {name!r}: expected lower or higher")
    untold = ({*scores.attrs[UNTOLD]} & metrics) - {*lower, *higher}
    by_name = {name: higher_by_name(name) for name in untold}
    named_lower = sorted(name for name, better in by_name.items() if better is False)
    assumed = sorted(name for name, better in by_name.items() if better is None)
    told = scores.get("higher_is_better", pd.Series(True, index=scores.index))
    down = scores["metric"].isin([*lower, *named_lower])
    up = scores["metric"].isin([*higher])
    remarks = []
    if named_lower:
        remarks.append(
            sentence(
                "Lower is taken to be better for {metrics}, by the name alone. A "
                "column higher_is_better says otherwise, and so does "
                "--higher-is-better of align.",
                metrics=named_lower,
            )
        )
    if assumed:
        remarks.append(
            sentence(
                "Higher is assumed to be better for {metrics}: nothing says so. A "
                "column higher_is_better tells, and so does --lower-is-better of "
                "align.",
                metrics=assumed,
            )
        )
    return scores.assign(higher_is_better=(told & ~down) | up), remarks


def _check_directed(option: str, names: Sequence[str], metrics: set[str]) -> None:
    for name in sorted({*names} - metrics):
        known = ", ".join(sorted(metrics))
        raise OptionError(f"{option}: {name!r}: expected some of {known}")


def _questions(tables: Mapping[str, pd.DataFrame | None]) -> set[str]:
    """Return the questions that people were asked."""
    return {
        str(question)
        for name, column in COLUMNS["questions"].items()
        if (frame := tables.get(name)) is not None
        for question in frame[column].unique()
    }


def _metrics(
    tables: Mapping[str, pd.DataFrame | None],
    columns: Sequence[str] = ("metric", NAMED),
) -> set[str]:
    """Return the metrics that have scores, by their names in these columns."""
    scores = tables["scores"]
    if scores is None:
        return set()
    here = [name for name in columns if name in scores]
    return {str(one) for name in here for one in scores[name].unique()}


# Tags, hypotheses and composites -----------------------------------------------------


def names(given: Sequence[str] | str) -> tuple[str, ...]:
    """Return names as a tuple, one alone as well."""
    return (given,) if isinstance(given, str) else tuple(given)


def is_path(value: object) -> bool:
    """Return whether a table is a file."""
    return isinstance(value, str | PathLike)


@contextmanager
def named(table: object, name: str, rows: Sequence[str] = ()) -> Iterator[None]:
    """Name problems of what is no file by the keyword that gave it."""
    if is_path(table):
        yield
        return
    with placed_in(name, rows):
        yield


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
    """Return composites, checked against the questions, metrics and tags there are."""
    if given is None:
        return ()
    if not isinstance(given, Mapping | str | PathLike):
        expected = "composites by their names, or the path of a file of them"
        raise InputError([Problem("composites", expected, value=type(given).__name__)])
    values = {} if tags is None else {str(t): {*tags[t]} - {""} for t in tags.columns}
    values.pop("story", None)
    with named(given, "composites"):
        if isinstance(given, Mapping):
            found, file = given_composites(given), "composites"
        else:
            found, file = read_composites(Path(given)), Path(given).name
        check_composites(
            found,
            questions=_questions(tables),
            metrics=_metrics(tables, ("metric",)),
            tags=values,
            file=file,
        )
    return found


def degraded_rows(twins: Table | None, scores: pd.DataFrame) -> pd.DataFrame | None:
    """Return scores of degraded copies, or None."""
    if twins is None:
        return None
    with named(twins, "twins"):
        return read_twins(twins, set(scores["metric"].astype(str)))


def hypothesis_rows(
    given: Any,
    tables: Mapping[str, pd.DataFrame | None],
    composites: Sequence[Composite] = (),
) -> pd.DataFrame | None:
    """Return declared metrics, checked against the questions and metrics there are."""
    if given is None:
        return None
    table, rows = given, []
    if isinstance(given, Mapping):
        table = _rows_of(given)
        rows = [_of(question) for question in table["question"]]
    known = {"questions": _questions(tables), "metrics": _metrics(tables)}
    for composite in composites:
        known[composite.over].add(composite.name)
    with named(given, "hypotheses", rows):
        return read_hypotheses(table, known["questions"], known["metrics"])


def trained_rows(
    given: Table | None, tables: Mapping[str, pd.DataFrame | None]
) -> pd.DataFrame | None:
    """Return methods with the metrics that they were trained on, or None."""
    if given is None:
        return None
    methods = {
        str(method)
        for frame in tables.values()
        if frame is not None
        for column in ("method", "method_a", "method_b")
        if column in frame
        for method in frame[column].unique()
    }
    with named(given, "trained_on"):
        return read_trained_on(given, methods, _metrics(tables))


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
