"""Which questions and metrics a report covers: tables with the rows of those alone."""

from collections.abc import Mapping

import pandas as pd

from analysis.notes import Notes
from analysis.options import AlignOptions, OptionError
from analysis.problems import listed, one_of
from analysis.sentences import sentence

# Where each table has them.
COLUMNS = {
    "questions": {
        "ratings": "dimension",
        "trials": "dimension",
        "choices": "criterion",
        "rankings": "criterion",
    },
    "metrics": {"scores": "metric"},
}
Tables = Mapping[str, pd.DataFrame | None]


def chosen_tables(
    tables: Tables, options: AlignOptions, notes: Notes | None = None
) -> dict[str, pd.DataFrame | None]:
    """Keep the questions and metrics that were asked for."""
    found = dict(tables)
    for option, columns in COLUMNS.items():
        wanted = getattr(options, option)
        if wanted is None:
            continue
        here = {
            name: column
            for name, column in columns.items()
            if (frame := tables.get(name)) is not None and column in frame
        }
        known = {str(one) for name in here for one in _column(tables, name, option)}
        _check(option, wanted, known)
        for name in here:
            found[name] = _kept(tables, name, option, wanted)
        if notes is not None and (rest := sorted(known - {*wanted})):
            notes.add(
                sentence(
                    "Left out as asked: metrics {names}."
                    if option == "metrics"
                    else "Left out as asked: questions {names}.",
                    names=listed(rest),
                )
            )
    return found


def _column(tables: Tables, name: str, option: str) -> "pd.Series[str]":
    frame = tables[name]
    assert frame is not None
    return frame[COLUMNS[option][name]].drop_duplicates()


def _kept(
    tables: Tables, name: str, option: str, wanted: tuple[str, ...]
) -> pd.DataFrame | None:
    frame = tables[name]
    assert frame is not None
    rows = frame[frame[COLUMNS[option][name]].isin(wanted)]
    return None if rows.empty else rows


def _check(option: str, wanted: tuple[str, ...], known: set[str]) -> None:
    if option == "metrics" and not wanted:
        return
    if not known:
        raise OptionError(
            f"--{option}: expected {' or '.join(COLUMNS[option])} beside it"
        )
    if not wanted:
        raise OptionError(f"--{option}: expected some of {listed(sorted(known))}")
    for name in wanted:
        if name not in known:
            raise OptionError(f"--{option}: {name!r}: expected {one_of(name, known)}")
