"""Tables of metrics: their agreement with people, and beside one annotator."""

from collections.abc import Iterator, Sequence

import pandas as pd

from analysis.options import KNOWN_COEFFICIENTS
from analysis.pairwise.human_ceiling import ONE_ANNOTATOR
from analysis.report.metric_order import by_value, levels_in
from analysis.report.paper.layout import Cell, Column, Line, PaperTable, p_numeral
from analysis.report.paper.letters import letters, pairs_apart
from analysis.report.wording import ResultTables, drawn_units, name_of

# Longer tables show the declared metrics and the best others, up to this many.
MOST_METRICS = 24
SYMBOLS = {"kendall": "τ", "spearman": "ρ", "pearson": "r", "kendall_c": "τ (c)"}
LETTERS = (
    "Values of a column that share a letter are not significantly different at .05 "
    "(Holm over all pairs of metrics), or were not compared. Columns without letters: "
    "no two differ significantly."
)
BOLD = "Bold: declared beforehand for this question."


def intervals(percent: str, drawn: "pd.Series[str]") -> str:
    """Return what the brackets are, and the population they hold for."""
    units = sorted({str(one) for one in drawn.dropna()} - {""})
    if not units:
        return "No intervals were computed."
    others = ", or other ".join(drawn_units(one) for one in units)
    return f"Brackets: {percent} confidence intervals, for other {others}."


def agreement_tables(tables: ResultTables, percent: str) -> Iterator[PaperTable]:
    """Yield at each level the coefficients of every metric by every question."""
    if "correlations" not in tables:
        return
    correlations = tables["correlations"]
    for level in levels_in(correlations[correlations["value"].notna()]):
        rows = correlations[correlations["level"] == level]
        yield _at_level(tables, rows, level, percent)


def _at_level(
    tables: ResultTables, rows: pd.DataFrame, level: str, percent: str
) -> PaperTable:
    present = set(rows["coefficient"])
    coefficients = [name for name in KNOWN_COEFFICIENTS if name in present]
    questions = sorted(rows["dimension"].unique())
    pairs = declared(tables)
    metrics, note = chosen(rows[rows["coefficient"] == coefficients[0]], pairs)
    groups = {
        key: own.set_index("metric")
        for key, own in rows.groupby(["dimension", "coefficient"])
    }
    cells: dict[str, list[Cell]] = {metric: [] for metric in metrics}
    has_letters = False
    for question in questions:
        for coefficient in coefficients:
            own = groups.get((question, coefficient), pd.DataFrame())
            marks = _letters(tables, own, (question, level, coefficient), metrics)
            has_letters |= bool(marks)
            for metric in metrics:
                is_bold = (question, metric) in pairs
                cells[metric].append(_cell(own, metric, marks, is_bold=is_bold))
    columns = [
        Column(SYMBOLS[c], str(q) if len(questions) > 1 else "")
        for q in questions
        for c in coefficients
    ]
    names = ", ".join(name_of(c) for c in coefficients)
    of_one = f" on {questions[0]}" if len(questions) == 1 else ""
    caption = (
        f"Agreement of metrics with people{of_one} ({names}) "
        f"{_points(rows, level)}. {intervals(percent, rows['drawn'])}"
    )
    notes = [note, BOLD if pairs else "", LETTERS if has_letters else ""]
    lines = tuple(Line(metric, tuple(own)) for metric, own in cells.items())
    kept = tuple(filter(None, notes))
    return PaperTable(
        f"metrics_{level}", caption, "Metric", tuple(columns), lines, kept
    )


def _points(rows: pd.DataFrame, level: str) -> str:
    """Return over what the coefficients are, and over how many."""
    column = "n" if level in ("method", "pooled") else "n_groups"
    counts = rows.loc[rows["value"].notna(), column].astype(int)
    n = (
        f"{counts.min()}"
        if counts.nunique() == 1
        else f"{counts.min()} to {counts.max()}"
    )
    what = {
        "method": f"over the means of {n} methods",
        "story": f"across methods within stories, a mean over {n} stories",
        "within_method": f"across stories within methods, a mean over {n} methods",
        "pooled": f"over all {n} outputs together",
    }
    return what[level]


def declared(tables: ResultTables) -> set[tuple[str, str]]:
    """Return the pairs of question and metric that were declared beforehand."""
    if "hypotheses" not in tables:
        return set()
    rows = tables["hypotheses"]
    return {
        (str(q), str(m)) for q, m in zip(rows["question"], rows["metric"], strict=True)
    }


