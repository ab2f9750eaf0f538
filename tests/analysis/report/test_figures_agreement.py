"""The matrix of annotators says what the table of pairs says, alike people together."""

import itertools
import json

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import pytest

from analysis.__main__ import main
from analysis.report.figures_agreement import (
    MOST_NUMBERS,
    MOST_PEOPLE,
    pair_matrices,
)

NONE = float("nan")


def table(values, question="q", statistic="alpha_ordinal", n=40):
    rows = [
        {"annotator_a": a, "annotator_b": b, "value": value}
        for (a, b), value in values.items()
    ]
    keys = {"question": question, "statistic": statistic, "n": n, "reason": ""}
    return pd.DataFrame(rows).assign(low=NONE, high=NONE, **keys)


def camps(people, apart=0.1, together=0.8):
    """Two camps: every other person."""
    return {
        (a, b): together if (i - j) % 2 == 0 else apart
        for (i, a), (j, b) in itertools.combinations(enumerate(people), 2)
    }


def drawn(pairs):
    (figure,) = pair_matrices(pairs)
    plot = json.loads(figure.panels[0].plot)
    go.Figure(plot)
    return figure, plot["data"][0], plot["layout"]


def test_cells_stand_on_both_sides_of_an_empty_diagonal():
    pairs = table({("a", "b"): 0.9, ("a", "c"): -0.2, ("b", "c"): 0.1})
    pairs.loc[0, ["low", "high"]] = 0.8, 0.95
    figure, cells, layout = drawn(pairs)
    assert layout["xaxis"]["ticktext"] == layout["yaxis"]["ticktext"]
    order = layout["xaxis"]["ticktext"]
    at = {
        (one, other): (cells["z"][i][j], cells["text"][i][j], cells["customdata"][i][j])
        for (i, one), (j, other) in itertools.product(enumerate(order), repeat=2)
    }
    assert at["a", "b"] == at["b", "a"]
    assert at["a", "b"] == (0.9, "0.90", "a · b<br>0.90 [0.80, 0.95], n = 40")
    assert at["c", "a"] == (-0.2, "−0.20", "a · c<br>−0.20, n = 40")
    assert at["a", "a"] == (None, "", "")
    assert "Empty" not in figure.caption
    assert figure.panels[0].title == "q: alpha (ordinal)"
    assert figure.alt == (
        "Matrix of annotators. q: from −0.20 (a and c) to 0.90 (a and b)."
    )


def test_people_who_answer_alike_stand_side_by_side():
    people = ["Ann", "Bob", "Cem", "Dan", "Eli", "Fay"]
    _figure, _cells, layout = drawn(table(camps(people)))
    order = layout["yaxis"]["ticktext"]
    assert {frozenset(order[:3]), frozenset(order[3:])} == {
        frozenset({"Ann", "Cem", "Eli"}),
        frozenset({"Bob", "Dan", "Fay"}),
    }
    # One who agrees with nobody stands at an end.
    alone = camps(people) | {(name, "Zoe"): -0.4 for name in people}
    _figure, _cells, layout = drawn(table(alone))
    assert layout["yaxis"]["ticktext"][-1] == "Zoe"


@pytest.mark.parametrize("seed", range(6))
def test_of_both_ends_the_one_that_agrees_more_stands_on_top(seed):
    rng = np.random.default_rng(seed)
    values = {pair: rng.random() for pair in itertools.combinations("abcdefg", 2)}
    _figure, _cells, layout = drawn(table(values))
    first, last = (
        np.mean(
            [x for pair, x in values.items() if layout["yaxis"]["ticktext"][i] in pair]
        )
        for i in (0, -1)
    )
    assert first > last


def test_people_without_a_value_come_last_and_the_caption_says_why():
    values = camps(["Ann", "Bob", "Cem"])
    pairs = table(values | {("Abe", name): NONE for name in ("Ann", "Bob", "Cem")})
    pairs.loc[pairs["annotator_a"] == "Abe", "n"] = 3
    figure, cells, layout = drawn(pairs)
    assert layout["yaxis"]["ticktext"][-1] == "Abe"
    assert cells["z"][-1] == [None] * 4
    assert cells["customdata"][-1][0].endswith("<br>n = 3")
    assert "Empty: fewer than 10 units" in figure.caption


def test_of_many_people_those_without_a_value_make_room_for_others():
    people = [f"p{i:02}" for i in range(40)]
    some = set(people[:25])
    values = {
        (a, b): 0.5 if {a, b} <= some else NONE
        for a, b in itertools.combinations(people, 2)
    }
    _figure, _cells, layout = drawn(table(values))
    names = [text.split()[-1] for text in layout["yaxis"]["ticktext"]]
    assert set(names[:25]) == some
    assert len(names) == MOST_PEOPLE


def test_two_people_or_no_value_are_not_drawn():
    assert pair_matrices(table({("a", "b"): 0.5})) == []
    people = itertools.combinations("abc", 2)
    assert pair_matrices(table(dict.fromkeys(people, NONE))) == []


@pytest.mark.parametrize("n", [MOST_NUMBERS, MOST_NUMBERS + 1, MOST_PEOPLE, 60])
def test_of_many_people_those_who_agree_least_are_drawn_by_shade(n):
    people = [f"p{i:02}" for i in range(n)]
    values = {
        (a, b): 0.9 - 0.01 * (int(a[1:]) + int(b[1:])) / 2
        for a, b in itertools.combinations(people, 2)
    }
    figure, cells, layout = drawn(table(values))
    cut = n > MOST_PEOPLE
    names = {text.split()[-1] for text in layout["yaxis"]["ticktext"]}
    assert names == set(people[-MOST_PEOPLE:])
    assert (f"The {MOST_PEOPLE} who agree least" in figure.caption) == cut
    assert (cells["texttemplate"] == "") == (n > MOST_NUMBERS)
    assert len(figure.panels[0].plot) < 60_000


def test_columns_of_long_names_have_the_numbers_of_rows():
    people = [f"somebody of the panel {i} in Shanghai" for i in range(4)]
    _figure, cells, layout = drawn(table(camps(people)))
    assert layout["xaxis"]["ticktext"] == ["1", "2", "3", "4"]
    rows = layout["yaxis"]["ticktext"]
    assert [row.split()[0] for row in rows] == ["1", "2", "3", "4"]
    assert max(map(len, rows)) <= 28
    assert cells["customdata"][0][1].count("…") == 2
    short = drawn(table(camps(["<b>", "Bob", "Cem"])))[2]
    assert "&lt;b&gt;" in short["yaxis"]["ticktext"]


@pytest.mark.shared
def test_a_real_report_draws_its_table(shared, tmp_path):
    folder = shared / "data/dsg"
    given = ["agreement", "--ratings", folder / "ratings.csv", "--resamples", "20"]
    assert main([*map(str, given), "--images", "none", "--out", str(tmp_path)]) == 0
    rows = pd.read_csv(tmp_path / "tables/annotator_pairs.csv")
    page = (tmp_path / "report.html").read_text("utf-8")
    assert '<figure id="figure-annotator-pairs"' in page
    _figure, cells, layout = drawn(rows)
    # R1 and R2 of DSG agree most, and R4 least with anybody.
    order = layout["yaxis"]["ticktext"]
    assert set(order) == {"R1", "R2", "R3", "R4", "R5"}
    for row in rows.itertuples():
        i, j = order.index(row.annotator_a), order.index(row.annotator_b)
        assert cells["z"][i][j] == pytest.approx(row.value, abs=1e-4)
