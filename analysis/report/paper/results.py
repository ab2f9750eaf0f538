"""Tables of a paper whose rows are those of a result table."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from analysis.report.paper.layout import (
    DASH,
    ESTIMATE,
    Cell,
    Column,
    Line,
    PaperTable,
    estimate,
    p_numeral,
)
from analysis.report.paper.metrics import (
    LEVELS,
    chosen,
    declared,
    intervals,
    leading_pairs,
)
from analysis.report.wording import ResultTables, Row, name_of, records

TRAINED = "† Declared as trained on the metric, or selected by it."
# The columns of a value with its interval.
ENDS = len(ESTIMATE)

COUNTS = frozenset(("Combined", "Items", "Differ", "Answers"))


@dataclass(frozen=True)
class Layout:
    """How the rows of a result table are printed.

    `line` and `section` name a row and its section by their columns. `columns` has by
    title a value with the ends of its interval, the ends of a range, or one column.
    `kept` is a query for the rows. Where `most` is given, those of the declared metrics
    are kept, or of as many leading ones of each question.
    """

    table: str
    caption: str
    stub: str
    line: str
    section: str
    columns: Mapping[str, str]
    kept: str = ""
    most: int = 0
    in_unit: bool = False


RATING = {"Rating": "rating low high", "Rank": "rank rank_low rank_high"}
LAYOUTS = {
    "leaderboard": Layout(
        "leaderboard",
        "Leaderboard: Bradley-Terry ratings (mean 1000), and ranks.",
        "Method",
        "{method}",
        "{criterion}",
        RATING | {"Comparisons": "n_comparisons"},
    ),
    "ranking_leaderboard": Layout(
        "ranking_leaderboard",
        "Leaderboard: Plackett-Luce ratings (mean 1000), and ranks.",
        "Method",
        "{method}",
        "{criterion}",
        RATING | {"Rankings": "n_rankings"},
    ),
    "deviations": Layout(
        "method_deviation",
        "Which methods a metric favours: the mean of people, the mean that a line "
        "through the other methods predicts from the metric, and their difference, "
        "positive where the metric favours the method (p: Holm over the methods).",
        "Method",
        "{method}{trained}",
        "{question}: {metric}",
        {
            "People": "human",
            "Predicted": "predicted",
            "Difference": "value low high",
            "p": "p_adjusted",
        },
        most=1,
    ),
    "equivalence": Layout(
        "equivalence",
        "Equivalence of metrics: differences, with a test that they lie within the "
        "margin (p: Holm over the pairs of a statistic).",
        "Metrics",
        "{metric_a} − {metric_b}",
        "{question}: {statistic}{level}",
        {
            "Difference": "difference low high",
            "Margin": "margin",
            "p": "p_adjusted",
            "Verdict": "verdict",
        },
        kept="statistic in ('ppa_half', 'kendall')",
        in_unit=True,
    ),
    "meta": Layout(
        "meta_analysis",
        "One value for each metric over all questions or studies (p: against chance, "
        "Holm over the metrics).",
        "Metric",
        "{metric}",
        "{statistic}{level}, over {over}",
        {
            "Value": "value low high",
            "Combined": "n",
            "I²": "i_squared",
            "p": "p_adjusted",
        },
        kept="part == ''",
        in_unit=True,
    ),
    "savings": Layout(
        "prediction_powered",
        "Share of the ratings that a metric would save if many more stories had its "
        "score only, and its squared correlation with people within methods (ρ²).",
        "Metric",
        "{metric}",
        "{question}",
        {"Saved": "value low high", "ρ²": "rho_squared"},
        kept="statistic == 'saved'",
        most=5,
        in_unit=True,
    ),
    "powered": Layout(
        "prediction_powered",
        "Methods by people alone, and by people with the scores of a metric on all "
        "stories (prediction-powered, λ: weight of the metric; ranks agree with all "
        "differences).",
        "Method",
        "{method}",
        "{question}: {metric}",
        {
            "People alone": "classical classical_low classical_high",
            "With metric": "value low high",
            "λ": "lambda",
            "Ranks": "rank_low rank_high",
        },
        kept="statistic in ('mean', 'win_rate')",
        most=1,
    ),
    "labels": Layout(
        "label_aggregation",
        "Share of the items that annotators call true, by majority and by Dawid and "
        "Skene, and the number of items that both decide otherwise.",
        "Question",
        "{question}",
        "",
        {
            "Items": "n",
            "Majority": "majority majority_low majority_high",
            "Dawid-Skene": "dawid_skene dawid_skene_low dawid_skene_high",
            "Differ": "n_differ",
        },
        kept="annotator == ''",
        in_unit=True,
    ),
    "label_annotators": Layout(
        "label_aggregation",
        "Annotators by Dawid and Skene: how often they call true what is true "
        "(sensitivity), and untrue what is not (specificity).",
        "Annotator",
        "{annotator}",
        "",
        {
            "Answers": "n_answers",
            "Sensitivity": "sensitivity",
            "Specificity": "specificity",
        },
        kept="annotator != ''",
        in_unit=True,
    ),
}


def result_tables(tables: ResultTables, percent: str) -> Iterator[PaperTable]:
    """Yield a table for each layout whose main value is defined in some row."""
    for key, layout in LAYOUTS.items():
        rows = tables.get(layout.table, pd.DataFrame())
        if layout.kept and len(rows):
            rows = rows.query(layout.kept)
        if rows.empty or rows[_main(layout)].isna().all():
            continue
        rows, note = _selected(tables, rows, layout)
        is_trained = "trained_on" in rows and rows["trained_on"].any()
        coverage = percent
        drawn = rows.get("drawn", rows.get("test", pd.Series(["stories"])))
        if layout.table == "equivalence":  # of two one-sided tests
            coverage = f"{2 * float(percent.removesuffix(' %')) - 100:g} %"
        columns = [
            title for title, own in layout.columns.items() if _is_filled(rows, own)
        ]
        lines = [
            Line(
                layout.line.format(**row),
                tuple(_cell(row, layout.columns[title].split()) for title in columns),
                layout.section.format(**row),
            )
            for row in _named(rows)
        ]
        yield PaperTable(
            key,
            f"{layout.caption} {intervals(coverage, drawn)}",
            layout.stub,
            tuple(
                Column(title, in_unit=layout.in_unit and title not in COUNTS)
                for title in columns
            ),
            tuple(sorted(lines, key=_first_seen(lines))),
            tuple(filter(None, (is_trained and TRAINED, note))),
        )


def _main(layout: Layout) -> str:
    """Return the first column with an interval, else the last one."""
    own = [columns.split() for columns in layout.columns.values()]
    return next((one[0] for one in own if len(one) == ENDS), own[-1][0])


def _is_filled(rows: pd.DataFrame, columns: str) -> bool:
    return bool(rows[columns.split()[0]].notna().any())


def _first_seen(lines: Sequence[Line]) -> Callable[[Line], int]:
    """Return a key that keeps lines of a section together."""
    place = {
        section: i for i, section in enumerate(dict.fromkeys(x.section for x in lines))
    }
    return lambda line: place[line.section]


def _selected(
    tables: ResultTables, rows: pd.DataFrame, layout: Layout
) -> tuple[pd.DataFrame, str]:
    """Return the rows of the metrics to print, and a note if some are left out."""
    if layout.most:
        pairs, note = leading_pairs(tables, layout.most)
        known = zip(rows["question"], rows["metric"], strict=True)
        return rows[[pair in pairs for pair in known]], note
    if layout.table == "meta_analysis":
        metrics, note = chosen(rows, declared(tables))
        return rows[rows["metric"].isin(metrics)], note
    return rows, ""


def _named(rows: pd.DataFrame) -> Iterator[Row]:
    """Yield rows with the names of statistics and levels in place of their keys."""
    for row in records(rows):
        names = {
            "statistic": name_of(row.get("statistic", "")),
            "level": f" {LEVELS[level]}"
            if (level := row.get("level")) in LEVELS
            else "",
            "trained": " †" if row.get("trained_on") is True else "",
        }
        yield row | names


def _cell(row: Row, columns: Sequence[str]) -> Cell:
    """Return a cell of a value with its interval, of a range, or of one column."""
    reason = row.get("reason") or "Not computed."
    value = row[columns[0]]
    if len(columns) == ENDS:
        return estimate(row, columns, "Not computed.")
    if pd.isna(value):
        return Cell(reason=reason)
    if len(columns) > 1:
        last = row[columns[1]]
        return Cell(text=f"{value}{DASH}{last}" if last != value else f"{value}")
    if columns[0] == "p_adjusted":
        return Cell(text=p_numeral(float(value)))
    return Cell(text=value) if isinstance(value, str) else Cell(float(value))
