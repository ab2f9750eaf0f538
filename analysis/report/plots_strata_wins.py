"""Bars of wins by group of stories: the tasks of a benchmark, or its parts."""

import pandas as pd

from analysis.report.figure_parts import (
    MOST_PANELS,
    Figure,
    Panel,
    Trace,
    cut,
    figure_of,
    short,
)
from analysis.report.language import listed, say
from analysis.report.win_bars import (
    MOST_BARS,
    bar_caption,
    pair_panel,
    told_ties,
    voted,
)

# Of more groups, or more rows of groups by questions, there are no bars; the table has
# them all.
MOST_GROUPS, MOST_ROWS = 6, 40
MOST_TOLD = 6
# How high the heading of a question is, in rows.
HEADING = 0.6


def strata_wins(rates: pd.DataFrame) -> list[Figure]:
    """Draw for each tag the wins, ties and losses of each pair in each group.

    A pair has a panel, in which the groups stand below one another question by
    question.
    """
    found: list[Figure] = []
    for tag, rows in voted(rates).groupby("tag", sort=False):
        if _is_readable(rows):
            found += _of_tag(str(tag), rows, len(found))
    return found


def _is_readable(rates: pd.DataFrame) -> bool:
    pairs = rates.groupby(["method_a", "method_b"])
    return bool(
        rates["stratum"].nunique() <= MOST_GROUPS
        and len(pairs) <= MOST_BARS
        and pairs.size().max() <= MOST_ROWS
    )


def _of_tag(tag: str, rates: pd.DataFrame, before: int) -> list[Figure]:
    """Draw one tag; `before` counts the figures of this kind above it."""
    methods = sorted({*rates["method_a"], *rates["method_b"]})
    drawn = []
    for _pair, rows in rates.groupby(["method_a", "method_b"], sort=False):
        panel = _panel(rows, methods)
        drawn.append((panel, told_ties(panel.title, rows)))
    apart = say(
        "Groups of stories apart. A difference between two groups counts where the "
        "table of differences says so, not where two intervals look apart."
    )
    return figure_of(
        f"strata-wins-{before + 1}" if before else "strata-wins",
        "disagreement",
        say("Side by side, by {tag}", tag=tag),
        listed([bar_caption(rates), apart, *cut(drawn)], " "),
        say("Wins, ties and losses."),
        drawn,
        26,
        most_panels=MOST_PANELS,
        most_told=MOST_TOLD,
    )


def _panel(rows: pd.DataFrame, methods: list[str]) -> Panel:
    questions = [own for _name, own in rows.groupby("criterion", sort=False)]
    rows = pd.concat(questions)
    headings, places = _places([len(own) for own in questions])
    panel = pair_panel(list(rows["stratum"]), rows, methods, places)
    panel.layout["annotations"] = [
        _heading(str(own["criterion"].iloc[0]), place)
        for own, place in zip(questions, headings, strict=True)
    ]
    return panel


def _places(sizes: list[int]) -> tuple[list[float], list[float]]:
    """Return where headings stand, and the rows below each.

    Examples
    --------
    >>> _places([2, 1])
    ([-0.2, 2.4], [0.6, 1.6, 3.2])
    """
    headings, places, top = [], [], -0.5
    for size in sizes:
        headings.append(round(top + HEADING / 2, 2))
        places += [round(top + HEADING + 0.5 + i, 2) for i in range(size)]
        top += HEADING + size
    return headings, places


def _heading(question: str, place: float) -> Trace:
    return {
        "x": 0,
        "xanchor": "left",
        "y": place,
        "yanchor": "middle",
        "text": f"<b>{short(question, 40)}</b>",
        "showarrow": False,
    }
