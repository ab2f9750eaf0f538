"""Figures of wins: bars of few pairs of methods, a matrix of many, groups."""

from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd

from analysis.report import panels
from analysis.report.figure import (
    DECLARED,
    MOST_PANELS,
    Instead,
    Panel,
    Part,
    Trace,
    figure,
    grouped,
    short,
    values,
)
from analysis.report.language import counted
from analysis.report.language import gettext as _
from analysis.report.panels import GREY, PALETTE
from analysis.report.wording import per_cent, word
from analysis.results import Array

# More pairs than this are drawn as a matrix.
MOST_BARS = 21
# Larger matrices have no room for numbers.
MOST_NUMBERS = 16
# More groups, or more rows of groups by questions, are left to the table.
MOST_GROUPS, MOST_LINES = 6, 40
# The height of a question's heading, in rows.
HEADING = 0.6
# From never to always, also readable in grey.
WINS = ((0, "#f1f3f2"), (0.5, "#a6cbe3"), (1, "#0b4a86"))
TIE = "#d0d3d2"
# Numbers on these colours are white.
DARK = frozenset({"#0072B2", "#D55E00", "#009E73", "#8A8A00"})
# The share of white in bars of single votes, below those of majorities.
PALER = 0.4
INK = "#1d2422"
# Smaller parts of a bar, in per cent, have no room for a number.
LEAST_NUMBERED = 7
# The parts of a bar by single votes; those of majorities have a prefix.
PARTS = ["wins_a", "ties", "wins_b"]
OF_MAJORITIES = "majority_"


@figure("wins")
def wins(win_rates: pd.DataFrame) -> Iterator[Part]:
    """Draw wins, ties and losses: bars of few pairs, else a matrix of each question.

    With several questions each pair has its own panel, as in StoryBench (figure 17);
    otherwise all pairs share one panel.
    """
    rates = _voted(win_rates)
    if rates.empty:
        return
    sizes = rates.groupby("criterion").size()
    n_pairs = len(rates[["method_a", "method_b"]].drop_duplicates())
    by_question = list(grouped(rates, "criterion"))
    if (sizes > MOST_BARS).any():
        for name, rows in by_question:
            yield _win_matrix(name, rows)
        yield word("captions", "wins matrix")
        return
    if n_pairs == 1 or (len(sizes) > 1 and n_pairs <= MOST_PANELS):
        for rows in _pairs_of(rates):
            yield _pair(list(rows["criterion"]), rows, rates)
    else:
        for name, rows in by_question:
            yield _pairs(name, rows)
    yield from _bar_caption(rates)


@figure("strata-wins")
def group_wins(strata_win_rates: pd.DataFrame) -> Iterator[Part]:
    """Draw for each tag the wins, ties and losses of each pair in each group.

    A pair has a panel, with its groups question by question.
    """
    n = 0
    for tag, rates in _voted(strata_win_rates).groupby("tag", sort=False):
        pairs = _pairs_of(rates)
        if (
            rates["stratum"].nunique() > MOST_GROUPS
            or len(pairs) > MOST_BARS
            or max(map(len, pairs)) > MOST_LINES
        ):
            continue
        n += 1
        key = f"strata-wins-{n}" if n > 1 else "strata-wins"
        yield Instead(title=_("Side by side, by {tag}", tag=tag), key=key)
        yield from _bar_caption(rates)
        yield _(DECLARED["strata"].caption)
        yield from (_groups_of_pair(rows, rates) for rows in pairs)


def _voted(rates: pd.DataFrame) -> pd.DataFrame:
    """Return the rows with votes; others have no bar."""
    return rates[rates[PARTS].sum(axis=1) > 0]


def _pairs_of(rates: pd.DataFrame) -> list[pd.DataFrame]:
    """Split the rows by pairs of methods, in the order of the table."""
    pairs = rates.groupby(["method_a", "method_b"], sort=False)
    return [rows for _names, rows in pairs]


def _ties(name: str, rows: pd.DataFrame) -> str:
    """Return how many votes of a panel are ties, as text."""
    votes = int(rows[PARTS].to_numpy().sum())
    return word(
        "captions",
        "wins alt",
        question=name,
        share=per_cent(rows["ties"].sum() / max(1, votes)),
        n=counted(votes, "vote"),
    )


