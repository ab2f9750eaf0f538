"""The table of methods by question, metric and group of stories, by hand."""

import pandas as pd
import pytest

import analysis
from analysis.report.tables import as_csv, as_latex

# Ratings of one annotator, and scores, of two stories by two methods.
CELLS = pd.DataFrame(
    {
        "story": ["s1", "s1", "s2", "s2", "s1", "s1", "s2", "s2"],
        "method": ["A", "B"] * 4,
        "annotator": ["Ann"] * 4 + ["Bob"] * 4,
        "dimension": "look",
        "rating": [4, 1, 2, 1, 4, 2, 3, 1],
    }
)
SCORES = pd.DataFrame(
    {
        "story": ["s1", "s1", "s2", "s2", "s3"],
        "method": ["A", "B", "A", "B", "A"],
        "metric": "look",
        "score": [0.5, 0.2, 0.7, 0.4, 0.9],
    }
)
TAGS = pd.DataFrame({"story": ["s1", "s2", "s3"], "genre": ["fable", "news", "news"]})


def rows_of(report) -> dict[tuple[str, str], dict[str, float]]:
    rows = report["by_method"].to_dict("records")
    return {(row.get("stratum", ""), row["method"]): row for row in rows}


def test_methods_have_means_of_ratings_and_of_scores_of_the_same_stories():
    report = analysis.align(ratings=CELLS, scores=SCORES, resamples=0)
    rows = rows_of(report)
    assert rows["", "A"]["look"] == pytest.approx((4 + 2 + 4 + 3) / 4)
    assert rows["", "B"]["look"] == pytest.approx((1 + 1 + 2 + 1) / 4)
    # Nobody rated s3.
    assert rows["", "A"]["look (metric)"] == pytest.approx(0.6)
    assert rows["", "B"]["look (metric)"] == pytest.approx(0.3)
    assert "tag" not in report["by_method"]


def test_groups_of_stories_follow_with_their_own_means():
    report = analysis.align(ratings=CELLS, scores=SCORES, stories=TAGS, resamples=0)
    rows = rows_of(report)
    assert [*rows] == [(s, m) for s in ("", "fable", "news") for m in "AB"]
    assert rows["news", "A"]["look"] == pytest.approx(2.5)
    assert rows["news", "A"]["look (metric)"] == pytest.approx(0.7)
    assert rows["fable", "B"]["look (metric)"] == pytest.approx(0.2)


def test_latex_joins_a_value_and_its_interval():
    report = analysis.align(ratings=CELLS, scores=SCORES, resamples=50)
    row = rows_of(report)["", "A"]
    low, high = row["look low"], row["look high"]
    assert f"3.250 {{[}}{low:.3f}, {high:.3f}]" in as_latex(report["by_method"])


def test_scores_of_whole_methods_have_no_interval():
    scores = pd.DataFrame({"story": "", "method": ["A", "B"], "metric": "fid"})
    scores = scores.assign(score=[12.0, 15.0])
    ratings = CELLS.assign(story="").drop_duplicates(["method", "annotator"])
    report = analysis.align(ratings=ratings, scores=scores, lower_is_better="fid")
    row = rows_of(report)["", "A"]
    assert row["fid"] == 12
    assert pd.isna(row["fid low"])


def test_names_of_questions_do_not_meet_keys_or_ends_of_intervals():
    parts = [CELLS.assign(dimension=name) for name in ("look", "look low", "method")]
    report = analysis.align(ratings=pd.concat(parts), resamples=0)
    row = rows_of(report)["", "A"]
    assert row["look low (value)"] == row["method (value)"] == row["look"] == 3.25


def test_csv_has_no_formula_in_its_head():
    report = analysis.align(ratings=CELLS.assign(dimension="=1+1"), resamples=0)
    head = as_csv(report["by_method"]).splitlines()[0]
    assert head == "method,'=1+1,'=1+1 low,'=1+1 high"
