"""Typing errors among ratings, and what is none."""

import numpy as np
import pandas as pd
import pytest

from analysis.__main__ import main
from analysis.reading.inputs import read_ratings
from analysis.reading.kept_answers import isolated, isolated_ratings

FIVE = [1, 2, 3, 4, 5]


def found(values):
    values = np.array(values, float)
    return values[isolated(values)].tolist()


@pytest.mark.parametrize(
    ("values", "alone"),
    [
        ([*FIVE * 20, 33, 41], [33, 41]),
        ([*FIVE * 20, 55, -33], [55, -33]),
        ([*FIVE * 20, 12], [12]),  # farther than wide, and on no scale with 1 to 5
        ([*FIVE * 20, 0, 10], []),  # a scale of 0 to 10 holds them
        ([*FIVE * 20, 11, 12, 13], []),  # three of 103 are not rare
        ([*FIVE * 200, 33, 41, 22, 44, 55], [33, 41, 22, 44, 55]),
        ([*FIVE * 200, *[33] * 6], []),  # six of 1,006 are more than one in 200
        ([*[5] * 38, 33], []),  # fewer than 40
        ([*[5] * 39, 33], [33]),
        ([*FIVE * 200, 8, 12], []),  # 8 is near 1 to 5, and 12 near 1 to 8
        ([*FIVE * 8, 33], []),  # eight fives are fewer than ten times one
        ([*FIVE * 10, 33], [33]),
        ([*[x + 0.5 for x in FIVE * 20], 33], []),  # no whole numbers
        ([*range(60, 91)] * 20 + [0, 100], []),  # a slider
        ([*[0, 1, 2, 3, 4, 5, 6, 9, 14, 29] * 1, *[0, 1, 2] * 400], []),  # counts
        ([0] * 999 + [1], []),
        ([5] * 999 + [1], []),
        ([*FIVE * 20, *FIVE * 20], []),
        ([*range(-100, 101)] * 9 + [850], []),  # the end has nine
        ([*range(0, 101, 10)] * 20 + [850], [850]),
    ],
)
def test_isolated_values_are_found(values, alone):
    assert found(values) == alone


def slider(seed):
    """Ratings of 0 to 100 about 60, a few of them at the ends and in the middle."""
    rng = np.random.default_rng(seed)
    n = int(rng.choice([50, 200, 1000]))
    values = np.clip(np.round(rng.normal(rng.uniform(15, 95), 10, n)), 0, 100)
    rare = rng.random(n) < 0.003
    return np.where(rare, rng.choice([0, 50, 100], n), values)


def written(path, ratings):
    pd.DataFrame(ratings).to_csv(path, index=False)
    return path


@pytest.mark.shared
def test_two_typing_errors_in_a_study_are_named(tmp_path, shared, capsys):
    ratings = pd.read_csv(shared / "data/dsg/ratings.csv")
    ratings.loc[[100, 200, 300], "rating"] = [41, 33, 41]
    path = written(tmp_path / "typed.csv", ratings)
    given = ["agreement", "--ratings", str(path), "--resamples", "0"]
    given += ["--images", "none", "--out", str(tmp_path / "out")]
    assert main(given) == 0
    remark = (
        "alignment: 3 of 3,995 ratings lie far from all others, which go from 1 to 5: "
        "33 (typed.csv:202), 41 (typed.csv:102, 2 times). They are used as they are; "
        "if they are typing errors, --scale 1:5 refuses them."
    )
    assert capsys.readouterr().err.splitlines() == [remark]
    assert remark in (tmp_path / "out/report.html").read_text()
    assert main([*given, "--scale", "1:5"]) == 2
    assert "typed.csv:202: rating: 33: expected" in capsys.readouterr().err


@pytest.mark.shared
@pytest.mark.parametrize("name", ["dsg", "tifa"])
def test_study_as_it_is_has_no_remark(shared, name):
    ratings = read_ratings(shared / f"data/{name}/ratings.csv")
    assert list(isolated_ratings(ratings)) == []
