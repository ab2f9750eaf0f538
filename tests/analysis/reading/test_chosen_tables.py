"""A report of some questions and metrics is that of files without the others."""

import itertools
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import analysis
from analysis.__main__ import main
from analysis.commands.alignment import align
from analysis.commands.planning import power, stability
from analysis.commands.planning import subset as subset_of
from analysis.options import AlignOptions, OptionError
from analysis.problems import InputError
from analysis.rankings.composite_weights import equally

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


def test_an_alignment_is_that_of_the_rows_which_were_asked_for():
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


def test_plans_are_those_of_the_rows_which_were_asked_for():
    ratings, _choices, scores = tables()
    rated, scored = filtered()
    for found, expected in (
        (
            power(ratings=ratings, scores=scores, options=SOME, target=0.1),
            power(ratings=rated, scores=scored, options=ALL, target=0.1),
        ),
        (
            subset_of(
                ratings=ratings,
                scores=scores,
                subset=scores[scores["story"] < "s3"],
                name="half",
                sizes=(3,),
                options=SOME,
            ),
            subset_of(
                ratings=rated,
                scores=scored,
                subset=scored[scored["story"] < "s3"],
                name="half",
                sizes=(3,),
                options=ALL,
            ),
        ),
    ):
        assert_same(found, expected)
    trials = replace(ALL, questions=("look",))
    assert_same(
        stability(trials=ratings, ratings=ratings, options=trials),
        stability(trials=rated, ratings=rated, options=ALL),
    )


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ({"metrics": ("cds",)}, r"--metrics: 'cds': expected .* \(nearest: csd\)"),
        ({"questions": ("lok",)}, r"--questions: 'lok': expected .*nearest: look"),
        ({"questions": ()}, "--questions: expected some of better, look, plot"),
    ],
)
def test_what_is_not_there_is_refused_with_what_is(asked, told):
    ratings, choices, scores = tables()
    options = replace(ALL, **asked)
    with pytest.raises(OptionError, match=told):
        align(ratings=ratings, choices=choices, scores=scores, options=options)


def test_no_metric_is_a_report_of_people_alone():
    ratings, choices, scores = tables()
    options = replace(ALL, metrics=())
    found = align(ratings=ratings, choices=choices, scores=scores, options=options)
    alone = align(ratings=ratings, choices=choices, options=ALL)
    assert "Left out as asked: metrics blur, csd." in found.notes
    assert_same(found, alone)


def test_metrics_without_scores_are_refused():
    ratings, _choices, _scores = tables()
    with pytest.raises(OptionError, match="--metrics: expected scores beside it"):
        power(ratings=ratings, scores=None, options=SOME, target=0.1)


def test_a_hypothesis_about_what_was_not_asked_for_is_refused_in_a_notebook():
    ratings, _choices, scores = tables()
    with pytest.raises(InputError, match=r"metric: blur: expected one of csd"):
        analysis.align(
            ratings=ratings,
            scores=scores,
            metrics="csd",
            hypotheses={"look": "blur"},
            resamples=0,
        )


def test_what_a_study_declares_of_others_is_remarked_on():
    """Of a composite too, which is covered whatever questions are."""
    ratings, _choices, scores = tables()
    found = align(
        ratings=ratings,
        scores=scores,
        composites=(equally("both", ["look", "plot"], over="questions"),),
        hypotheses=pd.DataFrame(
            {"question": ["look", "plot", "both"], "metric": ["blur", "blur", "csd"]}
        ),
        options=replace(SOME, resamples=0),
    )
    told = "look: metric blur was declared for it, and is not among the metrics asked"
    assert any(note.startswith(told) for note in found.notes)
    assert list(found.tables["hypotheses"]["question"]) == ["look", "both"]


@pytest.mark.parametrize(
    ("option", "text", "told"),
    [
        (
            "--hypotheses",
            "question,metric\nlook,blur\n",
            "given.txt:2: metric: blur: expected one of csd",
        ),
        (
            "--composites",
            "composites:\n  both: {over: metrics, weights: {csd: 1, blur: 1}}\n",
            "given.txt:2: both: blur: expected one of csd",
        ),
    ],
)
def test_a_file_about_what_was_not_asked_for_is_refused_by_its_line(
    tmp_path, capsys, option, text, told
):
    ratings, _choices, scores = tables()
    ratings.to_csv(tmp_path / "ratings.csv", index=False)
    scores.to_csv(tmp_path / "scores.csv", index=False)
    (tmp_path / "given.txt").write_text(text)
    words = ["align", "--metrics", "csd", option, str(tmp_path / "given.txt")]
    words += ["--ratings", str(tmp_path / "ratings.csv")]
    words += ["--scores", str(tmp_path / "scores.csv")]
    out = tmp_path / "out"
    asked = [*words, "--resamples", "0", "--images", "none", "--out", str(out)]
    assert main(asked) == 2
    assert capsys.readouterr().err.strip() == told
    assert not out.exists()
    asked[asked.index("csd")] = "blur, csd"
    assert main(asked) == 0
    assert (out / "report.html").is_file()
