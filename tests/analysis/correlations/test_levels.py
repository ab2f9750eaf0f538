"""Correlation at the three levels, with cluster intervals."""

import json

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from analysis.correlations import levels
from analysis.correlations.coefficient_variance import coefficient_variances
from analysis.correlations.level_estimates import level_estimates, level_spread
from analysis.correlations.levels import level_values
from analysis.inference.resampling import Draws, cluster_counts, interval
from analysis.options import COEFFICIENTS
from analysis.reading.cells import annotator_cells, common_grid
from analysis.reading.kept_rows import kept_rows
from analysis.reading.scores import score_table

KEYS = ("dimension", "story", "method", "annotator")
ALL = (*COEFFICIENTS, "kendall_c")
CROSSED = ("stories", "methods")
LEVELS = ("method", "story", "within_method", "pooled")


def load(folder):
    ratings = pd.read_csv(folder / "ratings.csv")
    cells = annotator_cells(kept_rows(ratings, KEYS))
    table = score_table(pd.read_csv(folder / "scores.csv"))
    return common_grid(cells["dimension"][0], cells, table)[0]


def small(holes=(), seed=0, n_stories=6, n_methods=4, raters=3):
    rng = np.random.default_rng(seed)
    keys = [
        (f"s{s}", f"m{m}", f"r{a}")
        for s in range(n_stories)
        for m in range(n_methods)
        for a in range(raters)
        if (s, m) not in holes
    ]
    ratings = pd.DataFrame(keys, columns=["story", "method", "annotator"])
    ratings = ratings.assign(dimension="d", rating=rng.integers(0, 5, len(keys)))
    scores = ratings[["story", "method"]].drop_duplicates().assign(metric="k")
    scores["score"] = rng.integers(0, 4, len(scores)) / 2.0
    cells = annotator_cells(kept_rows(ratings, KEYS))
    return common_grid("d", cells, score_table(scores))[0]


def estimates(
    grid, level, parts=CROSSED, resamples=0, *, coefficients=ALL, confidence=0.95
):
    asked = grid, level, coefficients
    sampling = {"resamples": resamples, "confidence": confidence, "seed": 0}
    spread = level_spread(*asked, parts, sampling)
    return level_estimates(*asked, spread, sampling)


SHORT = {
    "kendall": "tau_b",
    "kendall_c": "tau_c",
    "spearman": "spearman",
    "pearson": "pearson",
}
# Keys of pairwise accuracy are tested with the modules that compute it.
ELSEWHERE = ("acc_eq", "eps", "SPA", "ppa")


@pytest.mark.shared
@pytest.mark.parametrize(("name", "keys"), [("dsg", 9 * 17), ("tifa", 5 * 6)])
def test_every_coefficient_of_the_independent_values(shared, name, keys):
    # Made by another program: _none pooled, _item by story, _sys within each method,
    # sys_ over methods. sys_tau and sys_pair_acc: no two method means tie, so the
    # share of pairs in the same order is (1 + tau) / 2.
    folder = shared / "data" / name
    expected = json.loads((folder / "expected.json").read_text())
    expected = expected.get("metrics", expected)
    grid = load(folder)
    found = {level: estimates(grid, level) for level in LEVELS}
    suffixes = {"_none": "pooled", "_item": "story", "_sys": "within_method"}
    for metric, values in expected.items():
        known = {}
        for suffix, level in suffixes.items():
            for coefficient, short in SHORT.items():
                known[short + suffix] = found[level][metric, coefficient].value
            known[f"n_groups{suffix}"] = found[level][metric, "kendall"].n_groups
        known["sys_pearson"] = found["method"][metric, "pearson"].value
        known["sys_tau"] = found["method"][metric, "kendall"].value
        known["sys_pair_acc"] = (1 + known["sys_tau"]) / 2
        for key, value in values.items():
            if not key.startswith(ELSEWHERE):
                assert known[key] == pytest.approx(value, abs=1e-9), (metric, key)
                keys -= 1
    assert keys == 0


