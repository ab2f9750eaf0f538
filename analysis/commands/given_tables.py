"""Tables as somebody gives them, files or frames: read, turned, and remarked on."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pandas as pd

from analysis.commands.defaults import WIDE
from analysis.hypotheses import read_hypotheses
from analysis.options import OptionError
from analysis.rankings.composite_weights import (
    Composite,
    check_composites,
    given_composites,
    read_composites,
)
from analysis.reading import inputs
from analysis.reading.files import Table
from analysis.reading.isolated_values import isolated_ratings
from analysis.reading.kept_answers import COLUMNS
from analysis.reading.metric_names import UNTOLD, higher_by_name
from analysis.reading.wide_tables import left_out_columns, left_out_ids
from analysis.sentences import sentence

# What the reader of each table takes of the options.
READ = {"ratings": (*WIDE, "scale"), "choices": (), "rankings": (), "scores": WIDE}
# Keywords that say which direction is better.
DIRECTIONS = ("lower_is_better", "higher_is_better")
READERS: Mapping[str, Callable[..., pd.DataFrame]] = {
    "ratings": inputs.read_ratings,
    "choices": inputs.read_choices,
    "rankings": inputs.read_rankings,
    "scores": inputs.read_scores,
}


def read_table(kind: str, table: Table, options: Mapping[str, object]) -> pd.DataFrame:
    """Read a table of ratings, choices, rankings or scores.

    Parameters
    ----------
    kind
        A key of `READERS`.
    table
        A file, or a frame.
    options
        With those that `READ` names.
    """
    return READERS[kind](table, **{name: options[name] for name in READ[kind]})


def remarks_on(table: pd.DataFrame, kind: str) -> list[str]:
    """Note columns of a wide table that are no values, and metrics without any."""
    told = {
        sentence(
            "Columns of {kind} that hold no numbers are left out: {columns}.",
            kind=kind,
            columns=[*left_out_columns(table)],
        ): left_out_columns(table),
        sentence(
            "Columns of {kind} that look like ids or times are left out: {columns}. "
            "--value-columns takes them in.",
            kind=kind,
            columns=[*left_out_ids(table)],
        ): left_out_ids(table),
        sentence(
            "Metrics without a single score are left out: {metrics}.",
            metrics=[*inputs.metrics_without_scores(table)],
        ): inputs.metrics_without_scores(table),
    }
    return [remark for remark, names in told.items() if names]


def isolated_remarks(
    table: pd.DataFrame, kind: str, options: Mapping[str, object]
) -> list[str]:
    """Remark on ratings far from all others, where no scale refuses them."""
    if kind != "ratings" or options["scale"] is not None:
        return []
    return list(isolated_ratings(table))


def directed(
    scores: pd.DataFrame, lower: Sequence[str] = (), higher: Sequence[str] = ()
) -> tuple[pd.DataFrame, list[str]]:
    """Return scores with the direction of every metric, and remarks on those guessed.

    Parameters
    ----------
    scores
        From `read_table`. Of metrics whose direction no cell tells, names do
        (`analysis.reading.metric_names`); of others higher is taken to be better.
    lower, higher
        Metrics of which lower, or higher, is better, whatever the table says.
    """
    metrics = {str(name) for name in scores["metric"].unique()}
    for option, names in (("lower", lower), ("higher", higher)):
        _check_directed(f"--{option}-is-better", names, metrics)
    for name in sorted({*lower} & {*higher}):
        raise OptionError(f"--higher-is-better: {name!r}: expected lower or higher")
    untold = ({*scores.attrs[UNTOLD]} & metrics) - {*lower, *higher}
    by_name = {name: higher_by_name(name) for name in untold}
    named = sorted(name for name, better in by_name.items() if better is False)
    assumed = sorted(name for name, better in by_name.items() if better is None)
    given = scores.get("higher_is_better", pd.Series(True, index=scores.index))
    down = scores["metric"].isin([*lower, *named])
    up = scores["metric"].isin([*higher])
    remarks = [
        sentence(
            "Lower is taken to be better for {metrics}, by the name alone. A column "
            "higher_is_better says otherwise, and so does --higher-is-better of align.",
            metrics=named,
        )
    ] * bool(named)
    remarks += [
        sentence(
            "Higher is assumed to be better for {metrics}: nothing says so. A column "
            "higher_is_better tells, and so does --lower-is-better of align.",
            metrics=assumed,
        )
    ] * bool(assumed)
    return scores.assign(higher_is_better=(given & ~down) | up), remarks


def _check_directed(option: str, names: Sequence[str], metrics: set[str]) -> None:
    for name in sorted({*names} - metrics):
        known = ", ".join(sorted(metrics))
        raise OptionError(f"{option}: {name!r}: expected some of {known}")


def needed_scores(scores: pd.DataFrame | None, given: Mapping[str, object]) -> None:
    """Refuse options about scores where there are none."""
    for option, value in given.items():
        if scores is None and value:
            raise OptionError(f"{option}: expected --scores beside it")


def known_composites(
    given: Mapping[str, object] | Path,
    tables: Mapping[str, pd.DataFrame | None],
    tags: pd.DataFrame | None,
) -> tuple[Composite, ...]:
    """Return composites of a file or a mapping, checked against what there is."""
    if isinstance(given, Path):
        found, file = read_composites(given), given.name
    else:
        found, file = given_composites(given), "composites"
    values = {} if tags is None else {str(t): {*tags[t]} - {""} for t in tags.columns}
    values.pop("story", None)
    check_composites(
        found,
        questions=_questions(tables),
        metrics=_metrics(tables),
        tags=values,
        file=file,
    )
    return found


def declared_metrics(
    hypotheses: Table,
    tables: Mapping[str, pd.DataFrame | None],
    composites: Sequence[Composite] = (),
) -> pd.DataFrame:
    """Return the declared metrics of a table, checked against what there is."""
    made = {
        over: {each.name for each in composites if each.over == over}
        for over in ("questions", "metrics")
    }
    return read_hypotheses(
        hypotheses,
        _questions(tables) | made["questions"],
        _metrics(tables) | made["metrics"],
    )


def _questions(tables: Mapping[str, pd.DataFrame | None]) -> set[str]:
    """Return what people were asked."""
    return {
        str(question)
        for name, column in COLUMNS["questions"].items()
        if (frame := tables.get(name)) is not None
        for question in frame[column].unique()
    }


def _metrics(tables: Mapping[str, pd.DataFrame | None]) -> set[str]:
    """Return what has scores."""
    scores = tables["scores"]
    return set() if scores is None else {str(one) for one in scores["metric"].unique()}
