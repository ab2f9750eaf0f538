"""Coefficients, intervals, p-values, ranks and names as words."""

import math
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.resources import files
from typing import Any

import pandas as pd
from scipy.stats import norm

from analysis.correlations.metric_differences import SIGNIFICANT
from analysis.report.language import AND, SEMICOLON, SPACE, headed, listed
from analysis.report.language import gettext as _
from analysis.statistics import named

# Words by key, under each heading of `words.toml`.
WORDS: dict[str, dict[str, str]] = tomllib.loads(
    files("analysis.report").joinpath("words.toml").read_text(encoding="utf-8")
)
# Names of statistics in sentences.
NAMES = named("name")
LEVELS = tuple(WORDS["levels"])
# With fewer, intervals over stories miss too often (docs/explanation/intervals.md).
FEW_STORIES = 20
SMALLEST_P = 0.01
MINUS = "\N{MINUS SIGN}"
# More sentences on one topic than this become one.
MOST_SENTENCES = 4
# The most metrics that one sentence of the first screen names.
MOST_NAMES = 3
BOTH = ["question", "source"]
Row = Mapping[str, Any]
ResultTables = Mapping[str, pd.DataFrame]
QUESTIONS = ("question", "dimension", "criterion")
# Tables whose rows name the questions and methods of people's answers.
OF_PEOPLE = (
    "agreement",
    "method_means",
    "method_win_rates",
    "win_rates",
    "ranking_leaderboard",
)
# One answer of each kind.
NOUNS = {"choices": "choice", "ratings": "rating", "rankings": "ranking"}
# Whether the data show it, and how it reads.
ClaimText = tuple[bool, str]


# Names --------------------------------------------------------------------------------


def word(table: str, key: object, /, **values: object) -> str:
    """Return the word for a key; an unknown key is its own word."""
    return _(WORDS[table].get(str(key), str(key)), **values)


def name_of(statistic: object) -> str:
    """Return the name of a statistic in sentences."""
    return _(NAMES.get(str(statistic), str(statistic)))


def title_of(statistic: str) -> str:
    """Return the title of a statistic over figures."""
    return _(named("title")[statistic])


def of_answers(question: object, source: object) -> str:
    """Name a question with the kind of its answers."""
    answers = word("answers", source)
    return _("{question} ({answers})", question=question, answers=answers)


def question_names(rows: pd.DataFrame) -> Callable[[object, object], str]:
    """Return a function that names a question, with its answers if there are several.

    `rows` have a question and a source.
    """
    kinds = rows.groupby("question")["source"].nunique()
    several = {str(question) for question in kinds[kinds > 1].index}

    def title(question: object, source: object) -> str:
        name = str(question)
        return of_answers(name, source) if name in several else name

    return title


def metric_of(metric: object, question: object, beside: str = "") -> str:
    """Name a metric with its question, and what is beside it."""
    kind = "beside" if beside else "question"
    return word("named", kind, metric=metric, question=question, beside=beside)


def names_of(names: Sequence[str]) -> str:
    """Join the names of metrics; of many, some and how many more there are."""
    first = listed(names[:MOST_NAMES], SEMICOLON)
    n = len(names) - MOST_NAMES
    return word("named", "more", names=first, n=n) if n > 0 else first


def at_level(question: object, level: str) -> str:
    """Name a question and the level at which it is asked."""
    title = word("level-titles", level)
    return _("{question}, {level}", question=question, level=title)


def board(row: Row) -> str:
    """Name the question, the metric, or both, that methods are ordered by."""
    given = [row[key] for key in ("question", "metric") if isinstance(row[key], str)]
    return ": ".join(name for name in given if name) or _("all")


def drawn_units(units: Iterable[str] | str, between: str = AND) -> str:
    """Name the sampled units, such as stories and methods; a text has ``+``."""
    names = units.split("+") if isinstance(units, str) else units
    return listed((word("units", name) for name in names), between)


def claim(table: str, shown: object, /, **values: object) -> ClaimText:
    """Return the sentence of a table for a finding that is shown, or is not."""
    return bool(shown), word(table, "shown" if shown else "open", **values)


