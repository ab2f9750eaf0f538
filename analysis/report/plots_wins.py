"""Figures of wins: bars of few pairs of methods, a matrix of many."""

import numpy as np
import pandas as pd

from analysis.report.figure_parts import (
    MOST_PANELS,
    PALETTE,
    Figure,
    Panel,
    Trace,
    figure_of,
    right_axis,
    short,
    values,
)
from analysis.report.language import say
from analysis.report.panels import heat_panel
from analysis.report.win_bars import (
    MOST_BARS,
    bar_caption,
    bars_panel,
    pair_panel,
    told_ties,
    voted,
)

SECTION = "methods"
# In larger matrices no number has room.
MOST_NUMBERS = 16
# From never to always; in grey it is as plain.
WINS = ((0, "#f1f3f2"), (0.5, "#a6cbe3"), (1, "#0b4a86"))


def wins(rates: pd.DataFrame) -> list[Figure]:
    """Draw wins, ties and losses: bars of few pairs, else a matrix of each question.

    Where there are several questions each pair has a panel of its own, as StoryBench
    prints them (its figure 17); else all pairs stand below one another.
    """
    rates = voted(rates)
    if rates.empty:
        return []
    sizes = rates.groupby("criterion").size()
    pairs = rates[["method_a", "method_b"]].drop_duplicates()
    if (sizes > MOST_BARS).any():
        return _figure(_matrices(rates), _matrix_caption())
    if len(pairs) == 1 or (len(sizes) > 1 and len(pairs) <= MOST_PANELS):
        return _figure(_panels_of_pairs(rates, pairs), bar_caption(rates))
    drawn = [
        (_bars_of_pairs(str(criterion), rows), told_ties(str(criterion), rows))
        for criterion, rows in rates.groupby("criterion", sort=True)
    ]
    return _figure(drawn, bar_caption(rates))


def _figure(drawn: "list[tuple[Panel, str]]", caption: str) -> list[Figure]:
    title, alt = say("Side by side"), say("Wins, ties and losses.")
    return figure_of("wins", SECTION, title, caption, alt, drawn, 26)


def _panels_of_pairs(
    rates: pd.DataFrame, pairs: pd.DataFrame
) -> "list[tuple[Panel, str]]":
    """Draw a panel for each pair, with a row for each question."""
    methods = sorted({*rates["method_a"], *rates["method_b"]})
    found = []
    for a, b in pairs.itertuples(index=False):
        rows = rates[(rates["method_a"] == a) & (rates["method_b"] == b)]
        panel = pair_panel(list(rows["criterion"]), rows, methods)
        found.append((panel, told_ties(panel.title, rows)))
    return found


def _bars_of_pairs(criterion: str, rows: pd.DataFrame) -> Panel:
    """Draw a row for each pair, with the name of a method at either end."""
    names = say("left one wins"), say("tie"), say("right one wins")
    first = [short(name, 16) for name in rows["method_a"]]
    panel = bars_panel(criterion, list(rows["method_a"]), rows, names, PALETTE[:2])
    panel.layout["yaxis"]["ticktext"] = first
    ends, places = panel.layout["yaxis"]["range"], range(len(rows))
    others = [short(name, 16) for name in rows["method_b"]]
    panel.layout["yaxis2"] = right_axis(ends, places, others) | {"fixedrange": True}
    # An axis without a trace is not drawn.
    panel.data.append(
        {
            "type": "scatter",
            "x": [50],
            "y": [None],
            "yaxis": "y2",
            "hoverinfo": "skip",
            "showlegend": False,
        }
    )
    return panel


def _matrices(rates: pd.DataFrame) -> "list[tuple[Panel, str]]":
    return [
        (_win_matrix(str(criterion), rows)[0], told_ties(str(criterion), rows))
        for criterion, rows in rates.groupby("criterion", sort=True)
    ]


def _matrix_caption() -> str:
    return say(
        "Per cent of votes that the method of the row wins against the method of the "
        "column, a tie being half a win; darker is more. Methods in the order of their "
        "wins."
    )


def rated_wins(wins: pd.DataFrame) -> list[Figure]:
    """Draw in how many stories one method is rated above another, for three or more."""
    drawn = []
    for question, rows in wins.groupby("question", sort=True):
        panel, order = _win_matrix(str(question), rows)
        if len(order) < 3:
            continue
        told = say("{question}: most wins {method}", question=question, method=order[0])
        drawn.append((panel, told))
    return figure_of(
        "story-wins",
        SECTION,
        say("How often people rate one method above another"),
        say(
            "Per cent of stories in which the method of the row is rated above the "
            "method of the column, equal means being half a win; darker is more. "
            "Methods in the order of their wins."
        ),
        say("Matrix of wins."),
        drawn,
        26,
    )


def _win_matrix(title: str, rows: pd.DataFrame) -> tuple[Panel, list[str]]:
    """Return the matrix, and its methods in the order of their wins."""
    methods = sorted({*rows["method_a"], *rows["method_b"]})
    won, tied = (np.zeros((len(methods), len(methods))) for _ in range(2))
    a, b = (pd.Index(methods).get_indexer(rows[f"method_{side}"]) for side in "ab")
    np.add.at(won, (a, b), rows["wins_a"].to_numpy(float))
    np.add.at(won, (b, a), rows["wins_b"].to_numpy(float))
    np.add.at(tied, (a, b), rows["ties"].to_numpy(float))
    tied = tied + tied.T
    total = won + won.T + tied
    share = np.full(total.shape, np.nan)
    np.divide(100 * (won + tied / 2), total, out=share, where=total > 0)
    score = np.nan_to_num(np.nanmean(share, axis=1))
    order = np.argsort(-score, kind="stable")
    names = [methods[i] for i in order]
    cells: Trace = {
        "z": [values(row) for row in share[np.ix_(order, order)]],
        "zmin": 0,
        "zmax": 100,
        "colorscale": WINS,
        "text": [
            [f"{won[i, j]:.0f} / {tied[i, j]:.0f} / {won[j, i]:.0f}" for j in order]
            for i in order
        ],
        "texttemplate": "%{z:.0f}" if len(names) <= MOST_NUMBERS else "",
        "hovertemplate": say(
            "{row} · {column}: {share} %<br>won / tied / lost: {counts}<extra></extra>",
            row="%{y}",
            column="%{x}",
            share="%{z:.0f}",
            counts="%{text}",
        ),
    }
    panel = heat_panel(title, 170 + 19 * len(names), names, names, cells)
    panel.layout["xaxis"]["tickangle"] = -60
    return panel, names
