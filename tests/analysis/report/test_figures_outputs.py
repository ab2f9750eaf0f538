"""Figures of outputs, with story and method of each point."""

import json

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from analysis.report.figures_outputs import FEW, MOST_POINTS, OUTPUT, outputs
from analysis.report.panels import SYMBOLS


def cells(n_stories, methods="AB", questions=("q",), metrics=("k",)):
    """People's values from 1 to 5 in fifths, as means of five ratings are."""
    draw = np.random.default_rng(1)
    return pd.DataFrame(
        [
            (q, k, f"s{s}", m, draw.integers(5, 26) / 5, draw.normal(), True)
            for q in questions
            for k in metrics
            for s in range(n_stories)
            for m in methods
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


def drawn(frame, panel=0):
    (figure,) = outputs(frame, None)
    plot = json.loads(figure.panels[panel].plot)
    go.Figure(plot)
    return plot


def found_outputs(plot):
    """Return every output that is drawn singly: story, method, score, people."""
    return {
        (story, trace["name"], x, y)
        for trace in plot["data"]
        if trace.get("meta") == OUTPUT
        for story, x, y in zip(trace["text"], trace["x"], trace["y"], strict=True)
    }


def in_digits(x):
    return float(f"{x:.5g}")


def test_each_cell_is_a_point_with_its_story_and_method():
    frame = cells(20)
    expected = {
        (row.story, row.method, in_digits(row.score), in_digits(row.human))
        for row in frame.itertuples()
    }
    assert found_outputs(drawn(frame)) == expected
    assert len(expected) == 40


def test_means_have_the_mark_of_their_method():
    frame = cells(20)
    *points, means = drawn(frame)["data"]
    expected = frame.groupby("method")[["score", "human"]].mean()
    assert means["x"] == [in_digits(x) for x in expected["score"]]
    assert means["y"] == [in_digits(y) for y in expected["human"]]
    for i, trace in enumerate(points):
        assert trace["marker"]["symbol"] == means["marker"]["symbol"][i]
        assert trace["marker"]["color"] == means["marker"]["color"][i]
    assert len(set(means["marker"]["symbol"])) == 2


def test_many_methods_are_named_where_there_is_room():
    methods = [f"m{i}" for i in range(len(SYMBOLS) + 1)]
    plot = drawn(cells(20, methods))
    assert not plot["layout"]["showlegend"]
    assert set(plot["data"][-1]["text"]) - {""} <= set(methods)
    assert any(plot["data"][-1]["text"])
    few = drawn(cells(20, methods[:-1]))
    assert few["layout"]["showlegend"]
    assert not any(few["data"][-1]["text"])


def test_dense_outputs_are_binned():
    frame = cells(MOST_POINTS, "AB")
    frame["score"] = frame["score"].round(1)
    plot = drawn(frame)
    bins = plot["data"][0]
    assert sum(bins["text"]) + len(found_outputs(plot)) == len(frame)
    assert min(bins["text"]) > FEW
    largest = np.argmax(bins["text"])
    assert bins["marker"]["size"][largest] == max(bins["marker"]["size"])
    assert "hexagon" in outputs(frame, None)[0].caption
    few = cells(MOST_POINTS // 2, "AB")
    assert len(found_outputs(drawn(few))) == MOST_POINTS
    assert "hexagon" not in outputs(few, None)[0].caption


def test_values_of_whole_methods_have_no_figure_of_outputs():
    assert outputs(cells(1).assign(story=""), None) == []
