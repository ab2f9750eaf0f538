"""Intervals of larger studies, foretold from a pilot."""

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from analysis.correlations.level_estimates import level_estimates, level_spread
from analysis.correlations.levels import level_values
from analysis.inference.resampling import no_draws
from analysis.options import AlignOptions, OptionError
from analysis.planning import metric_forecasts
from analysis.planning import pilots as pilot_module
from analysis.planning.metric_forecasts import (
    Drawn,
    Model,
    correlated,
    fit_model,
    inversions,
)
from analysis.planning.pilots import GROWS, Noise, Point, grown, law, needed
from analysis.planning.power import power_analysis
from analysis.planning.variance_components import StudySize
from analysis.reading.cells import CellGrid
from analysis.result_tables.columns import COLUMNS
from analysis.tables import MEAN_OF_RATERS

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


def grid_of(ratings, metric):
    """Lay out complete ratings, stories x methods x annotators, beside a metric."""
    S, M, _A = ratings.shape
    return CellGrid(
        "d",
        tuple(map(str, range(S))),
        tuple(map(str, range(M))),
        ("k",),
        np.ones((S, M), bool),
        ratings.mean(axis=2).round(9),
        metric[None],
        np.moveaxis(ratings, 2, 0),
        frozenset(),
    )


def real(S, M, A, level, studies):
    """Half the central interval of tau-b in studies that were really made."""
    found = []
    for seed in range(studies):
        ratings, metric = values(S, M, A, 10_000 + seed)
        if level == "pooled":
            human = ratings.mean(axis=2).round(9)
            found.append(stats.kendalltau(human.ravel(), metric.ravel())[0])
            continue
        grid = grid_of(ratings, metric)
        here = level_values(grid, level, no_draws(S, M), ("kendall",))
        found.append(here["kendall"][0, 0])
    return 1.96 * float(np.std(found, ddof=1))


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
@pytest.mark.parametrize("level", ["story", "pooled"])
def test_pilots_of_20_stories_foretell_the_interval_of_80(pilots, level):
    expected = real(80, 10, 3, level, 120)
    assert foretold(pilots, level, "stories", 80) == pytest.approx(expected, rel=0.2)


@pytest.mark.slow
@pytest.mark.parametrize("level", ["method", "story", "pooled"])
def test_pilots_of_10_methods_foretell_the_interval_of_40(pilots, level):
    expected = real(20, 40, 3, level, 120)
    assert foretold(pilots, level, "methods", 40) == pytest.approx(expected, rel=0.25)


@pytest.mark.slow
def test_pilots_of_20_stories_foretell_the_interval_of_a_gap(pilots):
    # Cells, ratings and the mean of 3 noises, over 80 stories, of two methods.
    rows, _ = frames(400, 2, 3, 99)
    wide = rows.groupby(["story", "method"])["rating"].mean().unstack()
    difference = wide["m00"] - wide["m01"]
    expected = 1.96 * float(difference.std()) / np.sqrt(80)
    found = foretold(pilots, "method", "stories", 80, "gap")
    assert found == pytest.approx(expected, rel=0.2)


@pytest.mark.slow
def test_pilots_of_20_stories_foretell_the_interval_of_alpha(pilots):
    # Interval alpha over stories, the ten methods and the people being the same.
    def alpha(x):
        inside = x.var(axis=2, ddof=1).mean()
        return 1 - inside / x.var(ddof=1)

    spreads = []
    for seed in range(8):
        ratings, _ = values(1600, 10, 3, 500 + seed)
        each = [alpha(part) for part in np.split(ratings, 20)]
        spreads.append(np.std(each, ddof=1))
    expected = 1.96 * float(np.mean(spreads))
    found = foretold(pilots, "", "stories", 80, "alpha_ordinal")
    # Other random draws move the mean of these eight pilots by a tenth.
    assert found == pytest.approx(expected, rel=0.3)


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
    gap = power[(power["statistic"] == "gap") & (power["grows"] == "stories")]
    ratio = gap["half_width"].iloc[-1] / gap["half_width"].iloc[1]
    assert ratio == pytest.approx(np.sqrt(1 / 8), abs=0.1)


def test_more_annotators_make_coefficients_larger():
    power, _ = analysis(*frames(30, 8, 2), levels=("pooled",))
    rows = power[
        (power["level"] == "pooled")
        & (power["grows"] == "annotators")
        & (power["statistic"] == "kendall")
    ]
    by = dict(zip(rows["n_annotators"], rows["value"], strict=True))
    assert by[1] < by[2] < by[16]


