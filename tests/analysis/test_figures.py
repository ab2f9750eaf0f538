"""Figures draw what the tables say, with names as they stand."""

import base64
import json

import numpy as np
import pandas as pd
import pytest

from analysis.figures import all_figures, scatters
from analysis.layout import MOST_SCATTERS, label_places

NAN = float("nan")


def correlations(*changes):
    row = {
        "dimension": "beauty", "metric": "k", "level": "story",
        "coefficient": "kendall", "value": 0.5, "low": 0.2, "high": 0.6, "n": 40,
    }  # fmt: skip
    return pd.DataFrame([row | change for change in changes])


def points(questions, metrics, methods=("A", "B")):
    return pd.DataFrame(
        [(q, k, "s", m, float(i), float(i), True)
         for q in questions for k in metrics for i, m in enumerate(methods)],
        columns=["question", "metric", "story", "method", "human", "score",
                 "higher_is_better"],
    )  # fmt: skip


def figures(cells=None, **tables):
    empty = points((), ())
    found = all_figures(tables, empty if cells is None else cells)
    return {figure.key: figure for figure in found}


def drawn(figure):
    return json.loads(figure.plot)


def numbers(values):
    """Decode what plotly packs."""
    return np.frombuffer(base64.b64decode(values["bdata"]), values["dtype"]).tolist()


def test_bars_of_the_forest_reach_from_low_to_high():
    rows = correlations({}, {"level": "pooled", "low": NAN, "high": NAN})
    plot = drawn(figures(correlations=rows)["forest-0"])
    by_level = {trace["name"]: trace["error_x"] for trace in plot["data"]}
    assert numbers(by_level["story level"]["array"]) == pytest.approx([0.1])
    assert numbers(by_level["story level"]["arrayminus"]) == pytest.approx([0.3])
    assert numbers(by_level["pooled"]["array"]) == [0]
    assert numbers(by_level["pooled"]["arrayminus"]) == [0]


def test_levels_of_a_metric_stand_apart_in_one_order():
    rows = correlations(*[{"level": level} for level in ("pooled", "method", "story")])
    plot = drawn(figures(correlations=rows)["forest-0"])
    assert [trace["name"] for trace in plot["data"]] == [
        "pooled", "story level", "method level",
    ]  # fmt: skip
    assert plot["layout"]["scattermode"] == "group"
    assert {trace["orientation"] for trace in plot["data"]} == {"h"}


def test_the_level_is_named_even_if_it_is_the_only_one():
    layout = drawn(figures(correlations=correlations({}))["forest-0"])["layout"]
    assert layout["showlegend"] is True


def test_the_axis_of_the_forest_holds_intervals_0_and_the_ceiling():
    agreement = pd.DataFrame(
        {"question": ["beauty"], "statistic": ["rater_vs_rest_kendall"], "value": [0.9]}
    )
    figure = figures(correlations=correlations({}), agreement=agreement)["forest-0"]
    low, high = drawn(figure)["layout"]["xaxis"]["range"]
    assert -0.1 < low < 0
    assert 0.9 < high < 1
    assert "dashed line at 0.90" in figure.caption


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({}, "Right of 0 means agreement. Bars are bootstrap intervals; one that "
         "crosses 0 shows no agreement."),
        ({"low": NAN, "high": NAN}, "Right of 0 means agreement."),
        ({"low": NAN, "high": NAN, "metric": "Aesthetic", "dimension": "aesthetics"},
         "Right of 0 means agreement. Metrics in bold are those that the papers name "
         "for this question."),
    ],
)  # fmt: skip
def test_the_caption_speaks_of_what_is_drawn(change, said):
    assert figures(correlations=correlations(change))["forest-0"].caption == said


