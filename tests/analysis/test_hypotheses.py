"""Declared metrics."""

import pandas as pd
import pytest

from analysis.commands.alignment import align
from analysis.problems import InputError
from analysis.questions import read_hypotheses
from tests.analysis.commands.test_alignment import FAST, study

QUESTIONS, METRICS = {"identity", "aesthetics"}, {"cids", "blur"}


@pytest.mark.parametrize(
    ("text", "problems"),
    [
        ("question\nidentity\n", ["1: metric: expected the columns question, metric"]),
        (
            "question,metric\nidentity,cid\nlook,cids\n",
            [
                "2: metric: cid: expected one of blur, cids (nearest: cids)",
                "3: question: look: expected one of aesthetics, identity",
            ],
        ),
        (
            "question,metric\nidentity,cids\nidentity,cids\n",
            ["3: metric: cids: expected a hypothesis once"],
        ),
        (
            "question,metric,epsilon\nidentity,cids,1.5\naesthetics,blur,much\n",
            [
                "2: epsilon: 1.5: expected a number from 0 to 1",
                "3: epsilon: much: expected a number from 0 to 1",
            ],
        ),
    ],
)
def test_bad_hypotheses_are_named_by_line_and_column(tmp_path, text, problems):
    path = tmp_path / "meant.csv"
    path.write_text(text)
    with pytest.raises(InputError) as error:
        read_hypotheses(path, QUESTIONS, METRICS)
    assert str(error.value).splitlines() == [f"meant.csv:{p}" for p in problems]


@pytest.mark.slow
def test_hypotheses_are_a_table_of_the_report(tmp_path):
    path = tmp_path / "meant.csv"
    path.write_text("question,metric,epsilon\nidentity, cids ,.2\naesthetics,blur,\n")
    table = read_hypotheses(path, QUESTIONS, METRICS)
    ratings, _, scores = study()
    found = align(ratings=ratings, scores=scores, options=FAST, hypotheses=table)
    assert found.tables["hypotheses"].fillna("none").to_dict("records") == [
        {"question": "identity", "metric": "cids", "epsilon": 0.2},
        {"question": "aesthetics", "metric": "blur", "epsilon": "none"},
    ]


@pytest.mark.slow
def test_declared_metric_without_a_score_is_remarked_on():
    ratings, _, scores = study()
    table = pd.DataFrame({"question": ["identity"], "metric": ["csd"]})
    found = align(ratings=ratings, scores=scores, options=FAST, hypotheses=table)
    assert any("csd was declared for it, but has no score" in x for x in found.notes)
