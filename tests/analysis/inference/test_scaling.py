"""Scores of any size: what they say of people does not depend on their unit."""

import html
import json
import math
from fractions import Fraction
from functools import cache

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from analysis.__main__ import main
from analysis.commands.alignment import align
from analysis.correlations.coefficients import correlate
from analysis.correlations.level_estimates import level_estimates, level_spread
from analysis.correlations.levels import level_values, method_means
from analysis.inference.resampling import Draws
from analysis.notes import Notes
from analysis.options import COEFFICIENTS, AlignOptions
from analysis.pairwise.output_pairs import rating_pairs
from analysis.pairwise.tie_calibration import predicted_pairs
from analysis.planning.benchmark_means import score_boards, weighted_correlations
from analysis.planning.best_subset import best_subsets
from analysis.planning.metric_forecasts import coefficients as forecasts
from analysis.planning.pilots import pilot_study
from analysis.planning.stability import judges, named_judge, rating_trials, stability
from analysis.planning.subset import subset_rows
from analysis.rankings.composite_weights import by_name, equally, rank_composite
from analysis.rankings.composites import composites
from analysis.reading.column_cleaning import kept_rows
from analysis.reading.inputs import read_scores
from analysis.reading.scores import score_table
from tests.analysis.commands.test_alignment import METHODS, study
from tests.analysis.correlations.test_levels import small
from tests.analysis.correlations.test_metric_differences import differences
from tests.cases import slow

ALL = (*COEFFICIENTS, "kendall_c")
LEVELS = ("method", "story", "within_method", "pooled")
# Binary exponents from the smallest number above 0 to nearly the largest.
exponents = st.integers(-1070, 1000)
small_ints = st.lists(
    st.tuples(st.integers(-8, 8), st.integers(-8, 8)), min_size=3, max_size=8
)


def pearson(x, y, weights=None):
    x, y = np.array(x, float), np.array(y, float)
    w = np.ones(len(x)) if weights is None else np.array(weights, float)
    found = correlate(x[None], y[None, None], w[None, None], ["pearson"])
    return float(found["pearson"][0, 0, 0])


def exact_pearson(x, y):
    """Pearson's r in fractions, rounded at the end only; NaN where a side is constant.

    What `scipy.stats.pearsonr` computes, but of numbers that are 1e600 apart, too.
    """
    x, y = ([Fraction(value) for value in values] for values in (x, y))
    x, y = ([v - sum(values) / len(values) for v in values] for values in (x, y))
    xy, xx, yy = (
        sum(a * b for a, b in zip(*two, strict=True))
        for two in ((x, y), (x, x), (y, y))
    )
    if not xx or not yy:
        return math.nan
    return math.copysign(math.sqrt(xy * xy / (xx * yy)), xy)


@pytest.mark.parametrize("unit", [1e-300, 1e-170, 1e-15, 1e300])
def test_pearson_of_any_size_is_scipys(unit):
    rng = np.random.default_rng(0)
    for _ in range(20):
        human, scores = rng.integers(0, 5, 6) * 1.0, rng.uniform(0, 9, 6) * unit
        expected = stats.pearsonr(human, scores).statistic
        assert pearson(human, scores) == pytest.approx(expected, abs=1e-12, nan_ok=True)


def test_denormal_scores_correlate():
    # scipy's mean of such numbers is rounded to the smallest one there is.
    human, scores = [1, 3, 2, 4], [1e-318, 5e-318, 4e-318, 2e-318]
    found = pearson(human, scores)
    assert found == pytest.approx(exact_pearson(human, scores), abs=1e-12)
    assert found == pytest.approx(stats.pearsonr(human, scores).statistic, abs=1e-4)
    assert pearson([1, 2, 3], [0, 5e-324, 5e-324]) == pytest.approx(math.sqrt(3) / 2)


@given(small_ints, exponents)
def test_a_power_of_two_changes_no_digit(points, exponent):
    x, y = np.array(points, float).T
    assert pearson(x, y) == pytest.approx(exact_pearson(x, y), abs=1e-12, nan_ok=True)
    for other in (pearson(x, np.ldexp(y, exponent)), pearson(np.ldexp(x, exponent), y)):
        assert other == pytest.approx(pearson(x, y), abs=0, nan_ok=True)


