"""Agreement against published values, other programs and laws."""

import json
from dataclasses import replace

import krippendorff
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.reading.column_cleaning import kept_rows
from analysis.reliability.agreement import (
    CHOICE_STATISTICS,
    RATING_STATISTICS,
    STATISTICS,
    agreement,
)
from analysis.reliability.chance_corrected import alpha, alpha_value, gwet
from analysis.reliability.matrices import choice_reliability, rating_reliability

KEYS = ["story", "method", "shot", "annotator"]


def ratings(matrix, **columns):
    """Rows of a raters-by-units matrix; None and NaN are missing."""
    rows = [
        {"story": f"s{u:04d}", "annotator": f"r{a}", "rating": value}
        for a, values in enumerate(matrix)
        for u, value in enumerate(values)
        if value is not None and not np.isnan(value)
    ]
    return pd.DataFrame(rows).assign(method="m", dimension="d", **columns)


def reliability(matrix, scale=None):
    return rating_reliability(kept_rows(ratings(matrix), KEYS), scale)


def value(data, name):
    return float(STATISTICS[name](data, np.ones((1, len(data.per_unit))))[0])


def table(data, statistics=RATING_STATISTICS, resamples=0, parts=("units",)):
    rows = agreement(
        data,
        statistics,
        parts=parts,
        resamples=resamples,
        confidence=0.95,
        seed=0,
        question="d",
    )
    return {row.statistic: row for row in rows}


@pytest.mark.shared
def test_krippendorffs_canonical_matrices(shared):
    cases = json.loads((shared / "data/agreement_cases.json").read_text())["cases"]
    for case in cases:
        data = reliability(case["data"])
        for level, expected in case["alpha"].items():
            if level == "ratio":
                continue
            found = value(data, f"alpha_{level}")
            assert found == pytest.approx(expected, abs=1e-6), case["name"]
            row = table(data, (f"alpha_{level}",))[f"alpha_{level}"]
            assert row.estimate.value == pytest.approx(expected, abs=1e-6)


@pytest.mark.shared
def test_gwet_and_fleiss_as_irrcac_computes_them(shared):
    cases = json.loads((shared / "data/agreement_cases.json").read_text())["cases"]
    case = next(case for case in cases if "irrCAC" in case)
    data, expected = reliability(case["data"]), case["irrCAC"]
    assert value(data, "ac1") == pytest.approx(expected["gwet_AC1"], abs=1e-5)
    quadratic = expected["gwet_AC2_quadratic"]
    assert value(data, "ac2_quadratic") == pytest.approx(quadratic, abs=1e-5)
    assert value(data, "fleiss_kappa") == pytest.approx(expected["fleiss"], abs=1e-5)


@pytest.mark.shared
def test_published_agreement_of_dsg(shared):
    # statistics.md section 9, computed with krippendorff and pingouin.
    rows = pd.read_csv(shared / "data/dsg/ratings.csv")
    found = table(rating_reliability(kept_rows(rows, KEYS)))
    expected = {
        "alpha_nominal": 0.3969,
        "alpha_ordinal": 0.6854,
        "alpha_interval": 0.6844,
        "icc_2_1": 0.6811,
        "icc_2_k": 0.9144,
    }
    for name, number in expected.items():
        assert found[name].estimate.value == pytest.approx(number, abs=5e-5)
    spearman = found["rater_vs_rest_spearman"].estimate.value
    assert spearman == pytest.approx(0.792, abs=5e-4)
    tau = found["rater_vs_rest_kendall"].estimate.value
    assert tau == pytest.approx(0.683, abs=5e-4)
    assert (found["icc_2_1"].estimate.n, found["icc_2_1"].n_answers) == (796, 3980)
    assert (found["ac1"].estimate.n, found["ac1"].n_answers) == (800, 3995)


