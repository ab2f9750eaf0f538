"""Figures of the tables, with names as text."""

import json
import math
import re
from inspect import signature
from itertools import chain

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import pytest

from analysis.report.figure import DECLARED, DRAWN
from analysis.report.figures_metrics import pair_dots
from analysis.report.figures_planning import power_curves
from analysis.report.sections import SECTIONS, all_figures
from analysis.statistics import COLUMNS

NAN = float("nan")


def correlations(*changes):
    row = {
        "dimension": "beauty",
        "metric": "k",
        "level": "story",
        "coefficient": "kendall",
        "value": 0.5,
        "low": 0.2,
        "high": 0.6,
        "n": 40,
    }
    return pd.DataFrame([row | change for change in changes])


def points(questions, metrics, methods=("A", "B")):
    return pd.DataFrame(
        [
            (q, k, "s", m, float(i), float(i), True)
            for q in questions
            for k in metrics
            for i, m in enumerate(methods)
        ],
        columns=[
            "question",
            "metric",
            "story",
            "method",
            "human",
            "score",
            "higher_is_better",
        ],
    )


def figures(cells=None, **tables):
    empty = points((), ())
    found = all_figures(tables, empty if cells is None else cells, more=True)
    return {figure.key: figure for figure in found}


def drawn(figure, panel=0):
    plot = json.loads(figure.panels[panel].plot)
    # plotly itself refuses what plotly.js does not know.
    go.Figure(plot)
    return plot


# Further tables, each with one row that is drawn and one that is undefined ------------

BASE = {
    "question": "q",
    "metric": "k",
    "value": 0.5,
    "low": 0.4,
    "high": 0.6,
    "n": 9,
    "reason": "",
}
EMPTY = {"value": NAN, "low": NAN, "high": NAN, "reason": "nothing in common"}
STRATUM = {"tag": "style", "method": "", "statistic": "kendall", "level": "story"}
LADDER = {"criterion": "q", "low": 900, "high": 1100, "rank_low": 1, "rank_high": 2}
POWER = {"statistic": "kendall", "level": "story", "grows": "stories"}
RATED = {
    "dimension": "q",
    "method": "A",
    "mean": 1.0,
    "low": 0.5,
    "high": 1.5,
    "rank": 1,
    "rank_low": 1,
    "rank_high": 2,
}
JUDGE = {"metric_a": "people", "coefficient": "kendall", "level": "story"}


def row(**changes):
    return BASE | changes


# By table the key of its figure, and rows.
FURTHER = {
    "calibration": (
        "calibration",
        [
            row(statistic="ppa_half"),
            row(statistic="weight"),
            row(**EMPTY, statistic="acc_eq"),
        ],
    ),
    "annotators": (
        "annotators",
        [
            row(annotator="Ann", statistic="severity"),
            row(**EMPTY, annotator="Bob", statistic="severity"),
        ],
    ),
    "variance": (
        "variance",
        [
            {"question": "q", "component": "method", "value": 1.0, "share": 0.7},
            {"question": "q", "component": "rest", "value": NAN, "share": NAN},
        ],
    ),
    "distributions": (
        "distributions",
        [
            {"question": "q", "method": m, "rating": r, "n": n, "share": n / 4}
            for m, counts in (("A", (3, 1)), ("B", (1, 3)))
            for r, n in zip((1.0, 5.0), counts, strict=True)
        ],
    ),
    "ranking_leaderboard": (
        "ranking-ladder",
        [
            row(**LADDER, method=m, rating=990 + 20 * i, rank=2 - i)
            for i, m in enumerate("BA")
        ],
    ),
    "composites": (
        "composites",
        [row(composite="average rank", method="A", rank=1)],
    ),
    "strata": (
        "strata-kendall",
        [row(**STRATUM, stratum=stratum) for stratum in ("anime", "photo")],
    ),
    "power": (
        "power",
        [row(**POWER, n_stories=n, half_width=1 / n) for n in (10, 20)],
    ),
    "judges": ("judges", [row(**JUDGE, metric_b=judge) for judge in ("gpt", "qwen")]),
    "stability": (
        "stability",
        [row(method=method, statistic="sd") for method in ("", "A")],
    ),
    "subset": (
        "subset",
        [
            row(subset="Lite", statistic=name)
            for name in ("kendall", "kendall_others", "kendall_random", "mean_full")
        ],
    ),
    "best_subset": (
        "best-subset",
        [
            row(size=n, statistic="kendall", source=source)
            for source in ("heldout", "random")
            for n in (5, 10)
        ],
    ),
    "human_pairs": (
        "human-pairs",
        [row(source="ratings"), row(source="ratings", metric="one annotator")],
    ),
    "reliability": (
        "reliability",
        [row(statistic="generalizability_output", n_annotators=n) for n in (1, 5)],
    ),
    "position_bias": (
        "position",
        [row(adjusted=0.55, adjusted_low=0.5, adjusted_high=0.6)],
    ),
}
UNDEFINED = {"value", "low", "high", "share", "half_width", "mean", "rating"}