@pytest.mark.shared
def test_intervals_of_statistics_md(shared):
    # Section 4, another program's 95 % intervals of dsg|pali17b, pooled tau-b: where
    # stories are drawn, and a bootstrap of both, which counts outputs three times.
    grid = load(shared / "data/dsg").with_metrics(("dsg|pali17b",))
    stories = estimates(grid, "pooled", ("stories",), 1000)["dsg|pali17b", "kendall"]
    assert stories.low == pytest.approx(0.401, abs=0.003)
    assert stories.high == pytest.approx(0.509, abs=0.003)
    rng = np.random.default_rng(0)
    both = Draws(cluster_counts(160, 1000, rng), cluster_counts(5, 1000, rng))
    drawn = level_values(grid, "pooled", both, ["kendall"])["kendall"][0]
    assert np.quantile(drawn, [0.025, 0.975]) == pytest.approx([0.381, 0.533], abs=0.01)


@pytest.mark.parametrize("level", ["story", "within_method", "pooled"])
@pytest.mark.parametrize("parts", [("stories",), ("methods",), ("units",), CROSSED])
def test_interval_and_test_are_of_one_variance_on_fishers_scale(level, parts):
    grid = small(n_stories=9, n_methods=6, holes={(1, 1)})
    for (_, name), found in estimates(grid, level, parts, 99, confidence=0.9).items():
        known = coefficient_variances(grid, level, [name], parts, seed=0)[name].of(0)
        z, r = np.arctanh(found.value), found.value
        sd = np.sqrt(known.variance) / (1 - r**2)
        far = sd * stats.t.ppf(0.95, known.freedom)
        assert (found.low, found.high) == pytest.approx(
            tuple(np.tanh([z - far, z + far]))
        )
        p_value = 2 * stats.t.sf(abs(z) / sd, known.freedom)
        assert found.p_value == pytest.approx(p_value)
        assert found.drawn == "+".join(parts)


@pytest.mark.parametrize(
    ("n_stories", "n_methods", "drawn", "reason"),
    [
        (6, 5, "stories+methods", ""),
        (6, 4, "stories", ""),
        (4, 5, "methods", ""),
        (4, 4, "", "4 methods are too few"),
    ],
)
def test_clusters_that_are_too_few_are_not_drawn(n_stories, n_methods, drawn, reason):
    grid = small(n_stories=n_stories, n_methods=n_methods)
    for level in ("story", "within_method", "pooled"):
        found = estimates(grid, level, CROSSED, 50)["k", "kendall"]
        assert (found.drawn, found.reason) == (drawn, reason)
        assert np.isfinite([found.low, found.high, found.p_value]).all() == bool(drawn)
        if drawn and drawn != "stories+methods":
            alone = estimates(grid, level, (drawn,), 50)["k", "kendall"]
            assert vars(found) == vars(alone)


@pytest.mark.parametrize("level", ["story", "within_method", "pooled"])
def test_a_metric_that_is_never_wrong_is_tested_by_signs(level):
    grid = small(n_stories=9, n_methods=6)
    same = type(grid)(**{**vars(grid), "scores": grid.human[None]})
    found = estimates(same, level, CROSSED, 50)["k", "kendall"]
    assert found.value == 1
    assert np.isnan(found.low)
    assert found.p_value == 2 / 2**6
    assert "the same whatever" in found.reason


