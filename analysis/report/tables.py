"""Tables of a report: with titles for keys, on the page, as CSV and as LaTeX."""

import io
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from analysis.report.language import counted, retold
from analysis.report.language import gettext as _
from analysis.report.wording import MINUS, QUESTIONS, names_in
from analysis.results import column_texts
from analysis.statistics import IN_WORDS, TABLE_GROUPS, TABLES
from analysis.tables import Lines, defused

# Columns that hold keys of metrics.
METRICS = ("metric", "metric_a", "metric_b", "against")
# A page with more cells would be slow: the longest tables are cut, but not below this
# many rows. The files have all rows.
MOST_CELLS = 28_000
LEAST_ROWS = 10
# Characters that LaTeX does not print literally.
SPECIAL = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    # At the start of a row, LaTeX reads these as an option of the row before.
    "[": "{[}",
    "*": "{*}",
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
}
LATEX = str.maketrans(SPECIAL)
# Longer tables break over several pages.
LONGEST = 40


# Titles for keys ----------------------------------------------------------------------


@dataclass(frozen=True)
class Titles:
    """Titles of questions and metrics by their keys; others keep the key."""

    questions: Mapping[str, str] = field(default_factory=dict)
    metrics: Mapping[str, str] = field(default_factory=dict)


def titled(frame: pd.DataFrame, titles: Titles) -> pd.DataFrame:
    """Return a table with titles in place of keys; see `apart`."""
    names = {
        **dict.fromkeys(QUESTIONS, titles.questions),
        **dict.fromkeys(METRICS, titles.metrics),
    }
    shown = {
        column: frame[column].map(lambda key, own=own: own.get(key, key))
        for column, own in names.items()
        if column in frame and own
    }
    if {"over", "part"} <= set(frame):
        is_question = frame["over"] == "questions"
        titles_of_parts = frame["part"].map(lambda key: titles.questions.get(key, key))
        shown["part"] = frame["part"].mask(is_question, titles_of_parts)
    return frame.assign(**shown)


def apart(tables: Iterable[pd.DataFrame], titles: Titles) -> Titles:
    """Return titles that are unique among the names of these tables.

    A title of two keys, or one that is also the name of another key, is followed by its
    key.
    """
    frames = list(tables)
    return Titles(
        _apart(frames, QUESTIONS, titles.questions),
        _apart(frames, METRICS, titles.metrics),
    )


def _apart(
    frames: Sequence[pd.DataFrame], columns: tuple[str, ...], titles: Mapping[str, str]
) -> dict[str, str]:
    known = {key: title for key, title in titles.items() if title}
    used = Counter([*known.values(), *(names_in(frames, columns) - known.keys())])
    return {
        key: title if used[title] == 1 else f"{title} ({key})"
        for key, title in known.items()
    }


# On the page --------------------------------------------------------------------------


def listed_tables(
    tables: Mapping[str, pd.DataFrame], cells_above: int = 0
) -> list[tuple[str, list[dict[str, Any]]]]:
    """Return the tables under the headings of their groups; unknown ones come last.

    `cells_above` is the number of cells that the page has already.
    """
    rows = _most_rows(list(tables.values()), MOST_CELLS - cells_above)
    groups = {_(heading): names for heading, names in TABLE_GROUPS.items()}
    groups[_("Further tables")] = tuple(name for name in tables if name not in TABLES)
    listed = {
        heading: [_listed(name, tables[name], rows) for name in names if name in tables]
        for heading, names in groups.items()
    }
    return [(heading, group) for heading, group in listed.items() if group]


def _most_rows(frames: Sequence[pd.DataFrame], room: int) -> int:
    """Return the most rows of a table with which all tables fit."""
    rows = max(map(len, frames), default=0)
    while rows > LEAST_ROWS:
        if sum(min(rows, len(one)) * len(one.columns) for one in frames) <= room:
            return rows
        rows = rows * 4 // 5
    return LEAST_ROWS


def _are_numbers(frame: pd.DataFrame) -> list[bool]:
    return [pd.api.types.is_numeric_dtype(frame[column]) for column in frame.columns]


