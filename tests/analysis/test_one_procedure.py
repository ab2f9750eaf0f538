"""Interval and test of one row are of one procedure: they never disagree."""

import itertools

import numpy as np
import pandas as pd
import pytest

from analysis.commands.alignment import align
from analysis.options import AlignOptions
from analysis.statistics import COLUMNS
from tests.cases import slow

# Bounds, p-value and the value that is tested, where a table names them otherwise.
NAMED = {
    "pairwise_accuracy": [
        ("ppa_half_low", "ppa_half_high", "p_half", 0.5),
        ("acc_eq_low", "acc_eq_high", "p_acc_eq", "chance_acc_eq"),
    ],
    "meta_analysis": [("low", "high", "p_value", "chance")],
    "win_rates": [("low", "high", "p_value", 0.5)],
    "method_win_rates": [("low", "high", "p_value", 0.5)],
    "verdicts": [("low", "high", "p_value", "chance")],
}
# Tests of a share of answers that an annotator's interval is not about.
APART = {"annotators", "annotator_sides"}


def ratings_and_scores(seed, n_stories, n_methods, people):
    """Draw ratings, and scores of a good, a tying and an unrelated metric."""
    rng = np.random.default_rng(seed)
    good = rng.normal(size=(n_stories, 1)) / 2 + rng.normal(size=(n_stories, n_methods))
    story, method = (x.ravel() for x in np.indices(good.shape))
    places = {"story": [f"s{s}" for s in story], "method": [f"m{m}" for m in method]}
    given = [
        pd.DataFrame(places).assign(
            annotator=f"a{a}",
            dimension="q",
            rating=np.clip(
                np.round(2 + good + rng.normal(size=good.shape)), 0, 4
            ).ravel(),
        )
        for a in range(people)
    ]
    noise = rng.normal(size=(3, *good.shape))
    values = good + noise[0], np.round(good + 2 * noise[1]), noise[2]
    scores = [
        pd.DataFrame(places).assign(metric=name, score=own.ravel())
        for name, own in zip(("close", "coarse", "none"), values, strict=True)
    ]
    return pd.concat(given), pd.concat(scores)


def choices(seed, n_stories=12, n_methods=5, people=3):
    """Draw answers to all pairs in every story."""
    rng = np.random.default_rng(seed)
    strength = rng.normal(size=n_methods) / 2
    rows = [
        (f"s{s}", f"m{i}", f"m{j}", f"a{a}", strength[i] - strength[j])
        for s in range(n_stories)
        for i, j in itertools.combinations(range(n_methods), 2)
        for a in range(people)
    ]
    table = pd.DataFrame(
        rows, columns=["story", "method_a", "method_b", "annotator", "gap"]
    )
    gap = table.pop("gap") + rng.logistic(size=len(table))
    answer = np.where(gap.abs() < 0.3, "tie", np.where(gap > 0, "a", "b"))
    return table.assign(criterion="q", choice=answer)


def disagreements(tables):
    """Return rows whose interval excludes the tested value, but p > .05, or not."""
    found, n = [], 0
    for name, table in tables.items():
        if name in APART or not {"low", "p_value", "p_half"} & {*COLUMNS.get(name, ())}:
            continue
        if name == "meta_analysis":
            table = table.assign(chance=table["statistic"].eq("ppa_half") / 2)
        for low, high, p, tested in NAMED.get(name, [("low", "high", "p_value", 0.0)]):
            if p not in table:
                continue
            known = table.dropna(subset=[low, high, p])
            at = known[tested] if isinstance(tested, str) else tested
            excludes = (known[low] > at) | (known[high] < at)
            wrong = known[excludes != (known[p] <= 0.05)]
            found += [(name, *row) for row in wrong.itertuples(index=False)]
            n += len(known)
    return found, n


@pytest.mark.parametrize("size", [(12, 4, 3), *slow((12, 5, 3)), (10, 12, 3)], ids=str)
def test_interval_excludes_chance_where_the_test_rejects(size):
    ratings, scores = ratings_and_scores(0, *size)
    options = AlignOptions(resamples=100)
    wrong, n = disagreements(
        align(ratings=ratings, scores=scores, options=options).tables
    )
    assert wrong == []
    assert n > 40


def test_interval_of_choices_excludes_chance_where_the_test_rejects():
    options = AlignOptions(resamples=100)
    wrong, n = disagreements(align(choices=choices(0), options=options).tables)
    assert wrong == []
    assert n > 20


@pytest.mark.slow
@pytest.mark.shared
@pytest.mark.parametrize("name", ["dsg", "tifa"])
@pytest.mark.parametrize("parts", ["stories+methods", "stories", "stories+annotators"])
def test_interval_of_real_data_excludes_chance_where_the_test_rejects(
    shared, name, parts
):
    folder = shared / "data" / name
    tables = {key: pd.read_csv(folder / f"{key}.csv") for key in ("ratings", "scores")}
    options = AlignOptions(resamples=400, resample=parts)
    wrong, n = disagreements(align(**tables, options=options).tables)
    assert wrong == []
    assert n > 40
