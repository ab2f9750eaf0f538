"""Tables of methods: by question and by metric."""

from collections.abc import Iterable, Iterator, Sequence

import pandas as pd

from analysis.report.paper.layout import Column, Line, PaperTable, estimate, group_title
from analysis.report.paper.letters import letters, pairs_apart
from analysis.report.paper.metrics import MOST_METRICS, declared, intervals
from analysis.report.wording import ResultTables, records
from analysis.result_tables.by_method import METRICS, QUESTIONS, by_method

# Longer tables do not repeat the methods in groups of stories.
MOST_LINES = 120
LEAST_SHARE = 0.5
LETTERS = (
    "Values of a column that share a letter are not significantly different at .05 "
    "(Holm over all pairs of methods). Columns without letters: no two differ "
    "significantly, or they were not compared."
)
NO_VALUE = "Not defined for this method."


def method_tables(tables: ResultTables, percent: str) -> Iterator[PaperTable]:
    """Yield methods by questions and composites, and methods by metrics."""
    wide = by_method(tables)
    if wide.empty:
        return
    if "tag" not in wide:
        wide = wide.assign(tag="", stratum="")
    keys = {"tag", "stratum", "method"}
    names = [
        str(name)
        for name in wide.columns
        if name not in keys and not str(name).endswith((" low", " high"))
    ]
    people = _asked(tables)
    asked = [name for name in names if name in people]
    of_metrics = [name for name in names if name not in people]
    if asked:
        drawn = _drawn(tables, QUESTIONS)
        caption = (
            f"Methods by question: {_measured(tables)}. {intervals(percent, drawn)}"
        )
        yield _table(tables, wide, asked, "methods", caption)
    if of_metrics:
        drawn = _drawn(tables, METRICS)
        caption = f"Mean scores of methods by metric. {intervals(percent, drawn)}"
        first = {metric for _question, metric in declared(tables)}
        kept = sorted(of_metrics, key=lambda name: name not in first)[:MOST_METRICS]
        if len(kept) < len(of_metrics):
            caption += (
                f" {len(kept)} of {len(of_metrics)} metrics, declared ones first."
            )
        yield _table(tables, wide, kept, "scores", caption)


def _asked(tables: ResultTables) -> set[str]:
    """Return the columns of `by_method` that have people's answers."""
    people = {name: tables[name] for name in QUESTIONS if name in tables}
    made: set[str] = set()
    if "composites" in tables:
        rows = tables["composites"]
        made = set(rows.loc[rows["over"] == "questions", "composite"].astype(str))
    return made | {str(name) for name in by_method(people).columns}


def _measured(tables: ResultTables) -> str:
    """Return what the values of questions are."""
    words = {
        "method_means": "mean ratings",
        "method_win_rates": "win rates (ties count half)",
        "ranking_leaderboard": "Plackett-Luce ratings, mean 1000",
    }
    return ", ".join(text for table, text in words.items() if table in tables)


def _drawn(tables: ResultTables, sources: Iterable[str]) -> "pd.Series[str]":
    known = [tables[name]["drawn"] for name in sources if name in tables]
    every: pd.Series[str] = pd.concat([pd.Series(dtype=str), *known])
    return every


def _table(
    tables: ResultTables,
    wide: pd.DataFrame,
    names: Sequence[str],
    key: str,
    caption: str,
) -> PaperTable:
    notes = []
    kept = wide[wide[list(names)].notna().any(axis=1)]
    if len(kept) > MOST_LINES:
        kept = kept[kept["tag"] == ""]
        notes.append("Values in groups of stories: tables/by_method.csv.")
    # A group in which few columns have values says nothing in print.
    shares = kept[list(names)].notna().mean(axis=1)
    shares = shares.groupby([kept["tag"], kept["stratum"]]).transform("mean")
    kept = _ordered(kept[(kept["tag"] == "") | (shares >= LEAST_SHARE)], names[0])
    won = tables.get("method_win_rates", pd.DataFrame({"criterion": []}))
    rates = {str(criterion) for criterion in won["criterion"]}
    columns = tuple(Column(name, in_unit=name in rates) for name in names)
    marks = {name: _letters(tables, kept, name) for name in names}
    lines = []
    for row in records(kept):
        section = group_title(row) if row["tag"] else ""
        method = str(row["method"])
        cells = [
            estimate(
                row,
                (name, f"{name} low", f"{name} high"),
                NO_VALUE,
                letters="" if section else marks[name].get(method, ""),
            )
            for name in names
        ]
        lines.append(Line(method, tuple(cells), section))
    if any(marks.values()):
        notes.append(LETTERS)
    return PaperTable(key, caption, "Method", columns, tuple(lines), tuple(notes))


def _ordered(rows: pd.DataFrame, name: str) -> pd.DataFrame:
    """Order the methods of each group by the first column, best first."""
    place = rows.groupby(["tag", "stratum"], sort=False).ngroup()
    return rows.assign(place=place).sort_values(
        ["place", name], ascending=[True, False], kind="stable"
    )


def _letters(tables: ResultTables, wide: pd.DataFrame, name: str) -> dict[str, str]:
    """Return letters by the comparisons of methods, for a question asked in one way."""
    if "method_comparisons" not in tables:
        return {}
    rows = tables["method_comparisons"]
    rows = rows[rows["question"] == name]
    if rows["source"].nunique() != 1:
        return {}
    apart, is_tested = pairs_apart(rows, ("method_a", "method_b"))
    whole = wide[(wide["tag"] == "") & wide[name].notna()]
    ordered = whole.sort_values(name, ascending=False, kind="stable")["method"]
    return letters(list(map(str, ordered)), apart) if is_tested else {}
