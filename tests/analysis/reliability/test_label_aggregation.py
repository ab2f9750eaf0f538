"""Dawid and Skene's model, against their paper, crowd-kit and its own refits."""

import numpy as np
import pandas as pd
import pytest

from analysis.reliability.label_aggregation import (
    LabelAnswers,
    dawid_skene,
    share_influence,
)
from analysis.reliability.label_shares import aggregation_rows

# Dawid and Skene (1979), table 1: 45 patients, three answers of the first
# anaesthetist, then one of each of four others.
PATIENTS = """
1111111 3334334 1122122 2223121 2223222 2223322 1222111 3333433 2222223 2322223
4444444 2223343 1111111 2223212 1211111 1112111 1111111 1111111 2222221 2221322
2222222 2222221 2223222 2212222 1111111 1111111 2322222 1111111 1111111 1121121
1111111 3333233 1111111 2222222 2223232 4334343 2212232 2323233 3333432 1111111
1111111 1212111 2322222 1211111 2222222
"""


def test_estimates_are_those_of_the_paper():
    """Tables 2 and 4, to two decimals."""
    labels = np.array([[int(x) for x in own] for own in PATIENTS.split()])
    item, column = np.indices(labels.shape).reshape(2, -1)
    person = np.maximum(column - 2, 0)
    found = dawid_skene(LabelAnswers(item, person, labels.ravel() - 1, 4))
    np.testing.assert_allclose(found.share, [0.40, 0.42, 0.11, 0.07], atol=0.005)
    right = found.errors[[0, 2]].diagonal(axis1=1, axis2=2).ravel()
    np.testing.assert_allclose(
        right, [0.89, 0.88, 0.66, 0.44, 1, 0.79, 0.20, 0.33], atol=0.006
    )


def binary(n_items=150, rates=(0.9, 0.8, 0.7, 0.95), share=0.35, seed=0):
    """Return answers of 0 and 1 to each item, by annotators of some accuracy."""
    rng = np.random.default_rng(seed)
    true = rng.random(n_items) < share
    right = rng.random((n_items, len(rates))) < rates
    return np.where(right, true[:, None], ~true[:, None]).astype(int)


def answers_of(table):
    item, person = np.indices(table.shape).reshape(2, -1)
    return LabelAnswers(item, person, table.ravel(), table.max() + 1)


def three_labels(n_items=300, seed=1):
    """Return answers of 0, 1 and 2 that are right in 60 to 90 %."""
    rng = np.random.default_rng(seed)
    true = rng.choice(3, (n_items, 1), p=[0.5, 0.3, 0.2])
    wrong = (true + rng.integers(1, 3, (n_items, 4))) % 3
    return np.where(rng.random((n_items, 4)) < [0.9, 0.8, 0.7, 0.6], true, wrong)


@pytest.mark.parametrize("table", [binary(), three_labels()], ids=["two", "three"])
def test_influence_is_the_change_of_the_shares_by_an_item_more(table):
    found = dawid_skene(answers_of(table))
    adds = share_influence(answers_of(table), found)
    np.testing.assert_allclose(adds.sum(axis=(0, 1)), 0, atol=1e-5)
    # An item more changes little, where all others are there five times.
    more = (np.vstack([*[table] * 5, table[[i]]]) for i in range(10))
    again = [dawid_skene(answers_of(one)).share - found.share for one in more]
    np.testing.assert_allclose(np.array(again) * 5, adds[:10], rtol=0.06, atol=1e-5)


def ratings(table, question="q", per_story=3):
    """Return a table of ratings: some items a story, named as methods."""
    return pd.DataFrame(
        [
            (question, f"s{i // per_story}", f"m{i % per_story}", f"a{j}", value)
            for (i, j), value in np.ndenumerate(table)
        ],
        columns=["dimension", "story", "method", "annotator", "rating"],
    )


def test_unequal_annotators_are_weighed():
    """Two who say yes to anything in a third of items outvote a careful one."""
    table = binary(150, (0.98, 0.97, 0.55, 0.52, 0.54), seed=3)
    row, *people = aggregation_rows(ratings(table), 0.95)
    votes = table.mean(axis=1) > 0.5
    assert row["majority"] == pytest.approx(votes.mean())
    found = dawid_skene(answers_of(table))
    assert row["n_differ"] == (votes != (found.chance[:, 1] > 0.5)).sum() > 0
    assert row["dawid_skene_low"] < row["dawid_skene"] < row["dawid_skene_high"]
    assert row["dawid_skene_low"] < 0.35 < row["dawid_skene_high"]
    rates = [(one["sensitivity"] + one["specificity"]) / 2 for one in people]
    np.testing.assert_allclose(rates, [0.98, 0.97, 0.55, 0.52, 0.54], atol=0.08)


