"""Intervals of larger studies, predicted from a pilot."""

import numpy as np
import pandas as pd
import pytest

from analysis.options import AlignOptions, OptionError
from analysis.planning import metric_forecasts
from analysis.planning import pilots as pilot_module
from analysis.planning.pilots import Point, needed
from analysis.planning.power import power_analysis
from analysis.planning.variance_components import StudySize
from analysis.statistics import COLUMNS

# Standard deviations of the study behind the pilots: what methods, stories and cells
# share with the metric, and the noise of annotators.
METHODS, STORIES, CELLS, RATING = 0.6, 0.6, 0.6, 0.8


def pair(rng, shape, sd, r):
    """People and metric, correlated."""
    one, two = rng.normal(size=(2, *shape))
    return sd * one, sd * (r * one + np.sqrt(1 - r * r) * two)


def values(S, M, A, seed):
    """Ratings 0 to 4, shape (S, M, A), and a metric in steps of a half."""
    rng = np.random.default_rng(seed)
    parts = [
        pair(rng, shape, sd, r)
        for shape, sd, r in (
            ((1, M), METHODS, 0.7),
            ((S, 1), STORIES, 0.5),
            ((S, M), CELLS, 0.5),
        )
    ]
    human, metric = (sum(part[i] for part in parts) for i in (0, 1))
    noise = RATING * rng.normal(size=(S, M, A)) + 0.3 * rng.normal(size=(S, 1, A))
    ratings = np.clip(np.round(2 + human[..., None] + noise), 0, 4)
    return ratings, np.round(2 * metric) / 2


def frames(S, M, A, seed=0):
    ratings, metric = values(S, M, A, seed)
    rows = pd.DataFrame(
        [
            {
                "story": f"s{s:03d}",
                "method": f"m{m:02d}",
                "annotator": f"a{a}",
                "dimension": "d",
                "rating": value,
            }
            for (s, m, a), value in np.ndenumerate(ratings)
        ]
    )
    scores = pd.DataFrame(
        [
            {"story": f"s{s:03d}", "method": f"m{m:02d}", "metric": "k", "score": value}
            for (s, m), value in np.ndenumerate(metric)
        ]
    )
    return rows, scores


def analysis(rows, scores=None, target=0.05, **options):
    options = {"resamples": 60, "coefficients": ("kendall",), **options}
    found = power_analysis(
        ratings=rows, scores=scores, options=AlignOptions(**options), target=target
    )
    assert all(set(row) == set(COLUMNS["power"]) for row in found["power"])
    assert all(set(row) == set(COLUMNS["needed"]) for row in found["needed"])
    return pd.DataFrame(found["power"]), pd.DataFrame(found["needed"])


@pytest.fixture(scope="module", autouse=True)
def few_studies():
    """Simulate fewer studies than `power` does; means over pilots even them out."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(metric_forecasts, "TIMES", 30)
        patch.setattr(metric_forecasts, "OF_MEANS", 120)
        yield


@pytest.fixture(scope="module")
def pilots(few_studies):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pilot_module, "MULTIPLES", (1.0, 4.0))
        return [analysis(*frames(20, 10, 3, seed))[0] for seed in range(8)]


def foretold(pilots, level, grows, n, statistic="kendall", column="half_width"):
    size = {"stories": "n_stories", "methods": "n_methods"}[grows]
    halves = []
    for power in pilots:
        rows = power[
            (power["level"] == level)
            & (power["grows"] == grows)
            & (power[size] == n)
            & (power["statistic"] == statistic)
        ]
        halves.append(float(rows[column].iloc[0]))
    return float(np.mean(halves))


@pytest.mark.slow
def test_half_widths_shrink_as_the_study_grows():
    power, _ = analysis(*frames(20, 8, 3))
    for grows, column in (("stories", "n_stories"), ("methods", "n_methods")):
        for level in ("story", "pooled"):
            rows = power[
                (power["level"] == level)
                & (power["grows"] == grows)
                & (power["statistic"] == "kendall")
            ]
            assert rows[column].is_monotonic_increasing
            halves = rows["half_width"].to_numpy()
            assert halves[0] > halves[-1]
            assert (
                (rows["low"] <= rows["value"]) & (rows["value"] <= rows["high"])
            ).all()


def test_power_names_unknown_metrics_and_bad_options():
    rows, scores = frames(6, 4, 2)
    other = scores.assign(metric="other", story="nowhere")
    power, _ = analysis(rows, pd.concat([scores, other]))
    reasons = power.loc[power["metric"] == "other", "reason"]
    assert (reasons == "no rated output has a score of this metric").all()
    with pytest.raises(OptionError, match="--resamples"):
        analysis(rows, resamples=0)
    with pytest.raises(OptionError, match="--target"):
        analysis(rows, target=0.0)


def test_needed_numbers_follow_the_law():
    size = StudySize(3, 1, 5, 3, 3)

    def points(floor, slope):
        sizes = (10, 20, 40, 80)
        return [
            Point(
                StudySize(3, n, 5, 3, 3),
                0,
                0,
                0,
                float(np.sqrt(floor**2 + slope**2 / n)),
                9,
            )
            for n in sizes
        ]

    assert needed(points(0, 1), "stories", 0.05) == (400, "")
    value, reason = needed(points(0.06, 1), "stories", 0.05)
    assert np.isnan(value)
    assert "0.060 remain" in reason
    assert "as good as never" in needed(points(0, 100), "stories", 0.05)[1]
    assert size.methods == 5
