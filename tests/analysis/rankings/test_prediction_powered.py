"""Prediction-powered estimates beside ppi-python and the authors of rank-sets."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2

import analysis
from analysis.inference.crossed_clusters import CrossedCovariance
from analysis.options import OptionError
from analysis.problems import InputError
from analysis.rankings.method_means import mean_ranks, mean_ratings
from analysis.rankings.prediction_powered import (
    chosen_study,
    pair_contrasts,
    rated_study,
)
from analysis.rankings.standings import method_gaps
from analysis.rankings.win_rates import method_win_rates

PARTS = ("stories", "annotators")
SEED = 11


@pytest.fixture(scope="module")
def dsg(shared):
    """Mean ratings of 160 stories x 5 methods, and 1 + 4 times dsg|pali17b."""
    ratings = pd.read_csv(shared / "data" / "dsg" / "ratings.csv")
    scores = pd.read_csv(shared / "data" / "dsg" / "scores.csv")
    scores = scores[scores["metric"] == "dsg|pali17b"]
    human = ratings.groupby(["story", "method"])["rating"].mean().unstack()
    metric = 1 + 4 * scores.pivot(index="story", columns="method", values="score")
    return ratings, human, metric.reindex(index=human.index, columns=human.columns)


def independent(human, metric):
    rows = human.stack().rename("rating").reset_index().assign(annotator="")
    rows.columns = ["story", "method", "rating", "annotator"]
    return rated_study(rows, metric, np.ones(len(metric)))


def test_means_are_those_of_ppi_python(dsg):
    """`ppi_mean_pointestimate(Y, F[:40], F[40:])` of ppi-python 0.2.3.

    Y are the first 40 stories in the order of their names; `_calc_lam_glm` of the same
    with the identity and `clip=True` is the weight. It belongs to the mean of the other
    stories, ours to that of all.
    """
    _, human, metric = dsg
    study = independent(human[:40], metric)
    found = study.estimates((), powered=np.eye(5)).value
    theirs = [
        3.715236937360679,
        3.611795666976791,
        3.8908796281803983,
        3.9626448756008927,
        3.4689081849163985,
    ]
    np.testing.assert_allclose(found, theirs, rtol=0, atol=1e-10)
    weight = study.weight(np.eye(5)) * 120 / 160
    assert weight == pytest.approx(0.4185985174246809, abs=1e-10)


def test_difference_is_that_of_ppi_python(dsg):
    """The same functions of the differences of the first two methods by story."""
    _, human, metric = dsg
    study = independent(human.iloc[:40, :2], metric.iloc[:, :2])
    pairs = pair_contrasts(2)
    found = pairs @ study.estimates((), powered=pairs).value
    assert found == pytest.approx([0.07758938], abs=5e-9)
    weight = study.weight(pairs) * 120 / 160
    assert weight == pytest.approx(0.1694906637657565, abs=1e-10)


def test_classical_means_are_todays(dsg):
    ratings, _, metric = dsg
    cells = ratings[["story", "method", "annotator", "rating"]]
    study = rated_study(cells, metric, np.full(len(metric), 2.5))
    found = study.estimates(PARTS, powered=None)
    today = mean_ratings(ratings, cells, parts=PARTS, confidence=0.95)
    low, high = found.errors.intervals(found.value, 0.95)
    for values, name in ((found.value, "value"), (low, "low"), (high, "high")):
        own = [getattr(row.mean, name) for row in today]
        np.testing.assert_allclose(values, own, rtol=1e-12)
    _, compared = mean_ranks(cells, parts=PARTS, confidence=0.95)
    gaps = method_gaps(found.value, found.covariance, 0.95)
    np.testing.assert_allclose(gaps.low, [row["low"] for row in compared], rtol=1e-9)


def battles(shared):
    """Return every tenth battle of the twelve models that fought most."""
    table = pd.read_csv(shared / "data" / "ppr" / "battles.csv")
    both = pd.concat([table["model_a"], table["model_b"]])
    most = both.value_counts().index[:12]
    kept = table["model_a"].isin(most) & table["model_b"].isin(most)
    return table[kept].reset_index(drop=True)


def as_choices(table):
    answer = {"model_a": "a", "model_b": "b"}
    turned = table["model_a"] > table["model_b"]
    choice = table["people"].map(lambda text: answer.get(text, "tie"))
    choice = choice.where(~turned, choice.replace({"a": "b", "b": "a"}))
    names = np.sort(table[["model_a", "model_b"]].to_numpy(str), axis=1)
    story = table["question_id"].map("{:05}".format)
    return pd.DataFrame(
        {
            "story": story,
            "method_a": names[:, 0],
            "method_b": names[:, 1],
            "annotator": story,
            "choice": choice,
        }
    )


def judged(table, judge):
    """Return the judge's answers as scores of outputs, story by story."""
    points = table[judge].map({"model_a": 1.0, "model_b": 0.0}).fillna(0.5)
    story = table["question_id"].map("{:05}".format)
    sides = zip(("model_a", "model_b"), (points, 1 - points), strict=True)
    rows = [
        pd.DataFrame({"story": story, "method": table[side], "score": score})
        for side, score in sides
    ]
    return pd.concat(rows).pivot(index="story", columns="method", values="score")


