"""A late method on the scale of an earlier study, and the linking outputs."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import analysis
from analysis.options import OptionError
from analysis.planning.linking import Spread, Wave, choose_linking, extra_error
from analysis.rankings.late_entry import TwoStudies, choice_drift_rows

COLUMNS = ["story", "method", "annotator", "rating"]


def table(*rows, **more) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=COLUMNS).assign(**more)


# Two people of each study. In the first, A is rated 1 and 3 in story s, 3 and 5 in t;
# B 4 and 4, 2 and 2. The later ones rate A of s again with 3 and 3, and B of t with
# 3 and 5, and the late method C with 4 and 6.
BEFORE = table(
    ("s", "A", "ann", 1),
    ("s", "A", "bob", 3),
    ("t", "A", "ann", 3),
    ("t", "A", "bob", 5),
    ("s", "B", "ann", 4),
    ("s", "B", "bob", 4),
    ("t", "B", "ann", 2),
    ("t", "B", "bob", 2),
)
AFTER = table(
    ("s", "A", "cem", 3),
    ("s", "A", "dee", 3),
    ("t", "B", "cem", 3),
    ("t", "B", "dee", 5),
    ("s", "C", "cem", 4),
    ("t", "C", "cem", 4),
    ("s", "C", "dee", 6),
    ("t", "C", "dee", 6),
)


def test_late_mean_has_the_drift_of_linking_outputs_taken_off():
    both = TwoStudies.of(BEFORE, AFTER, "C", same_people=False)
    # A of s moves from 2 to 3, B of t from 2 to 4: later people rate 1.5 higher.
    assert both.drift(0.95).value == 1.5
    assert both.unlinked(0.95).value == 5
    assert both.linked(0.95).value == 3.5
    gaps = {name: found.value for name, found in both.differences(0.95)}
    assert gaps == {"A": 0.5, "B": 0.5}


def test_older_methods_count_in_the_stories_of_the_late_one():
    in_s = AFTER[(AFTER["story"] == "s") | (AFTER["method"] == "B")]
    both = TwoStudies.of(BEFORE, in_s, "C", same_people=False)
    gaps = {name: found.value for name, found in both.differences(0.95)}
    # C has 3.5 in s, where A had 2 and B 4.
    assert gaps == {"A": 1.5, "B": -0.5}


def ratings(people, outputs, noise, *, first=0):
    """Return everybody's ratings of all outputs."""
    return table(
        *(
            (story, method, f"{first + who:02}", float(noise[who, place]))
            for who in range(people)
            for place, (story, method) in enumerate(outputs)
        )
    )


def test_drift_is_tested_as_two_samples_of_people_if_outputs_do_not_vary():
    rng = np.random.default_rng(4)
    outputs = [(f"{n:02}", "A") for n in range(30)]
    # People vary far more than what they make of an output.
    noise = [
        2 * rng.normal(size=(n, 1)) + 0.01 * rng.normal(size=(n, 30)) for n in (5, 7)
    ]
    before, after = (
        ratings(n, outputs, one, first=10 * n)
        for n, one in zip((5, 7), noise, strict=True)
    )
    late = after[after["story"] == "00"].assign(method="C")
    after = pd.concat([after, late])
    found = TwoStudies.of(before, after, "C", same_people=False).drift(0.95)
    expected = stats.ttest_ind(noise[1].mean(1), noise[0].mean(1), equal_var=False)
    # scipy's degrees of freedom come of both variances, ours of the numbers of people.
    assert found.p_value == pytest.approx(expected.pvalue, rel=0.15)
    error = np.hypot(*(one.mean(1).std(ddof=1) / np.sqrt(len(one)) for one in noise))
    assert found.value / error == pytest.approx(expected.statistic, rel=1e-3)


def test_people_in_both_studies_are_compared_with_themselves():
    rng = np.random.default_rng(5)
    outputs = [(f"{n:02}", "A") for n in range(30)]
    severity = 3 * rng.normal(size=(6, 1))
    noise = [severity + 0.1 * rng.normal(size=(6, 30)) for _ in range(2)]
    before, after = (ratings(6, outputs, one) for one in noise)
    after = pd.concat([after, after[after["story"] == "00"].assign(method="C")])
    widths = {}
    for same in (True, False):
        drift = TwoStudies.of(before, after, "C", same_people=same).drift(0.95)
        widths[same] = drift.high - drift.low
    assert widths[True] < widths[False] / 5


