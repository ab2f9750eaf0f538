"""Who answers like chance, against shuffles and coefficients computed elsewhere."""

import itertools

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from statsmodels.stats.inter_rater import cohens_kappa

from analysis.reading.column_cleaning import kept_rows
from analysis.reading.kept_answers import CHOICE_KEYS, RATING_KEYS
from analysis.reliability.annotators import choice_annotators, rating_annotators
from analysis.reliability.random_responding import Answers, Evidence
from analysis.statistics import COLUMNS

WORDS = np.array(["a", "b", "tie"])


def choices(*criteria):
    """Rows of people-by-units codes, a matrix a criterion; -1 is missing."""
    rows = [
        (f"s{u}", "m", "n", f"q{q}", f"r{a}", WORDS[code])
        for q, matrix in enumerate(criteria)
        for a, codes in enumerate(matrix)
        for u, code in enumerate(codes)
        if code >= 0
    ]
    names = ["story", "method_a", "method_b", "criterion", "annotator", "choice"]
    return kept_rows(pd.DataFrame(rows, columns=names), CHOICE_KEYS)


def ratings(*dimensions):
    rows = [
        (f"s{u}", "m", f"q{q}", f"r{a}", value)
        for q, matrix in enumerate(dimensions)
        for a, values in enumerate(matrix)
        for u, value in enumerate(values)
        if np.isfinite(value)
    ]
    names = ["story", "method", "dimension", "annotator", "rating"]
    return kept_rows(pd.DataFrame(rows, columns=names), RATING_KEYS)


def found(rows, resamples=400):
    function = choice_annotators if "choice" in rows else rating_annotators
    table = function(rows, resamples=resamples, confidence=0.95, seed=0)
    frame = pd.DataFrame(table, columns=list(COLUMNS["annotators"]))
    return frame.set_index(["question", "annotator", "statistic"])


def people(rng, n_units, noise):
    """What people say of units, each with the noise of his or her own."""
    seen = rng.normal(size=n_units) + np.array(noise)[:, None] * rng.normal(
        size=(len(noise), n_units)
    )
    return np.digitize(seen / np.hypot(1, noise)[:, None], [-0.4, 0.4])


def evidence(*questions):
    """Evidence of (units, own, others), the last two with one column."""
    answers = [
        Answers(np.asarray(u), np.asarray(u), np.c_[own], np.c_[others])
        for u, own, others in questions
    ]
    return Evidence("x", tuple(answers))


@pytest.mark.parametrize(("n", "seed"), [(40, 40), (400, 2)])
def test_p_is_that_of_scipys_permutation_test(n, seed):
    rng = np.random.default_rng(seed)
    own, others = rng.normal(size=(2, n))
    others += own * 1.2 / np.sqrt(n)
    exact = stats.permutation_test(
        [own],
        lambda x, axis: (x * others).sum(axis=axis),
        permutation_type="pairings",
        alternative="greater",
        vectorized=True,
        n_resamples=20_000,
        rng=np.random.default_rng(1),
    )
    p = evidence((range(n), own, others)).p_value(20_000, rng)
    assert 0.02 < exact.pvalue < 0.6
    assert p == pytest.approx(exact.pvalue, abs=0.01)


@pytest.mark.parametrize("n_copies", [1, 70])
def test_answers_stay_with_their_question_and_units_asked_the_same(n_copies):
    """Every shuffle is listed: those of one question's units and those of the other's.

    Copies of the units make them more than are shuffled one by one: there the exact
    mean and variance of the same shuffles give p.
    """
    first = [0, 1, 2, 3], [3.0, 1, 2, 4], [2.0, 1, 3, 4]
    second = [4, 5, 6], [1.0, 0, 0], [1.0, 1, 0]
    sums = [
        [np.dot(order, others) for order in itertools.permutations(own)]
        for _units, own, others in (first, second)
    ]
    every = np.add.outer(*sums).ravel()
    observed = np.dot(*first[1:]) + np.dot(*second[1:])
    if n_copies == 1:
        p = evidence(first, second).p_value(20_000, np.random.default_rng(0))
        assert p == pytest.approx((every >= observed).mean(), abs=0.01)
        return
    tiled = [
        (
            np.arange(n_copies * len(u)) + 1000 * k,
            np.tile(x, n_copies),
            np.tile(z, n_copies),
        )
        for k, (u, x, z) in enumerate((first, second))
    ]
    rng = np.random.default_rng(0)
    drawn = sum(
        np.array([rng.permutation(x) @ z for _ in range(4000)]) for _u, x, z in tiled
    )
    seen = sum(x @ z for _u, x, z in tiled)
    expected = stats.norm.sf((seen - drawn.mean()) / drawn.std())
    p = evidence(*tiled).p_value(1, rng)
    assert np.log(p) == pytest.approx(np.log(expected), rel=0.1)