mixed = st.lists(
    st.tuples(st.integers(0, 4), st.integers(-8, 8), st.sampled_from((-1000, 0, 900))),
    min_size=3,
    max_size=8,
)


@given(mixed, st.data())
def test_small_scores_beside_large_ones_are_not_constant_where_they_are_alone(
    points, data
):
    """A resample without the large ones has a coefficient of its own."""
    x = np.array([p[0] for p in points], float)
    y = np.array([math.ldexp(p[1], p[2]) for p in points])
    w = data.draw(st.lists(st.integers(0, 2), min_size=len(x), max_size=len(x)))
    draws = np.array([np.ones(len(x)), w])
    found = correlate(x[None], y[None, None], draws[None], ["pearson"])["pearson"]
    for weights, value in zip(draws.astype(int), found[0, 0], strict=True):
        cx, cy = np.repeat(x, weights), np.repeat(y, weights)
        expected = exact_pearson(cx, cy) if len(cx) else math.nan
        assert value == pytest.approx(expected, abs=1e-9, nan_ok=True)


def with_small_stories(grid, exponent=-1000, stories=(1, 4), seed=3):
    """Two metrics without ties that have scores of another size in some stories."""
    rng = np.random.default_rng(seed)
    scores = np.round(rng.uniform(0, 4, (2, *grid.cells.shape)) + grid.human, 3)
    for s in stories:
        scores[:, s] = np.ldexp(scores[:, s], exponent)
    scores = np.where(grid.cells, scores, 0.0)
    return type(grid)(**{**vars(grid), "metrics": ("a", "b"), "scores": scores})


@pytest.mark.parametrize("exponent", [-1040, -560, 900])
def test_small_stories_are_averaged_and_counted(exponent):
    grid = with_small_stories(small(n_stories=8), exponent)
    by_hand = [
        stats.pearsonr(h, x).statistic
        for h, x in zip(grid.human, grid.scores[0], strict=True)
        if np.ptp(h)
    ]
    sampling = {"resamples": 50, "confidence": 0.9, "seed": 0}
    parts = ("stories", "methods")
    spread = level_spread(grid, "story", ALL, parts, sampling)
    found = level_estimates(grid, "story", ALL, spread, sampling)
    assert found["a", "pearson"].value == pytest.approx(np.mean(by_hand), abs=1e-6)
    assert {found["a", name].n_groups for name in ALL} == {len(by_hand)}
    plain = with_small_stories(small(n_stories=8), 0)
    expected = level_spread(plain, "story", ALL, parts, sampling)
    for name in ALL:  # without any of the methods, too
        values, others = (of.variances[name].left_out for of in (spread, expected))
        np.testing.assert_allclose(values, others, atol=1e-6)


@pytest.mark.parametrize("level", ["story", "within_method"])
@pytest.mark.parametrize("exponent", [-1000, 0])
def test_the_groups_counted_are_those_averaged(level, exponent):
    """Each left out for one reason: few cells, people's values, or scores."""
    grid = small(n_stories=9, holes={(0, 0), (0, 1), (0, 2)})
    grid = with_small_stories(grid, exponent, range(9))
    grid.human[2], grid.scores[:, 2] = 3.0, np.ldexp(1.0, exponent)
    grid.scores[0, 5] = np.ldexp(0.1, exponent)
    sampling = {"resamples": 0, "confidence": 0.9, "seed": 0}
    spread = level_spread(grid, level, ALL, ("stories",), sampling)
    found = level_estimates(grid, level, ALL, spread, sampling)
    if level == "within_method":
        assert {e.groups.why for e in found.values()} == {""}
        assert {e.n_groups for e in found.values()} == {4}
        return
    same = sum(np.ptp(h) == 0 for h in grid.human[1:])
    for name in ALL:
        groups = found["a", name].groups
        assert groups.averaged == found["a", name].n_groups == 8 - same - 1
        assert (groups.too_few, groups.people_same, groups.metric_same) == (1, same, 1)
        assert found["a", name].n == 4 * groups.averaged
        assert found["b", name].groups.metric_same == 0
        assert "9 stories left out: fewer than two outputs in 1" in groups.why


