"""Curves of larger studies: the statistic itself, and what a report would print."""

import numpy as np
import pandas as pd

from analysis.report.plots_planning import power_curves

POWER = pd.DataFrame(
    [
        {
            "question": "q",
            "metric": "k",
            "statistic": "kendall",
            "level": "story",
            "grows": "stories",
            "n_stories": n,
            "half_width": 1 / n,
            "printed": 1.5 / n,
        }
        for n in (10, 20)
    ]
)


def test_what_a_report_would_print_is_a_dashed_line_of_the_same_colour():
    (figure,) = power_curves(POWER)
    (panel,) = figure.panels
    solid, dashed = panel.data
    assert solid["y"] == [0.1, 0.05]
    assert dashed["y"] == [0.15, 0.075]
    assert dashed["line"] == solid["line"] | {"dash": "dash"}
    assert panel.layout["yaxis"]["range"][1] > 0.15
    assert "a report of one of them would print" in figure.caption
    assert "down to 0.05, printed 0.075" in figure.alt


def test_what_has_no_printed_interval_has_no_dashed_line():
    (figure,) = power_curves(POWER.assign(printed=np.nan))
    assert [len(panel.data) for panel in figure.panels] == [1]
    assert "print" not in figure.caption + figure.alt
