"""Panels have a row for each name, inside an axis that holds every interval."""

import pandas as pd

from analysis.report.figure import short
from analysis.report.panels import dots


def test_long_names_that_begin_alike_stay_two_rows():
    names = [f"{'x' * 40}{end}{'y' * 40}" for end in "ab"]
    rows = pd.DataFrame({"m": names, "value": [1.0, 2.0]})
    panel = dots("", rows, "m", "")
    assert panel.data[0]["y"] == [0, 1]
    assert short(names[0]) == short(names[1])


def test_an_axis_holds_values_intervals_and_what_it_is_asked_to_show():
    rows = pd.DataFrame({"m": ["a"], "value": [0.5], "low": [-0.2], "high": [0.9]})
    left, right = dots("", rows, "m", "").layout["xaxis"]["range"]
    assert (left < -0.2, right > 0.9) == (True, True)
    panel = dots("", rows, "m", "", span=(-1.0, 2.0))
    left, right = panel.layout["xaxis"]["range"]
    assert (left < -1, right > 2) == (True, True)