@pytest.mark.parametrize("level", ["story", "within_method"])
def test_two_metrics_are_compared_whatever_the_size_of_scores(level):
    grid = small(n_stories=8, n_methods=6)
    plain, tiny = (with_small_stories(grid, exponent) for exponent in (0, -1000))
    if level == "within_method":
        tiny = with_small_stories(grid, -1000, range(8))
    expected = differences(plain, level)
    for key, row in differences(tiny, level).items():
        for column in ("difference", "low", "p_value"):
            assert row[column] == pytest.approx(expected[key][column], abs=1e-9)


@pytest.mark.parametrize("exponent", [-1000, 900])
def test_methods_of_another_size_keep_their_order(exponent):
    grid = with_small_stories(small(), 0)
    scores = grid.scores.copy()
    scores[:, :, :3] = np.ldexp(scores[:, :, :3], exponent)
    grid = type(grid)(**{**vars(grid), "scores": scores})
    draws = Draws(np.array([[1] * 6, [2, 0, 1, 3, 0, 0]]), np.ones((2, 4), int))
    found = level_values(grid, "method", draws, ALL)
    for b, weights in enumerate(draws.stories):
        h = np.round(weights @ grid.human, 9)
        x = weights @ grid.scores[0]
        expected = stats.kendalltau(h, x).statistic
        assert found["kendall"][0, b] == pytest.approx(expected)
        # Pearson's r of means; scipy, too, scales before it squares.
        assert found["pearson"][0, b] == pytest.approx(
            stats.pearsonr(h, x).statistic, abs=1e-9
        )


def test_means_that_cancel_out_up_to_rounding_are_tied():
    """The first sums to 6e-17 and the second to 0, of scores that are 0.3."""
    scores = np.array([[0.1, 0.3, 1.0], [0.2, -0.3, 1.0], [-0.3, 0.0, 1.0]])
    grid = small(n_stories=3, n_methods=3)
    grid = type(grid)(
        **{
            **vars(grid),
            "metrics": ("a", "b"),
            "scores": np.stack([scores, scores / 7]),
        }
    )
    once, cells = np.ones((1, 3), int), np.ones((1, 3, 3), int)
    for draws in (Draws(once, once), Draws(once, once, units=cells)):
        for first, second, third in method_means(grid, draws)[1][:, 0]:
            assert first == second < third


OPTIONS = AlignOptions(
    resamples=30, levels=LEVELS, coefficients=ALL, components=("blur", "cids")
)
# Binary exponents: tiny, small, where decimals are few, where they are none, and huge.
SCALES = [-900, *slow(-30, 14), 45, *slow(900)]
# Columns in units of the scores.
IN_UNITS = {
    "disagreement": ("score", "score_other"),
    "pairwise_accuracy": ("epsilon",),
    "accuracy_levels": ("epsilon",),
}
OF_MEANS = ("value", "low", "high")


def scaled(scores, exponent):
    return scores.assign(score=np.ldexp(scores["score"], exponent))


@cache
def aligned(exponent):
    ratings, choices, scores = study(n_stories=12, dimensions=("aesthetics",))
    tags = pd.DataFrame({"story": [f"{s:02}" for s in range(12)]})
    tags["set"] = ["core", "hard"] * 6
    return align(
        ratings=ratings,
        choices=choices,
        scores=scaled(scores, exponent),
        tags=tags,
        options=OPTIONS,
    )


@pytest.mark.parametrize("exponent", SCALES)
def test_no_table_depends_on_the_unit_of_the_scores(exponent):
    plain, found = aligned(0), aligned(exponent)
    assert plain.tables.keys() == found.tables.keys()
    for name, expected in plain.tables.items():
        back = found.tables[name].copy()
        for column in IN_UNITS.get(name, ()):
            back[column] = np.ldexp(back[column], -exponent)
        if name in ("strata", "strata_differences"):
            means = back["statistic"].eq("mean") & back["metric"].ne("")
            for column in OF_MEANS:
                back.loc[means, column] = np.ldexp(back.loc[means, column], -exponent)
        pd.testing.assert_frame_equal(
            back, expected, rtol=1e-6, atol=1e-9, check_dtype=False, obj=name
        )


