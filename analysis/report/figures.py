"""The figures of a report in reading order, and plotly.js for its page.

What a figure holds is in `figure_parts`, what several themes draw alike in `panels`,
each theme's figures in a module of its own. They are plain values for plotly.js,
which this module hands out.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace

import pandas as pd
from plotly.offline import get_plotlyjs

from analysis.report import (
    plots_annotators,
    plots_cells,
    plots_comparisons,
    plots_methods,
    plots_metrics,
    plots_pairs,
    plots_people,
    plots_planning,
    plots_profiles,
    plots_scatter,
    plots_strata_wins,
    plots_variance,
    plots_wins,
)
from analysis.report.figure_parts import Figure
from analysis.report.sections import SECTIONS

# The points behind the figures, which are no table of the report.
CELLS = "cells"
# What draws figures, the table that it draws, and tables that it looks at beside it.
Drawings = tuple[tuple[Callable[..., list[Figure]], *tuple[str, ...]], ...]
DRAWN: Drawings = (
    (plots_metrics.forests, "correlations", "agreement", "hypotheses"),
    (plots_metrics.metric_matrix, "correlations"),
    (plots_metrics.rank_flips, "correlations", "pairwise_accuracy"),
    (
        plots_cells.outputs,
        CELLS,
        "correlations",
        "method_means",
        "hypotheses",
        "disagreement",
    ),
    (plots_scatter.scatters, CELLS, "correlations", "method_means", "hypotheses"),
    (plots_pairs.pair_dots, "pairwise_accuracy", "verdicts"),
    (plots_pairs.human_pair_dots, "human_pairs"),
    (plots_pairs.spa_dots, "spa"),
    (
        plots_comparisons.p_matrices,
        "verdicts",
        "metric_comparisons",
        "accuracy_comparisons",
    ),
    (plots_pairs.cluster_strips, "clusters"),
    (plots_people.distribution_bars, "distributions"),
    (plots_people.agreement_dots, "agreement"),
    (plots_annotators.pair_matrices, "annotator_pairs"),
    (plots_variance.variance_bars, "variance"),
    (plots_variance.reliability_curves, "reliability"),
    (plots_people.position_dots, "position_bias", "side_effect"),
    (plots_methods.label_dots, "labels"),
    (plots_methods.mean_dots, "method_means"),
    (plots_methods.rank_dots, "rating_leaderboard"),
    (plots_methods.standing_dots, "rating_leaderboard"),
    (plots_methods.ladders, "leaderboard"),
    (plots_wins.wins, "win_rates"),
    (plots_wins.rated_wins, "story_wins"),
    (plots_methods.ranking_ladders, "ranking_leaderboard"),
    (plots_planning.strata_dots, "strata"),
    (plots_strata_wins.strata_wins, "strata_win_rates"),
    (plots_planning.subset_dots, "subset"),
    (plots_planning.best_subset_curves, "best_subset"),
    (plots_planning.power_curves, "power", "needed"),
    (plots_planning.stability_dots, "stability"),
    (plots_planning.judge_dots, "judges"),
)
# What is drawn for who asks for every figure; its tables are always there.
MORE: Drawings = (
    (plots_pairs.accuracy_dots, "accuracy_levels"),
    (plots_pairs.calibration_dots, "calibration"),
    (plots_people.annotator_dots, "annotators"),
    (plots_methods.composite_dots, "composites"),
    (plots_profiles.profiles, CELLS, "correlations", "hypotheses"),
)


def plotly_source() -> str:
    """Return plotly.js, to be placed into a page once."""
    source: str = get_plotlyjs()
    return source


def all_figures(
    tables: Mapping[str, pd.DataFrame], cells: pd.DataFrame, *, more: bool = False
) -> list[Figure]:
    """Return the figures that the tables allow, in reading order.

    Parameters
    ----------
    tables
        File name without suffix to frame; absent and empty ones give no figure.
    cells
        Columns question, metric, story, method, human, score, higher_is_better.
    more
        Whether accuracies by level, weighted metrics, each annotator, composites and
        profiles are drawn too.

    Returns
    -------
    list of Figure
        With fixed keys, sections in the order of `SECTIONS`.
    """
    known = {**tables, CELLS: cells}
    found: list[Figure] = []
    for draw, *names in (*DRAWN, *(MORE if more else ())):
        first, *others = (known.get(name) for name in names)
        if first is None or first.empty:
            continue
        drawn_from = tuple(name for name in names[:1] if name != CELLS)
        found += [
            figure if figure.tables else replace(figure, tables=drawn_from)
            for figure in draw(first, *others)
        ]
    place = list(SECTIONS)
    return sorted(found, key=lambda figure: place.index(figure.section))
