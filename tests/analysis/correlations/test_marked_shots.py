"""Marks of shots, held against people and metrics; values are worked out by hand."""

import pandas as pd
import pytest

from analysis.correlations.marked_shots import blame_rows, share_rows
from analysis.notebook.functions import align
from analysis.problems import InputError

SAMPLING = {"resamples": 200, "confidence": 0.95, "seed": 0}
# Who marked which shot of story and method; three shots, two people.
MARKED = {
    ("a", "UNO", "Ann"): [1, 0, 0],
    ("a", "UNO", "Bob"): [1, 1, 0],
    ("a", "Wan", "Ann"): [0, 0, 0],
    ("a", "Wan", "Bob"): [0, 0, 0],
    ("b", "UNO", "Ann"): [0, 0, 1],
    ("b", "UNO", "Bob"): [0, 0, 1],
}
# Scores of the same shots. In a, UNO the order is the people's; in b, UNO shots 1 and 2
# tie for people, and 3 is the best for the metric instead of the worst.
CIDS = {("a", "UNO"): [1, 2, 3], ("a", "Wan"): [1, 2, 3], ("b", "UNO"): [1, 2, 3]}


def marks(marked=MARKED):
    return pd.DataFrame(
        [
            (story, method, shot, "where", who, value)
            for (story, method, who), values in marked.items()
            for shot, value in enumerate(values, start=1)
        ],
        columns=["story", "method", "shot", "dimension", "annotator", "rating"],
    )


def scores(given=CIDS, metric="cids"):
    return pd.DataFrame(
        [
            (story, method, shot, metric, value)
            for (story, method), values in given.items()
            for shot, value in enumerate(values, start=1)
        ],
        columns=["story", "method", "shot", "metric", "score"],
    )


def texts(frame):
    return frame.assign(shot=frame["shot"].astype(str))


def blame(marked, scored):
    return list(blame_rows(texts(marked), texts(scored), SAMPLING))


def test_share_is_a_mean_over_people_and_shots():
    uno, wan = share_rows(texts(marks()), SAMPLING)
    assert (uno["method"], uno["n"]) == ("UNO", 12)
    assert uno["value"] == pytest.approx(5 / 12)
    assert (uno["n_shots"], uno["n_stories"], uno["n_annotators"]) == (6, 2, 2)
    assert (wan["value"], wan["n_stories"]) == (0, 1)
    assert "single story" in wan["reason"]


def test_blame_is_the_mean_of_tau_b_inside_outputs():
    """In a, UNO tau-b is 1; in b, UNO it is -2 / sqrt(3 * 2); a, Wan has no marks."""
    (row,) = blame(marks(), scores())
    assert row["value"] == pytest.approx((1 - 2 / 6**0.5) / 2)
    assert (row["n"], row["n_outputs"], row["n_left_out"]) == (6, 2, 1)
    assert row["n_stories"] == 2


def test_blame_turns_metrics_of_which_less_is_better():
    lower = scores().assign(higher_is_better=False)
    (row,) = blame(marks(), lower)
    assert row["value"] == pytest.approx(-(1 - 2 / 6**0.5) / 2)


def test_blame_uses_scores_of_shots_alone():
    whole = scores().assign(metric="fid", shot="")
    assert blame(marks(), whole) == []
    assert blame(marks(), whole.drop(columns="shot").assign(shot="")) == []


def test_blame_without_differences_says_why():
    same = {key: [1, 1, 1] for key in CIDS}
    (row,) = blame(marks(), scores(same))
    assert row["value"] != row["value"]
    assert "in no output do both sides" in row["reason"]


def test_interval_over_stories_finds_a_metric_that_agrees():
    """Twelve stories in which people and metric agree in all but one pair of shots."""
    marked = {
        (f"s{n}", "UNO", who): [1, 0, 0, who == "Bob"]
        for n in range(12)
        for who in ("Ann", "Bob")
    }
    given = {(f"s{n}", "UNO"): [1, 3 + n % 2, 4, 2] for n in range(12)}
    (row,) = blame(marks(marked), scores(given))
    assert 0 < row["low"] < row["value"] < row["high"] <= 1
    assert row["p_adjusted"] == row["p_value"] < 0.05


def test_report_joins_marks_with_ratings_and_scores():
    cells = [(s, m, 2.0 + (m == "UNO")) for s in "ab" for m in ("UNO", "Wan")]
    ratings = pd.DataFrame(cells, columns=["story", "method", "rating"])
    ratings = ratings.assign(dimension="beauty", annotator="Ann")
    report = align(ratings=ratings, scores=scores(), marked_shots=marks(), resamples=50)
    assert set(report["agreement"]["question"]) == {"beauty", "where"}
    alpha = report["agreement"].set_index(["question", "statistic"]).loc["where"]
    assert alpha.loc["alpha_nominal", "n_units"] == 9
    # 9 shots by 2 people: 17 of 18 values agree but for one shot; by hand,
    # alpha = 1 - (1 / 9) / (2 * 5 * 13 / (18 * 17)).
    expected = 1 - (2 / 18) / (2 * 5 * 13 / (18 * 17))
    assert alpha.loc["alpha_nominal", "value"] == pytest.approx(expected)
    (row,) = report["shot_agreement"].to_dict("records")
    assert row["value"] == pytest.approx((1 - 2 / 6**0.5) / 2)
    assert list(report["marked_shots"]["method"]) == ["UNO", "Wan"]
    # Marks are no ratings: no leaderboard and no verdict names them.
    assert set(report["correlations"]["dimension"]) == {"beauty"}
    assert set(report["verdicts"]["question"]) == {"beauty"}


def test_marks_of_other_values_or_without_a_shot_are_refused():
    ratings = scores().drop(columns=["metric", "score", "shot"]).drop_duplicates()
    ratings = ratings.assign(dimension="beauty", annotator="Ann", rating=1)
    for wrong in (marks().assign(rating=2), marks().drop(columns="shot")):
        with pytest.raises(InputError):
            align(ratings=ratings, marked_shots=wrong)