@pytest.mark.slow
@settings(max_examples=20, deadline=None)
@given(
    shift=st.floats(-5, 5),
    times=st.floats(0.2, 4),
    seed=st.integers(0, 1000),
)
def test_linked_mean_does_not_depend_on_how_much_later_people_shift(shift, times, seed):
    rng = np.random.default_rng(seed)
    old = [(f"{s}", m) for s in "stuvwx" for m in "AB"]
    before = ratings(3, old, rng.integers(0, 5, (3, 12)))
    again = [*old[::3], *((s, "C") for s in "stuvwx")]
    after = ratings(4, again, rng.integers(0, 5, (4, 10)), first=10)
    plain = TwoStudies.of(before, after, "C", same_people=False)
    moved = after.assign(rating=after["rating"] + shift)
    other = TwoStudies.of(before, moved, "C", same_people=False)
    for name in ("value", "low", "high"):
        mine, theirs = (getattr(one.linked(0.95), name) for one in (plain, other))
        assert theirs == pytest.approx(mine, abs=1e-8)
    assert other.drift(0.95).value == pytest.approx(plain.drift(0.95).value + shift)
    assert other.uniform()[0] == pytest.approx(plain.uniform()[0], abs=1e-6)
    scaled = (table.assign(rating=table["rating"] * times) for table in (before, after))
    wide = TwoStudies.of(*scaled, "C", same_people=False).linked(0.95)
    assert wide.high - wide.low == pytest.approx(
        times * (plain.linked(0.95).high - plain.linked(0.95).low)
    )


def test_drift_of_one_method_alone_is_found():
    rng = np.random.default_rng(6)
    outputs = [(f"{n}", m) for n in range(4) for m in "ABC"]
    before, after = (
        ratings(6, outputs, rng.normal(size=(6, 12)), first=10 * n) for n in range(2)
    )
    assert TwoStudies.of(before, after, "C", same_people=False).uniform()[0] > 0.05
    after.loc[after["method"] == "A", "rating"] += 2
    assert TwoStudies.of(before, after, "C", same_people=False).uniform()[0] < 0.01


def test_link_is_undefined_when_no_output_was_rated_in_both():
    after = AFTER[AFTER["method"] == "C"]
    both = TwoStudies.of(BEFORE, after, "C", same_people=False)
    assert "no output was rated in both" in both.linked(0.95).reason
    assert np.isnan(both.linked(0.95).value)
    assert both.unlinked(0.95).value == 5


def test_choices_drift_by_how_often_the_stronger_method_wins():
    columns = ["story", "method_a", "method_b", "annotator", "choice", "left_method"]
    # In other pairs of the first study A always wins. In s it wins 3 of 4 in the first
    # study, and 1 of 4 in the later one.
    rows = [(f"t{n}", "A", "B", who, "a", "A") for n in range(2) for who in "wxyz"]
    rows += [
        ("s", "A", "B", who, c, "A") for who, c in zip("wxyz", "aaab", strict=True)
    ]
    later = [
        ("s", "B", "A", who, c, "A") for who, c in zip("klmn", "aaab", strict=True)
    ]
    found = choice_drift_rows(
        pd.DataFrame(rows, columns=columns),
        pd.DataFrame(later, columns=columns),
        question="q",
        late="C",
        confidence=0.95,
    )
    values = {row["statistic"]: row["value"] for row in found}
    assert values == {"preference": -0.5, "ties": 0, "left": -0.5}


def test_linking_outputs_cover_levels_methods_and_stories():
    rng = np.random.default_rng(1)
    keys = [(f"{s:02}", m) for s in range(12) for m in "ABCD"]
    means = dict(zip(keys, rng.random(48), strict=True))
    chosen = choose_linking(means, 12, seed=3)
    order = sorted(means.values())
    levels = [order.index(means[key]) * 3 // 48 for key in chosen]
    assert [levels.count(level) for level in range(3)] == [4, 4, 4]
    assert {method for _story, method in chosen} == {*"ABCD"}
    assert len({story for story, _method in chosen}) >= 8
    # One or two more are in the middle, or at both ends: none pulls the mean.
    levels = [order.index(means[k]) * 3 // 48 for k in choose_linking(means, 8, seed=3)]
    assert [levels.count(level) for level in range(3)] == [3, 2, 3]


def test_extra_error_falls_with_linking_items():
    spread, wave = Spread(0.2, 0.3, 0.6, 10), Wave(20, 3, 10)
    # Variances .016 + .6 / 60 + .2 / 10 alone; 12 outputs add 2 * .6 / 36.
    expected = np.sqrt((0.045 + 1 / 30) / 0.045) - 1
    assert extra_error(spread, wave, 12) == pytest.approx(expected)
    errors = [extra_error(spread, wave, n) for n in (6, 12, 24, 96)]
    assert errors == sorted(errors, reverse=True)


def test_notebook_reports_the_late_method():
    before, after = (one.assign(dimension="look") for one in (BEFORE, AFTER))
    report = analysis.late_entry(before, after, method="C")
    row = report["late_methods"].iloc[0]
    assert (row["value"], row["unlinked"], row["n_linking"]) == (3.5, 5, 2)
    assert "C has a mean of 3.50" in repr(report)
    with pytest.raises(OptionError, match="expected one of C, which the first lacks"):
        analysis.late_entry(before, after, method="A")