def chosen(rows: pd.DataFrame, pairs: set[tuple[str, str]]) -> tuple[list[str], str]:
    """Return the metrics to print, best first, and a note if some are left out."""
    ordered = by_value(rows)
    if len(ordered) <= MOST_METRICS:
        return ordered, ""
    first = {metric for _question, metric in pairs}
    kept = sorted(ordered, key=lambda metric: metric not in first)[:MOST_METRICS]
    note = (
        f"{MOST_METRICS} of {len(ordered)} metrics: the declared ones and the highest "
        "on average on these data, which flatters them. The report's tables have all."
    )
    return [metric for metric in ordered if metric in kept], note


def _cell(
    rows: pd.DataFrame, metric: str, marks: dict[str, str], *, is_bold: bool
) -> Cell:
    if metric not in rows.index:
        return Cell(reason="No scores for this question.")
    row = rows.loc[metric]
    return Cell(
        float(row["value"]),
        float(row["low"]),
        float(row["high"]),
        marks.get(metric, ""),
        str(row["reason"] or ""),
        is_bold=is_bold,
    )


def _letters(
    tables: ResultTables,
    own: pd.DataFrame,
    key: tuple[str, str, str],
    metrics: Sequence[str],
) -> dict[str, str]:
    """Return the letters of the metrics with a value; none if no pair was tested."""
    if "metric_comparisons" not in tables or own.empty:
        return {}
    rows = tables["metric_comparisons"]
    for column, value in zip(("dimension", "level", "coefficient"), key, strict=True):
        rows = rows[rows[column] == value]
    apart, is_tested = pairs_apart(rows, ("metric_a", "metric_b"))
    known = own["value"].dropna().sort_values(ascending=False, kind="stable").index
    return letters([m for m in known if m in metrics], apart) if is_tested else {}


# Beside one annotator -----------------------------------------------------------------


def judge_table(tables: ResultTables, percent: str) -> Iterator[PaperTable]:
    """Yield how well each metric, and one annotator, predict the other annotators.

    Declared metrics only, if there are any.
    """
    if "human_pairs" not in tables:
        return
    rows = tables["human_pairs"]
    people = rows[rows["metric"] == ONE_ANNOTATOR].set_index("question")
    rows = rows[rows["metric"] != ONE_ANNOTATOR]
    pairs = declared(tables)
    known = list(zip(rows["question"], rows["metric"], strict=True))
    is_declared = [pair in pairs for pair in known]
    rows, note = (rows[is_declared], "") if any(is_declared) else _highest(rows)
    if rows.empty:
        return
    lines = []
    for row in rows.to_dict("records"):
        question = str(row["question"])
        one = people.loc[question] if question in people.index else None
        reason = str(row["reason"] or "")
        test = p_numeral(float(row["p_value"]))
        cells = (
            _alpha(tables, question),
            Cell(reason="No annotator could be compared with others.")
            if one is None
            else Cell(float(one["value"]), float(one["low"]), float(one["high"])),
            Cell(
                float(row["value"]),
                float(row["low"]),
                float(row["high"]),
                reason=reason,
            ),
            Cell(
                float(row["difference"]),
                float(row["difference_low"]),
                float(row["difference_high"]),
                reason=reason,
            ),
            Cell(text=test, reason="No test: fewer than five annotators."),
        )
        lines.append(Line(str(row["metric"]), cells, question))
    caption = (
        "Metrics beside one annotator, by question: agreement of people (ordinal "
        "alpha, of choices nominal), and how often one annotator, or the metric, "
        "predicts the preference of the other annotators (ties count half). "
        f"{intervals(percent, rows['drawn'])} p: of the difference to a new annotator, "
        "unadjusted."
    )
    columns = ("Alpha", "One annotator", "Metric", "Difference", "p")
    made = tuple(map(Column, columns))
    yield PaperTable("judges", caption, "Question, metric", made, tuple(lines), note)


def _highest(rows: pd.DataFrame) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """Return the highest metrics of each question, where none is declared."""
    best = rows[rows["value"].notna()].sort_values(
        "value", ascending=False, kind="stable"
    )
    kept = best.groupby("question", sort=True).head(5)
    kept = kept.sort_values("question", kind="stable")
    note = (
        "No metric was declared for a question: the five highest of each question on "
        "these data, which flatters them."
    )
    return kept, (note,)


def _alpha(tables: ResultTables, question: str) -> Cell:
    """Return the agreement of people on a question."""
    if "agreement" in tables:
        rows = tables["agreement"]
        rows = rows[rows["question"] == question].set_index("statistic")
        for statistic in ("alpha_ordinal", "alpha_nominal"):
            if statistic in rows.index:
                row = rows.loc[statistic]
                reason = str(row["reason"] or "")
                values = (float(row[name]) for name in ("value", "low", "high"))
                return Cell(*values, reason=reason)
    return Cell(reason="Agreement of people was not computed.")
