"""Groups of stories: a heat map of accuracies, and bars of wins."""

import math
from collections.abc import Iterator, Sequence
from html import escape

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
from analysis.report.paper.metrics import chosen, declared, intervals
from analysis.report.wording import ResultTables, Row, records

ALL = "all stories"
# With more pairs of methods and no baseline, bars would not fit.
MOST_PAIRS = 3
STATISTIC = "ppa_half"
KEYS = ["question", "metric", "stratum"]
NO_PAIR = "No pair that people decide, or no scores."


def heat_tables(tables: ResultTables, percent: str) -> Iterator[PaperTable]:
    """Yield for each tag the accuracy of metrics by question and group of stories.

    Of each question the declared metrics, or the best one if none is declared.
    """
    if "strata" not in tables or "pairwise_accuracy" not in tables:
        return
    rows = tables["strata"]
    rows = rows[(rows["statistic"] == STATISTIC) & rows["metric"].ne("")]
    pairs, notes = _pairs(tables)
    whole = tables["pairwise_accuracy"]
    for n, (tag, own) in enumerate(rows.groupby("tag", sort=False), 1):
        groups = list(dict.fromkeys(own["stratum"]))
        by_key = {key: records(one) for key, one in own.groupby(KEYS)}
        lines = []
        for question, metric in pairs:
            cells = [_of_all(whole, question, metric)]
            for group in groups:
                key = (question, metric, group)
                cells.append(_shaded(by_key.get(key, ())))
            name = metric if metric == question else f"{question}: {metric}"
            lines.append(Line(name, tuple(cells)))
        if all(math.isnan(c.value) for line in lines for c in line.cells[1:]):
            continue
        columns = (Column(ALL), *(Column(str(g), group=str(tag)) for g in groups))
        caption = (
            f"Half pairwise accuracy by question and {tag}: the share of pairs that "
            "people decide on which the metric agrees (ties of the metric count half, "
            "chance .50). Darker is higher, white is at or below chance. "
            f"{intervals(percent, own['drawn'])}"
        )
        yield PaperTable(
            f"heat_{n}", caption, "Question: metric", columns, tuple(lines), notes
        )


def _pairs(tables: ResultTables) -> tuple[list[tuple[str, str]], tuple[str, ...]]:
    """Return the declared pairs of question and metric, or the best of each."""
    known = declared(tables)
    rows = tables["pairwise_accuracy"]
    rows = rows[rows["ppa_half"].notna()]
    scored = set(
        zip(rows["question"].astype(str), rows["metric"].astype(str), strict=True)
    )
    if pairs := sorted(known & scored):
        return pairs, ()
    rows = rows[rows["n_pairs"] > 0].rename(columns={"ppa_half": "value"})
    best = []
    for question, own in rows.groupby("question", sort=True):
        metrics, _note = chosen(own, set())
        best.append((str(question), metrics[0]))
    note = "No metric was declared: the best of each question on these data."
    return best, (note,)


def _of_all(rows: pd.DataFrame, question: str, metric: str) -> Cell:
    own = rows[(rows["question"] == question) & (rows["metric"] == metric)]
    names = [STATISTIC, f"{STATISTIC}_low", f"{STATISTIC}_high"]
    return _shaded(records(own), names)


def _shaded(rows: Sequence[Row], names: Sequence[str] = ESTIMATE) -> Cell:
    """Return the first row as a cell that is darker the further it is above chance."""
    if not rows:
        return Cell(reason=NO_PAIR)
    above = 2 * (float(rows[0][names[0]]) - 0.5)
    shade = min(1.0, above) if above > 0 else 0.0
    return estimate(rows[0], names, NO_PAIR, shade=shade)


# Wins ---------------------------------------------------------------------------------


