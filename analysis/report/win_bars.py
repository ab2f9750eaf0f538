"""Bars of wins, ties and losses: by majority, and paler below by single votes."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from analysis.report.figure_parts import (
    GREY,
    PALETTE,
    Panel,
    Trace,
    error_bars,
    row_height,
    short,
    values,
    vertical,
)
from analysis.report.language import listed, say
from analysis.report.panels import stacked_panel
from analysis.report.wording import per_cent
from analysis.results import Array

# With more pairs than this there are no bars.
MOST_BARS = 21
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


def bar_caption(rates: pd.DataFrame) -> str:
    """Say what bars and lines are."""
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
                "their own votes alone. It is not adjusted for how many pairs there "
                "are; p_adjusted in the table is."
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


def told_ties(name: str, rows: pd.DataFrame) -> str:
    """Say how many votes of a panel are ties."""
    votes = int(rows[list(PARTS)].to_numpy().sum())
    share = rows["ties"].sum() / max(1, votes)
    return say(
        "{question}: {share} of {n} votes are ties",
        question=name,
        share=per_cent(share),
        n=votes,
    )


def voted(rates: pd.DataFrame) -> pd.DataFrame:
    """Return the rows that anybody voted on: others have no bar."""
    return rates[rates[list(PARTS)].sum(axis=1) > 0]


def pair_panel(
    names: Sequence[str],
    rows: pd.DataFrame,
    methods: Sequence[str],
    places: Sequence[float] = (),
) -> Panel:
    """Draw the bars of one pair, with its methods in the legend.

    `methods` are those of all panels, in which each has a colour of its own.
    """
    a, b = (str(rows[f"method_{side}"].iloc[0]) for side in "ab")
    colours = PALETTE[:2]
    if len(methods) <= len(PALETTE):
        colours = PALETTE[methods.index(a)], PALETTE[methods.index(b)]
    parts = short(a, 30), say("tie"), short(b, 30)
    title = say("{first} against {second}", first=a, second=b)
    return bars_panel(title, names, rows, parts, colours, places)


def bars_panel(
    title: str,
    names: Sequence[str],
    rows: pd.DataFrame,
    parts: tuple[str, str, str],
    colours: tuple[str, ...],
    places: Sequence[float] = (),
) -> Panel:
    """Draw bars of wins, ties and losses, those of majorities above those of votes.

    Each row stands at its place, else all below one another.
    """
    places = list(places) or [*range(len(rows))]
    bars = _stacked(rows, np.array(places, float))
    data = [
        _part(bars, name, label, colour)
        for name, label, colour in zip(
            PARTS, parts, (colours[0], TIE, colours[1]), strict=True
        )
    ]
    panel = stacked_panel(title, names, data, say("per cent"))
    panel.layout["yaxis"] |= {
        "ticktext": [short(name, 24) for name in names],
        "tickvals": places,
        "range": [places[-1] + 0.6, -0.6],
    }
    panel.layout["shapes"] = [vertical(50) | {"layer": "above"}]
    panel.data.append(_intervals(bars))
    lines = 3 if bars["of_majorities"].any() else 1
    # However many rows there are, each has room for its numbers.
    height = 110 + round(row_height(1, lines=lines, extra=0) * (places[-1] + 1))
    return Panel(title, height, panel.data, panel.layout)


def _stacked(rows: pd.DataFrame, places: Array) -> pd.DataFrame:
    """Return a row for each bar: its parts, share, interval, place and width."""
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