def _bar_caption(rates: pd.DataFrame) -> Iterator[Part]:
    """Yield the caption of bars and lines."""
    if _has_majorities(rates):
        yield word("captions", "wins majorities")
    else:
        yield _("Per cent of votes.")
    if panels.has_intervals(rates):
        yield word("captions", "wins intervals")
    if "weighted" in rates and rates["weighted"].any():
        yield word("captions", "wins weights")


def _win_matrix(title: str, rows: pd.DataFrame) -> Panel:
    """Draw a matrix of wins, methods in the order of their wins."""
    methods = sorted({*rows["method_a"], *rows["method_b"]})
    won, tied = (np.zeros((len(methods), len(methods))) for _side in range(2))
    a, b = (pd.Index(methods).get_indexer(rows[f"method_{side}"]) for side in "ab")
    np.add.at(won, (a, b), rows["wins_a"].to_numpy(float))
    np.add.at(won, (b, a), rows["wins_b"].to_numpy(float))
    np.add.at(tied, (a, b), rows["ties"].to_numpy(float))
    tied = tied + tied.T
    total = won + won.T + tied
    share = np.full(total.shape, np.nan)
    np.divide(100 * (won + tied / 2), total, out=share, where=total > 0)
    order = np.argsort(-np.nan_to_num(np.nanmean(share, axis=1)), kind="stable")
    names = [methods[i] for i in order]
    counts = [
        [f"{won[i, j]:.0f} / {tied[i, j]:.0f} / {won[j, i]:.0f}" for j in order]
        for i in order
    ]
    return panels.heat(
        title,
        pd.DataFrame(share[np.ix_(order, order)], names, names),
        pd.DataFrame(counts),
        (0, 100),
        WINS,
        height=170 + 19 * len(names),
        angle=-60,
        words=_ties(title, rows),
        texttemplate="%{z:.0f}" if len(names) <= MOST_NUMBERS else "",
        hovertemplate=_(
            "{row} · {column}: {share} %<br>won / tied / lost: {counts}<extra></extra>",
            row="%{y}",
            column="%{x}",
            share="%{z:.0f}",
            counts="%{text}",
        ),
    )


def _pairs(criterion: str, rows: pd.DataFrame) -> Panel:
    """Draw a row for each pair, with a method's name at either end."""
    names = _("left method wins"), _("tie"), _("right method wins")
    words = _ties(criterion, rows)
    panel = _bars(criterion, list(rows["method_a"]), rows, names, PALETTE[:2], words)
    first, others = ([short(x, 16) for x in rows[f"method_{side}"]] for side in "ab")
    panel.layout["yaxis"]["ticktext"] = first
    return panels.name_on_the_right(panel, [*range(len(rows))], others)


def _pair(
    names: Sequence[str],
    rows: pd.DataFrame,
    rates: pd.DataFrame,
    places: Sequence[float] = (),
) -> Panel:
    """Draw the bars of one pair, with its methods in the legend.

    A method has one colour in all panels of `rates` if there are enough colours.
    """
    methods = sorted({*rates["method_a"], *rates["method_b"]})
    a, b = (str(rows[f"method_{side}"].iloc[0]) for side in "ab")
    colours = PALETTE[:2]
    if len(methods) <= len(PALETTE):
        colours = PALETTE[methods.index(a)], PALETTE[methods.index(b)]
    parts = short(a, 30), _("tie"), short(b, 30)
    title = _("{first} against {second}", first=a, second=b)
    return _bars(title, names, rows, parts, colours, _ties(title, rows), places)


def _groups_of_pair(rows: pd.DataFrame, rates: pd.DataFrame) -> Panel:
    questions = [own for _name, own in rows.groupby("criterion", sort=False)]
    rows = pd.concat(questions)
    headings, places = _places([len(own) for own in questions])
    panel = _pair(list(rows["stratum"]), rows, rates, places)
    panel.layout["annotations"] = [
        {
            "x": 0,
            "xanchor": "left",
            "y": place,
            "yanchor": "middle",
            "text": f"<b>{short(own['criterion'].iloc[0], 40)}</b>",
            "showarrow": False,
        }
        for own, place in zip(questions, headings, strict=True)
    ]
    return panel