def test_few_methods_in_perfect_order_are_not_certain():
    rows, scores = frames(20, 5, 3)
    means = rows.groupby("method")["rating"].mean()
    scores["score"] = scores["method"].map(means) + 0.01 * scores["score"]
    power, wanted = analysis(rows, scores)
    here = power[(power["level"] == "method") & (power["statistic"] == "kendall")]
    pilot = here[(here["n_methods"] == 5) & (here["grows"] == "methods")].iloc[0]
    assert pilot["value"] > 0.9
    assert pilot["half_width"] > 0.05
    assert set(wanted["grows"]) == set(GROWS)


def test_more_of_one_alone_may_never_be_enough():
    _, wanted = analysis(*frames(20, 5, 3), levels=("method",))
    rows = wanted[(wanted["level"] == "method") & (wanted["statistic"] == "kendall")]
    of = {row["grows"]: row for _, row in rows.iterrows()}
    assert np.isnan(of["stories"]["value"])
    assert "never reach it" in of["stories"]["reason"]
    assert of["methods"]["value"] > 50
    gap = wanted[(wanted["statistic"] == "gap") & (wanted["grows"] == "methods")]
    assert "do not narrow" in gap["reason"].iloc[0]


def test_without_scores_people_alone_are_planned():
    power, _ = analysis(frames(10, 4, 3)[0])
    assert set(power["statistic"]) == {"gap", "alpha_ordinal"}


def test_one_rating_an_output_says_nothing_of_more_annotators():
    rows, scores = frames(10, 4, 1)
    power, wanted = analysis(rows, scores)
    of = power[power["grows"] == "annotators"]
    assert of["half_width"].isna().all()
    assert of["reason"].str.len().gt(0).all()
    stories = power[(power["grows"] == "stories") & (power["level"] == "pooled")]
    assert stories["half_width"].notna().all()
    assert (wanted["value"].notna() | (wanted["reason"] != "")).all()


@pytest.mark.parametrize(
    ("change", "word"),
    [
        (lambda rows: rows[rows["method"] == "m00"], "fewer than two methods"),
        (lambda rows: rows.assign(rating=3.0), "the same"),
        (lambda rows: rows[rows["story"] == "s000"].assign(story=""), "method-level"),
    ],
)
def test_degenerate_pilots_have_reasons(change, word):
    rows, scores = frames(8, 4, 2)
    power, wanted = analysis(change(rows), scores)
    assert power.loc[power["value"].isna(), "reason"].ne("").all()
    assert power["reason"].str.contains(word).any()
    assert (wanted["value"].notna() | (wanted["reason"] != "")).all()


def test_an_unknown_metric_and_bad_options_are_told():
    rows, scores = frames(6, 4, 2)
    other = scores.assign(metric="other", story="nowhere")
    power, _ = analysis(rows, pd.concat([scores, other]))
    reasons = power.loc[power["metric"] == "other", "reason"]
    assert (reasons == "no rated output has a score of this metric").all()
    with pytest.raises(OptionError, match="--resamples"):
        analysis(rows, resamples=0)
    with pytest.raises(OptionError, match="--target"):
        analysis(rows, target=0.0)


def test_two_runs_are_the_same_and_rows_may_stand_in_any_order():
    rows, scores = frames(8, 4, 2)
    one = analysis(rows, scores)[0]
    other = analysis(
        rows.sample(frac=1, random_state=1), scores.sample(frac=1, random_state=2)
    )[0]
    pd.testing.assert_frame_equal(one, other)


@given(
    st.floats(0, 2),
    st.floats(0.01, 5),
    st.lists(st.integers(1, 999), min_size=2, unique=True),
)
def test_the_law_is_found_again(floor, slope, sizes):
    known = [(n, float(np.sqrt(floor**2 + slope**2 / n))) for n in sizes]
    found = law(known)
    for n, half in known:
        fitted = np.sqrt(found[0] ** 2 + found[1] ** 2 / n)
        assert fitted == pytest.approx(half, rel=1e-3)


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


@given(st.integers(2, 60), st.integers(0, 10**6))
def test_correlations_without_ties_are_scipys(n, seed):
    rng = np.random.default_rng(seed)
    human, scores = rng.normal(size=(2, 1, 1, n))
    found = correlated(human, scores + human, ("kendall", "spearman", "pearson"))
    for name, function in (
        ("kendall", stats.kendalltau),
        ("spearman", stats.spearmanr),
        ("pearson", stats.pearsonr),
    ):
        expected = function(human[0, 0], (scores + human)[0, 0])[0]
        assert found[name][0] == pytest.approx(expected, abs=1e-9)


@given(st.permutations(range(17)))
def test_inversions_are_pairs_in_the_wrong_order(order):
    expected = sum(order[i] > order[j] for i in range(17) for j in range(i + 1, 17))
    assert inversions(np.array([order]))[0] == expected


