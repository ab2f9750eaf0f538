"""Figures of wins: bars of few pairs of methods, a matrix of many."""

import numpy as np
import pandas as pd

from analysis.report.figure_parts import (
    GREY,
    MOST_PANELS,
    PALETTE,
    Figure,
    Panel,
    Trace,
    error_bars,
    figure_of,
    right_axis,
    row_height,
    short,
    values,
    vertical,
)
from analysis.report.language import listed, say
from analysis.report.panels import heat_panel, stacked_panel
from analysis.report.wording import per_cent

SECTION = "methods"
# With more pairs than this a matrix is drawn in place of bars.
MOST_BARS = 21
# In larger matrices no number has room.
MOST_NUMBERS = 16
# From never to always; in grey it is as plain.
WINS = ((0, "#f1f3f2"), (0.5, "#a6cbe3"), (1, "#0b4a86"))
TIE = "#d0d3d2"
# On these colours numbers are white.
DARK = frozenset({"#0072B2", "#D55E00", "#009E73", "#8A8A00"})
# How much of white is in bars of single votes, below those of majorities.
PALER = 0.4
INK = "#1d2422"
# A smaller part of a bar has no room for its number.
LEAST_TOLD = 7
# What a bar is made of, by single votes; majorities have the same names with a prefix.
PARTS = ("wins_a", "ties", "wins_b")
OF_MAJORITIES = "majority_"


def wins(rates: pd.DataFrame) -> list[Figure]:
    """Draw wins, ties and losses: bars of few pairs, else a matrix of each question.

    Where there are several questions each pair has a panel of its own, as StoryBench
    prints them (its figure 17); else all pairs stand below one another.
    """
    voted = rates[list(PARTS)].sum(axis=1) > 0
    rates = rates[voted]
    if rates.empty:
        return []
    sizes = rates.groupby("criterion").size()
    pairs = rates[["method_a", "method_b"]].drop_duplicates()
    if (sizes > MOST_BARS).any():
        return _figure(_matrices(rates), _matrix_caption())
    if len(pairs) == 1 or (len(sizes) > 1 and len(pairs) <= MOST_PANELS):
        return _figure(_panels_of_pairs(rates, pairs), _bar_caption(rates))
    drawn = [
        (_bars_of_pairs(str(criterion), rows), _told(str(criterion), rows))
        for criterion, rows in rates.groupby("criterion", sort=True)
    ]
    return _figure(drawn, _bar_caption(rates))


def _figure(drawn: "list[tuple[Panel, str]]", caption: str) -> list[Figure]:
    title, alt = say("Side by side"), say("Wins, ties and losses.")
    return figure_of("wins", SECTION, title, caption, alt, drawn, 26)


def _bar_caption(rates: pd.DataFrame) -> str:
    parts = [
        say(
            "Per cent of stories in which the majority of annotators prefers a method, "
            "no majority being a tie; below it, paler, of single votes."
        )
        if _has_majorities(rates)
        else say("Per cent of votes.")
    ]
    if rates["low"].notna().any():
        parts.append(
            say(
                "The line is the interval of the wins on the left with half of the "
                "ties: where it crosses the middle, the two are not told apart by "
                "their own votes alone."
            )
        )
    if "weighted" in rates and rates["weighted"].any():
        parts.append(
            say(
                "Bars count answers; the line of single votes weighs them by the "
                "inverse of the probability with which they were asked for."
            )
        )
    return listed(parts, " ")


def _has_majorities(rates: pd.DataFrame) -> bool:
    """Tell whether majorities say anything that single votes do not."""
    votes = rates[list(PARTS)].to_numpy(float)
    majorities = rates[[OF_MAJORITIES + name for name in PARTS]].to_numpy(float)
    return not np.array_equal(votes, majorities)


def _told(name: str, rows: pd.DataFrame) -> str:
    votes = int(rows[list(PARTS)].to_numpy().sum())
    share = rows["ties"].sum() / max(1, votes)
    return say(
        "{question}: {share} of {n} votes are ties",
        question=name,
        share=per_cent(share),
        n=votes,
    )


def _panels_of_pairs(
    rates: pd.DataFrame, pairs: pd.DataFrame
) -> "list[tuple[Panel, str]]":
    """Draw a panel for each pair, with a row for each question."""
    methods = sorted({*rates["method_a"], *rates["method_b"]})
    few = len(methods) <= len(PALETTE)
    found = []
    for a, b in pairs.itertuples(index=False):
        rows = rates[(rates["method_a"] == a) & (rates["method_b"] == b)]
        colours = PALETTE[:2]
        if few:
            colours = PALETTE[methods.index(a)], PALETTE[methods.index(b)]
        names = short(a, 30), say("tie"), short(b, 30)
        title = say("{first} against {second}", first=a, second=b)
        panel = _bars(title, list(rows["criterion"]), rows, names, colours)
        found.append((panel, _told(title, rows)))
    return found