def test_bars_of_wins_are_wins_ties_and_losses():
    rates = pd.DataFrame(
        {"criterion": ["q"], "method_a": ["A"], "method_b": ["B"], "wins_a": [5],
         "ties": [2], "wins_b": [3]}
    )  # fmt: skip
    plot = drawn(figures(win_rates=rates)["wins-0"])
    assert [(trace["name"], numbers(trace["x"])) for trace in plot["data"]] == [
        ("first wins", [50.0]), ("tie", [20.0]), ("second wins", [30.0]),
    ]  # fmt: skip
    assert plot["layout"]["legend"]["traceorder"] == "normal"


@pytest.mark.parametrize("name", ["<!--<script>", "<b>bold</b>", "a<br>b", "&lt;"])
def test_names_are_drawn_as_they_stand_and_never_end_the_script(name):
    escaped = name.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    means = pd.DataFrame(
        {"dimension": ["d"], "method": [name], "mean": [1.0], "low": [NAN],
         "high": [NAN]}
    )  # fmt: skip
    board = pd.DataFrame(
        {"criterion": ["q"], "method": [name], "rating": [1.0], "low": [0.0],
         "high": [2.0]}
    )  # fmt: skip
    rates = pd.DataFrame(
        {"criterion": ["q"], "method_a": [name], "method_b": [name], "wins_a": [5],
         "ties": [2], "wins_b": [3]}
    )  # fmt: skip
    rows = correlations(
        *[{"metric": name, "dimension": question} for question in (name, "beauty")]
    )
    found = figures(
        points((name, "beauty"), (name,), (name, "B")), correlations=rows,
        method_means=means, leaderboard=board, win_rates=rates,
    )  # fmt: skip
    assert len(found) == 8
    for figure in found.values():
        assert "<" not in figure.plot
        assert escaped in json.dumps(drawn(figure))
        assert name not in json.dumps(drawn(figure)).replace(escaped, "")


def test_numbers_as_names_stay_names():
    figure = figures(correlations=correlations({"metric": "1"}, {"metric": "10"}))
    assert drawn(figure["forest-0"])["layout"]["yaxis"]["type"] == "category"


def test_a_metric_without_a_coefficient_is_not_drawn():
    rows = correlations({}, {"metric": "flat", "value": NAN, "low": NAN, "high": NAN})
    found = scatters(points(("beauty",), ("flat", "k")), rows)
    assert [figure.title for figure in found] == ["beauty: people and k"]


def test_a_falling_metric_is_marked_where_lower_is_better():
    cells = points(("beauty",), ("k", "fid"))
    cells["higher_is_better"] = cells["metric"] != "fid"
    axes = [drawn(figure)["layout"]["xaxis"]["title"]["text"]
            for figure in scatters(cells, None)]  # fmt: skip
    assert axes == ["fid (lower is better)", "k"]


def test_of_many_questions_and_metrics_only_the_best_are_drawn():
    questions = [f"q{i}" for i in range(5)]
    rows = correlations(
        *[{"dimension": q, "metric": k, "value": v}
          for q in questions for k, v in (("a", 0.1), ("b", 0.3), ("c", 0.2))]
    )  # fmt: skip
    few = scatters(points(questions[:4], "abc"), rows)
    assert len(few) == MOST_SCATTERS
    assert few[0].caption == "Each point is a method: the mean of its cells."
    many = scatters(points(questions, "abc"), rows)
    assert [f.title for f in many] == [f"{q}: people and b" for q in questions]
    assert many[0].caption.endswith("Of each question only the best metric is drawn.")


def test_labels_stand_away_from_the_nearest_point_and_inside_the_plot():
    part = pd.DataFrame(
        {"score": [0.0, 0.5, 0.52, 1.0], "human": [0.0, 0.5, 0.55, 1.0]}
    )
    assert label_places(part) == [
        "bottom right", "bottom center", "top center", "top left",
    ]  # fmt: skip
    same = pd.DataFrame({"score": [1.0, 1.0], "human": [2.0, 2.0]})
    assert [place.split()[0] for place in label_places(same)] == ["bottom", "top"]
