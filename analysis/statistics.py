"""The registry of results: tables, statistics, and coefficients of correlation.

`statistics.toml` declares tables and names. A coefficient is declared beside its
function, in a module below `analysis.correlations`; it is loaded when it is used, since
importing this loads neither numpy nor pandas.
"""

import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.resources import files
from typing import Any, Literal

# Coefficients in reading order, with the module whose `DECLARED` holds each.
MODULES = {
    "kendall": "coefficients",
    "spearman": "coefficients",
    "pearson": "coefficients",
    "kendall_c": "coefficients",
}


@dataclass(frozen=True)
class Statistic:
    """What a statistic is called in sentences, over figures and by reviewers."""

    name: str = ""
    title: str = ""
    symbol: str = ""
    asked: str = ""


@dataclass(frozen=True)
class Coefficient(Statistic):
    """A coefficient of correlation between people and a metric; chance is 0.

    `counts` says whether it rests on the order of pairs, on ranks, or on values. Its
    function is `of_sums`, of `kendall.RankSums`, or `of_values`, of people's values,
    scores and weights, shaped as for `coefficients.correlate`. `letter` is what the
    ranks of metrics call it; `formula` and `explained` say how it is computed.
    """

    key: str = ""
    counts: Literal["pairs", "ranks", "values"] = "pairs"
    of_sums: Callable[[Any], Any] | None = None
    of_values: Callable[[Any, Any, Any], Any] | None = None
    letter: str = ""
    formula: str = ""
    explained: str = ""


@dataclass(frozen=True)
class Table:
    """A table of a result: its heading, what one row is, what its columns hold.

    `interval` says how its intervals are made where they do not resample: by a standard
    "error", or by what "answers" add.
    """

    title: str
    row: str
    about: str
    columns: tuple[str, ...]
    interval: str = ""


@cache
def coefficient(name: str) -> Coefficient:
    """Return a coefficient by its key."""
    module = import_module(f"analysis.correlations.{MODULES[name]}")
    declared: tuple[Coefficient, ...] = module.DECLARED
    return next(one for one in declared if one.key == name)


def coefficients() -> dict[str, Coefficient]:
    """Return every coefficient in reading order."""
    return {name: coefficient(name) for name in MODULES}


def named(field_name: str) -> dict[str, str]:
    """Return the texts of one field by statistic, coefficients first."""
    every = {**coefficients(), **STATISTICS}
    texts = {key: getattr(one, field_name, "") for key, one in every.items()}
    return {key: text for key, text in texts.items() if text}


def _tables() -> dict[str, Table]:
    found = {}
    for name, given in _DECLARED["tables"].items():
        columns = given.pop("columns").format(**_DECLARED["shared"])
        found[name] = Table(columns=tuple(columns.split()), **given)
    return found


_DECLARED = tomllib.loads(
    files("analysis").joinpath("statistics.toml").read_text(encoding="utf-8")
)
STATISTICS = {key: Statistic(**given) for key, given in _DECLARED["statistics"].items()}
TABLES = _tables()
# Headings of groups of tables with the tables below each, in reading order.
TABLE_GROUPS = {
    heading: tuple(names.split()) for heading, names in _DECLARED["groups"].items()
}
# Columns that hold whole numbers, or nothing, and those that say something in words.
WHOLE_OR_EMPTY = tuple(_DECLARED["cells"]["whole_or_empty"].split())
IN_WORDS = frozenset(_DECLARED["cells"]["in_words"].split())
# The columns of the tables of an analysis; the run of a report is none.
COLUMNS = {name: one.columns for name, one in TABLES.items() if name != "run"}
