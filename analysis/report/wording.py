"""How the report words numbers: coefficients, intervals, p-values, ranks."""

import math
from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd
from scipy.stats import norm

from analysis.correlations.metric_differences import SIGNIFICANT
from analysis.report.language import listed, say, texts
from analysis.statistics import named

# What statistics are called in sentences, and over figures.
NAMES, FIGURE_TITLES = named("name"), named("title")
LEVELS = texts(
    story="inside stories",
    pooled="over all cells together",
    method="over method means",
    within_method="within methods",
)
# Kinds of answers, and what is drawn for intervals.
ANSWERS = texts({"ratings": "ratings", "choices": "choices", "rankings": "rankings"})
UNITS = texts(
    stories="stories", methods="methods", annotators="annotators", units="units"
)
ENDINGS = texts({0: "{n}th", 1: "{n}st", 2: "{n}nd", 3: "{n}rd"})
# Who stands in a table of judges without being one.
PEOPLE = texts({"people": "people"})
PLACES = (
    *texts(("first", "second", "third", "fourth", "fifth", "sixth", "seventh")),
    *texts(("eighth", "ninth", "tenth")),
)
# Below, intervals over stories contain the truth too seldom (docs/coverage.md).
FEW_STORIES = 20
SMALLEST_P = 0.01
MINUS = "\N{MINUS SIGN}"
# More sentences of one kind than this are told in one.
MOST_SENTENCES = 4
Row = Mapping[str, Any]
ResultTables = Mapping[str, pd.DataFrame]
# Whether the data show it, and how it reads.
ClaimText = tuple[bool, str]


def claim(shown: object, template: str, /, **values: object) -> ClaimText:
    """Return a sentence with whether the data show it."""
    return bool(shown), say(template, **values)


def claim_of(shown: object, question: object, *clauses: str) -> ClaimText:
    """Return clauses on a question as one sentence."""
    text = listed(clauses, "; ")
    return claim(shown, "{question}: {text}.", question=question, text=text)


def number(value: float) -> str:
    """Return a coefficient as text: two decimals, a true minus sign.

    >>> number(-0.456)
    '−0.46'
    """
    # Adding 0.0 turns -0.0 into 0.0.
    return f"{round(value, 2) + 0.0:.2f}".replace("-", MINUS)


def with_interval(row: Row) -> str:
    """Return the value of a row with its interval, where there is one."""
    return f"{number(row['value'])}{interval(row)}"


def interval(row: Row) -> str:
    """Return [low, high], or nothing where there is none."""
    if math.isnan(row["low"]) or math.isnan(row["high"]):
        return ""
    return f" [{number(row['low'])}, {number(row['high'])}]"


def first_row(rows: pd.DataFrame) -> dict[str, Any]:
    """Return the first row by column name."""
    return {str(column): rows[column].iloc[0] for column in rows.columns}


def records(rows: pd.DataFrame) -> list[dict[str, Any]]:
    """Return rows by column name, numbers as Python has them."""
    return [
        {str(key): value for key, value in row.items()}
        for row in rows.astype(object).to_dict("records")
    ]


def p_text(value: float) -> str:
    """Return a p-value as text.

    >>> p_text(0.034), p_text(0.0004)
    ('p = 0.03', 'p < 0.01')
    """
    return f"p < {SMALLEST_P}" if value < SMALLEST_P else f"p = {number(value)}"


def share(row: Row) -> str:
    """Return the value of a row in per cent with its interval."""
    return per_cent(row["value"], row["low"], row["high"])


def source_name(source: object) -> str:
    """Return what a kind of answers is called."""
    return say(ANSWERS.get(str(source), str(source)))


def of_answers(question: object, source: object) -> str:
    """Name a question with the kind of its answers."""
    answers = source_name(source)
    return say("{question} ({answers})", question=question, answers=answers)


def board(row: Row) -> str:
    """Name what methods are ordered by: a question, a metric, or both."""
    given = [row[key] for key in ("question", "metric") if isinstance(row[key], str)]
    return ": ".join(name for name in given if name) or say("all")


def signed(value: float, decimals: int = 0) -> str:
    """Return a number with its sign, also a positive one."""
    return f"{value + 0.0:+.{decimals}f}".replace("-", MINUS)


def drawn_units(units: Iterable[str], separator: str = " and ") -> str:
    """Name what is drawn, such as stories and methods."""
    return listed((say(UNITS.get(unit, unit)) for unit in units), separator)


def per_cent(value: float, low: float = math.nan, high: float = math.nan) -> str:
    """Return a share in per cent with its interval.

    >>> per_cent(0.664, 0.6, 0.71), per_cent(0.5)
    ('66 % [60, 71]', '50 %')
    """
    text = f"{100 * value:.0f} %"
    if not (math.isnan(low) or math.isnan(high)):
        text += f" [{100 * low:.0f}, {100 * high:.0f}]"
    return text.replace("-", MINUS)


def nth(rank: int, last: int = 0) -> str:
    """Return a rank as people say it, of so many if given.

    >>> nth(1), nth(6), nth(11), nth(22), nth(22, 22)
    ('first', 'sixth', '11th', '22nd', 'last')
    """
    if rank == last:
        return say("last")
    if rank <= len(PLACES):
        return say(PLACES[rank - 1])
    ending = 0 if rank % 100 in (11, 12, 13) else rank % 10
    return say(ENDINGS.get(ending, ENDINGS[0]), n=rank)


def is_clear(row: Row, null: float, *, choices: int, confidence: float) -> bool:
    """Say whether a value stands above `null` though it was chosen among several.

    Bonferroni: the lower arm of the interval is stretched as that of a normal
    distribution, from its coverage, `confidence`, to 1 - 0.05 / choices.
    """
    value, low = row["value"], row["low"]
    if not (low > null and value > null):
        return False
    stretch = norm.isf(SIGNIFICANT / choices / 2) / norm.isf((1 - confidence) / 2)
    return bool(value - max(1.0, stretch) * (value - low) > null)
