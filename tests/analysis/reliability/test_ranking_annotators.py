"""Each annotator's rankings against the others', by hand, by scipy, by enumeration."""

import itertools

import numpy as np
import pandas as pd
import pytest
from scipy.stats import kendalltau

from analysis.reading.column_cleaning import kept_rows
from analysis.reading.kept_answers import RANKING_KEYS
from analysis.reliability.random_responding import Answers
from analysis.reliability.ranking_annotators import RankingEvidence, ranking_annotators
from analysis.statistics import COLUMNS

TAU = "mean_kendall_others"


def answer(annotator, order, story="s", criterion="q", **more):
    """Rows of one ranking, a letter a method, the best first."""
    keys = {"story": story, "criterion": criterion, "annotator": annotator, **more}
    return [keys | {"method": m, "rank": k} for k, m in enumerate(order, start=1)]


def found(rows, resamples=400):
    rows = kept_rows(pd.DataFrame(rows), RANKING_KEYS)
    table = ranking_annotators(rows, resamples=resamples, confidence=0.95, seed=0)
    frame = pd.DataFrame(table, columns=list(COLUMNS["annotators"]))
    return frame.set_index(["question", "annotator", "statistic"])


def people(noise, n_sets=40, k=4, seed=0, criteria=("q",), strength=0.0):
    """Rankings of everybody's own noise on top of a common opinion of outputs."""
    rng = np.random.default_rng(seed)
    rows = []
    for s, q in itertools.product(range(n_sets), criteria):
        opinion = rng.normal(size=k) - strength * np.arange(k)
        for a, own in enumerate(noise):
            seen = (opinion + own * rng.normal(size=k)) / np.hypot(1, own)
            order = ["ABCDEFG"[m] for m in np.argsort(-seen)]
            rows += answer(f"r{a}", order, f"s{s}", q)
    return rows


def matrix(order, k):
    """Signs of an order of numbers from 0."""
    place = np.argsort(order)
    signs = np.zeros((k, k))
    n = len(order)
    signs[:n, :n] = np.sign(place[None, :] - place[:, None])
    return signs


def evidence(units, k):
    """Evidence of units with an order and the others' signs on each question."""
    questions = []
    for q in range(len(units[0])):
        own = [matrix(orders[q][0], k).ravel() for orders in units]
        others = [np.pad(z, (0, k - len(z))).ravel() for o in units for z in [o[q][1]]]
        places = np.arange(len(units))
        questions.append(Answers(places, places, np.array(own), np.array(others)))
    return RankingEvidence(TAU, tuple(questions))


def signs(rng, k):
    """Return an antisymmetric table of the others' preferences among k outputs."""
    upper = np.triu(rng.uniform(-1, 1, (k, k)), 1)
    return upper - upper.T


def renamed(unit, k):
    """Return the sum of products under every permutation of the outputs of a unit."""
    return np.array(
        [
            sum(
                (matrix(order, k)[np.ix_(names, names)] * others).sum()
                for order, others in unit
            )
            for names in itertools.permutations(range(k))
        ]
    )


def test_tau_with_the_others_by_hand():
    """Ann and Bob have 1/3, Ann and Cid -1, Bob and Cid -1/3; Bob turns AD."""
    rows = answer("Ann", "ABC") + answer("Bob", "ACB") + answer("Cid", "CBA")
    rows += answer("Ann", "ABCD", "t") + answer("Bob", "DA", "t")
    rows += answer("Ann", "AB", "u") + answer("Cid", "DC", "u")
    told = found(rows, 0)
    values = told["value"].xs(TAU, level="statistic")["q"]
    assert values["Ann"] == pytest.approx((-1 / 3 - 1) / 2)
    assert values["Bob"] == pytest.approx((0 - 1) / 2)
    assert values["Cid"] == pytest.approx(-2 / 3)
    n = told["n"].unstack("statistic").loc["q"]
    assert n["n_answers"].to_dict() == {"Ann": 3, "Bob": 2, "Cid": 2}
    assert n[TAU].to_dict() == {"Ann": 2, "Bob": 2, "Cid": 1}


def test_ranking_annotator_value_is_mean_of_scipys_tau():
    rows = people([1.0, 1.0, 1.0, 2.0], n_sets=20)
    wide = pd.DataFrame(rows).pivot_table(
        index=["story", "method"], columns="annotator", values="rank"
    )
    taus = [
        kendalltau(own["r3"], own[f"r{a}"])[0]
        for _story, own in wide.groupby(level="story")
        for a in range(3)
    ]
    row = found(rows).loc["q", "r3", TAU]
    assert row["value"] == pytest.approx(np.mean(taus))
    assert row["low"] < row["value"] < row["high"]
    assert row["n"] == 20


def test_ranking_annotator_value_is_mean_tau_b_when_ranks_tie():
    rows = people([1.0, 1.0], n_sets=25, k=5)
    for row in rows:
        row["rank"] = row["rank"] // 2 + (row["annotator"] == "r0")
        if row["story"] == "s0":
            row["rank"] = 1
    wide = pd.DataFrame(rows).pivot_table(
        index=["story", "method"], columns="annotator", values="rank"
    )
    taus = [
        kendalltau(own["r0"], own["r1"])[0]
        for story, own in wide.groupby(level="story")
        if story != "s0"
    ]
    row = found(rows).loc["q", "r0", TAU]
    assert row["value"] == pytest.approx(np.mean(taus))
    assert row["n"] == 24
    assert row["verdict"] == "above chance"


@pytest.mark.parametrize("k", [2, 3, 4, 5])
def test_variance_is_that_over_all_renamings(k):
    """Of one question, the formula of the docstring too."""
    rng = np.random.default_rng(k)
    several = [(rng.permutation(k), signs(rng, k)) for _question in range(3)]
    for unit in ([several[0]], several):
        one = evidence([unit], k + 1)  # other units have an output more
        mean, variance = one.moments(*one._joined())
        every = renamed(unit, k)
        assert mean == pytest.approx(every.mean(), abs=1e-12)
        assert variance == pytest.approx(every.var())
    s = 2 * several[0][1]  # both triangles are summed
    known = (np.triu(s**2).sum() + (s.sum(axis=1) ** 2).sum()) / 3
    assert known == pytest.approx(renamed([several[0]], k).var())


def test_random_and_reversed_rankings_are_marked():
    rows = people([0.8, 0.8, 0.8, 0.8, 0.8, 1e6], n_sets=60)
    for row in rows:
        if row["annotator"] == "r4":
            row["rank"] = 5 - row["rank"]
    rows += [
        row | {"annotator": "r6"}
        for row in rows
        if row["annotator"] == "r0" and int(row["story"][1:]) < 19
    ]
    told = found(rows)
    tested = told[told["verdict"].notna()].droplevel(["question", "statistic"])
    assert tested["verdict"].to_dict() == {
        **{f"r{a}": "above chance" for a in range(4)},
        "r4": "below chance",
        "r5": "like chance",
        "r6": "cannot be told",
    }
    enough = tested["value"].drop(["r5", "r6"])
    assert tested.loc["r5", "others"] == pytest.approx(enough.median())