def claim_of(shown: object, question: object, *sentences: str) -> ClaimText:
    """Return sentences on a question as one text."""
    return bool(shown), headed(question, listed(sentences, SPACE))


# Numbers ------------------------------------------------------------------------------


def number(value: float) -> str:
    """Return a coefficient as text: two decimals, a true minus sign.

    >>> number(-0.456)
    '−0.46'
    """
    # Adding 0.0 turns -0.0 into 0.0.
    return f"{round(value, 2) + 0.0:.2f}".replace("-", MINUS)


def epsilon_text(value: float) -> str:
    """Return an epsilon rounded up to two decimals, without a zero before the point.

    >>> epsilon_text(0.1), epsilon_text(0.131), epsilon_text(1.0)
    ('.1', '.14', '1')
    """
    text = f"{math.ceil(round(100 * value, 6)) / 100:.2f}".rstrip("0").rstrip(".")
    return text.removeprefix("0") or "0"


def with_interval(row: Row) -> str:
    """Return the value of a row with its interval, if it has one."""
    return f"{number(row['value'])}{interval(row)}"


def interval(row: Row) -> str:
    """Return [low, high], or nothing without an interval."""
    if math.isnan(row["low"]) or math.isnan(row["high"]):
        return ""
    return f" [{number(row['low'])}, {number(row['high'])}]"


def share(row: Row) -> str:
    """Return the value of a row in per cent with its interval."""
    return per_cent(row["value"], row["low"], row["high"])


def per_cent(value: float, low: float = math.nan, high: float = math.nan) -> str:
    """Return a share in per cent with its interval.

    >>> per_cent(0.664, 0.6, 0.71), per_cent(-1e-9)
    ('66 % [60, 71]', '0 %')
    """
    # Adding 0.0 turns -0.0 into 0.0.
    value, low, high = (round(100 * x, 0) + 0.0 for x in (value, low, high))
    text = f"{value:.0f} %"
    if not (math.isnan(low) or math.isnan(high)):
        text += f" [{low:.0f}, {high:.0f}]"
    return text.replace("-", MINUS)


def signed(value: float, decimals: int = 0) -> str:
    """Return a number with its sign, plus or minus."""
    return f"{value + 0.0:+.{decimals}f}".replace("-", MINUS)


def p_text(value: float) -> str:
    """Return a p-value as text.

    >>> p_text(0.034), p_text(0.0004)
    ('p = 0.03', 'p < 0.01')
    """
    return f"p < {SMALLEST_P}" if value < SMALLEST_P else f"p = {number(value)}"


def is_clear(row: Row, null: float, *, choices: int, confidence: float) -> bool:
    """Tell whether a value lies above `null` although it was chosen among several.

    Bonferroni: the lower arm of the interval is stretched as that of a normal
    distribution, from its coverage, `confidence`, to 1 - 0.05 / choices.
    """
    value, low = row["value"], row["low"]
    if not (low > null and value > null):
        return False
    stretch = norm.isf(SIGNIFICANT / choices / 2) / norm.isf((1 - confidence) / 2)
    return bool(value - max(1.0, stretch) * (value - low) > null)


# Rows ---------------------------------------------------------------------------------


def first_row(rows: pd.DataFrame) -> dict[str, Any]:
    """Return the first row by column name."""
    return {str(column): rows[column].iloc[0] for column in rows.columns}


def is_missing(row: Row, name: str) -> bool:
    """Tell whether a row has no value in a column."""
    return bool(pd.isna(row[name]))


def records(rows: pd.DataFrame) -> list[dict[str, Any]]:
    """Return rows by column name, with plain Python numbers."""
    return [
        {str(key): value for key, value in row.items()}
        for row in rows.astype(object).to_dict("records")
    ]


def names_in(frames: Sequence[pd.DataFrame], columns: Sequence[str]) -> set[str]:
    """Return the names in some columns, wherever they are."""
    return {
        str(x) for one in frames for c in columns if c in one for x in one[c].unique()
    }
