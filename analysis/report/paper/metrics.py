"""Tables of metrics: their agreement with people, and beside one annotator."""

from collections.abc import Iterator, Mapping

import pandas as pd

from analysis.options import KNOWN_COEFFICIENTS
from analysis.pairwise.human_ceiling import ONE_ANNOTATOR
from analysis.reliability.annotator_replacement import STORIES
from analysis.report.metric_order import by_value, levels_in, without_baselines
from analysis.report.paper.layout import (
    Cell,
    Column,
    Line,
    PaperTable,
    estimate,
    spread,
)
from analysis.report.paper.letters import metric_letters
from analysis.report.wording import (
    ResultTables,
    Row,
    drawn_units,
    epsilon_text,
    first_row,
    name_of,
    records,
    word,
)
from analysis.statistics import named
from analysis.verdicts import FEW_METHODS

# Longer tables show the declared metrics and the best others, up to this many.
MOST_METRICS = 24
# Beside one annotator, of each question, where none is declared.
MOST_JUDGES = 5
# The pairwise accuracy that ranks metrics.
STATISTIC = "ppa_half"
LETTERS = (
    "Values of a column that share a letter are not significantly different at .05 "
    "(Holm over all pairs of metrics), or were not compared. Columns without letters: "
    "no two differ significantly, none were compared, or 26 letters are not enough."
)
# The test of metrics in place of annotators.
TEST = "alternative_annotator"
BESIDE = (
    "Difference: agreement with the other annotators, of the metric less that of one "
    "annotator; replaced: annotators whom the metric may replace, within ε."
)
ALONE = "No annotator could be compared with others."
NO_SCORES = "No scores for this question."
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
        if level == "method" and rows["n"].max() < FEW_METHODS:
            continue  # over so few, no coefficient differs from chance
        yield _at_level(tables, rows, level, percent)


