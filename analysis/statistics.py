"""The registry of results: tables, statistics, and coefficients of correlation.

`statistics.toml` declares tables and names. A coefficient is declared beside its
function, in a module of `analysis.correlations`, which is loaded when it is used:
importing this module loads neither numpy nor pandas.
"""

import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.resources import files
from typing import Any, Literal

# Coefficients in reading order, with the module that declares each.
MODULES = {
    "kendall": "coefficients",
    "spearman": "coefficients",
    "pearson": "coefficients",
    "kendall_c": "coefficients",
}


@dataclass(frozen=True)
class Statistic:
    """The names of a statistic in sentences, over figures and in questions."""

    name: str = ""
    title: str = ""
    symbol: str = ""
    asked: str = ""


@dataclass(frozen=True)
class Coefficient(Statistic):
    """A coefficient of correlation between people and a metric; chance is 0.

    `counts` tells whether it uses the order of pairs, ranks, or values. Its function is
    `of_sums`, of `kendall.RankSums`, or `of_values`, of people's values, scores and
    weights, shaped as for `coefficients.correlate`. `formula` and `explained` describe
    its computation.
    """

    key: str = ""
    counts: Literal["pairs", "ranks", "values"] = "pairs"
    of_sums: Callable[[Any], Any] | None = None
    of_values: Callable[[Any, Any, Any], Any] | None = None
    formula: str = ""
    explained: str = ""


@dataclass(frozen=True)
class Table:
    """A table of a result: its heading, the meaning of a row, and its columns.

    `interval` is the source of intervals that do not resample: a standard "error", the
    contributions of "answers", or a "jackknife".
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
    tables = {}
    for name, fields in _DECLARED["tables"].items():
        columns = fields.pop("columns").format(**_DECLARED["shared"])
        tables[name] = Table(columns=tuple(columns.split()), **fields)
    return tables


_DECLARED = tomllib.loads(
    files("analysis").joinpath("statistics.toml").read_text(encoding="utf-8")
)
STATISTICS = {key: Statistic(**one) for key, one in _DECLARED["statistics"].items()}
TABLES = _tables()
# Groups of tables by heading, in reading order.
TABLE_GROUPS = {
    heading: tuple(names.split()) for heading, names in _DECLARED["groups"].items()
}
# Columns of whole numbers or nothing, and columns of sentences.
WHOLE_OR_EMPTY = tuple(_DECLARED["cells"]["whole_or_empty"].split())
IN_WORDS = frozenset(_DECLARED["cells"]["in_words"].split())
# The columns of the tables of an analysis; `by_method` is made of others, and `run`
# belongs to the report.
COLUMNS = {
    name: one.columns
    for name, one in TABLES.items()
    if name not in ("by_method", "run")
}