@pytest.mark.parametrize(
    ("table", "reason"),
    [
        (binary()[:, :1], "fewer than 3 annotators"),
        (np.tile([0, 1], (30, 1)), "fewer than 3 annotators"),
        (np.tile([[0, 1, 0], [1, 0, 1]], (15, 1)), ""),
        (np.tile([0, 1, 1], (30, 1)), "the answers do not determine"),
    ],
)
def test_degenerate_answers_have_a_reason(table, reason):
    row, *_people = aggregation_rows(ratings(table), 0.95)
    assert row["reason"].startswith(reason)
    assert ("dawid_skene" in row) == (not reason)


def test_scales_of_many_steps_are_left_out():
    both = [ratings(binary() * 4, "scale"), ratings(binary() * 0, "none")]
    assert aggregation_rows(pd.concat(both), 0.95) == []


def test_scales_of_three_steps_are_refused():
    (row,) = aggregation_rows(ratings(three_labels()), 0.95)
    assert row["reason"].startswith("its answers are steps of a scale, not labels")
    assert not {"majority", "dawid_skene"} & set(row)


def test_boxes_that_nobody_ticks_have_a_reason():
    boxes = [ratings(binary() * 0, "pan|text"), ratings(binary(), "pan|video")]
    text, video, *_people = aggregation_rows(pd.concat(boxes), 0.95)
    assert (text["majority"], text["reason"]) == (0, "all answers are the same")
    assert video["reason"] == ""


def crowd_kit(votes):
    """Return crowd-kit's estimates."""
    from crowdkit.aggregation import DawidSkene

    columns = {"annotator": "worker", "rating": "label"}
    return DawidSkene(n_iter=1000, tol=1e-12).fit(votes.rename(columns=columns))


OLD_PANDAS = pytest.mark.filterwarnings(
    "ignore::DeprecationWarning", "ignore:.*deprecated"
)


@pytest.mark.slow
@OLD_PANDAS
@pytest.mark.parametrize("task", ["Text-To-Image", "Multi-Subject_IG"])
def test_shares_of_three_labels_are_those_of_crowd_kit(shared, task):
    """ImagenHub: 0, .5 or 1 from 3 raters, where crowd-kit runs until it converges.

    In other tasks it stops after a few steps, at a likelihood below the one found here.
    """
    rows = pd.read_csv(shared / "data" / "imagenhub" / "ratings.csv")
    own = rows[(rows["task"] == task) & (rows["dimension"] == "SC")]
    own = own.assign(task=own["story"] + "|" + own["method"])
    coded = [pd.factorize(own[name], sort=True) for name in ("task", "annotator")]
    (item, _), (person, people) = coded
    label = (own["rating"].to_numpy() * 2).astype(int)
    found = dawid_skene(LabelAnswers(item, person, label, 3))
    there, labels = crowd_kit(own), [0.0, 0.5, 1.0]
    np.testing.assert_allclose(found.share, there.priors_.loc[labels], atol=5e-4)
    errors = there.errors_.xs("rater1", level="worker")
    right = [errors.loc[label, label] for label in labels]
    own_errors = found.errors[list(people).index("rater1")].diagonal()
    np.testing.assert_allclose(own_errors, right, atol=2e-3)


@pytest.mark.slow
@OLD_PANDAS
def test_shares_of_creativity_tests_are_those_of_crowd_kit(shared):
    """TTCW: 48 stories, 14 yes/no tests, 3 of 11 experts each; to three decimals."""
    rows = pd.read_csv(shared / "data" / "ttcw" / "ratings.csv").assign(method="m")
    found = {row["question"]: row for row in aggregation_rows(rows, None)}
    for name in ("Narrative Ending", "Narrative Pacing", "World Building and Setting"):
        there = crowd_kit(rows[rows["dimension"] == name].assign(task=rows["story"]))
        expected = pytest.approx(there.priors_[1], abs=5e-4)
        assert found[name]["dawid_skene"] == expected