def _at_level(
    tables: ResultTables, rows: pd.DataFrame, level: str, percent: str
) -> PaperTable:
    present = set(rows["coefficient"])
    coefficients = [name for name in KNOWN_COEFFICIENTS if name in present]
    questions = sorted(rows["dimension"].unique())
    pairs = declared(tables)
    metrics, note = chosen(rows[rows["coefficient"] == coefficients[0]], pairs)
    groups: dict[tuple[str, str], dict[str, Row]] = {}
    for row in records(rows):
        key = (row["dimension"], row["coefficient"])
        groups.setdefault(key, {})[row["metric"]] = row
    cells: dict[str, list[Cell]] = {metric: [] for metric in metrics}
    has_letters = False
    for question in questions:
        for coefficient in coefficients:
            own = groups.get((question, coefficient), {})
            values = pd.Series(
                {m: own[m]["value"] for m in metrics if m in own}, dtype=float
            )
            way = str(coefficient), level, "ratings"
            marks = metric_letters(tables, question, way, values)
            has_letters |= bool(marks)
            for metric in metrics:
                is_bold = (question, metric) in pairs
                cells[metric].append(_cell(own, metric, marks, is_bold=is_bold))
    symbols = named("symbol")
    columns = [
        Column(symbols[c], str(q) if len(questions) > 1 else "")
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
    n = spread(rows.loc[rows["value"].notna(), column].astype(int))
    what = {
        "method": f"over the means of {n} methods",
        "story": f"across methods within stories, a mean over {n} stories",
        "within_method": f"across stories within methods, a mean over {n} methods",
        "residual": f"with method and story removed, a mean over {n} stories",
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


def leading_pairs(
    tables: ResultTables, most: int
) -> tuple[set[tuple[str, str]], tuple[str, ...]]:
    """Return the declared pairs of question and metric that have a value.

    If there are none, those of the `most` highest metrics of each question, and a note.
    """
    if "pairwise_accuracy" in tables:
        rows = tables["pairwise_accuracy"].rename(columns={STATISTIC: "value"})
    else:
        rows = tables["correlations"].rename(columns={"dimension": "question"})
    rows = without_baselines(rows)
    names = (rows[name].astype(str) for name in ("question", "metric"))
    known = set(zip(*names, strict=True))
    if pairs := declared(tables) & known:
        return pairs, ()
    pairs = {
        (str(question), metric)
        for question, own in rows.groupby("question")
        for metric in by_value(own)[:most]
    }
    note = (
        f"No metric was declared: the {most} highest of each question on these data, "
        "which flatters them."
    )
    return pairs, (note.replace(" 1 highest", " highest"),)


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
    rows: Mapping[str, Row], metric: str, marks: dict[str, str], *, is_bold: bool
) -> Cell:
    if metric not in rows:
        return Cell(reason=NO_SCORES)
    return estimate(rows[metric], letters=marks.get(metric, ""), is_bold=is_bold)


# Beside one annotator -----------------------------------------------------------------


def judge_table(tables: ResultTables, percent: str) -> Iterator[PaperTable]:
    """Yield metrics against people by question, beside one annotator.

    Declared metrics only, if there are any.
    """
    if "human_pairs" not in tables:
        return
    rows = tables["human_pairs"]
    people = {
        (row["question"], row["source"]): row
        for row in records(rows[rows["metric"] == ONE_ANNOTATOR])
    }
    rows = rows[rows["metric"] != ONE_ANNOTATOR]
    if rows["value"].isna().all():
        return
    pairs, notes = leading_pairs(tables, MOST_JUDGES)
    known = zip(rows["question"], rows["metric"], strict=True)
    rows = rows[[pair in pairs for pair in known]]
    rows = rows.sort_values("question", kind="stable")
    coefficients, level = _pooled(tables)
    lines = []
    for row in records(rows):
        question, metric = str(row["question"]), str(row["metric"])
        one = people.get((row["question"], row["source"]))
        cells = (
            _alpha(tables, question),
            *(_coefficient(own, question, metric) for own in coefficients.values()),
            Cell(reason=ALONE) if one is None else estimate(one, missing=ALONE),
            estimate(row, missing=ALONE),
            *_beside(tables, row),
        )
        lines.append(Line(metric, cells, question))
    computed = f" coefficients {word('levels', level)}," if coefficients else ""
    caption = (
        "Metrics against people by question: agreement of people (ordinal alpha, of "
        f"choices nominal),{computed} and how often one annotator, or the metric, "
        "predicts the preference of the other annotators (ties count half). "
        f"{intervals(percent, rows['drawn'])} {BESIDE}"
    )
    columns = (
        Column("Alpha"),
        *(Column(named("symbol")[name], "Correlation") for name in coefficients),
        *(Column(title, "Accuracy") for title in ("Annotator", "Metric")),
        Column("Difference", "To one annotator"),
        Column("Replaced", "To one annotator"),
    )
    yield PaperTable("judges", caption, "Metric", columns, tuple(lines), notes)


def _beside(tables: ResultTables, row: Row) -> tuple[Cell, Cell]:
    """Return the difference to one annotator, with its test or how many it replaces."""
    rows = tables.get(TEST, pd.DataFrame())
    if len(rows):
        rows = rows[rows["annotator"].isna() | rows["annotator"].eq("")]
        rows = rows[rows["drawn"] == STORIES]
        for name in ("question", "metric", "source"):
            rows = rows[rows[name] == row[name]]
    if rows.empty:
        return Cell(reason=ALONE), Cell(reason=ALONE)
    own = first_row(rows)
    wins, n = own["wins"], own["n_annotators"]
    text = ""
    if not (pd.isna(wins) or pd.isna(n)):
        epsilon = epsilon_text(float(own["epsilon"]))
        text = f"{wins:.0f} of {n:.0f} (ε = {epsilon})"
    found = estimate(own, missing=ALONE)
    return found, Cell(text=text, reason=found.reason or ALONE)


def _pooled(tables: ResultTables) -> tuple[dict[str, pd.DataFrame], str]:
    """Return the coefficients over all outputs, else of the first level with values."""
    if "correlations" not in tables:
        return {}, "pooled"
    rows = tables["correlations"]
    levels = levels_in(rows[rows["value"].notna()])
    level = "pooled" if "pooled" in levels or not levels else levels[0]
    rows = rows[rows["level"] == level]
    by_name = dict(iter(rows.groupby("coefficient")))
    return {c: by_name[c] for c in KNOWN_COEFFICIENTS if c in by_name}, level


def _coefficient(rows: pd.DataFrame, question: str, metric: str) -> Cell:
    own = rows[(rows["dimension"] == question) & (rows["metric"] == metric)]
    return estimate(records(own)[0]) if len(own) else Cell(reason=NO_SCORES)


def _alpha(tables: ResultTables, question: str) -> Cell:
    """Return the agreement of people on a question."""
    rows = tables.get("agreement", pd.DataFrame({"question": [], "statistic": []}))
    own = rows[rows["question"] == question]
    for statistic in ("alpha_ordinal", "alpha_nominal"):
        if len(found := own[own["statistic"] == statistic]):
            return estimate(first_row(found))
    return Cell(reason="Agreement of people was not computed.")
