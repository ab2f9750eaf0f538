"""Groups of stories: a heat map of accuracies, and bars of wins."""

from collections.abc import Iterator, Sequence

import pandas as pd

from analysis.report.paper.layout import (
    DASH,
    ESTIMATE,
    NOT_COMPUTED,
    Cell,
    Column,
    Line,
    PaperTable,
    estimate,
    group_title,
    p_numeral,
)
from analysis.report.paper.metrics import STATISTIC, intervals, leading_pairs
from analysis.report.wording import ResultTables, Row, records

ALL = "all stories"
# With more pairs of methods and no baseline, bars would not fit.
MOST_PAIRS = 3
KEYS = ["question", "metric", "stratum"]
NO_PAIR = "No pair that people decide, or no scores."


def heat_tables(tables: ResultTables, percent: str) -> Iterator[PaperTable]:
    """Yield for each tag the accuracy of metrics by question and group of stories.

    Of each question the declared metrics, or the best one if none is declared. A tag is
    left out if no metric has values in two of its groups.
    """
    if "strata" not in tables or "pairwise_accuracy" not in tables:
        return
    rows = tables["strata"]
    rows = rows[(rows["statistic"] == STATISTIC) & rows["metric"].ne("")]
    pairs, notes = leading_pairs(tables, 1)
    whole = tables["pairwise_accuracy"]
    n = 0
    for tag, own in rows.groupby("tag", sort=False):
        groups = list(dict.fromkeys(own["stratum"]))
        by_key = {tuple(row[name] for name in KEYS): [row] for row in records(own)}
        lines = []
        for question, metric in sorted(pairs):
            cells = [_of_all(whole, question, metric)]
            for group in groups:
                key = (question, metric, group)
                cells.append(_shaded(by_key.get(key, ())))
            name = metric if metric == question else f"{question}: {metric}"
            lines.append(Line(name, tuple(cells)))
        if max(sum(c.value == c.value for c in line.cells[1:]) for line in lines) < 2:
            continue
        n, title = n + 1, str(tag).replace("_", " ")
        columns = (Column(ALL), *(Column(str(g), group=title) for g in groups))
        caption = (
            f"Half pairwise accuracy by question and {title}: the share of pairs that "
            "people decide on which the metric agrees (ties of the metric count half, "
            "chance .50). Darker is higher, white is at or below chance. "
            f"{intervals(percent, own['drawn'])}"
        )
        yield PaperTable(
            f"heat_{n}", caption, "Question: metric", columns, tuple(lines), notes
        )


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
    groups = rows.groupby(["method_b", "method_a", "tag", "stratum"], sort=False)
    rows = rows.assign(place=groups.ngroup())
    lines = []
    for row in records(rows.sort_values("place", kind="stable")):
        group = group_title(row) if row["tag"] else ALL
        section = f"{row['method_a']} against {row['method_b']}, {group}"
        counts = tuple(float(row[name]) for name in ("wins_a", "ties", "wins_b"))
        votes = sum(counts)
        reason = NOT_COMPUTED if votes else "No votes."
        cells = (
            Cell(parts=counts) if votes else Cell(reason=reason),
            *map(Cell, counts),
            estimate(row, ("rate_a", "low", "high"), reason),
            Cell(text=p_numeral(float(row["p_adjusted"])), reason="Not tested."),
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