def _bars_of_pairs(criterion: str, rows: pd.DataFrame) -> Panel:
    """Draw a row for each pair, with the name of a method at either end."""
    names = say("left one wins"), say("tie"), say("right one wins")
    first = [short(name, 16) for name in rows["method_a"]]
    panel = _bars(criterion, list(rows["method_a"]), rows, names, PALETTE[:2])
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


def _bars(
    title: str,
    names: list[str],
    rows: pd.DataFrame,
    parts: tuple[str, str, str],
    colours: tuple[str, ...],
) -> Panel:
    """Draw bars of wins, ties and losses, those of majorities above those of votes."""
    bars = _stacked(rows)
    data = [
        _part(bars, name, label, colour)
        for name, label, colour in zip(
            PARTS, parts, (colours[0], TIE, colours[1]), strict=True
        )
    ]
    panel = stacked_panel(title, names, data, say("per cent"))
    panel.layout["yaxis"]["ticktext"] = [short(name, 24) for name in names]
    panel.layout["shapes"] = [vertical(50) | {"layer": "above"}]
    panel.data.append(_intervals(bars))
    lines = 3 if bars["of_majorities"].any() else 1
    height = row_height(len(names), lines=lines, extra=110)
    return Panel(title, height, panel.data, panel.layout)


def _stacked(rows: pd.DataFrame) -> pd.DataFrame:
    """Return a row for each bar: its parts, share, interval, place and width."""
    places = np.arange(len(rows), dtype=float)
    votes = rows.rename(columns={"rate_a": "value"}).assign(
        place=places, width=0.8, of_majorities=False
    )
    if not _has_majorities(rows):
        return votes
    own = [*PARTS, "low", "high"]
    names = {f"{OF_MAJORITIES}{name}": name for name in own}
    names[f"{OF_MAJORITIES}rate_a"] = "value"
    above = rows.drop(columns=own).rename(columns=names)
    above = above.assign(place=places - 0.21, width=0.42, of_majorities=True)
    return pd.concat([above, votes.assign(place=places + 0.2, width=0.34)])


def _part(bars: pd.DataFrame, name: str, label: str, colour: str) -> Trace:
    """Draw one part of all bars, with its number where there is room."""
    share = 100 * bars[name] / bars[list(PARTS)].sum(axis=1)
    two = bars["of_majorities"].any()
    below = [two and not above for above in bars["of_majorities"]]
    ink = "#ffffff" if colour in DARK else INK
    return {
        "name": label,
        "x": values(share),
        "y": values(bars["place"]),
        "width": values(bars["width"]),
        "marker": {"color": [_paler(colour) if p else colour for p in below]},
        "text": [f"{x:.0f}" if x >= LEAST_TOLD else "" for x in share],
        "textposition": "inside",
        "insidetextanchor": "middle",
        "textangle": 0,
        "insidetextfont": {"color": [INK if p else ink for p in below]},
        "customdata": values(bars[name]),
        "hovertemplate": say(
            "{part}: {share} %, {n}<extra></extra>",
            part=label,
            share="%{x:.1f}",
            n="%{customdata}",
        ),
    }


def _paler(colour: str) -> str:
    """Mix a colour with white.

    Examples
    --------
    >>> _paler("#000000")
    '#666666'
    """
    parts = [int(colour[i : i + 2], 16) for i in (1, 3, 5)]
    mixed = [round(part + PALER * (255 - part)) for part in parts]
    return "#" + "".join(f"{part:02x}" for part in mixed)


def _intervals(bars: pd.DataFrame) -> Trace:
    """Draw the interval of each share of wins with half of the ties."""
    found = bars[["value", "low", "high"]].astype(float) * 100
    trace: Trace = {
        "type": "scatter",
        "mode": "markers",
        "x": values(found["value"]),
        "y": values(bars["place"] + bars["width"] * 0.42),
        "marker": {"color": GREY, "size": 1},
        "showlegend": False,
        "hoverinfo": "skip",
    }
    if found["low"].notna().any():
        trace["error_x"] = error_bars(found) | {"color": "#000000", "thickness": 2}
    return trace


def _matrices(rates: pd.DataFrame) -> "list[tuple[Panel, str]]":
    return [
        (_win_matrix(str(criterion), rows)[0], _told(str(criterion), rows))
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
