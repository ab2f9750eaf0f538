"""Curves of larger studies."""

import pandas as pd

from analysis.report.figures_planning import power_curves

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
        }
        for n in (10, 20)
    ]
)


def test_a_curve_falls_and_its_text_says_how_far():
    (figure,) = power_curves(POWER)
    (panel,) = figure.panels
    (curve,) = panel.data
    assert curve["y"] == [0.1, 0.05]
    assert panel.layout["yaxis"]["range"][1] > 0.1
    assert "down to 0.05" in figure.alt