def test_annotators_whom_all_share_move_no_output_against_another():
    noise = Noise(annotator=1.0)
    assert noise.at(StudySize(3, 9, 9, 3, 3)) == (0, 0, 0)
    assert noise.at(StudySize(6, 9, 9, 3, 6))[2] == pytest.approx(1 / 3 - 1 / 6)


def test_a_pool_of_annotators_grows_with_the_annotators_of_an_output():
    size = StudySize(10, 20, 5, 2, 4)
    assert grown(size, "annotators", 2) == StudySize(20, 20, 5, 4, 8)
    assert grown(size, "stories", 0.5) == StudySize(10, 10, 5, 2, 4)
    assert grown(size, "methods", 0.1) == StudySize(10, 20, 3, 2, 4)


@pytest.mark.shared
def test_a_real_pilot_expects_what_it_found(shared):
    rows = pd.read_csv(shared / "data/dsg/ratings.csv")
    scores = pd.read_csv(shared / "data/dsg/scores.csv")
    one = scores[scores["metric"] == "dsg|pali17b"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pilot_module, "MULTIPLES", (1.0, 2.0))
        power, _ = analysis(rows, one, levels=("pooled",), resamples=100)
    pilot = power[(power["statistic"] == "kendall") & (power["n_stories"] == 160)]
    pilot = pilot[(pilot["n_methods"] == 5) & (pilot["n_annotators"] == 5)]
    assert len(pilot) == 3
    assert pilot["value"].to_numpy() == pytest.approx(0.458, abs=5e-4)
    # Over stories alone the interval is .401 to .509, over methods too .381 to .533.
    assert 0.054 <= pilot["half_width"].iloc[0] <= 0.076
    alpha = power[power["statistic"] == "alpha_ordinal"]
    assert alpha["value"].to_numpy() == pytest.approx(0.6854, abs=0.02)


def test_the_model_of_people_holds_no_noise_of_ratings():
    rng = np.random.default_rng(5)
    S, M, A = 300, 12, 2
    human, metric = pair(rng, (S, M), 1.0, 0.6)
    ratings = human[..., None] + 1.5 * rng.normal(size=(S, M, A))
    grid = grid_of(ratings, metric)
    model = fit_model(grid, Noise(rest=1.5**2), StudySize(A, S, M, A, A))
    found = model.parts["cell"] @ model.parts["cell"].T
    assert found[0, 0] == pytest.approx(1, abs=0.08)
    # The metric stands in a unit of the model's own.
    assert found[0, 1] / math.sqrt(found[0, 0] * found[1, 1]) == pytest.approx(
        0.6, abs=0.08
    )


def test_choices_and_single_resamples_are_refused():
    rows, _ = frames(4, 3, 2)
    choices = pd.DataFrame(
        {
            "story": ["s"],
            "method_a": ["m"],
            "method_b": ["n"],
            "criterion": ["c"],
            "annotator": ["a"],
            "choice": ["a"],
        }
    )
    with pytest.raises(OptionError, match=r"--ratings: .*choices"):
        analysis(choices)
    with pytest.raises(OptionError, match="expected 2 or more"):
        analysis(rows, resamples=1)


def test_one_story_or_one_method_says_nothing_of_more():
    rows, scores = frames(6, 5, 2)
    story = analysis(rows[rows["story"] == "s000"], scores)[0]
    of = story[(story["grows"] == "stories") & (story["metric"] != "")]
    assert of["half_width"].isna().all()
    assert of["reason"].str.contains("only one story").all()
    method = analysis(
        rows[rows["method"] == "m00"], scores, levels=("within_method", "pooled")
    )[0]
    of = method[(method["grows"] == "methods") & (method["metric"] != "")]
    assert of["half_width"].isna().all()
    assert of["reason"].str.contains("only one method").all()
    assert method.loc[method["grows"] == "stories", "half_width"].notna().any()


def test_equal_ratings_are_not_certain_of_their_difference():
    rows, _ = frames(6, 4, 2)
    power, wanted = analysis(rows.assign(rating=2.0))
    assert power["half_width"].isna().all()
    assert power["reason"].str.contains("the same").all()
    assert wanted["value"].isna().all()


def test_means_of_raters_and_method_level_scores_plan_what_they_can():
    rows, scores = frames(8, 5, 3)
    keys = ["story", "method", "dimension"]
    means = rows.groupby(keys)["rating"].mean().reset_index()
    power, _ = analysis(means.assign(annotator=MEAN_OF_RATERS), scores)
    of = power[power["grows"] == "annotators"]
    assert of["reason"].str.contains("means over raters").all()
    assert power["n_annotators"].isna().all()
    assert power.loc[power["grows"] == "stories", "half_width"].notna().any()
    flat = scores.groupby(["method", "metric"])["score"].mean().reset_index()
    power, _ = analysis(rows, flat.assign(story=""))
    of = power[power["level"].isin(["story", "pooled"])]
    assert of["reason"].str.contains("method-level values").all()
    method = power[(power["level"] == "method") & (power["metric"] == "k")]
    assert method["half_width"].notna().all()


