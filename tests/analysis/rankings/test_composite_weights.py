"""Tables of weights: read, refused, and the papers' own."""

from pathlib import Path

import pandas as pd
import pytest
import yaml

from analysis.problems import InputError
from analysis.rankings.composite_weights import (
    ENVISION_QUESTIONS,
    check_weights,
    envision_weights,
    rank_weights,
    read_weights,
    vistar_weights,
    weight_table,
)

ROOT = Path(__file__).resolve().parents[3]


def test_weights_are_read_from_a_file(tmp_path):
    path = tmp_path / "weights.csv"
    path.write_text("composite,part,weight\nall,TR,0.5\nall,LI,1\n", "utf-8")
    found = read_weights(path)
    assert found.to_dict("records") == [
        {"composite": "all", "part": "TR", "weight": 0.5, "kind": "mean"},
        {"composite": "all", "part": "LI", "weight": 1.0, "kind": "mean"},
    ]


@pytest.mark.parametrize(
    ("text", "problems"),
    [
        (
            "composite,part\nx,p\n",
            ["w.csv:1: weight: expected the columns composite, part, weight"],
        ),
        (
            "composite,part,weight\nx,p,0\nx,,2\nx,q,much\n",
            [
                "w.csv:2: weight: 0: expected a number above 0",
                "w.csv:3: part: expected a name",
                "w.csv:4: weight: much: expected a number above 0",
            ],
        ),
        (
            "composite,part,weight\nx,p,1\nx,p,2\n",
            ["w.csv:3: part: p: expected each part of x once"],
        ),
        (
            "composite,part,weight\nx,p,inf\n",
            ["w.csv:2: weight: inf: expected a number above 0"],
        ),
        (
            "composite,part,weight,kind\nx,p,1,sum\n",
            ["w.csv:2: kind: sum: expected one of mean, ranks, drop"],
        ),
        (
            "composite,part,weight,kind\nx,p,1,mean\nx,q,1,ranks\n",
            ["w.csv:2: kind: expected one kind in all rows of x"],
        ),
        (
            "composite,part,weight,kind\nx,p,1,drop\n",
            [
                "w.csv:2: part: expected two parts of the drop x: what it is from, "
                "and to"
            ],
        ),
        (
            "composite,part,weight\nx,y,1\ny,x,1\n",
            [
                "w.csv:2: composite: x: expected a composite that is no part of itself",
                "w.csv:3: composite: y: expected a composite that is no part of itself",
            ],
        ),
    ],
)
def test_bad_weights_are_named_by_line_and_column(tmp_path, text, problems):
    path = tmp_path / "w.csv"
    path.write_text(text, "utf-8")
    with pytest.raises(InputError) as caught:
        read_weights(path)
    assert caught.value.lines() == problems


def test_presets_pass_their_own_check():
    for weights in (
        envision_weights(),
        vistar_weights(),
        weight_table({"drop": ("core", "hard")}, kind="drop"),
        rank_weights("ab"),
    ):
        pd.testing.assert_frame_equal(check_weights(weights, "preset"), weights)


def test_envisions_questions_are_those_of_its_protocol():
    text = (ROOT / "annotate/studies/protocols/envision-expert.yaml").read_text("utf-8")
    keys = [question["key"] for question in yaml.safe_load(text)["questions"]]
    assert keys == [q for three in ENVISION_QUESTIONS.values() for q in three]