def test_icc_of_shrout_and_fleiss():
    # Shrout and Fleiss (1979), table 2: 6 targets, 4 judges; table 4: .29 and .62.
    judges = [
        [9, 6, 8, 7, 10, 6],
        [2, 1, 4, 1, 5, 2],
        [5, 3, 6, 2, 6, 4],
        [8, 2, 8, 6, 9, 7],
    ]
    data = reliability(judges)
    assert value(data, "icc_2_1") == pytest.approx(0.2897638, abs=1e-6)
    assert value(data, "icc_2_k") == pytest.approx(0.6200505, abs=1e-6)


matrices = st.integers(2, 4).flatmap(
    lambda raters: st.lists(
        st.lists(
            st.one_of(st.none(), st.integers(0, 4)), min_size=raters, max_size=raters
        ),
        min_size=3,
        max_size=12,
    )
)


def as_floats(units):
    return np.array(units, float).T


@given(matrices)
def test_alpha_equals_the_krippendorff_package(units):
    matrix = as_floats(units)
    counted = matrix[:, np.isfinite(matrix).sum(axis=0) >= 2]
    values = counted[np.isfinite(counted)]
    if len(set(values)) < 2:
        return
    data = reliability(matrix)
    for level in ("nominal", "ordinal", "interval"):
        expected = krippendorff.alpha(matrix, level_of_measurement=level)
        assert value(data, f"alpha_{level}") == pytest.approx(expected, abs=1e-12)
        assert alpha_value(data, level) == pytest.approx(expected, abs=1e-12)


@given(matrices)
def test_ordinal_alpha_ignores_monotone_relabelling(units):
    matrix = as_floats(units)
    if not np.isfinite(matrix).any():
        return
    plain, bent = reliability(matrix), reliability(np.exp2(matrix))
    assert value(plain, "alpha_ordinal") == pytest.approx(
        value(bent, "alpha_ordinal"), abs=1e-9, nan_ok=True
    )


@given(matrices, st.integers(0, 4))
def test_a_constant_annotator_makes_nobody_agree_perfectly(units, constant):
    """If others gave a unit something else, there is disagreement: alpha below 1.

    And where all agreed before, alpha cannot rise above that.
    """
    matrix = as_floats(units)
    joined = np.vstack([matrix, np.full(matrix.shape[1], float(constant))])
    differs = (np.isfinite(matrix) & (matrix != constant)).any()
    data = reliability(joined)
    for level in ("nominal", "ordinal", "interval"):
        found = value(data, f"alpha_{level}")
        # Without another value anywhere, nothing varies, and there is no alpha.
        assert found < 1 if differs else np.isnan(found)


def weighted_alpha(matrix, w, v):
    """Alpha by loops over pairs of answers, from the definition in the docstring."""
    answers = [
        (u, a, matrix[a, u])
        for u in range(matrix.shape[1])
        for a in range(len(matrix))
        if np.isfinite(matrix[a, u]) and v[a] > 0
    ]
    people = {u: {a for i, a, _ in answers if i == u} for u, _, _ in answers}
    answers = [row for row in answers if len(people[row[0]]) > 1]
    n = sum(w[u] * v[a] for u, a, _ in answers)
    observed = 0.0
    for u in {u for u, _, _ in answers}:
        own = [(v[a], x) for i, a, x in answers if i == u]
        total = sum(p for p, _ in own)
        pairs = total**2 - sum(p**2 for p, _ in own)
        unlike = sum(p * q for p, x in own for q, y in own if x != y)
        observed += w[u] * total / pairs * unlike / n
    every = n**2 - sum(w[u] * v[a] ** 2 for u, a, _ in answers)
    unlike = sum(
        w[u] * v[a] * w[t] * v[b]
        for u, a, x in answers
        for t, b, y in answers
        if x != y
    )
    return 1 - observed / (unlike / every)