@cache
def forecast(exponent):
    ratings, _choices, scores = study(n_stories=8, dimensions=("aesthetics",))
    more = [
        scores.assign(method=scores["method"] + str(i), score=scores["score"] * i + i)
        for i in (1, 2)
    ]
    scores = pd.concat([scores, *more], ignore_index=True)
    rows = scaled(scores, exponent)
    options = AlignOptions(resamples=20, levels=LEVELS)
    table = score_table(kept_rows(rows, ("story", "method", "metric")))
    boards = score_boards(table)
    drawn = {"confidence": 0.9, "seed": 0}
    part = subset_rows(boards, ["01", "02"], name="p", resamples=20, **drawn)
    best, listed = best_subsets(boards, sizes=(3,), **drawn)
    answers = rows.rename(columns={"metric": "annotator"}).assign(dimension="")
    trials = pd.concat(
        [answers.assign(round=k, rating=answers["score"] * (1 + k / 8)) for k in (1, 2)]
    )
    steady = stability(rating_trials(trials), resamples=20, **drawn)
    two = pd.concat([named_judge(table, "one"), named_judge(table, "two")])
    judged = judges(
        two,
        levels=LEVELS,
        coefficients=COEFFICIENTS,
        parts=("stories",),
        resamples=20,
        **drawn,
    )
    pilot = pilot_study("aesthetics", ratings, table, options, Notes())
    curves = [
        {
            "metric": c.metric,
            "level": c.level,
            "statistic": c.statistic,
            "value": point.half,
        }
        for c in forecasts(pilot)
        for points in c.points.values()
        for point in points
    ]
    return part, best, listed, steady, judged, curves


@pytest.mark.slow
@pytest.mark.parametrize("exponent", SCALES)
def test_no_forecast_or_subset_depends_on_the_unit_of_the_scores(exponent):
    in_units = (
        "mean",
        "sd",
        "sd_population",
        "minimum",
        "maximum",
        "sd_output",
        "mean_full",
        "mean_subset",
    )
    for plain, found in zip(forecast(0), forecast(exponent), strict=True):
        expected, back = pd.DataFrame(plain), pd.DataFrame(found)
        assert len(expected)
        if "statistic" in back:
            means = back["statistic"].isin(in_units)
            for column in set(OF_MEANS) & set(back):
                back.loc[means, column] = np.ldexp(back.loc[means, column], -exponent)
        pd.testing.assert_frame_equal(back, expected, rtol=1e-6, atol=1e-9)


def test_a_subset_may_come_in_another_unit_than_the_whole():
    whole, part = np.array([[1.0, 2.0, 3.0, 4.0]]), np.array([[1.0, 3.0, 2.0, 4.0]])
    once = np.ones(whole.shape)
    expected = weighted_correlations(whole, part, once)
    for found in (
        weighted_correlations(whole, np.ldexp(part, -100), once),
        weighted_correlations(np.ldexp(whole, -100), part, once),
    ):
        assert found == expected


@pytest.mark.parametrize("unit", [1e-320, 1e-200, 1e200])
def test_the_best_tie_threshold_of_any_size(unit):
    pairs = rating_pairs(small())
    plain = predicted_pairs(pairs.human, pairs.scores[0], "insample", [])
    found = predicted_pairs(pairs.human, pairs.scores[0] * unit, "insample", [])
    assert (found[0] == plain[0]).all()
    assert (found[1] == plain[1]).all()
    assert found[2] == pytest.approx(plain[2] * unit, rel=1e-3)


