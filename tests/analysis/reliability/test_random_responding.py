"""Random responding, against shuffles and coefficients computed elsewhere."""

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
    """Return ratings of units, with noise of a given size for each annotator."""
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


@pytest.mark.parametrize("of", [choices, ratings])
def test_random_and_reversed_responding_are_marked(of):
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
