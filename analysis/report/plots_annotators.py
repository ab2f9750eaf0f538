"""Figure of people among themselves: how well each two annotators agree."""

from typing import Any

import numpy as np
import pandas as pd
from scipy.cluster.hierarchy import leaves_list, linkage
from scipy.spatial.distance import squareform

from analysis.reliability.annotator_pairs import FEW_UNITS
from analysis.report.figure_parts import (
    Figure,
    Panel,
    Trace,
    figure_of,
    short,
    values,
)
from analysis.report.language import headed, listed, say
from analysis.report.panels import heat_panel
from analysis.report.plots_people import SECTION, STATISTICS
from analysis.report.wording import interval, number, records

# From below chance (red) to perfect (blue): none is the colour of a page.
SHADES = (
    (0, "#b2182b"),
    (0.25, "#f4a582"),
    (0.5, "#dfe3e1"),
    (0.75, "#92c5de"),
    (1, "#2166ac"),
)
# Of more people those who agree least are drawn, and in smaller cells no number has
# room.
MOST_PEOPLE, MOST_NUMBERS = 30, 12
# With more letters in all, names stand at rows only, and columns have their numbers.
MOST_LETTERS = 48
MOST_QUESTIONS = 6
Pairs = dict[frozenset[str], dict[str, Any]]


def pair_matrices(pairs: pd.DataFrame) -> list[Figure]:
    """Draw the agreement of each two annotators, question by question.

    Parameters
    ----------
    pairs
        The table annotator_pairs; questions of fewer than three people, or without any
        value, are not drawn.
    """
    drawn, empty, cut = [], False, False
    by_question = pairs.groupby(["question", "statistic"], sort=True)
    for (question, statistic), rows in by_question:
        at = {
            frozenset((str(row["annotator_a"]), str(row["annotator_b"]))): row
            for row in records(rows)
        }
        people = _by_agreement(at)
        if len(people) < 3 or rows["value"].isna().all():
            continue
        shown = _side_by_side(people[-MOST_PEOPLE:], at)
        cut |= len(shown) < len(people)
        panel = _matrix(headed(question, say(STATISTICS[str(statistic)])), shown, at)
        texts = [text for row in panel.data[0]["text"] for text in row]
        empty |= texts.count("") > len(shown)
        drawn.append((panel, headed(question, _told(rows))))
    return figure_of(
        "annotator-pairs",
        SECTION,
        say("Who agrees with whom"),
        _caption(empty=empty, cut=cut, many=len(drawn) > MOST_QUESTIONS),
        say("Matrix of annotators."),
        drawn,
        36,
        most_panels=MOST_QUESTIONS,
    )


def _by_agreement(at: Pairs) -> list[str]:
    """Return who has no value, then all others, the highest mean of pairs first."""
    own: dict[str, list[float]] = {}
    for names, row in at.items():
        for name in names:
            own.setdefault(name, []).append(row["value"])
    means = {name: pd.Series(each, dtype=float).mean() for name, each in own.items()}
    return sorted(
        own, key=lambda name: (bool(np.isfinite(means[name])), -means[name], name)
    )


def _side_by_side(people: list[str], at: Pairs) -> list[str]:
    """Order people so that who answer alike stand together, unknown ones last.

    Leaves of a tree that joins the groups of the highest mean agreement first; a pair
    without a value counts as the mean of all.
    """
    found = np.array([[_value(at, one, other) for other in people] for one in people])
    known = np.isfinite(found).any(axis=1)
    if known.sum() < 3:
        return people
    here = found[np.ix_(known, known)]
    apart = 1 - np.where(np.isfinite(here), here, np.nanmean(here))
    np.fill_diagonal(apart, 0)
    tree = linkage(squareform(apart), "average", optimal_ordering=True)
    places = np.flatnonzero(known)[leaves_list(tree)].tolist()
    # Of the two ends the one that stands higher by its mean comes first.
    places = places if places[0] < places[-1] else places[::-1]
    return [people[i] for i in (*places, *np.flatnonzero(~known))]


def _value(at: Pairs, one: str, other: str) -> float:
    return float(at.get(frozenset((one, other)), {}).get("value", np.nan))


def _matrix(title: str, people: list[str], at: Pairs) -> Panel:
    numbered = sum(map(len, people)) > MOST_LETTERS
    rows = [f"{i}  {name}" for i, name in enumerate(people, 1)] if numbered else people
    columns = [str(i) for i in range(1, len(people) + 1)] if numbered else people
    grid = [[at.get(frozenset((one, other)), {}) for other in people] for one in people]
    cells: Trace = {
        "z": [values(cell.get("value") for cell in row) for row in grid],
        "zmin": -1,
        "zmax": 1,
        "colorscale": SHADES,
        "text": [[_number(cell) for cell in row] for row in grid],
        "texttemplate": "%{text}" if len(people) <= MOST_NUMBERS else "",
        "customdata": [[_evidence(cell) for cell in row] for row in grid],
        "hovertemplate": "%{customdata}<extra></extra>",
    }
    panel = heat_panel(title, 110 + 21 * len(people), rows, columns, cells)
    panel.layout["xaxis"]["tickangle"] = -90 if numbered else -35
    return panel


def _number(cell: dict[str, Any]) -> str:
    value = cell.get("value", np.nan)
    return "" if np.isnan(value) else number(value)


def _evidence(cell: dict[str, Any]) -> str:
    """Return both names, value, interval and n; without a value n alone."""
    if not cell:
        return ""
    names = f"{short(cell['annotator_a'])} · {short(cell['annotator_b'])}"
    value = f"{_number(cell)}{interval(cell)}, " if _number(cell) else ""
    return f"{names}<br>{value}n = {cell['n']}"


def _told(rows: pd.DataFrame) -> str:
    """Word the row of the two who agree least, and of the two who agree most."""
    known = rows.sort_values("value", kind="stable").dropna(subset=["value"])
    low, high = (known.iloc[place] for place in (0, -1))
    return say(
        "from {low} ({first} and {second}) to {high} ({third} and {fourth})",
        low=number(low["value"]),
        first=low["annotator_a"],
        second=low["annotator_b"],
        high=number(high["value"]),
        third=high["annotator_a"],
        fourth=high["annotator_b"],
    )


def _caption(*, empty: bool, cut: bool, many: bool) -> str:
    told = [
        say(
            "Agreement of each two annotators over what both answered: 0 is chance, "
            "1 is perfect, red is below chance. People who answer alike stand side by "
            "side: a blue block shares a view, and a pale row agrees with others "
            "no more than chance would."
        )
    ]
    if empty:
        told.append(
            say(
                "Empty: fewer than {n} units that both answered, or no value; the "
                "table has the reason.",
                n=FEW_UNITS,
            )
        )
    if cut:
        told.append(
            say(
                "The {n} who agree least with the others are drawn; the table has all.",
                n=MOST_PEOPLE,
            )
        )
    if many:
        told.append(say("The first {n} questions are drawn.", n=MOST_QUESTIONS))
    return listed(told, " ")