def test_ranks_of_small_scores_are_no_ties():
    rows = [
        (f"s{s}", method, metric, (m + s) * size)
        for s in range(3)
        for m, method in enumerate(METHODS)
        for metric, size in (("tiny", 1e-170), ("plain", 1.0))
    ]
    columns = ["story", "method", "metric", "score"]
    table = score_table(pd.DataFrame(rows, columns=columns))
    cells = table.cells.rename(columns={"metric": "part", "score": "value"})
    ranks = by_name([rank_composite(table.metrics)])
    found = composites(cells, ranks, resamples=0)
    assert [row["value"] for row in found] == [1, 2, 3, 4]
    means = composites(cells, by_name([equally("mean", ["tiny"])]), resamples=20)
    assert [row["rank"] for row in means] == [1, 2, 3, 4]
    assert [row["value"] for row in means] == pytest.approx(
        [4e-170, 3e-170, 2e-170, 1e-170]
    )
    assert {row["rank_high"] - row["rank_low"] for row in means} == {0}


SIZES = ("1e-318", "4.9406564584124654e-324", "1e-300", "1e300", "-2.5e-310")


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet"])
def test_scores_of_any_size_are_read_as_they_are_written(tmp_path, suffix):
    path = tmp_path / f"scores.{suffix}"
    frame = pd.DataFrame(
        [("s", f"m{i}", "k", float(text)) for i, text in enumerate(SIZES)],
        columns=["story", "method", "metric", "score"],
    )
    if suffix == "csv":
        path.write_text(
            "story,method,metric,score\n"
            + "".join(f"s,m{i},k,{text}\n" for i, text in enumerate(SIZES))
        )
    elif suffix == "jsonl":
        path.write_text("".join(f"{json.dumps(r)}\n" for r in frame.to_dict("records")))
    else:
        frame.to_parquet(path)
    assert read_scores(path)["score"].tolist() == [float(text) for text in SIZES]


def test_align_with_one_story_of_tiny_scores_is_scipys(tmp_path):
    """The command, from files to the tables and the page."""
    rng = np.random.default_rng(1)
    ratings, scores, by_story = [], [], []
    for s, size in enumerate((1.0, 1e-300, 1.0, 0.0, 1e-318, 1.0, 1.0)):
        people = rng.permutation(5) if s != 2 else np.full(5, 3)
        values = rng.integers(1, 100, 5) * size
        ratings += [(f"s{s}", f"m{m}", "look", "Ann", r) for m, r in enumerate(people)]
        scores += [
            (f"s{s}", f"m{m}", "cider", repr(float(x))) for m, x in enumerate(values)
        ]
        if size and s != 2:
            by_story.append(exact_pearson(people.astype(float), values))
            if size != 1e-318:
                assert by_story[-1] == pytest.approx(
                    stats.pearsonr(people, values).statistic
                )
    for name, columns, rows in (
        ("ratings", "story,method,dimension,annotator,rating", ratings),
        ("scores", "story,method,metric,score", scores),
    ):
        lines = [columns, *(",".join(map(str, row)) for row in rows)]
        (tmp_path / f"{name}.csv").write_text("\n".join(lines) + "\n")
    status = main(
        [
            "align",
            "--ratings",
            str(tmp_path / "ratings.csv"),
            "--scores",
            str(tmp_path / "scores.csv"),
            "--resamples",
            "20",
            "--out",
            str(tmp_path / "out"),
            "--images",
            "none",
        ]
    )
    assert status == 0
    tables = tmp_path / "out/tables"
    table = pd.read_csv(tables / "correlations.csv")
    story = table[(table["level"] == "story") & (table["coefficient"] == "pearson")]
    assert story["value"].item() == pytest.approx(np.mean(by_story), abs=1e-11)
    assert story[["n", "n_groups"]].to_numpy().tolist() == [[25, 5]]
    assert set(table[table["level"] == "story"]["n_groups"]) == {5}
    groups = pd.read_csv(tables / "groups.csv").set_index("level").loc["story"]
    assert groups["n_groups"] == 5
    assert groups["reason"] == (
        "2 of 7 stories left out: people's values all the same in 1, the metric's "
        "scores all the same in 1"
    )
    page = html.unescape((tmp_path / "out/report.html").read_text())
    assert groups["reason"] in page