def test_a_drawn_annotator_is_never_paired_with_himself():
    rng = np.random.default_rng(3)
    matrix = rng.integers(0, 3, (5, 9)).astype(float)
    matrix[rng.random(matrix.shape) < 0.3] = np.nan
    w, v = np.array([1, 2, 0, 1, 3, 1, 1, 0, 1]), np.array([2, 0, 1, 1, 3])
    found = alpha(reliability(matrix), w[None] * 1.0, "nominal", v[None] * 1.0)[0]
    assert found == pytest.approx(weighted_alpha(matrix, w, v), abs=1e-12)
    # Two people, however often one of them counts, agree as they do once each.
    two = np.array([[2.0, 0, 3, 0, 0]])
    data = reliability(np.where(np.isfinite(matrix), matrix, 1.0))
    pair = reliability(np.where(np.isfinite(matrix), matrix, 1.0)[[0, 2]])
    once = np.ones((1, 9))
    assert gwet(data, once, "ac1", np.array([[1.0, 0, 1, 0, 0]]))[0] == pytest.approx(
        value(replace(pair, scale=(0, 2)), "ac1")
    )
    assert STATISTICS["icc_2_1"](data, once, people=two)[0] == pytest.approx(
        value(pair, "icc_2_1")
    )


def test_intervals_over_annotators():
    rng = np.random.default_rng(0)
    quality = rng.integers(0, 5, 60)
    matrix = np.clip(quality + rng.integers(-1, 2, (8, 60)), 0, 4)
    names = (*RATING_STATISTICS, "majority_share")
    found = table(reliability(matrix), names, 200, ("annotators",))
    for name, row in found.items():
        if name.startswith(("rater", "majority")):
            assert np.isnan(row.estimate.low)
            assert "annotators cannot be drawn" in row.estimate.reason
        else:
            assert row.estimate.low < row.estimate.value < row.estimate.high
    for name, row in table(
        reliability(matrix[:4]), names[:5], 99, ("stories", "annotators")
    ).items():
        assert np.isnan(row.estimate.low), name
        assert row.estimate.reason.endswith("4 annotators are too few to draw from")


def test_a_weighted_unit_is_that_many_units():
    matrix = np.array([[0, 1, 2, 2, np.nan], [0, 2, 2, 1, 1], [1, 1, 2, 2, 3]])
    w = np.array([2, 1, 3, 1, 2])
    small, copied = reliability(matrix), reliability(np.repeat(matrix, w, axis=1))
    for name, statistic in STATISTICS.items():
        found = statistic(small, w[None].astype(float))[0]
        assert found == pytest.approx(value(copied, name), abs=1e-9), name


def test_the_scale_names_categories_that_nobody_used():
    observed, scaled = reliability([[3, 3, 4], [3, 4, 4]]), [[3, 3, 4], [3, 4, 4]]
    # pa = 2/3, pi = 1/2 each: q = 2 gives pe = 1/2, q = 5 gives pe = 1/8.
    assert value(observed, "ac1") == pytest.approx((2 / 3 - 1 / 2) / (1 / 2))
    wide = reliability(scaled, (0, 4))
    assert value(wide, "ac1") == pytest.approx((2 / 3 - 1 / 8) / (7 / 8))


@pytest.mark.parametrize(
    ("matrix", "name", "reason"),
    [
        ([[1, 2], [None, None]], "alpha_ordinal", "no unit has two answers"),
        ([[3, 3], [3, 3]], "alpha_ordinal", "all answers are the same"),
        (
            [[3, 3], [3, 3]],
            "ac1",
            "all answers are the same, and no scale names other categories",
        ),
        (
            [[1, 2, None], [1, None, 2]],
            "icc_2_1",
            "only one unit was rated by all 2 annotators",
        ),
        (
            [[1, 2, None], [1, None, 2], [None, 3, 4]],
            "icc_2_1",
            "no unit was rated by all 3 annotators",
        ),
        # (R - E) / R of Shrout and Fleiss with R = 0, and then -1 / -0.5 = 2.
        (
            [[0, 1], [1, 0]],
            "icc_2_1",
            "the estimated variance of the ratings is not positive",
        ),
        (
            [[0, 1], [1, 0]],
            "icc_2_k",
            "the estimated variance of the ratings is not positive",
        ),
        (
            [[4, 3, 3], [3, 3, 3]],
            "rater_vs_rest_spearman",
            "for each annotator, the own ratings or the means of the others are all "
            "the same",
        ),
        (
            [[3, 3], [4, 4]],
            "rater_vs_rest_kendall",
            "each annotator gave one rating throughout",
        ),
    ],
)
def test_undefined_is_empty_with_a_reason(matrix, name, reason):
    row = table(reliability(np.array(matrix, float)), resamples=10)[name].estimate
    assert np.isnan(row.value)
    assert np.isnan(row.low)
    assert row.reason == reason