def test_above_chance_of_two_people_is_cohens_kappa():
    """As statsmodels computes it."""
    codes = people(np.random.default_rng(0), 80, [0.5, 1.5])
    rows = found(choices(codes), 0)
    table = np.zeros((3, 3))
    np.add.at(table, tuple(codes), 1)
    row = rows.loc[("q0", "r0", "above_chance")]
    assert row["value"] == pytest.approx(cohens_kappa(table).kappa)
    assert row["n"] == 80
    chance = table.sum(axis=0) @ table.sum(axis=1) / 80**2
    shuffled = rows.loc[("q0", "r0", "shuffled_agreement"), "value"]
    assert shuffled == pytest.approx(chance)


def test_all_questions_together_by_hand():
    rng = np.random.default_rng(1)
    one, two = people(rng, 60, [1, 1, 1]), people(rng, 60, [1, 1, 1])
    two[:, 40:] = -1
    one[1:, :5] = -1  # nobody else answered these
    rows = found(choices(one, two), 50)["value"]
    observed = expected = 0.0
    for name, matrix, n in (("q0", one, 55), ("q1", two, 40)):
        used = (matrix[0] >= 0) & (matrix[1:] >= 0).any(axis=0)
        assert used.sum() == n
        observed += n * rows[name, "r0", "exact_agreement"]
        expected += n * rows[name, "r0", "shuffled_agreement"]
    above = (observed - expected) / (95 - expected)
    assert rows["all questions", "r0", "above_chance"] == pytest.approx(above)


def test_ratings_of_all_questions_have_the_mean_of_scipys_correlations():
    rng = np.random.default_rng(1)
    given = [people(rng, n, [1, 1, 1]).astype(float) for n in (60, 30)]
    rows = found(ratings(*given), 50)["value"]
    each = [
        stats.spearmanr(matrix[0], matrix[1:].mean(axis=0)).statistic
        for matrix in given
    ]
    expected = (60 * each[0] + 30 * each[1]) / 90
    assert rows["all questions", "r0", "spearman_others"] == pytest.approx(expected)
    one = found(ratings(given[0]))
    assert "all questions" not in one.index.get_level_values("question")


@pytest.mark.parametrize("of", [choices, ratings])
def test_who_answers_at_random_is_marked_and_who_turns_the_scale_too(of):
    rng = np.random.default_rng(0)
    given = people(rng, 150, [0.7, 0.7, 0.7, 0.7, 0.7, 0.7])
    given[4] = 2 - given[4]
    given[5] = rng.permutation(given[5])
    few = given[0].copy()
    few[12:] = -1
    matrix = np.vstack([given, few]).astype(float if of is ratings else int)
    if of is ratings:
        matrix[matrix < 0] = np.nan
    rows = found(of(matrix))
    told = rows["verdict"].dropna().droplevel(["question", "statistic"])
    assert told.to_dict() == {
        **{f"r{a}": "above chance" for a in range(4)},
        "r4": "below chance",
        "r5": "like chance",
        "r6": "cannot be told",
    }
    tested = rows[rows["verdict"].notna()].droplevel(["question", "statistic"])
    enough = tested["value"].drop(["r6", "r5"])
    assert tested.loc["r5", "others"] == pytest.approx(enough.median())
    assert (tested["p_value"] > 0).all()


def test_without_resamples_and_with_one_answer_there_is_no_verdict():
    codes = people(np.random.default_rng(0), 50, [0.7, 0.7, 0.7])
    assert found(choices(codes), 0)["verdict"].isna().all()
    assert found(choices(codes), 0)["p_value"].isna().all()
    codes[0] = 1
    rows = found(choices(codes))
    row = rows.loc[("q0", "r0", "above_chance")]
    assert row["reason"] == "the own answers are all the same"
    assert np.isnan(row["value"])
    assert pd.isna(row["verdict"])
