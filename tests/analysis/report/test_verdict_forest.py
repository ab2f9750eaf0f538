"""The figure of verdicts, and figures as plotly objects."""

import pandas as pd
import plotly.graph_objects as go
import pytest

from analysis.commands.alignment import align
from analysis.options import AlignOptions
from analysis.report.figure import Panel
from analysis.report.figures_verdicts import verdict_forest
from analysis.report.rendering import plotly_figure
from analysis.report.sections import all_figures
from tests.analysis.commands.test_alignment import study

RATINGS, CHOICES, SCORES = study(n_stories=12)


@pytest.fixture(scope="module")
def tables():
    echo = RATINGS.groupby(["story", "method"])["rating"].mean().reset_index()
    echo = echo.rename(columns={"rating": "score"}).assign(
        metric="echo", higher_is_better=True
    )
    scores = SCORES[SCORES["metric"] == "blur"]
    options = AlignOptions(
        resamples=50,
        resample="stories",
        levels=("story",),
        coefficients=("kendall",),
    )
    return align(
        ratings=RATINGS,
        choices=CHOICES.assign(criterion="identity"),
        scores=pd.concat([scores, echo]),
        options=options,
        hypotheses=pd.DataFrame({"question": ["aesthetics"], "metric": ["echo"]}),
    )


def forest(verdicts, question):
    panels = verdict_forest(verdicts)
    return plotly_figure([panel for panel in panels if panel.title == question])


def leading(found, question, metric):
    verdicts = found.tables["verdicts"]
    rows = verdicts[verdicts["leads"] & (verdicts["question"] == question)]
    return rows[rows["metric"] == metric].iloc[0]


def test_metrics_are_rows_with_intervals_highest_on_top(tables):
    figure = forest(tables.tables["verdicts"], "aesthetics")
    assert isinstance(figure, go.Figure)
    (trace,) = figure.data
    assert list(figure.layout.yaxis.ticktext) == ["<b>echo</b>", "blur"]
    row = leading(tables, "aesthetics", "echo")
    assert row["statistic"] == "ppa_half"
    assert trace.x[0] == pytest.approx(row["value"], abs=1e-4)
    assert trace.error_x.array[0] == pytest.approx(row["high"] - row["value"], abs=1e-4)
    assert trace.error_x.arrayminus[0] == pytest.approx(
        row["value"] - row["low"], abs=1e-4
    )


def test_chance_and_one_annotator_are_named_lines(tables):
    layout = forest(tables.tables["verdicts"], "aesthetics").layout
    row = leading(tables, "aesthetics", "blur")
    chance, ceiling = layout.shapes
    assert (chance.x0, chance.line.dash) == (0.5, "solid")
    assert (ceiling.x0, ceiling.line.dash) == (row["ceiling"], "dash")
    named = {note.text: note.x for note in layout.annotations[1:]}
    assert named == {"chance": 0.5, "one annotator": row["ceiling"]}


def test_marks_of_agreeing_metrics_are_filled(tables):
    (trace,) = forest(tables.tables["verdicts"], "aesthetics").data
    assert leading(tables, "aesthetics", "echo")["verdict"] == "above chance"
    assert trace.marker.symbol == ("circle", "circle-open")


def test_pointer_shows_metric_value_interval_and_n(tables):
    (trace,) = forest(tables.tables["verdicts"], "aesthetics").data
    row = leading(tables, "aesthetics", "blur")
    value, low, high = (f"{100 * row[key]:.0f} %" for key in ("value", "low", "high"))
    assert trace.text[1].split("<br>") == [
        f"blur: {value}",
        f"interval {low} to {high}",
        f"{row['n']:.0f} pairs",
        row["verdict"],
    ]


@pytest.mark.slow
def test_panels_become_rows_with_marks_and_lines(tables):
    for figure in all_figures(tables.tables, tables.cells):
        found = plotly_figure(figure.panels)
        assert len(found.data) == sum(len(panel.data) for panel in figure.panels)
        shapes = [s for panel in figure.panels for s in panel.layout.get("shapes", ())]
        assert len(found.layout.shapes) == len(shapes)
        for drawn, shape in zip(found.layout.shapes, shapes, strict=True):
            of_panel = shape.get("yref") == "paper"
            assert drawn.yref.endswith(" domain") == of_panel
        assert found.layout.height > sum(panel.height for panel in figure.panels)
        titles = [panel.title for panel in figure.panels if panel.title]
        assert [n.text for n in found.layout.annotations][: len(titles)] == titles


def test_legend_has_each_name_once():
    data = [{"type": "scatter", "name": name, "x": [1], "y": [1]} for name in "ab"]
    panels = [Panel(title, 100, data, {"showlegend": True}) for title in ("p", "q")]
    found = plotly_figure(panels)
    assert [trace.showlegend for trace in found.data] == [True, True, False, False]
    assert found.layout.showlegend
    quiet = plotly_figure([Panel("p", 100, data, {"showlegend": False})])
    assert not quiet.layout.showlegend