def joined(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a table with intervals behind their values, as text in one column.

    >>> joined(pd.DataFrame({"a": [1.5], "a low": [1.25], "a high": [2.5]}))
                          a
    0  1.500 [1.250, 2.500]
    """
    columns = {}
    for name in frame.columns:
        if f"{name} low" not in frame or frame[f"{name} low"].isna().all():
            columns[name] = frame[name]
            continue
        ends = [column_texts(frame[f"{name} {end}"]) for end in ("low", "high")]
        cells = zip(column_texts(frame[name]), *ends, strict=True)
        columns[name] = pd.Series(
            [f"{text} [{low}, {high}]" if low else text for text, low, high in cells]
        )
    taken = {f"{name} {end}" for name in columns for end in ("low", "high")}
    return pd.DataFrame({name: columns[name] for name in columns if name not in taken})


def _listed(name: str, frame: pd.DataFrame, most: int) -> dict[str, Any]:
    frame = joined(frame)
    numeric = _are_numbers(frame)
    # The common format of a column depends on all of its rows.
    cells = {c: column_texts(frame[c])[:most] for c in frame.columns}
    cells |= {c: [*map(retold, cells[c])] for c in IN_WORDS.intersection(cells)}
    columns = [
        [text.replace("-", MINUS) if is_number else text for text in cells[c]]
        for c, is_number in zip(frame.columns, numeric, strict=True)
    ]
    known = name in TABLES
    title = TABLES[name].title if known else name.replace("_", " ").capitalize()
    return {
        "name": name,
        "total": len(frame),
        "count": counted(len(frame), "row"),
        "title": _(title),
        "columns": list(zip(frame.columns, numeric, strict=True)),
        "rows": [
            list(zip(row, numeric, strict=True)) for row in zip(*columns, strict=True)
        ],
    }


# As files -----------------------------------------------------------------------------


def as_csv(frame: pd.DataFrame) -> str:
    """Return a table as CSV: full precision, empty for undefined, no formulas.

    Text that a spreadsheet would run as a formula is prefixed with an apostrophe.
    """
    safe = frame.copy()
    for column in safe.columns:
        if not pd.api.types.is_numeric_dtype(safe[column]):
            safe[column] = safe[column].map(
                lambda x: defused(x) if isinstance(x, str) else x
            )
    safe.columns = [defused(str(column)) for column in safe.columns]
    text = io.StringIO()
    safe.to_csv(Lines(text), index=False, lineterminator="\r\n")  # type: ignore[call-overload]  # it only writes there
    return text.getvalue()


def escaped(text: str) -> str:
    r"""Return text that LaTeX prints literally.

    >>> print(escaped("50 % of a_b"))
    50 \% of a\_b
    """
    return text.translate(LATEX)


def as_latex(frame: pd.DataFrame) -> str:
    r"""Return a table with rules; numbers with three decimals, right-aligned.

    It needs `\usepackage{booktabs}`, `\usepackage[T1]{fontenc}` for quotes, and, for
    more than 40 rows, `\usepackage{longtable}`: such a table breaks over pages and
    repeats its head. In a two-column document, longtable needs `\onecolumn` first.
    """
    frame = joined(frame)
    numeric = _are_numbers(frame)
    alignment = "".join("r" if is_number else "l" for is_number in numeric)
    is_long = len(frame) > LONGEST
    name = "longtable" if is_long else "tabular"
    head = [r"\toprule", " & ".join(escaped(str(c)) for c in frame.columns) + r" \\"]
    head.append(r"\midrule")
    lines = [rf"\begin{{{name}}}{{{alignment}}}", *head]
    if is_long:
        again = [r"\endfirsthead", *head, r"\endhead"]
        lines += [*again, r"\bottomrule", r"\endfoot"]
    columns = [
        map(_numeral if is_number else escaped, column_texts(frame[c]))
        for c, is_number in zip(frame.columns, numeric, strict=True)
    ]
    lines += [" & ".join(row) + r" \\" for row in zip(*columns, strict=True)]
    end = [rf"\end{{{name}}}", ""]
    return "\n".join([*lines, *(end if is_long else [r"\bottomrule", *end])])


def _numeral(text: str) -> str:
    """Write signs, bounds and powers of ten in mathematical mode."""
    digits, _e, power = text.partition("e")
    if power.lstrip("+-").isdigit():
        return rf"${digits} \times 10^{{{int(power)}}}$"
    return f"${text}$" if text.startswith(("-", "<")) else text
