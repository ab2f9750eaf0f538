"""Leaderboards from ratings, against pandas, scipy and statsmodels."""

import warnings

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf
from scipy.stats import t, zscore
from statsmodels.stats.multitest import multipletests

from analysis.rankings.method_means import rating_leaderboard
from analysis.rankings.mixed_model import fit_mixed
from analysis.reading.cells import annotator_cells, human_cells
from analysis.reading.column_cleaning import kept_rows
from analysis.reading.kept_answers import RATING_KEYS
from analysis.statistics import COLUMNS


def simulated(n_stories=12, n_methods=4, n_annotators=5, share=0.8, seed=0):
    rng = np.random.default_rng(seed)
    keys = pd.MultiIndex.from_product(
        [range(n_stories), range(n_methods), range(n_annotators)],
        names=["story", "method", "annotator"],
    ).to_frame(index=False)
    keys = keys[rng.random(len(keys)) < share].reset_index(drop=True)
    rating = 2 + 0.4 * keys["method"] + rng.normal(0, 0.7, len(keys))
    rating += rng.normal(0, 0.6, n_annotators)[keys["annotator"]]
    rating += rng.normal(0, 0.8, n_stories)[keys["story"]]
    rating += rng.normal(0, 0.5, (n_stories, n_methods))[keys["story"], keys["method"]]
    keys = keys.astype(str).assign(dimension="d", rating=rating)
    return kept_rows(keys, RATING_KEYS)


def board(ratings, **options):
    options = {"question": "d", "parts": (), **options}
    rows, _, notes = rating_leaderboard(ratings, annotator_cells(ratings), **options)
    return pd.DataFrame(rows).set_index("method"), notes


def codes(ratings):
    return (
        pd.factorize(ratings[k], sort=True)[0] for k in ("method", "story", "annotator")
    )


@pytest.mark.parametrize(
    ("several", "options"),
    [
        (False, {"n_stories": 30}),
        (True, {}),
        (True, {"share": 0.4, "seed": 1}),
        (True, {"n_stories": 8, "n_methods": 3, "n_annotators": 9, "seed": 2}),
        (True, {"n_stories": 20, "share": 0.5, "seed": 3}),
    ],
)
def test_mixed_model_is_that_of_statsmodels(several, options):
    ratings = simulated(**options)
    if not several:  # with one rating an output, its effect is not identified
        outputs = ratings.groupby(["story", "method"])
        ratings = outputs.sample(1, random_state=0).reset_index(drop=True)
    mine = fit_mixed(ratings["rating"].to_numpy(), *codes(ratings))
    parts = {"a": "0 + C(annotator)", "s": "0 + C(story)"}
    if several:
        parts["o"] = "0 + C(story):C(method)"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        reference = smf.mixedlm(
            "rating ~ 0 + C(method)",
            ratings.assign(all=1),
            groups="all",
            vc_formula=parts,
            re_formula="0",
        ).fit(reml=True)
    np.testing.assert_allclose(mine.means, reference.fe_params, atol=1e-4)
    # statsmodels' errors also carry the uncertainty of the variances.
    np.testing.assert_allclose(mine.errors, reference.bse_fe, rtol=3e-3)
    names = reference.model.exog_vc.names
    found = dict(zip(names, reference.vcomp, strict=True))
    assert mine.annotator == pytest.approx(found["a"], rel=2e-3)
    assert mine.story == pytest.approx(found["s"], rel=2e-3)
    assert mine.residual == pytest.approx(reference.scale, rel=2e-3)
    if several:
        assert mine.output == pytest.approx(found["o"], rel=2e-3)
    assert mine.log_likelihood == pytest.approx(reference.llf, abs=1e-5)
    assert mine.log_likelihood >= reference.llf - 1e-7


def test_means_are_means_of_cells_and_standardised_ones_of_z_scores():
    ratings = simulated(share=0.6)
    found, notes = board(ratings)
    assert notes == []
    assert {*COLUMNS["rating_leaderboard"]} == {*found.reset_index(), "drawn"}
    cells = human_cells(annotator_cells(ratings)).groupby("method")["human"].mean()
    pd.testing.assert_series_equal(
        found["mean"].sort_index(), cells, check_names=False, atol=1e-12
    )
    z = ratings.assign(
        rating=ratings.groupby("annotator")["rating"].transform(
            lambda x: zscore(x, ddof=1)
        )
    )
    cells = human_cells(annotator_cells(z)).groupby("method")["human"].mean()
    pd.testing.assert_series_equal(
        found["standardised"].sort_index(), cells, check_names=False, atol=1e-12
    )
    assert found["n_ratings"].sum() == len(ratings)
    assert (found["reason"] == "").all()


def test_interval_of_a_mean_is_scipys_of_the_means_of_stories():
    """How far stories move all means together neither widens one nor narrows it."""
    ratings = simulated(n_stories=5, share=1.1)
    found, _ = board(ratings, parts=("stories",))
    cells = human_cells(annotator_cells(ratings))
    stories = cells.pivot(index="story", columns="method", values="human")
    for name, row in found.iterrows():
        error = (row["mean_high"] - row["mean_low"]) / 2
        expected = stories[name].sem() * t.ppf(0.975, len(stories) - 1)
        assert error == pytest.approx(expected), name


def test_ranks_say_what_comparisons_say():
    ratings = simulated(n_stories=20, n_methods=5)
    rows, compared, _ = rating_leaderboard(
        ratings, annotator_cells(ratings), question="d"
    )
    p = multipletests([row["p_value"] for row in compared], method="holm")[1]
    np.testing.assert_allclose([row["p_adjusted"] for row in compared], p)
    apart = {
        (row["method_a"], row["method_b"])[:: 1 if row["difference"] > 0 else -1]
        for row in compared
        if row["p_adjusted"] <= 0.05
    }
    assert 0 < len(apart) < 10
    for row in rows:
        assert row["mean_rank_low"] == 1 + sum(b == row["method"] for _, b in apart)
        assert row["mean_rank_high"] == 5 - sum(a == row["method"] for a, _ in apart)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda r: r[r["annotator"] == "0"], "the mixed model needs two annotators"),
        (lambda r: r[r["story"] == "0"], "the mixed model needs two stories"),
        (
            lambda r: r.assign(rating=2.0),
            "no annotator gave two different ratings; all ratings are the same",
        ),
        (
            lambda r: (
                r.assign(annotator="mean")
                .groupby(["dimension", "story", "method", "annotator"], as_index=False)[
                    "rating"
                ]
                .mean()
            ),
            "annotators are not known",
        ),
    ],
)
def test_undefined_model_has_a_reason(change, reason):
    found, _ = board(change(simulated()), parts=("stories",))
    assert found["mixed"].isna().all()
    assert found["mixed_rank"].isna().all()
    assert found["reason"].str.contains(reason).all()
    assert found["mean"].notna().all()
