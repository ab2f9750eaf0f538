"""Bars of wins: parts, names and intervals."""

import pandas as pd
import pytest

from analysis.report.figures_wins import wins

PAIRS = (("A", "B"), ("A", "C"), ("B", "C"))


def rates(questions=("q",), pairs=PAIRS, **changes):
    row = {
        "wins_a": 50,
        "ties": 20,
        "wins_b": 30,
        "majority_wins_a": 6,
        "majority_ties": 1,
        "majority_wins_b": 3,
        "rate_a": 0.6,
        "low": 0.5,
        "high": 0.69,
        "majority_rate_a": 0.65,
        "majority_low": 0.4,
        "majority_high": 0.84,
    } | changes
    return pd.DataFrame(
        [
            {"criterion": question, "method_a": a, "method_b": b, **row}
            for question in questions
            for a, b in pairs
        ]
    )


def bars(panel):
    """Return the parts of the bars by name, and the interval."""
    *parts, interval = [t for t in panel.data if t["type"] == "bar" or "error_x" in t]
    return {part["name"]: part for part in parts}, interval


def test_several_questions_have_a_panel_for_each_pair():
    (figure,) = wins(rates(("look", "plot")))
    assert [panel.title for panel in figure.panels] == [
        "A against B",
        "A against C",
        "B against C",
    ]
    parts, interval = bars(figure.panels[0])
    # The legend names the methods.
    assert [*parts] == ["A", "tie", "B"]
    assert figure.panels[0].layout["showlegend"]
    assert figure.panels[0].layout["yaxis"]["ticktext"] == ["look", "plot"]
    # Majorities of both questions, then votes; in per cent, with numbers on them.
    assert parts["A"]["x"] == [60.0, 60.0, 50.0, 50.0]
    assert parts["B"]["x"] == [30.0, 30.0, 30.0, 30.0]
    assert parts["A"]["text"] == ["60", "60", "50", "50"]
    assert parts["tie"]["customdata"] == [1, 1, 20, 20]
    # Each pair of bars stands at its question, majorities above.
    assert parts["A"]["y"] == pytest.approx([-0.21, 0.79, 0.2, 1.2])
    # Bars of single votes are paler, those of majorities name the colour.
    above, _, below, _ = parts["A"]["marker"]["color"]
    assert (above, below) == ("#0072B2", "#66aad1")
    assert parts["A"]["insidetextfont"]["color"][::2] == ["#ffffff", "#1d2422"]
    assert interval["x"] == [65.0, 65.0, 60.0, 60.0]
    assert interval["error_x"]["array"] == pytest.approx([19, 19, 9, 9])
    assert interval["error_x"]["arrayminus"] == pytest.approx([25, 25, 10, 10])


def test_single_question_has_all_pairs_with_names_at_both_ends():
    (figure,) = wins(rates())
    (panel,) = figure.panels
    assert panel.layout["yaxis"]["ticktext"] == ["A", "A", "B"]
    assert panel.layout["yaxis2"]["ticktext"] == ["B", "C", "C"]
    assert [*bars(panel)[0]] == ["left method wins", "tie", "right method wins"]
    assert "300 votes, 20 % of them ties" in figure.alt


def test_single_votes_have_one_bar():
    same = {"majority_wins_a": 50, "majority_ties": 20, "majority_wins_b": 30}
    (figure,) = wins(rates(("look", "plot"), **same))
    parts, interval = bars(figure.panels[0])
    assert parts["A"]["x"] == [50.0, 50.0]
    assert len(interval["x"]) == 2
    assert "majority" not in figure.caption
