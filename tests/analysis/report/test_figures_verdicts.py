"""Matrices of p-values from the tables of comparisons."""

import itertools
import json

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import pytest

from analysis.__main__ import main
from analysis.report.figures_verdicts import MOST_METRICS, MOST_NUMBERS, p_matrices


def verdicts(values, way=("kendall", "method", "ratings"), question="q"):
    rows = pd.DataFrame({"metric": list(values), "value": list(values.values())})
    rows["question"], rows["role"], rows["leads"] = question, "exploratory", True
    rows["statistic"], rows["level"], rows["source"] = way
    return rows


def compared(metrics, p=0.2, adjusted=0.6, **keys):
    keys = {"dimension": "q", "level": "method", "coefficient": "kendall"} | keys
    return pd.DataFrame(
        [
            keys | {"metric_a": a, "metric_b": b, "p_value": p, "p_adjusted": adjusted}
            for a, b in itertools.combinations(sorted(metrics), 2)
        ]
    )


def matrices(rows, comparisons=None, accuracy=None):
    tables = {"metric_comparisons": comparisons, "accuracy_comparisons": accuracy}
    return p_matrices(rows, {k: v for k, v in tables.items() if v is not None})


def drawn(*tables):
    (figure,) = matrices(*tables)
    plot = json.loads(figure.panels[0].plot)
    go.Figure(plot)
    return figure, plot["data"][0], plot["layout"]


def test_p_values_are_above_the_diagonal_and_adjusted_below():
    rows = verdicts({"a": 0.1, "b": 0.9, "c": 0.5})
    table = compared("abc")
    table["p_value"] = [0.04, 0.009, 0.3]  # a b, a c, b c
    table["p_adjusted"] = [0.08, 0.0004, 1.0]
    figure, cells, layout = drawn(rows, table)
    names = ["b · ab", "c · a", "a · b"]
    assert layout["yaxis"]["ticktext"] == layout["xaxis"]["ticktext"] == names
    assert cells["text"] == [
        ["", ".30", ".040"],
        ["1", "", ".009"],
        [".080", "<.001", ""],
    ]
    assert cells["z"] == [[None, 0, 1], [0, None, 2], [0, 3, None]]
    assert figure.alt.endswith("q: method τ: significant differences: 1 of 3.")
    assert figure.tables == ("metric_comparisons",)


def test_letters_are_shown_when_metrics_differ():
    rows = verdicts({"a": 3.0, "b": 2.0, "c": 1.0, "d": 0.5})
    table = compared("abcd")
    figure, _cells, layout = drawn(rows, table)
    assert layout["xaxis"]["ticktext"] == list("abcd")
    assert "letter" not in figure.caption
    table.loc[1, "p_adjusted"] = 0.01  # a and c
    figure, _cells, layout = drawn(rows, table)
    assert layout["yaxis"]["ticktext"] == ["a · a", "b · ab", "c · b", "d · ab"]
    assert "share a letter" in figure.caption


def test_tests_are_those_of_the_leading_statistic_and_answers():
    way = ("ppa_half", "pairs", "choices")
    rows = verdicts(dict.fromkeys("abc", 1.0), way)
    keys = {"question": "q", "statistic": "ppa_half", "source": "choices"}
    right = compared("abc", p=0.03, **keys)
    others = [
        compared("abc", p=0.5, **keys | change)
        for change in ({"question": "r"}, {"source": "ratings"}, {"statistic": "spa"})
    ]
    table = pd.concat([right, *others])
    figure, cells, _layout = drawn(rows, compared("abc", p=0.7), table)
    assert {text for row in cells["text"] for text in row[1:2]} == {".030", "", ".60"}
    assert figure.tables == ("accuracy_comparisons",)
    levels = [
        compared("abc", p=0.5, **c) for c in ({"level": "story"}, {"dimension": 0})
    ]
    by_level = pd.concat([compared("abc", p=0.03), *levels])
    _figure, cells, _layout = drawn(
        verdicts(dict.fromkeys("abc", 1.0)), by_level, table
    )
    assert cells["text"][0][1] == ".030"


def test_baselines_untested_pairs_and_two_metrics_are_not_drawn():
    rows = verdicts(dict.fromkeys("abc", 1.0))
    assert matrices(rows, compared("abc", p=np.nan)) == []
    assert matrices(rows, None) == []
    assert matrices(rows[:2], compared("ab")) == []
    assert matrices(rows.assign(leads=False), compared("abc")) == []
    one = rows.assign(role=["exploratory", "exploratory", "baseline"])
    assert matrices(one, compared("abc")) == []


@pytest.mark.parametrize("n", [13, 72])
def test_highest_metrics_are_drawn_when_there_are_many(n):
    names = [f"m{i:02}" for i in range(n)]
    rows = verdicts({name: float(i) for i, name in enumerate(names)})
    figure, cells, layout = drawn(rows, compared(names))
    cut = n > MOST_METRICS
    assert layout["yaxis"]["ticktext"] == names[::-1][:MOST_METRICS]
    assert (f"Only the {MOST_METRICS} highest metrics" in figure.caption) == cut
    assert (cells["texttemplate"] == "") == (n > MOST_NUMBERS)
    assert f"0 of {n * (n - 1) // 2}." in figure.alt
    assert len(figure.panels[0].plot) < 8_000


@pytest.mark.slow
@pytest.mark.shared
@pytest.mark.parametrize("name", ["dsg", "tifa"])
def test_cells_of_a_real_report_are_those_of_its_table(name, shared, tmp_path):
    folder = shared / "data" / name
    given = ["--ratings", folder / "ratings.csv", "--scores", folder / "scores.csv"]
    given += ["--resamples", "20", "--images", "none", "--out", tmp_path]
    assert main(["align", *map(str, given)]) == 0
    read = {
        table: pd.read_csv(tmp_path / f"tables/{table}.csv")
        for table in ("verdicts", "metric_comparisons", "accuracy_comparisons")
    }
    _figure, cells, layout = drawn(*read.values())
    names = [text.split(" · ")[0] for text in layout["yaxis"]["ticktext"]]
    own = read["accuracy_comparisons"]
    own = own[own["statistic"] == "ppa_half"].set_index(["metric_a", "metric_b"])
    for (i, one), (j, other) in itertools.combinations(enumerate(names), 2):
        row = own.loc[tuple(sorted((one, other)))]
        for z, p in (
            (cells["z"][i][j], row.p_value),
            (cells["z"][j][i], row.p_adjusted),
        ):
            assert z == np.searchsorted([-0.05, -0.01, -0.001], -p)
