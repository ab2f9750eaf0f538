"""A report of some questions and metrics is that of files without the others."""

import itertools
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from analysis.commands.alignment import align
from analysis.options import AlignOptions, OptionError

ALL = AlignOptions(resamples=5)
SOME = replace(ALL, questions=("look",), metrics=("csd",))


def tables():
    rng = np.random.default_rng(4)
    cells = [(f"s{s}", m) for s in range(6) for m in ("UNO", "Sora", "Wan")]
    rated = itertools.product(cells, ("look", "plot"), ("Ann", "Bob"), (1, 2))
    ratings = pd.DataFrame(
        [(*cell, *rest) for cell, *rest in rated],
        columns=["story", "method", "dimension", "annotator", "round"],
    )
    ratings["rating"] = rng.integers(0, 5, len(ratings))
    scores = pd.DataFrame(
        [(*cell, metric) for cell in cells for metric in ("blur", "csd")],
        columns=["story", "method", "metric"],
    )
    scores["score"] = rng.normal(size=len(scores))
    choices = pd.DataFrame(
        [
            (f"s{s}", *pair, "better", "Ann", "a")
            for s in range(6)
            for pair in itertools.combinations(("Sora", "UNO", "Wan"), 2)
        ],
        columns=["story", "method_a", "method_b", "criterion", "annotator", "choice"],
    )
    return ratings, choices, scores


def filtered():
    ratings, _choices, scores = tables()
    ratings = ratings[ratings["dimension"] == "look"]
    return ratings, scores[scores["metric"] == "csd"]


def assert_same(found, expected):
    assert found.tables.keys() == expected.tables.keys()
    for name, frame in expected.tables.items():
        assert found.tables[name].to_csv() == frame.to_csv(), name
    remarks = [note for note in found.notes if not note.startswith("Left out as asked")]
    assert remarks == list(expected.notes)


@pytest.mark.slow
def test_alignment_is_that_of_the_rows_which_were_asked_for():
    ratings, choices, scores = tables()
    declared = pd.DataFrame({"question": ["look", "plot"], "metric": ["csd", "blur"]})
    found = align(
        ratings=ratings,
        choices=choices,
        scores=scores,
        hypotheses=declared,
        options=SOME,
    )
    rated, scored = filtered()
    expected = align(ratings=rated, scores=scored, hypotheses=declared[:1], options=ALL)
    assert_same(found, expected)
    assert found.notes[:2] == (
        "Left out as asked: questions better, plot.",
        "Left out as asked: metrics blur.",
    )


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ({"metrics": ("cds",)}, r"--metrics: 'cds': expected .* \(nearest: csd\)"),
        ({"questions": ("lok",)}, r"--questions: 'lok': expected .*nearest: look"),
        ({"questions": ()}, "--questions: expected some of better, look, plot"),
    ],
)
def test_unknown_names_are_refused_with_known_ones(asked, told):
    ratings, choices, scores = tables()
    options = replace(ALL, **asked)
    with pytest.raises(OptionError, match=told):
        align(ratings=ratings, choices=choices, scores=scores, options=options)
