"""Composites as answers and as scores: values of outputs, and what has none."""

import numpy as np
import pandas as pd
import pytest

from analysis.rankings.composite_values import composite_answers, composite_scores
from analysis.rankings.composite_weights import Composite, by_name, equally
from analysis.reading.kept_answers import KeptAnswers
from analysis.reading.rankings import ordered_choices
from analysis.reading.scores import score_table
from analysis.sentences import Notes

TAGS = pd.DataFrame({"story": list("abcd"), "angle": ["SF", "SF", "MA", "TR"]})


def scores(rows, **lower):
    columns = ["story", "method", "metric", "score"]
    frame = pd.DataFrame(rows, columns=columns)
    better = [not lower.get(metric, False) for metric in frame["metric"]]
    return score_table(frame.assign(higher_is_better=better))


def values(frame, name, value):
    own = frame[frame[name[0]] == name[1]]
    return dict(zip(zip(own["story"], own["method"], strict=True), own[value]))  # noqa: B905


def made(table, *composites, tags=TAGS):
    notes = Notes()
    found = composite_scores(table, by_name(composites), tags, notes)
    return found, notes.sentences()


def test_composite_of_metrics_is_their_weighted_mean_turned_where_less_is_better():
    table = scores(
        [("a", "x", "csd", 3.0), ("a", "x", "fid", 10.0), ("a", "y", "csd", 1.0)],
        fid=True,
    )
    found, notes = made(table, Composite("both", {"csd": 3, "fid": 1}))
    assert values(found.cells, ("metric", "both"), "score") == {
        ("a", "x"): pytest.approx((3 * 3 - 10) / 4)
    }
    assert found.higher_is_better["both"] is True
    assert notes == (
        "both: 1 of 2 outputs lack some of its parts, and have no composite.",
    )


def test_mean_of_a_method_is_the_weighted_mean_of_the_means_of_its_parts():
    """One metric stands for two angles, whose numbers of stories differ."""
    rng = np.random.default_rng(1)
    rows = [
        (story, method, metric, rng.normal())
        for story in "abcd"
        for method in "xyz"
        for metric in ("hwpq", "csd")
    ]
    table = scores(rows)
    artist = Composite("artist", {"hwpq@SF": 3, "hwpq@angle=MA": 2})
    found, notes = made(table, artist)
    cells = table.cells[table.cells["metric"] == "hwpq"]
    by_angle = cells.merge(TAGS).groupby(["method", "angle"])["score"].mean().unstack()
    own = found.cells[found.cells["metric"] == "artist"]
    assert sorted(own["story"].unique()) == ["a", "b", "c"]
    assert own.groupby("method")["score"].mean().to_dict() == pytest.approx(
        (0.6 * by_angle["SF"] + 0.4 * by_angle["MA"]).to_dict()
    )
    assert notes == ()


def rated(rows):
    columns = ["story", "method", "dimension", "annotator", "round", "rating"]
    ratings = pd.DataFrame(rows, columns=columns)
    notes = Notes()
    known = by_name([Composite("all", {"look": 3, "plot": 1}, "questions")])
    found = composite_answers(KeptAnswers(ratings, None), known, None, notes)
    return found.ratings[found.ratings["dimension"] == "all"], notes.sentences()


def test_people_rate_a_composite_by_their_ratings_of_its_parts():
    rows = [
        ("a", "x", "look", "Ann", "1", 4),
        ("a", "x", "look", "Ann", "2", 2),
        ("a", "x", "plot", "Ann", "1", 1),
        ("a", "x", "look", "Bob", "1", 0),
        ("a", "x", "plot", "Bob", "1", 2),
        ("a", "y", "look", "Ann", "1", 5),
    ]
    found, notes = rated(rows)
    assert dict(zip(found["annotator"], found["rating"], strict=True)) == {
        "Ann": (3 * 3 + 1) / 4,
        "Bob": 0.5,
    }
    assert notes == (
        "all: 1 of 2 outputs lack some of its parts, and have no composite.",
    )


def choices(rows):
    columns = ["story", "method_a", "method_b", "criterion", "annotator", "choice"]
    return ordered_choices(pd.DataFrame(rows, columns=columns))


def chosen(rows, *composites, tags=None):
    notes = Notes()
    people = KeptAnswers(None, choices(rows))
    found = composite_answers(people, by_name(composites), tags, notes).choices
    assert found is not None
    return found[found["criterion"] == composites[0].name], notes.sentences()


def test_annotator_chooses_what_the_weighted_sum_of_choices_is_for():
    votes = {"Ann": ("a", "b", "b"), "Bob": ("a", "b", "tie"), "Eve": ("a", "tie", "b")}
    rows = [
        ("a", "x", "y", criterion, who, choice)
        for who, given in votes.items()
        for criterion, choice in zip("pqr", given, strict=True)
    ]
    weights = Composite("all", {"p": 0.3, "q": 0.2, "r": 0.1}, "questions")
    found, _ = chosen([*rows, ("b", "x", "y", "p", "Ann", "a")], weights)
    answers = dict(zip(found["annotator"], found["choice"], strict=True))
    # .3 - .2 - .1 is 0 up to rounding.
    assert answers == {"Ann": "tie", "Bob": "a", "Eve": "a"}
    assert set(found["story"]) == {"a"}


def test_composite_names_questions_that_nobody_was_asked():
    rows = [("a", "x", "y", "p", "Ann", "a")]
    _, notes = chosen(rows, equally("all", "pz", over="questions"))
    assert notes == ("all: no composite, since nobody was asked z.",)