@pytest.mark.parametrize("name", FURTHER)
def test_tables_have_figures_unless_they_are_empty(name):
    key, rows = FURTHER[name]
    frame = pd.DataFrame(rows)
    found = figures(**{name: frame})
    assert list(found) == [key]
    for i in range(len(found[key].panels)):
        drawn(found[key], i)
    assert found[key].section in SECTIONS
    assert name in found[key].tables
    assert found[key].caption.endswith(".")
    # Who cannot see the figure hears its main numbers.
    assert re.search(r"\d", found[key].alt) or name == "composites"
    assert figures(**{name: frame.iloc[:0]}) == {}
    undefined = frame.assign(**dict.fromkeys(UNDEFINED & set(frame), NAN))
    if name != "distributions":
        assert figures(**{name: undefined}) == {}


def test_shares_of_ratings_fill_bars_best_mean_on_top():
    plot = drawn(
        figures(distributions=pd.DataFrame(FURTHER["distributions"][1]))[
            "distributions"
        ]
    )
    assert plot["layout"]["yaxis"]["ticktext"] == ["B", "A"]
    assert [trace["name"] for trace in plot["data"]] == ["1", "5"]
    assert np.sum([trace["x"] for trace in plot["data"]], axis=0).tolist() == [100, 100]
    assert plot["data"][1]["x"] == [75, 25]


# The forest ---------------------------------------------------------------------------


def test_bars_of_the_forest_reach_from_low_to_high():
    rows = correlations({}, {"level": "pooled", "low": NAN, "high": NAN})
    plot = drawn(figures(correlations=rows)["coefficients"])
    by_level = {trace["name"]: trace for trace in plot["data"]}
    assert by_level["story level"]["error_x"]["array"] == [0.1]
    assert by_level["story level"]["error_x"]["arrayminus"] == [0.3]
    assert "error_x" not in by_level["pooled"]


def test_axis_of_the_forest_covers_intervals_0_and_the_ceiling():
    agreement = pd.DataFrame(
        {
            "question": ["beauty"],
            "statistic": ["rater_vs_rest_kendall"],
            "value": [0.9],
            "low": [0.8],
            "high": [0.95],
        }
    )
    pooled = correlations({"level": "pooled"})
    figure = figures(correlations=pooled, agreement=agreement)["coefficients"]
    layout = drawn(figure)["layout"]
    low, high = layout["xaxis"]["range"]
    assert -0.1 < low < 0
    assert 0.9 < high < 1
    assert [line["x0"] for line in layout["shapes"]] == [0, 0.9]
    assert "dashed line at 0.90" in figure.caption
    # Means of methods are another scale than outputs.
    levels = correlations({"level": "pooled"}, {"level": "method"})
    figure = figures(correlations=levels, agreement=agreement)["coefficients"]
    assert [line["x0"] for line in drawn(figure)["layout"]["shapes"]] == [0]
    assert "one annotator" not in figure.caption


def test_declared_metrics_are_bold():
    table = correlations({"low": NAN, "high": NAN})
    row = table.iloc[0]
    meant = pd.DataFrame({"question": [row["dimension"]], "metric": [row["metric"]]})
    figure = figures(correlations=table, hypotheses=meant)["coefficients"]
    assert figure.caption == (
        "Values to the right of 0 mean agreement. Metrics in bold were declared for "
        "this question."
    )
    assert f"<b>{row['metric']}</b>" in str(drawn(figure))


