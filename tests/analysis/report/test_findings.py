"""Sentences follow from their tables."""

import math

import pandas as pd
import pytest

from analysis.report.sections import findings
from analysis.statistics import COLUMNS
from analysis.verdicts import verdict_rows
from tests.analysis.report.saying import limits, sentences

NAN = float("nan")


def correlations(*changes):
    """Return a row for each dict of changes to a metric that agrees."""
    row = {
        "dimension": "beauty",
        "metric": "aesthetic",
        "level": "story",
        "coefficient": "kendall",
        "value": 0.5,
        "low": 0.2,
        "high": 0.7,
        "n": 40,
        "n_groups": 8,
        "p_value": 0.004,
        "drawn": "stories+methods",
        "reason": "",
    }
    return pd.DataFrame([row | change for change in changes])


NOISE = {"metric": "noise", "value": 0.1, "low": -0.2, "high": 0.4}


def test_stories_without_a_coefficient_are_counted():
    means = pd.DataFrame({"dimension": ["beauty"], "n_stories": [40]})
    tables = {"correlations": correlations({}, NOISE), "method_means": means}
    assert "fewer than half of 40 stories: aesthetic 8, noise 8." in limits(tables)[0]
    full = tables | {"method_means": means.assign(n_stories=16)}
    assert not any("fewer than half" in text for text in limits(full))


def agreement(**changes):
    row = {
        "question": "q",
        "statistic": "alpha_ordinal",
        "value": 0.4,
        "low": 0.3,
        "high": 0.5,
        "n_units": 9,
        "n_annotators": 3,
        "reason": "",
    }
    return pd.DataFrame([row | changes])


def test_agreement_beyond_chance_is_shown():
    assert sentences({"agreement": agreement()}) == (
        "q: people agree beyond chance (ordinal alpha 0.40 [0.30, 0.50]; "
        "3 annotators, 9 items with two or more answers).",
    )


@pytest.mark.parametrize(
    ("value", "low", "high"), [(0.4, -0.1, 0.8), (-0.5, -0.8, -0.2), (0.4, NAN, NAN)]
)
def test_agreement_is_open_when_its_interval_is_not_above_chance(value, low, high):
    table = agreement(value=value, low=low, high=high)
    assert sentences({"agreement": table}) == ()
    text = limits({"agreement": table})[0]
    why = "no interval; " if math.isnan(low) else ""
    start = f"q: no evidence that people agree beyond chance ({why}ordinal"
    assert text.startswith(start)


def test_undefined_agreement_gives_its_reason_once():
    undefined = {"value": NAN, "low": NAN, "high": NAN, "reason": "no unit has two"}
    table = pd.concat([agreement(**undefined, question=name) for name in "pq"])
    assert sentences({"agreement": table}) == ()
    text = limits({"agreement": table})[0]
    assert text == (
        "p, q: agreement beyond chance is undefined, since no unit has two."
    )


def test_sentences_on_metrics_are_separate():
    rows = [{"level": "method", "n": 23, "dimension": name} for name in "ab"]
    found = verdict_rows({"correlations": correlations(*rows)})
    table = pd.DataFrame(found, columns=COLUMNS["verdicts"])
    result = findings({"verdicts": table, "agreement": agreement()}, 0.95)
    (_, [(is_shown, first)]), (_, [(is_second, second)]) = result.verdicts
    assert is_shown
    assert is_second
    people = tuple(text for _, text in result.sections["people"])
    assert len(people) == 1
    assert result.shown == (first, second, *people)
    assert result.uses["agree"][0][1].startswith("Better than chance: aesthetic (a;")


def test_sentences_are_in_one_section_each():
    tables = {"agreement": agreement(low=-0.1)}
    result = findings(
        {**tables, "correlations": correlations({"level": "method"})}, 0.95
    )
    counts = {key: len(texts) for key, texts in result.sections.items()}
    assert counts == {
        "people": 1,
        "metrics": 0,
        "disagreement": 0,
        "methods": 0,
        "planning": 1,
    }
    every = [text for own in result.sections.values() for _, text in own]
    assert sorted(every) == sorted((*result.shown, *result.not_shown))
    assert [is_shown for is_shown, _ in result.sections["people"]] == [False]


@pytest.mark.parametrize(
    ("n", "limit"),
    [
        (
            4,
            "not even a perfect order of their means can be distinguished from chance.",
        ),
        (5, "the exact test of all their orders can show strong agreement only"),
        (9, "the exact test of all their orders can show strong agreement only"),
        (10, None),
    ],
)
def test_few_methods_limit_what_can_be_shown(n, limit):
    """Two orders of n! are perfect: p is 1/12 of four, and 1/60 of five methods."""
    found = limits({"correlations": correlations({"level": "method", "n": n})})
    texts = [text for text in found if text.startswith(f"Only {n} methods: ")]
    assert len(texts) == (limit is not None)
    assert all(limit in text for text in texts)


@pytest.mark.parametrize(
    ("name", "n", "is_limited"),
    [
        ("method_means", 6, True),
        ("win_rates", 19, True),
        ("ranking_leaderboard", 5, True),
        ("method_means", 20, False),
        ("method_means", 1, False),
        ("method_means", None, False),
    ],
)
def test_intervals_over_few_stories_are_called_too_narrow(name, n, is_limited):
    stories = pd.array([n, n], "Int64")
    table = pd.DataFrame({"n_stories": stories, "low": [0.1, 0.2]})
    found = [text for text in limits({name: table}) if text.startswith("Only")]
    assert (
        found
        == [
            f"Only {n} stories: intervals that resample so few are too narrow, so "
            "treat borderline results as undecided."
        ]
        * is_limited
    )
    assert not limits({name: table.assign(low=float("nan"))})[0].startswith("Only")


def test_missed_degradation_is_a_warning_and_shown():
    row = {
        "metric": "csd",
        "twin": "repeated_shot",
        "value": 1.0,
        "low": 0.66,
        "high": 1.0,
        "n": 9,
        "n_stories": 9,
        "n_missed": 9,
        "n_alike": 0,
        "verdict": "does not see",
    }
    result = findings({"sanity": pd.DataFrame([row])}, 0.95)
    (text,) = result.warnings
    assert text.startswith(
        "csd scores copies with repeated shots better than their originals in 9 of 9"
    )
    assert result.shown == (text,)
