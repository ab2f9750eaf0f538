"""Composites from the command line to the verdicts."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import kendalltau

from analysis.__main__ import main

WEIGHTS = {"consistency": 0.4, "physicality": 0.4, "aesthetic": 0.2}
FILE = """
composites:
  overall: {over: questions, weights: {consistency: .4, physicality: .4, aesthetic: .2}}
  artist: {over: metrics, weights: {clip@SF: 3, clip@CUL: 2}}
"""


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    """Three questions, each with a judge's score, and one metric of two angles."""
    folder = tmp_path_factory.mktemp("inputs")
    rng = np.random.default_rng(0)
    quality = rng.normal(size=12)
    rated, scored, tags = [], [], []
    for s in range(9):
        story = f"s{s}"
        tags.append((story, ("SF", "CUL", "MA")[s % 3]))
        for m in range(12):
            place = story, f"m{m:02}"
            for question in WEIGHTS:
                value = quality[m] + rng.normal()
                for who in ("Ann", "Bob"):
                    for turn in (1, 2):
                        given = np.clip(round(2.5 + value + rng.normal() / 2), 0, 5)
                        rated.append((*place, question, who, turn, int(given)))
                scored.append((*place, f"judge_{question}", value + rng.normal() / 2))
            scored.append((*place, "clip", quality[m] + rng.normal()))
    for name, rows, columns in (
        ("ratings", rated, "story method dimension annotator round rating"),
        ("scores", scored, "story method metric score"),
        ("stories", tags, "story angle"),
        ("hypotheses", [(q, f"judge_{q}") for q in WEIGHTS], "question metric"),
    ):
        frame = pd.DataFrame(rows, columns=columns.split())
        frame.to_csv(folder / f"{name}.csv", index=False)
    (folder / "composites.yaml").write_text(FILE)
    return folder


def run(inputs, out, *more):
    names = ("ratings", "scores", "stories", "hypotheses")
    given = [part for n in names for part in (f"--{n}", str(inputs / f"{n}.csv"))]
    asked = ["--resamples", "20", "--images", "none", "--out", str(out)]
    return main(["align", *given, *asked, *more])


@pytest.fixture(scope="module")
def report(inputs, tmp_path_factory):
    out = tmp_path_factory.mktemp("report")
    assert run(inputs, out, "--composites", str(inputs / "composites.yaml")) == 0
    return out


@pytest.fixture(scope="module")
def tables(report):
    return lambda name: pd.read_csv(report / f"tables/{name}.csv")


@pytest.mark.slow
def test_peoples_overall_stands_against_the_judges_by_the_same_weights(inputs, tables):
    """Worked out with pandas and scipy from the files."""
    ratings = pd.read_csv(inputs / "ratings.csv")
    scores = pd.read_csv(inputs / "scores.csv")
    people = sum(
        w * ratings[ratings["dimension"] == q].groupby("method")["rating"].mean()
        for q, w in WEIGHTS.items()
    )
    judge = sum(
        w * scores[scores["metric"] == f"judge_{q}"].groupby("method")["score"].mean()
        for q, w in WEIGHTS.items()
    )
    means = tables("method_means").query("dimension == 'overall'")
    assert means.set_index("method")["mean"].to_dict() == pytest.approx(
        people.to_dict()
    )
    row = tables("verdicts").query(
        "question == 'overall' and metric == 'overall (metrics)' and level == 'method' "
        "and statistic == 'kendall'"
    )
    assert row["role"].item() == "composite"
    assert row["value"].item() == pytest.approx(kendalltau(people, judge).statistic)
    assert row["low"].item() < row["value"].item() <= row["high"].item()


@pytest.mark.slow
def test_composite_by_angle_has_separate_pairs(tables):
    """Six of nine stories; chance of acc_eq is that of its ties and people's there."""
    pairs = tables("verdicts").query("question == 'overall' and level == 'pairs'")
    half, ties = (
        pairs[pairs["statistic"] == statistic].set_index("metric")
        for statistic in ("ppa_half", "acc_eq")
    )
    assert ties["n"]["artist"] == 6 * 66
    assert ties["n"]["clip"] == 9 * 66
    assert half["chance"]["artist"] == 0.5
    assert half["verdict"]["artist"] == "above chance"
    assert 0 < ties["chance"]["artist"] < 1
    assert ties["reason"]["artist"] != "untested"
    # What is not compared has no place among the others; they have theirs.
    assert np.isnan(half["cluster"]["artist"])
    assert half["cluster"]["overall (metrics)"] == 1
    assert half["n_family"]["artist"] == 2
    assert half["n_family"]["clip"] == 4
    inside = tables("verdicts").query("question == 'overall' and level == 'story'")
    inside = inside.set_index("metric")
    assert (inside["n_groups"]["artist"], inside["n_groups"]["clip"]) == (6, 9)
    assert inside["cluster"]["clip"] >= 1
    assert np.isnan(inside["cluster"]["artist"])


def test_composite_of_unknown_metric_exits_without_output(inputs, tmp_path, capsys):
    path = tmp_path / "c.json"
    path.write_text('{"composites": {"x": {"over": "metrics", "weights": ["clup"]}}}')
    assert run(inputs, tmp_path / "out", "--composites", str(path)) == 2
    assert capsys.readouterr().err == (
        "c.json:1: x: clup: expected one of clip, judge_aesthetic, judge_consistency, "
        "judge_physicality (nearest: clip)\n"
    )
    assert not (tmp_path / "out").exists()
