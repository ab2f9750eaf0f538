"""The table of the first screen: every metric by every statistic."""

import math

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.report import verdict_grid
from analysis.report.verdict_grid import MOST_TICKS, axis_of
from tests.analysis.test_verdicts import (
    BELOW,
    NAN,
    compared,
    correlations,
    meant,
    pairwise,
    verdicts,
)


def verdict_grids(table, **comparisons):
    return verdict_grid.verdict_grids({"verdicts": table, **comparisons})


def column(grid, title):
    return [name for name, _count in grid.columns].index(title)


def cells(grid, title):
    place = column(grid, title)
    return {line.name: line.cells[place] for line in grid.lines}


def test_leading_statistic_is_first_and_the_highest_metric_on_top():
    table = verdicts(
        pairwise_accuracy=pairwise({}, {"metric": "fid", "ppa_half": 0.8}),
        correlations=correlations({}, {"metric": "fid", "level": "pooled", "n": 90}),
        hypotheses=meant("csd"),
    )
    (grid,) = verdict_grids(table)
    titles = [title for title, _ in grid.columns]
    assert titles == ["PPA half", "acc_eq", "pooled τ", "method τ"]
    assert [line.name for line in grid.lines] == ["fid", "csd"]
    assert [line.role for line in grid.lines] == ["exploratory", "declared"]
    counts = dict(grid.columns)
    assert counts["PPA half"] == "90 pairs"
    assert counts["acc_eq"] == "120 pairs"
    assert counts["method τ"] == "23 methods"
    one = cells(grid, "PPA half")["csd"]
    assert (one.text, one.interval, one.shows) == ("70 %", "60 to 80", "above")
    # A metric without a coefficient has an empty cell.
    assert cells(grid, "method τ")["fid"].text == ""


def test_chance_of_acc_eq_is_the_range_of_its_metrics():
    own = {"metric": "fid", "chance_acc_eq": 0.31}
    (grid,) = verdict_grids(verdicts(pairwise_accuracy=pairwise({}, own)))
    assert [cell.text for cell in grid.references[0].cells] == ["50 %", "31 % to 42 %"]


def test_chance_and_one_annotator_are_rows_beside_the_metrics():
    people = pd.DataFrame(
        {
            "question": "look",
            "source": "ratings",
            "metric": ["one annotator", "csd"],
            "value": [0.8, 0.66],
        }
    )
    table = verdicts(pairwise_accuracy=pairwise({}), human_pairs=people)
    (grid,) = verdict_grids(table)
    names = [line.name for line in grid.references]
    assert names == ["Chance", "One annotator"]
    chance, one = ([cell.text for cell in line.cells] for line in grid.references)
    assert chance == ["50 %", "42 %"]
    assert one == ["80 %", ""]
    (alone,) = verdict_grids(verdicts(pairwise_accuracy=pairwise({})))
    assert [line.name for line in alone.references] == ["Chance"]


@pytest.mark.parametrize(("p_value", "letters"), [(0.01, ["a", "b"]), (0.5, ["", ""])])
def test_letters_are_shown_when_tests_separate_metrics(p_value, letters):
    values = {"csd": 0.7, "fid": 0.6}
    tests = compared(
        values,
        {("csd", "fid"): p_value},
        question="look",
        source="ratings",
        statistic="ppa_half",
    )
    rows = [{"metric": name, "ppa_half": value} for name, value in values.items()]
    table = verdicts(pairwise_accuracy=pairwise(*rows))
    (grid,) = verdict_grids(table, accuracy_comparisons=tests)
    found = cells(grid, "PPA half")
    assert [found[name].letters for name in values] == letters


def test_cells_below_chance_are_marked_and_undefined_ones_empty():
    rows = BELOW, {"metric": "fid", "ppa_half": NAN, "p_half": NAN}
    (grid,) = verdict_grids(verdicts(pairwise_accuracy=pairwise(*rows)))
    found = cells(grid, "PPA half")
    assert found["csd"].shows == "below"
    assert (found["fid"].text, found["fid"].shows) == ("", "")


def test_leading_statistic_is_the_first_column():
    """Question of method means, which come last elsewhere."""
    table = correlations({}, {"level": "pooled", "n": 90})
    (grid,) = verdict_grids(verdicts(correlations=table))
    assert [title for title, _ in grid.columns] == ["method τ", "pooled τ"]


def test_bars_share_an_axis_with_chance_and_one_annotator():
    people = pd.DataFrame(
        {
            "question": "look",
            "source": "ratings",
            "metric": ["one annotator", "csd"],
            "value": [0.8, 0.66],
        }
    )
    rows = ({}, {"metric": "fid", "ppa_half": 0.75, "ppa_half_high": 0.85})
    table = verdicts(pairwise_accuracy=pairwise(*rows), human_pairs=people)
    (grid,) = verdict_grids(table)
    low, high = grid.axis.low, grid.axis.high
    assert (round(low, 3), round(high, 3)) == (0.472, 0.878)
    assert [text for _, text in grid.axis.ticks] == ["50 %", "60 %", "70 %", "80 %"]

    def value(place):
        return low + (high - low) * float(place.removesuffix("%")) / 100

    bars = {line.name: line.bar for line in (*grid.lines, *grid.references)}
    drawn = {name: value(bar.at) for name, bar in bars.items()}
    expected = {"fid": 0.75, "csd": 0.7, "Chance": 0.5, "One annotator": 0.8}
    assert drawn == pytest.approx(expected, abs=0.001)
    ends = value(bars["fid"].low), value(bars["fid"].high)
    assert ends == pytest.approx((0.6, 0.85), abs=0.001)
    assert {name: value(x) for name, x in grid.axis.marks.items()} == pytest.approx(
        {"Chance": 0.5, "One annotator": 0.8}, abs=0.001
    )
    (bare,) = verdict_grids(
        verdicts(
            pairwise_accuracy=pairwise({"ppa_half_low": NAN, "ppa_half_high": NAN})
        )
    )
    assert (bare.lines[0].bar.low, bare.lines[0].bar.high) == ("", "")


def test_metrics_without_an_interval_come_last():
    rows = (
        {},
        {"metric": "few", "ppa_half": 0.96, "ppa_half_low": NAN, "ppa_half_high": NAN},
    )
    (grid,) = verdict_grids(verdicts(pairwise_accuracy=pairwise(*rows)))
    assert [line.name for line in grid.lines] == ["csd", "few"]


# The drawing --------------------------------------------------------------------------


NUMBERS = st.floats(-1e6, 1e6).map(lambda x: round(x, 6))


@given(st.lists(NUMBERS, min_size=1, max_size=9), NUMBERS)
def test_axis_covers_all_values_with_few_ordered_numbers(values, mark):
    axis = axis_of([*values, math.nan], {"chance": mark}, "{:.12g}".format)
    places = [axis.place(x) for x in (*values, mark)]
    assert all(0 < float(place.removesuffix("%")) < 100 for place in places)
    assert 1 <= len(axis.ticks) <= MOST_TICKS
    assert axis.marks == {"chance": axis.place(mark)}
    for place, text in axis.ticks:
        assert axis.place(float(text)) == place
    at = [float(text) for _, text in axis.ticks]
    assert at == sorted(set(at))
