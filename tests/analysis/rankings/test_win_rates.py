"""Win rates of pairs and of methods, against counts, StoryBench and resamples."""

import numpy as np
import pandas as pd
import pytest

from analysis.rankings.win_rates import method_win_rates, win_rates

COLUMNS = ["story", "method_a", "method_b", "criterion", "annotator", "choice"]
BOTH = ("stories", "annotators")


def rows_of(choices, story="s", a="x", b="y"):
    rows = [(story, a, b, "q", f"r{i}", choice) for i, choice in enumerate(choices)]
    return pd.DataFrame(rows, columns=COLUMNS)


def independent(n, share, ties=0, a="x", b="y"):
    """Answers of n stories and as many annotators."""
    outcome = np.array(["a"] * round(share * n) + ["tie"] * ties)
    outcome = np.append(outcome, ["b"] * (n - len(outcome)))
    rows = [(f"s{i}", a, b, "q", f"r{i}", x) for i, x in enumerate(outcome)]
    return pd.DataFrame(rows, columns=COLUMNS)


def simulated(n_stories=30, raters=3, people=12, story=0.6, taste=0.6, seed=0):
    rng = np.random.default_rng(seed)
    strength = np.array([0.8, 0.2, -0.2, -0.8])
    of_story = rng.normal(0, story, (n_stories, 4))
    of_person = rng.normal(0, taste, (people, 4))
    first, second = np.triu_indices(4, 1)
    s, pair, rater = np.indices((n_stories, 6, raters)).reshape(3, -1)
    # Raters of a unit are different people.
    who = (rng.integers(people, size=(n_stories, 6))[s, pair] + rater) % people
    worth = strength + of_story[s] + of_person[who]
    rows = np.arange(len(s))
    gap = worth[rows, first[pair]] - worth[rows, second[pair]]
    gap += rng.logistic(size=len(s))
    names = np.array(list("abcd"))
    return pd.DataFrame(
        {
            "story": np.char.mod("s%04d", s),
            "method_a": names[first[pair]],
            "method_b": names[second[pair]],
            "criterion": "q",
            "annotator": np.char.mod("r%04d", who),
            "choice": np.where(abs(gap) < 0.3, "tie", np.where(gap > 0, "a", "b")),
        }
    )


def frame(choices, **options):
    keys = ["method_a", "method_b"]
    return pd.DataFrame(win_rates(choices, **options)).set_index(keys)


def test_all_wins_and_all_ties_have_intervals_with_a_width():
    pairs = [
        independent(40, 1.0),
        independent(40, 0.0, ties=40, a="x", b="z"),
        independent(40, 0.5, a="y", b="z"),
    ]
    table = frame(pd.concat(pairs), parts=BOTH)
    won, tied = table.loc["x", "y"], table.loc["x", "z"]
    assert won["rate_a"] == won["high"] == 1
    assert 0.85 < won["low"] < 0.95
    assert won["p_value"] < 0.001
    assert tied["low"] < 0.4 < 0.6 < tied["high"]
    assert tied["p_value"] == 1


def test_win_rate_has_no_interval_for_single_story_and_annotator():
    (row,) = win_rates(rows_of(["a"]), parts=BOTH)
    assert row["rate_a"] == 1
    assert np.isnan([row["low"], row["high"], row["p_value"], row["p_adjusted"]]).all()
    (row,) = win_rates(rows_of(["a", "a", "b"]), parts=BOTH)
    assert row["low"] < 2 / 3 < row["high"]
    assert np.isnan(row["majority_low"])


@pytest.mark.slow
@pytest.mark.parametrize("parts", [("stories",), ("annotators",)])
def test_errors_are_those_of_resampled_clusters(parts):
    choices = simulated(n_stories=60, people=40)
    column = {"stories": "story", "annotators": "annotator"}[parts[0]]
    rng = np.random.default_rng(1)
    own = dict(list(choices.groupby(column)))
    drawn, of_methods = [], []
    for _ in range(120):
        rows = pd.concat([own[name] for name in rng.choice(list(own), len(own))])
        drawn.append(frame(rows, parts=())["rate_a"])
        rates = pd.DataFrame(method_win_rates(rows, parts=()))
        of_methods.append(rates.set_index("method")["rate"])
    table = frame(choices, parts=parts)
    spread = pd.DataFrame(drawn).std()
    error = np.sqrt(table["rate_a"] * (1 - table["rate_a"]) / table["n_effective"])
    assert (error / spread).median() == pytest.approx(1, abs=0.15)
    rates = pd.DataFrame(method_win_rates(choices, parts=parts)).set_index("method")
    error = np.sqrt(rates["rate"] * (1 - rates["rate"]) / rates["n_effective"])
    assert (error / pd.DataFrame(of_methods).std()).median() == pytest.approx(
        1, abs=0.15
    )


def test_methods_average_over_the_methods_they_met():
    choices = pd.concat(
        [
            independent(10, 0.8, a="x", b="y"),
            independent(200, 0.5, a="x", b="z"),
            independent(20, 0.25, a="y", b="z"),
        ]
    )
    rows = method_win_rates(choices, parts=BOTH)
    found = pd.DataFrame(rows).set_index("method")
    assert [row["method"] for row in rows] == ["x", "z", "y"]
    assert found["rate"].to_dict() == pytest.approx(
        {"x": 0.65, "y": (0.2 + 0.25) / 2, "z": (0.5 + 0.75) / 2}
    )
    assert found["n_opponents"].to_dict() == {"x": 2, "y": 2, "z": 2}
    assert found["n_votes"].to_dict() == {"x": 210, "y": 30, "z": 220}
    assert (found["low"] < found["rate"]).all()
    assert (found["rate"] < found["high"]).all()


def test_pair_is_read_from_its_baseline():
    """Every number of a turned pair is the mirror image of the one before."""
    choices = simulated(n_stories=12)
    plain = {frozenset((r["method_a"], r["method_b"])): r for r in win_rates(choices)}
    turned = win_rates(choices, baseline=("b", "a"))
    assert [(r["method_a"], r["method_b"]) for r in turned] == [
        *(("a", "b"), ("c", "a"), ("c", "b"), ("c", "d"), ("d", "a"), ("d", "b"))
    ]
    for row in turned:
        other = plain[frozenset((row["method_a"], row["method_b"]))]
        if row["method_a"] == other["method_a"]:
            assert row == pytest.approx(other)
            continue
        for prefix in ("", "majority_"):
            assert row[f"{prefix}wins_a"] == other[f"{prefix}wins_b"]
            assert row[f"{prefix}ties"] == other[f"{prefix}ties"]
            assert row[f"{prefix}rate_a"] == pytest.approx(1 - other[f"{prefix}rate_a"])
        assert row["low"] == pytest.approx(1 - other["high"])
        assert row["p_adjusted"] == pytest.approx(other["p_adjusted"])


@pytest.mark.parametrize("parts", [("stories",), BOTH])
def test_answers_almost_without_weight_add_no_certainty(parts):
    own = simulated(n_stories=6, raters=2, people=5).assign(weight=1.0)
    more = simulated(n_stories=60, raters=2, people=5, seed=1).assign(weight=1e-9)
    for name in ("story", "annotator"):
        more[name] = "other " + more[name]
    alone, both = (
        frame(choices, parts=parts) for choices in (own, pd.concat([own, more]))
    )
    width = (both["high"] - both["low"]) / (alone["high"] - alone["low"])
    assert width.between(0.99, 1.2).all()