def _places(sizes: list[int]) -> tuple[list[float], list[float]]:
    """Return the places of headings, and of the rows below each.

    >>> _places([2, 1])
    ([-0.2, 2.4], [0.6, 1.6, 3.2])
    """
    headings, places, top = [], [], -0.5
    for size in sizes:
        headings.append(round(top + HEADING / 2, 2))
        places += [round(top + HEADING + 0.5 + i, 2) for i in range(size)]
        top += HEADING + size
    return headings, places


def _bars(
    title: str,
    names: Sequence[str],
    rows: pd.DataFrame,
    parts: tuple[str, str, str],
    colours: tuple[str, ...],
    words: str,
    places: Sequence[float] = (),
) -> Panel:
    """Draw bars of wins, ties and losses, those of majorities above those of votes.

    Rows without `places` are evenly spaced.
    """
    places = list(places) or [*range(len(rows))]
    bars = _stacked(rows, np.array(places, float))
    shades = (colours[0], TIE, colours[1])
    data = [
        _part(bars, name, label, colour)
        for name, label, colour in zip(PARTS, parts, shades, strict=True)
    ]
    panel = panels.stacked(title, names, data, _("per cent"))
    panel.layout["yaxis"] |= {
        "ticktext": [short(name, 24) for name in names],
        "tickvals": places,
        "range": [places[-1] + 0.6, -0.6],
    }
    panel.layout["shapes"] = [panels.line(50) | {"layer": "above"}]
    panel.data.append(_intervals(bars))
    lines = 3 if bars["of_majorities"].any() else 1
    # Each row has room for its numbers, however many there are.
    row = panels.row_height(1, lines=lines, extra=0)
    height = 110 + round(row * (places[-1] + 1))
    return Panel(title, height, panel.data, panel.layout, words)


def _has_majorities(rates: pd.DataFrame) -> bool:
    """Tell whether majorities differ from single votes."""
    majorities = rates[[OF_MAJORITIES + name for name in PARTS]]
    return not np.array_equal(rates[PARTS].to_numpy(float), majorities.to_numpy(float))


def _stacked(rows: pd.DataFrame, places: Array) -> pd.DataFrame:
    """Return a row for each bar, with its parts, share, interval, place and width."""
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
    share = 100 * bars[name] / bars[PARTS].sum(axis=1)
    two = bars["of_majorities"].any()
    below = [two and not above for above in bars["of_majorities"]]
    ink = "#ffffff" if colour in DARK else INK
    return {
        "name": label,
        "x": values(share),
        "y": values(bars["place"]),
        "width": values(bars["width"]),
        "marker": {"color": [_paler(colour) if p else colour for p in below]},
        "text": [f"{x:.0f}" if x >= LEAST_NUMBERED else "" for x in share],
        "textposition": "inside",
        "insidetextanchor": "middle",
        "textangle": 0,
        "insidetextfont": {"color": [INK if p else ink for p in below]},
        "customdata": values(bars[name]),
        "hovertemplate": _(
            "{part}: {share} %, {n}<extra></extra>",
            part=label,
            share="%{x:.1f}",
            n="%{customdata}",
        ),
    }


def _paler(colour: str) -> str:
    """Mix a colour with white.

    >>> _paler("#000000")
    '#666666'
    """
    parts = [int(colour[i : i + 2], 16) for i in (1, 3, 5)]
    return "#" + "".join(f"{round(x + PALER * (255 - x)):02x}" for x in parts)


def _intervals(bars: pd.DataFrame) -> Trace:
    """Draw the interval of each share of wins with half of the ties."""
    shares = bars[["value", "low", "high"]].astype(float) * 100
    trace: Trace = {
        "type": "scatter",
        "mode": "markers",
        "x": values(shares["value"]),
        "y": values(bars["place"] + bars["width"] * 0.42),
        "marker": {"color": GREY, "size": 1},
        "showlegend": False,
        "hoverinfo": "skip",
    }
    if panels.has_intervals(shares):
        trace["error_x"] = panels.error_bars(shares, color="#000000", thickness=2)
    return trace