def win_tables(tables: ResultTables, percent: str) -> Iterator[PaperTable]:
    """Yield bars of wins, ties and losses over all stories and in each group.

    With a baseline its pairs only; without one, at most 3 pairs of methods.
    """
    if "win_rates" not in tables:
        return
    baselines = _baselines(tables)
    whole = tables["win_rates"].assign(tag="", stratum="")
    rows = whole
    if "strata_win_rates" in tables:
        rows = pd.concat([whole, tables["strata_win_rates"]], ignore_index=True)
    if baselines:
        rows = rows[rows["method_b"].isin(baselines)]
    names = rows[["method_a", "method_b"]].drop_duplicates()
    if rows.empty or (len(names) > MOST_PAIRS and not baselines):
        return
    place = ["method_b", "method_a", "tag", "stratum"]
    order = {key: i for i, key in enumerate(dict.fromkeys(_keys(rows, place)))}
    rows = rows.assign(place=[order[key] for key in _keys(rows, place)])
    lines = []
    for row in records(rows.sort_values("place", kind="stable")):
        group = f"{row['tag']}: {row['stratum']}" if row["tag"] else ALL
        section = f"{row['method_a']} against {row['method_b']}, {group}"
        counts = tuple(float(row[name]) for name in ("wins_a", "ties", "wins_b"))
        votes = sum(counts)
        reason = "No votes." if not votes else "Not computed."
        cells = (
            Cell(parts=counts) if votes else Cell(reason=reason),
            *(Cell(c, reason=reason) for c in counts),
            Cell(
                float(row["rate_a"]),
                float(row["low"]),
                float(row["high"]),
                reason=reason,
            ),
            Cell(
                text=p_numeral(float(row["p_adjusted"])),
                reason="Not tested.",
            ),
            Cell(text=_majorities(row)),
        )
        lines.append(Line(str(row["criterion"]), cells, section))
    caption = (
        "Votes side by side: dark for wins of the first method, light for ties, medium "
        "for wins of the second. Rate: wins with half of the ties. p: against a half, "
        "adjusted (Holm) over all pairs, and over all groups of a tag. Majority: "
        f"stories won, tied, lost by majority. {intervals(percent, rows['drawn'])}"
    )
    columns = (
        Column("Votes"),
        *(Column(title, in_unit=False) for title in ("Wins", "Ties", "Losses")),
        Column("Rate"),
        Column("p"),
        Column("Majority"),
    )
    yield PaperTable("wins", caption, "Question", columns, tuple(lines))


def _keys(rows: pd.DataFrame, columns: list[str]) -> list[tuple[str, ...]]:
    return list(rows[columns].itertuples(index=False, name=None))


def _majorities(row: Row) -> str:
    names = ("majority_wins_a", "majority_ties", "majority_wins_b")
    return "/".join(
        f"{row[name]:.0f}" if row[name] == row[name] else DASH for name in names
    )


def _baselines(tables: ResultTables) -> set[str]:
    run = dict(zip(tables["run"]["key"], tables["run"]["value"], strict=True))
    every = run.get("baseline", "")
    methods = {
        str(x) for name in ("method_a", "method_b") for x in tables["win_rates"][name]
    }
    return {
        method for method in methods if method in every.split(", ") or method == every
    }


# The figure as a file -----------------------------------------------------------------

WIDTH, HEIGHT, LEFT = 360, 20, 260
SHADES = ("#0b4a86", "#d0d3d2", "#e69f00")


def win_figure(table: PaperTable) -> str:
    """Return the bars of a table as SVG."""
    shapes: list[str] = []
    y, section = 6, ""
    for line in table.lines:
        if line.section != section:
            section = line.section
            y += 6
            shapes.append(_text(4, y + 13, section, "font-style='italic'"))
            y += HEIGHT
        shapes.append(_text(LEFT - 8, y + 13, line.name, "text-anchor='end'"))
        shapes += _parts(line.cells[0].parts, y)
        y += HEIGHT
    size = f"width='{LEFT + WIDTH + 20}' height='{y + 8}'"
    head = f"<svg xmlns='http://www.w3.org/2000/svg' {size} font-family='sans-serif'"
    return "\n".join([f"{head} font-size='12'>", *shapes, "</svg>", ""])


def _parts(parts: Sequence[float], y: int) -> Iterator[str]:
    x, total = float(LEFT), sum(parts) or 1
    for part, colour in zip(parts, SHADES, strict=False):
        width = WIDTH * part / total
        place = f"x='{x:.1f}' y='{y}' width='{width:.1f}' height='{HEIGHT - 5}'"
        yield f"<rect {place} fill='{colour}'><title>{part:.0f}</title></rect>"
        x += width


def _text(x: int, y: int, text: str, how: str) -> str:
    return f"<text x='{x}' y='{y}' {how}>{escape(text)}</text>"