@pytest.mark.parametrize("stories", [[2, 0, 1, 1, 0, 2], [1] * 6])
@pytest.mark.parametrize("level", LEVELS)
def test_a_resample_is_the_copied_data(level, stories):
    grid = small(holes={(0, 1), (3, 2), (5, 0)})
    methods = np.array([1, 2, 1, 0])
    drawn = Draws(np.array([stories] * 2), np.array([[0, 1, 3, 1], methods]))
    found = {k: v[:, 1:] for k, v in level_values(grid, level, drawn, ALL).items()}
    s, m = np.repeat(np.arange(6), stories), np.repeat(np.arange(4), methods)
    cells = grid.cells[np.ix_(s, m)]
    h, x = grid.human[np.ix_(s, m)], grid.scores[0][np.ix_(s, m)]
    if level == "pooled":
        groups = [(h[cells], x[cells])]
    elif level == "story":
        groups = [(h[i, c], x[i, c]) for i, c in enumerate(cells)]
    elif level == "within_method":
        groups = [(h[c, i], x[c, i]) for i, c in enumerate(cells.T)]
    else:
        n = cells.sum(axis=0)
        groups = [((h * cells).sum(axis=0) / n, (x * cells).sum(axis=0) / n)]
    groups = [(a, b) for a, b in groups if len(set(a)) > 1 and len(set(b)) > 1]
    scipy = {
        "kendall": stats.kendalltau,
        "spearman": stats.spearmanr,
        "pearson": stats.pearsonr,
        "kendall_c": lambda a, b: stats.kendalltau(a, b, variant="c"),
    }
    for name, function in scipy.items():
        expected = np.mean([function(a, b).statistic for a, b in groups])
        assert found[name][0, 0] == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize("level", LEVELS)
def test_drawing_an_annotator_averages_him_that_often(level):
    grid = small()
    ones = np.ones((1, 6), int), np.ones((1, 4), int)
    drawn = Draws(*ones, annotators=np.array([[2, 0, 1]]))
    votes = (2 * grid.votes[0] + grid.votes[2]) / 3
    expected = level_values(
        type(grid)(**{**vars(grid), "human": np.round(votes, 9)}),
        level,
        Draws(*ones),
        COEFFICIENTS,
    )
    found = level_values(grid, level, drawn, COEFFICIENTS)
    for name in COEFFICIENTS:
        np.testing.assert_allclose(found[name], expected[name], atol=1e-9)


@pytest.mark.parametrize("parts", [("annotators",), ("units",), ("stories", "methods")])
@pytest.mark.parametrize("level", LEVELS)
def test_chunks_do_not_change_values(monkeypatch, level, parts):
    grid = small(holes={(1, 1)})
    whole = estimates(grid, level, parts, 30)
    monkeypatch.setattr(levels, "CHUNK", 100)
    cut = estimates(grid, level, parts, 30)
    for key, estimate in whole.items():
        assert vars(cut[key]) == pytest.approx(vars(estimate), nan_ok=True)


def test_sizes():
    grid = small(holes={(0, 1)})
    assert estimates(grid, "method")["k", "kendall"].n == 4
    assert estimates(grid, "pooled")["k", "kendall"].n == 23
    story = estimates(grid, "story")["k", "kendall"]
    assert story.n <= 23
    assert 1 <= story.n_groups <= 6
    within = estimates(grid, "within_method")["k", "kendall"]
    assert (within.n, within.n_groups) == (23, 4)


def test_p_values_without_resamples_are_exact_or_empty():
    grid = small()
    assert estimates(grid, "method")["k", "kendall"].p_value > 0
    assert np.isnan(estimates(grid, "pooled")["k", "kendall"].p_value)
    assert np.isnan(estimates(grid, "pooled")["k", "kendall"].low)


@pytest.mark.parametrize(
    ("level", "reason"),
    [
        ("method", "the metric's scores are all the same"),
        ("pooled", "the metric's scores are all the same"),
        ("story", "in no story do both people and the metric tell two methods apart"),
        (
            "within_method",
            "in no method do both people and the metric tell two stories apart",
        ),
    ],
)
def test_a_constant_metric_is_undefined_with_a_reason(level, reason):
    grid = small()
    flat = type(grid)(**{**vars(grid), "scores": np.full_like(grid.scores, 0.1)})
    found = estimates(flat, level, resamples=20)
    for estimate in found.values():
        assert np.isnan(estimate.value)
        assert np.isnan(estimate.p_value)
        assert estimate.reason == reason


def test_one_story_gives_no_interval_over_stories():
    found = estimates(small(n_stories=1), "pooled", ("stories",), 20)["k", "kendall"]
    assert np.isfinite(found.value)
    assert np.isnan(found.low)
    assert np.isnan(found.p_value)