def test_means_over_raters_have_a_reason_of_their_own_and_no_counts():
    rows = pd.DataFrame(
        {
            "story": "",
            "method": list("abc"),
            "dimension": "d",
            "annotator": "mean",
            "rating": [1.5, 2.5, 3.0],
        }
    )
    for row in table(rating_reliability(rows)).values():
        assert row.estimate.reason.startswith("the ratings are means over raters")
        assert (row.n_annotators, row.n_answers) == (None, None)


def test_intervals_hold_the_value_and_shrink_with_units():
    rng = np.random.default_rng(0)
    quality = rng.integers(0, 5, 400)
    matrix = np.clip(quality + rng.integers(-1, 2, (3, 400)), 0, 4)
    widths = []
    for n in (50, 400):
        row = table(reliability(matrix[:, :n]), resamples=200)["alpha_ordinal"].estimate
        assert row.low < row.value < row.high
        widths.append(row.high - row.low)
    assert widths[1] < widths[0] / 2


def test_shots_of_an_output_are_drawn_together():
    rng = np.random.default_rng(0)
    rows = ratings(rng.integers(0, 5, (2, 40)))
    rows["shot"] = rows["story"].str[-1]
    rows["story"] = rows["story"].str[:-1]
    data = rating_reliability(kept_rows(rows, KEYS))
    assert len(data.per_unit) == 40
    assert data.clusters["units"].max() == 3


def choices(answers):
    rows = [
        {"story": f"s{u}", "annotator": f"r{a}", "choice": answer}
        for u, unit in enumerate(answers)
        for a, answer in enumerate(unit)
    ]
    return pd.DataFrame(rows).assign(method_a="x", method_b="y", criterion="q")


def test_choices_count_majorities_and_kappa():
    data = choice_reliability(choices([["a", "a", "b"], ["a", "a", "a"]]))
    found = table(data, CHOICE_STATISTICS)
    assert found["majority_share"].estimate.value == pytest.approx(5 / 6)
    # Fleiss: pa = (1/3 + 1)/2 = 2/3, pe = (5/6)^2 + (1/6)^2 = 26/36.
    kappa = (2 / 3 - 26 / 36) / (10 / 36)
    assert found["fleiss_kappa"].estimate.value == pytest.approx(kappa)
    assert alpha(data, np.ones((1, 2)), "nominal")[0] == pytest.approx(0.0, abs=1e-9)


def clustered_study():
    """Twenty stories of six outputs; in some stories people agree, in others not."""
    rng = np.random.default_rng(2)
    noise = np.repeat(rng.integers(0, 3, 20), 6)
    matrix = np.clip(
        rng.integers(0, 4, 120) + np.round(noise * rng.normal(size=(3, 120))), 0, 3
    )
    rows = ratings(matrix)
    unit = rows["story"].str[1:].astype(int)
    rows["story"] = "s" + (unit // 6).astype(str).str.zfill(2)
    rows["method"] = "m" + (unit % 6).astype(str)
    return rating_reliability(kept_rows(rows, KEYS))


@pytest.mark.parametrize("name", ["alpha_nominal", "ac1", "icc_2_1"])
def test_stories_are_drawn_whole(name):
    data = clustered_study()
    story = data.clusters["stories"][:, 0]
    counts = np.random.default_rng(0).multinomial(20, np.full(20, 1 / 20), size=3000)
    draws = STATISTICS[name](data, counts[:, story].astype(float))
    row = table(data, (name,), 3000, ("stories",))[name].estimate
    plain = np.quantile(draws, [0.025, 0.975])
    assert [row.low, row.high] == pytest.approx(plain, abs=0.015)