def test_matrix_has_a_panel_for_each_level_and_marks_doubt():
    rows = correlations(
        *[
            {"dimension": q, "level": level}
            for q in ("beauty", "plot")
            for level in ("story", "pooled")
        ],
        {"dimension": "plot", "metric": "l", "value": 0.1, "low": -0.2},
    )
    figure = figures(correlations=rows)["matrix"]
    assert [panel.title for panel in figure.panels] == ["story level", "pooled"]
    plot = drawn(figure)
    assert plot["data"][0]["z"] == [[0.5, 0.5], [None, 0.1]]
    assert plot["data"][0]["text"] == [["0.50", "0.50"], ["", "(0.10)"]]
    # plotly's own scale of that name has red on top.
    assert plot["data"][0]["colorscale"][-1][1] == "#2166ac"


def test_constant_baseline_is_not_in_the_pair_figure():
    row = {
        "question": "q",
        "metric": "k",
        "source": "choices",
        "ppa_strict": 0.5,
        "ppa_strict_low": 0.4,
        "ppa_strict_high": 0.6,
        "ppa_half": 0.7,
        "ppa_half_low": 0.6,
        "ppa_half_high": 0.8,
        "metric_tie_rate": 0.4,
    }
    frame = pd.DataFrame([row, row | {"metric": "constant", "ppa_half": 0.5}])
    figure = figures(pairwise_accuracy=frame)["pairs"]
    plot = drawn(figure)
    assert plot["layout"]["yaxis"]["ticktext"] == ["k"]
    assert [trace["x"] for trace in plot["data"]] == [[70], [50]]
    assert [line["x0"] for line in plot["layout"]["shapes"]] == [50]
    assert figure.panels[0].title == "q (choices)"


@pytest.mark.parametrize(("demanded", "lines"), [(0.75, [50, 75]), (math.nan, [50])])
def test_demanded_accuracy_is_a_line_of_the_pair_figure(demanded, lines):
    row = {"question": "q", "metric": "k", "source": "choices", "metric_tie_rate": 0.4}
    for name, value in (("ppa_half", 0.7), ("ppa_strict", 0.5)):
        row |= {name: value, f"{name}_low": value - 0.1, f"{name}_high": value + 0.1}
    (figure,) = pair_dots(
        pd.DataFrame([row]), pd.DataFrame({"demanded": [math.nan, demanded]})
    )
    shapes = drawn(figure)["layout"]["shapes"]
    assert [line["x0"] for line in shapes] == lines
    assert ("the threshold of 75 %" in figure.caption) == (len(lines) > 1)


# Wins, names, scatter -----------------------------------------------------------------


def wins(methods, votes=(5, 2, 3)):
    """Return single votes without intervals; majorities are the same."""
    names = ("wins_a", "ties", "wins_b")
    rows = pd.DataFrame(
        [("q", a, b, *votes) for i, a in enumerate(methods) for b in methods[i + 1 :]],
        columns=["criterion", "method_a", "method_b", *names],
    )
    majorities = {f"majority_{name}": rows[name] for name in names}
    bounds = dict.fromkeys(("low", "high", "majority_low", "majority_high"), NAN)
    rate = {"rate_a": 0.6, "majority_rate_a": 0.6}
    return rows.assign(**majorities, **bounds, **rate)


def test_many_pairs_are_a_matrix_of_wins():
    plot = drawn(figures(win_rates=wins("ABCDEFGH"))["wins"])
    z = plot["data"][0]["z"]
    assert z[0][1] == 60  # five of ten, and half of the two ties
    assert z[1][0] == 40
    assert z[0][0] is None
    assert plot["layout"]["yaxis"]["ticktext"] == list("ABCDEFGH")


def test_names_are_drawn_as_text_and_cannot_end_the_script():
    name = "<!--<script>a<br><b>b</b>&lt;"
    escaped = name.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    means = pd.DataFrame(
        {
            "dimension": ["d"],
            "method": [name],
            "mean": [1.0],
            "low": [NAN],
            "high": [NAN],
        }
    )
    board = pd.DataFrame(
        {
            "criterion": ["q"],
            "method": [name],
            "rating": [1.0],
            "low": [0.0],
            "high": [2.0],
        }
    )
    rows = correlations(
        *[{"metric": name, "dimension": question} for question in (name, "beauty")]
    )
    cells = points((name, "beauty"), (name,), (name, "B"))
    further = {
        table: pd.DataFrame(rows).map(lambda x: name if x in ("A", "k", "q") else x)
        for table, (_key, rows) in FURTHER.items()
    }
    found = figures(
        cells,
        correlations=rows,
        method_means=means,
        leaderboard=board,
        win_rates=wins([name, "B"]),
        **further,
    )
    assert len(found) == 5 + len(FURTHER)
    for figure in found.values():
        for i, panel in enumerate(figure.panels):
            assert "<" not in panel.plot
            text = json.dumps(drawn(figure, i))
            assert name not in text.replace(escaped, "")
    assert escaped in found["coefficients"].panels[0].plot.replace("\\u003c", "<")


