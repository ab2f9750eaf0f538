"""The figures of a report in reading order; the only module that imports plotly.

What a figure holds is in `figure_parts`, each theme's figures in a module of its
own. They are plain values for plotly.js, which this module hands out.
"""

from collections.abc import Mapping

import pandas as pd
from plotly.offline import get_plotlyjs

from analysis.report.figure_parts import Figure
from analysis.report.plots_methods import method_figures
from analysis.report.plots_metrics import metric_figures
from analysis.report.plots_pairs import pair_figures
from analysis.report.plots_people import people_figures
from analysis.report.plots_planning import planning_figures

# The sections that hold figures: key and heading, in reading order.
SECTIONS = {
    "metrics": "Metrics against people",
    "people": "People among themselves",
    "methods": "Methods",
    "strata": "Groups of stories",
    "planning": "Planning the next study",
}


def plotly_source() -> str:
    """Return plotly.js, to be placed into a page once."""
    source: str = get_plotlyjs()
    return source


def all_figures(
    tables: Mapping[str, pd.DataFrame], cells: pd.DataFrame
) -> list[Figure]:
    """Return the figures that the tables allow, in reading order.

    Parameters
    ----------
    tables
        File name without suffix to frame; absent and empty ones give no figure.
    cells
        Columns question, metric, story, method, human, score, higher_is_better.

    Returns
    -------
    list of Figure
        With fixed keys, sections in the order of `SECTIONS`.
    """
    found = [
        *metric_figures(tables, cells),
        *pair_figures(tables),
        *people_figures(tables),
        *method_figures(tables, cells),
        *planning_figures(tables),
    ]
    place = list(SECTIONS)
    return sorted(found, key=lambda figure: place.index(figure.section))