def test_rank_sets_are_those_of_their_authors(shared):
    """`find_ranksets(12, a, S, .05)` of prediction-powered-ranking at af64521.

    a and S are `sample_avg` of people's answers: shares of wins, ties being losses. Two
    models are apart where the squared difference exceeds the chi-square quantile with
    12 degrees of freedom times its variance.
    """
    table = battles(shared)[::10]
    models = sorted({*table["model_a"], *table["model_b"]})
    sides = [table[side].map(models.index) for side in ("model_a", "model_b")]
    wins = [(table["people"] == side).astype(float) for side in ("model_a", "model_b")]
    took = np.zeros((2, len(table), 12))
    rows = np.arange(len(table))
    for k in range(2):
        took[0, rows, sides[k]], took[1, rows, sides[k]] = 1, wins[k]
    value = took[1].sum(axis=0) / took[0].sum(axis=0)
    added = (took[1] - value * took[0]) / len(table)
    covariance = added.T @ added
    whole = CrossedCovariance(((covariance, 1e9),), (covariance, 1e9), 1)
    gaps = method_gaps(value, whole, 0.95)
    pairs = pair_contrasts(12)
    variance = ((pairs @ covariance) * pairs).sum(axis=1)
    scheffe = replace(gaps, p_adjusted=chi2.sf(gaps.value**2 / variance, 12))
    theirs = (
        "6-8 8-10 10-11 1-2 12-12 3-3 1-2 6-7 8-11 7-10 4-5 4-5".split()  # noqa: SIM905
    )
    low, high = scheffe.settled_ranks(0.95)
    found = [f"{a:.0f}-{b:.0f}" for a, b in zip(low, high, strict=True)]
    assert found == theirs
    # Holm's tests leave no more ranks open.
    holm = gaps.settled_ranks(0.95)
    assert (holm[0] >= low).all()
    assert (holm[1] <= high).all()


@pytest.mark.slow
def test_judge_saves_the_squared_correlation_within_pairs(shared):
    """The squared correlation of gpt4 with people within pairs of models is .092."""
    table = battles(shared)
    every = as_choices(table)
    whole = {row["method"]: row["rate"] for row in method_win_rates(every, parts=())}
    scores = judged(table, "gpt4")
    errors = np.zeros(2)
    for start in range(10):
        study = chosen_study(every[start::10], scores, np.ones(len(scores)))
        truth = np.array([whole[name] for name in study.methods])
        for k, powered in enumerate((None, np.eye(12))):
            found = study.estimates((), powered=powered).value
            errors[k] += ((found - truth) ** 2).sum()
    assert 1 - errors[1] / errors[0] == pytest.approx(0.092, abs=0.08)


def test_classical_win_rates_are_todays(shared):
    choices = as_choices(battles(shared)[::10])
    scores = judged(battles(shared), "gpt4")
    study = chosen_study(choices, scores, np.ones(len(scores)))
    found = study.estimates(("stories",), powered=None)
    today = method_win_rates(choices, parts=("stories",))
    by_name = dict(zip(study.methods, found.value, strict=True))
    assert by_name == pytest.approx({row["method"]: row["rate"] for row in today})


@given(
    st.integers(0, 10_000),
    st.floats(-50, 50),
    st.floats(0.1, 40),
)
def test_scale_of_the_metric_changes_nothing(seed, shift, factor):
    rng = np.random.default_rng(seed)
    metric = rng.normal(size=(30, 3))
    human = pd.DataFrame(np.round(metric[:12] + rng.normal(size=(12, 3))))
    weight = 1 / rng.uniform(0.2, 1, 30)
    rows = human.stack().rename("rating").reset_index().assign(annotator="")
    rows.columns = ["story", "method", "rating", "annotator"]
    one, other = (
        rated_study(rows, pd.DataFrame(scores), weight).estimates(
            ("stories",), powered=np.eye(3)
        )
        for scores in (metric, shift + factor * metric)
    )
    np.testing.assert_allclose(one.value, other.value, atol=1e-9)
    np.testing.assert_allclose(one.errors.variance, other.errors.variance, atol=1e-9)


def test_weights_undo_how_stories_were_drawn():
    """With a metric that equals people, estimates are the means over all stories."""
    rng = np.random.default_rng(SEED)
    metric = rng.normal(size=(400, 2))
    chance = np.where(metric[:, 0] > 0, 0.6, 0.1)
    human = np.where(rng.random((400, 1)) < chance[:, None], metric, np.nan)
    rows = analysis.prediction_powered(human, metric, chance)
    means = rows[rows["statistic"] == "mean"]
    np.testing.assert_allclose(means["value"], metric.mean(axis=0), atol=0.05)
    assert (abs(means["classical"] - metric.mean(axis=0)) < 0.25).all()
    assert abs(np.nanmean(human[:, 0]) - metric[:, 0].mean()) > 0.3
    assert (means["saved"] > 0.6).all()


def test_function_refuses_what_says_nothing():
    metric = np.arange(24.0).reshape(12, 2)
    human = np.where(np.arange(12)[:, None] < 6, metric, np.nan)
    for bad in (0, -0.5, 1.2, np.nan, [0.5] * 11 + [0]):
        with pytest.raises(InputError, match="above 0, at most 1"):
            analysis.prediction_powered(human, metric, bad)
    for known in (metric, human[:4]):
        with pytest.raises(OptionError, match="5 judged stories or more, and others"):
            analysis.prediction_powered(known, metric[: len(known)], 0.5)