def test_inside_methods_stories_are_the_points():
    # The metric follows people inside methods, and knows nothing of the methods.
    rng = np.random.default_rng(3)
    S, M = 40, 6
    human = rng.normal(size=(S, M))
    metric = human + 0.3 * rng.normal(size=(S, M)) + 9 * rng.normal(size=M)
    shape = [(f"s{s:03d}", f"m{m}") for s in range(S) for m in range(M)]
    cells = pd.DataFrame(shape, columns=["story", "method"])
    rows = cells.assign(dimension="d", annotator="a", rating=human.ravel())
    scores = cells.assign(metric="k", score=metric.ravel())
    levels = ("within_method", "pooled")
    power, _ = analysis(rows, scores, levels=levels, coefficients=("pearson",))
    pilot = power[(power["grows"] == "stories") & (power["n_stories"] == S)]
    half = dict(zip(pilot["level"], pilot["half_width"], strict=False))
    assert half["within_method"] < 0.05
    assert half["pooled"] > 2 * half["within_method"]


def test_tau_c_is_foretold_as_tau_b_where_nothing_is_tied():
    rows, scores = frames(10, 5, 2)
    power, _ = analysis(rows, scores, coefficients=("kendall", "kendall_c"))
    at = power[(power["level"] == "method") & (power["metric"] == "k")]
    halves = {
        name: part["half_width"].to_numpy() for name, part in at.groupby("statistic")
    }
    assert halves["kendall_c"] == pytest.approx(halves["kendall"])


def printed_interval(S, M, A, level, studies):
    """Mean half-width of the intervals of reports, over stories and methods."""
    halves = []
    for seed in range(studies):
        ratings, metric = values(S, M, A, 20_000 + seed)
        grid = grid_of(ratings, metric)
        asked = grid, level, ("kendall",)
        sampling = {"resamples": 150, "confidence": 0.95, "seed": seed}
        spread = level_spread(*asked, ("stories", "methods"), sampling)
        found = level_estimates(*asked, spread, sampling)
        halves.append((found["k", "kendall"].high - found["k", "kendall"].low) / 2)
    return float(np.mean(halves))


@pytest.mark.slow
@pytest.mark.parametrize("level", ["story", "pooled"])
def test_pilots_foretell_the_interval_that_a_report_prints(pilots, level):
    expected = printed_interval(20, 40, 3, level, 4)
    found = foretold(pilots, level, "methods", 40)
    assert found == pytest.approx(expected, rel=0.25)


def test_variances_of_drawn_studies_are_known_apart():
    rng = np.random.default_rng(0)
    story, method, both = rng.normal(size=(3, 2, 2, 20_000))
    story, method = 3 * story[:, :1], 2 * method[:1]
    drawn = Drawn(story + method + both)
    assert drawn.over_stories == pytest.approx(9 + 1, rel=0.05)
    assert drawn.over_methods == pytest.approx(4, rel=0.1)
    # Half the stories drawn: their variance is half of that.
    halved = Drawn(story + method + both, 0.5)
    assert halved.over_stories == pytest.approx(drawn.over_stories / 2)
    assert halved.over_methods == drawn.over_methods


def test_more_stories_than_are_drawn_follow_the_law_of_a_mean():
    power, _ = analysis(*frames(90, 10, 1), levels=("story",), resamples=20)
    rows = power[(power["grows"] == "stories") & (power["statistic"] == "kendall")]
    known = zip(rows["n_stories"], rows["half_width"], strict=True)
    floor, slope = law(list(known))
    fitted = np.sqrt(floor**2 + slope**2 / rows["n_stories"])
    assert fitted.to_numpy() == pytest.approx(rows["half_width"].to_numpy(), rel=1e-6)
    assert slope > 0


def test_a_story_may_stand_for_the_mean_of_many():
    model = Model({name: np.eye(2) for name in ("method", "story", "cell")}, Noise())
    size, options = StudySize(1, 100, 40, 1, 1), {"stories": 1, "studies": 50}

    def inside(each):
        rng = np.random.default_rng(0)
        return model.blocks(size, each=each, rng=rng, **options)[0].var(axis=-1).mean()

    # Methods and cells have a variance of 1 each; means over 100 cells one of 0.01.
    assert inside(1) == pytest.approx(2, rel=0.1)
    assert inside(100) == pytest.approx(1.01, rel=0.1)
