"""Bars of wins by groups of stories."""

import pandas as pd
import pytest

from analysis.report.figures_wins import MOST_GROUPS, group_wins
from tests.analysis.report.test_figures_wins import bars, rates

TASKS = ("continuation", "generation")


def split(tag="task", strata=TASKS, **changes):
    found = [
        rates(**changes).assign(tag=tag, stratum=stratum, wins_a=40 + 10 * i)
        for i, stratum in enumerate(strata)
    ]
    return pd.concat(found)


def all_pairs(names):
    return [(a, b) for i, a in enumerate(names) for b in names[i + 1 :]]


def test_pairs_have_a_panel_with_a_row_for_each_group():
    (figure,) = group_wins(split(questions=("look", "plot")))
    assert figure.key == "strata-wins"
    assert "task" in figure.title
    titles = [panel.title for panel in figure.panels]
    assert titles == ["A against B", "A against C", "B against C"]
    panel = figure.panels[0]
    parts, interval = bars(panel)
    assert [*parts] == ["A", "tie", "B"]
    axis = panel.layout["yaxis"]
    assert axis["ticktext"] == [*TASKS, *TASKS]
    # A heading above the rows of each question, which leave room for it.
    look, plot = panel.layout["annotations"]
    assert (look["text"], plot["text"]) == ("<b>look</b>", "<b>plot</b>")
    places = axis["tickvals"]
    assert look["y"] < places[0] < places[1] < plot["y"] < places[2] < places[3]
    assert places[1] - places[0] == pytest.approx(1)
    assert places[2] - places[1] > 1.5
    assert axis["range"][0] > places[3] + 0.5
    # Majorities first, then votes, each at its row; the groups have their own counts.
    assert parts["A"]["y"][:4] == pytest.approx([at - 0.21 for at in places])
    assert parts["A"]["customdata"][4:] == [40, 50, 40, 50]
    assert interval["y"][0] == pytest.approx(places[0] - 0.21 + 0.42 * 0.42, abs=1e-3)
    assert "most annotators prefer" in figure.caption
    assert "Two groups differ if the table of differences" in figure.caption
    assert "A against B: 380 votes, 21 % of them ties" in figure.alt
    assert "B against C: 380 votes, 21 % of them ties" in figure.alt


def test_question_with_markup_in_its_name_is_text():
    (figure,) = group_wins(split(questions=("<a href='x'>look</a>", "plot")))
    heading = figure.panels[0].layout["annotations"][0]["text"]
    assert heading.startswith("<b>")
    assert "<a" not in heading
    assert "look" in heading


def test_tags_have_separate_figures():
    found = group_wins(pd.concat([split(), split("data", ("oops", "uvo"))]))
    assert [figure.key for figure in found] == ["strata-wins", "strata-wins-2"]
    assert "data" in found[1].title
    assert found[1].panels[0].layout["yaxis"]["ticktext"] == ["oops", "uvo"]


@pytest.mark.parametrize(
    "changes",
    [
        {"strata": [f"t{i}" for i in range(MOST_GROUPS + 1)]},
        {"pairs": all_pairs("ABCDEFGH")},
        {"questions": [f"q{i}" for i in range(21)]},
    ],
)
def test_too_many_groups_have_no_figure(changes):
    assert group_wins(split(**changes)) == []


def test_group_without_votes_has_no_bar():
    table = split(ties=0, wins_b=0)
    table.loc[table["stratum"] == "generation", "wins_a"] = 0
    (figure,) = group_wins(table)
    assert figure.panels[0].layout["yaxis"]["ticktext"] == ["continuation"]
    assert group_wins(table.assign(wins_a=0)) == []