# Size ---------------------------------------------------------------------------------


def test_ranks_have_their_intervals_best_on_top():
    ranks = {"rank_low": [2, 1, 1], "rank_high": [3, 1, 3]}
    rows = pd.DataFrame([RATED, RATED, RATED]).assign(
        method=list("CAB"), rank=[3, 1, 2], **ranks
    )
    figure = figures(method_means=rows)["method-ranks"]
    plot = drawn(figure)
    assert plot["layout"]["yaxis"]["ticktext"] == ["A", "B", "C"]
    assert plot["data"][0]["x"] == [1, 2, 3]
    assert plot["data"][0]["error_x"]["arrayminus"] == [0, 1, 1]
    assert plot["data"][0]["error_x"]["array"] == [0, 1, 0]
    assert figure.alt == "Ranks with intervals. q: 1 of 3 ranks certain."
    for less in (rows[:2], rows.assign(rank_low=NAN)):
        assert "method-ranks" not in figures(method_means=less)


def test_means_of_metrics_are_not_drawn_as_ratings():
    row = BASE | {
        "tag": "set",
        "stratum": "core",
        "method": "A",
        "statistic": "mean",
        "level": "",
    }
    table = pd.DataFrame([row | {"metric": ""}, row | {"question": "", "value": 99.0}])
    (panel,) = figures(strata=table)["strata-mean"].panels
    assert panel.title == "q, by set"
    assert panel.data[0]["x"] == [0.5]


def test_single_question_has_its_statistics_as_rows():
    row = {"question": "q", "value": 0.5, "low": 0.4, "high": 0.6}
    names = ("alpha_ordinal", "icc_2_1")
    table = pd.DataFrame([row | {"statistic": name} for name in names])
    (panel,) = figures(agreement=table)["agreement"].panels
    assert panel.layout["yaxis"]["ticktext"] == ["alpha (ordinal)", "ICC(2,1)"]
    two = pd.concat([table, table.assign(question="r")])
    assert len(figures(agreement=two)["agreement"].panels) == 2


def test_annotator_has_the_same_row_in_all_panels():
    rows = [
        {
            "question": "q",
            "annotator": name,
            "statistic": statistic,
            "value": value,
            "low": value,
            "high": value,
        }
        for statistic, values in (("kendall_others", (0.1, 0.9)), ("severity", (1, 0)))
        for name, value in zip(("Ann", "Bob"), values, strict=True)
    ]
    first, second = figures(annotators=pd.DataFrame(rows))["annotators"].panels
    assert first.layout["yaxis"]["ticktext"] == ["Bob", "Ann"]
    assert second.layout["yaxis"]["ticktext"] == ["Bob", "Ann"]


def test_side_preference_has_a_balanced_share():
    bias = pd.DataFrame(FURTHER["position_bias"][1])
    (share,) = figures(position_bias=bias)["position"].panels
    assert [trace["x"] for trace in share.data] == [[0.5], [0.55]]


# Panels -----------------------------------------------------------------------------


def test_text_of_a_curve_names_its_lowest_value():
    (figure,) = power_curves(pd.DataFrame(FURTHER["power"][1]))
    (panel,) = figure.panels
    (curve,) = panel.data
    assert curve["y"] == [0.1, 0.05]
    assert panel.layout["yaxis"]["range"][1] > 0.1
    assert "down to 0.05" in figure.alt


def test_functions_of_sections_name_tables_that_exist():
    """A misspelt name would be skipped as if its table were empty."""
    known = {*COLUMNS, "cells", "tables", "confidence"}
    assert DRAWN.keys() == DECLARED.keys()
    for function in (*chain(*SECTIONS.values()), *DRAWN.values()):
        named = set(signature(function).parameters)
        assert named <= known, function