def test_a_perfect_metric_is_one_at_every_level():
    grid = small()
    same = type(grid)(**{**vars(grid), "scores": grid.human[None] * 2 + 1})
    for level in LEVELS:
        for (_metric, name), estimate in estimates(same, level).items():
            if name != "kendall_c":  # ties leave it below 1
                assert estimate.value == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("level", "parts", "name", "n_methods", "expected"),
    [
        ("method", ("stories", "methods"), "kendall", 9, True),
        ("method", ("stories", "methods"), "spearman", 8, True),
        ("method", ("stories", "methods"), "kendall", 7, False),
        ("method", ("stories", "methods"), "pearson", 9, False),
        ("method", ("stories",), "kendall", 9, False),
        ("pooled", ("stories", "annotators"), "kendall", 9, False),
        ("story", ("stories", "annotators"), "kendall", 9, False),
    ],
)
def test_rank_coefficients_over_drawn_methods_are_bias_corrected(
    level, parts, name, n_methods, expected
):
    grid = small(n_methods=n_methods)
    asked = grid, level, [name]
    sampling = {"resamples": 300, "confidence": 0.8, "seed": 0}
    spread = level_spread(*asked, parts, sampling)
    found, draws = level_estimates(*asked, spread, sampling), spread.draws
    one = found[grid.metrics[0], name]
    plain = interval(draws[name][0], 0.8)[:2]
    corrected = interval(draws[name][0], 0.8, centre=one.value)[:2]
    assert (one.low, one.high) == (corrected if expected else plain)
    assert plain != corrected


def test_random_orders_suffice_for_as_many_metrics_as_are_tested():
    """Of 30 metrics that rank 12 methods as people do, each stands the adjustment."""
    methods = [f"m{i:02}" for i in range(12)]
    rows = [("s", m, "look", "Ann", i) for i, m in enumerate(methods)]
    columns = ["story", "method", "dimension", "annotator", "rating"]
    cells = annotator_cells(pd.DataFrame(rows, columns=columns))
    scores = pd.DataFrame(
        [("s", m, f"k{k}", i) for k in range(30) for i, m in enumerate(methods)],
        columns=["story", "method", "metric", "score"],
    )
    grid, _dropped = common_grid("look", cells, score_table(scores))
    found = estimates(grid, "method", ("methods",), 50)
    p_values = [found[f"k{k}", "kendall"].p_value for k in range(30)]
    assert max(p_values) == pytest.approx(1 / 1201)
    assert 30 * max(p_values) < 0.05


@pytest.mark.parametrize(
    ("resamples", "drawn"), [(10, 200), (1000, 20_000), (30_000, 30_000), (0, 0)]
)
def test_whole_methods_are_drawn_more_often(resamples, drawn):
    """All that is said of them rests on these resamples, and they cost little."""
    grid = small(n_stories=1, n_methods=9)
    whole = type(grid)(**{**vars(grid), "stories": ("",)})
    sampling = {"resamples": resamples, "confidence": 0.95, "seed": 0}
    for one, n in ((whole, drawn), (grid, resamples)):
        spread = level_spread(
            one, "method", ("kendall",), ("stories", "methods"), sampling
        )
        found = spread.draws.get("kendall", np.empty(0))
        assert found.shape[-1] == n


@pytest.mark.parametrize(("whole", "orders"), [(True, 200), (False, 40)])
def test_whole_methods_are_permuted_more_often(whole, orders):
    """The smallest p-value tells how many orders there were beside the real one."""
    grid = small(n_stories=1, n_methods=12)
    human = np.arange(12.0)[None]
    values = {"human": human, "scores": np.repeat(human[None], len(grid.metrics), 0)}
    if whole:
        values["stories"] = ("",)
    grid = type(grid)(**{**vars(grid), **values}).with_metrics(grid.metrics[:1])
    found = estimates(grid, "method", resamples=10, coefficients=("pearson",))
    (estimate,) = found.values()
    assert estimate.value == 1
    assert estimate.p_value == pytest.approx(1 / (orders + 1))
