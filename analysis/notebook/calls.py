"""Calls of the functions: keywords checked, and turned into a request."""

from collections.abc import Mapping
from dataclasses import fields
from numbers import Integral
from os import PathLike, fspath
from typing import Any

import pandas as pd

from analysis.commands.given_tables import names
from analysis.commands.requests import Request, answered
from analysis.notebook.reports import Report, keywords
from analysis.options import WIDE, AlignOptions, OptionError, Scale
from analysis.problems import one_of

# Options that are lists of names; a single name needs no list.
NAMES = (
    "questions",
    "metrics",
    "exclude_methods",
    "baseline",
    "levels",
    "coefficients",
    "split_by",
    "components",
)


# Keywords that every function takes: the options of the command line.
OPTIONS = {field.name for field in fields(AlignOptions)} - {"scales"} | {*WIDE}


def make_report(
    command: str,
    tables: Mapping[str, Any],
    further: Mapping[str, Any],
    options: Mapping[str, Any],
) -> Report:
    """Return the result of a command, called by keywords.

    Raises
    ------
    TypeError
        An option is none of `OPTIONS`.
    """
    called = command.replace("-", "_")
    for name in options:
        if name not in OPTIONS:
            expected = one_of(name, OPTIONS)
            raise TypeError(
                f"{called}() got an unexpected keyword {name!r}: expected {expected}"
            )
    with keywords():
        given = {name: v for name, v in tables.items() if v is not None}
        wide = {name: options.get(name, WIDE[name]) for name in WIDE}
        chosen = {name: v for name, v in options.items() if name not in WIDE}
        chosen |= {name: names(chosen[name]) for name in NAMES if chosen.get(name)}
        if "scale" in chosen:
            chosen["scale"] = _scale(chosen["scale"])
        written = {**given, **further, **options}.items()
        ways = ("lower_is_better", "higher_is_better")
        request = Request(
            command,
            given,
            AlignOptions(**chosen),
            f"analysis.{called}({', '.join(_written(*one) for one in written)})",
            {**further, **{way: names(further[way]) for way in ways if way in further}},
            wide | {"value_columns": names(wide["value_columns"])},
        )
        return Report(answered(request), request)


def _scale(given: object) -> Scale | None:
    """Return a pair of a lower and a higher whole number, or refuse what is none."""
    pair = tuple(given) if isinstance(given, list | tuple) else ()
    if given is None:
        return None
    if len(pair) == 2 and all(isinstance(end, Integral) for end in pair):
        low, high = map(int, pair)
        if low < high:
            return low, high
    expected = "the lowest and the highest rating, as in (0, 4)"
    raise OptionError(f"scale: {given!r}: expected {expected}")


def _written(name: str, value: object) -> str:
    if isinstance(value, pd.DataFrame):
        return f"{name}={name}"
    return f"{name}={(fspath(value) if isinstance(value, PathLike) else value)!r}"
