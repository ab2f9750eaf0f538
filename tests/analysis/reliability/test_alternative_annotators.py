"""The alternative-annotator test of Calderon, Reichart and Dror (2025)."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats
from statsmodels.formula.api import ols
from statsmodels.stats.anova import anova_lm

from analysis.reliability import alternative_annotators as alternative
from analysis.reliability.annotator_replacement import replacement_rows

# Set to the scoring and epsilon of the published values (data/README.md).
SETS = {
    "mtbench": (True, 0.2),
    "wax": (True, 0.1),
    "10k_prompts": (False, 0.15),
    "lesion": (False, 0.15),
}
NAN = float("nan")
FEW = "0 of 5 annotators have 20 items of 5 stories; three are needed"


def compared(votes, labels, epsilon, story=None, *, nominal=False, **options):
    """Return the rows of all annotators by metric, and those of single ones."""
    names = [f"a{j}" for j in range(len(votes))]
    metrics = options.pop("metrics", [f"m{k}" for k in range(len(labels))])
    story = np.arange(votes.shape[1]) if story is None else story
    epsilon = np.full(len(labels), epsilon, float)
    items = alternative.label_items(votes, labels, story, names, nominal=nominal)
    found = alternative.measured(items, epsilon, with_items=True)
    rows = replacement_rows(
        found,
        metrics,
        epsilon,
        np.ptp(labels, axis=1) == 0,
        confidence=0.95,
        **options,
    )
    frame = pd.DataFrame(rows)
    is_all = frame["annotator"] == ""
    return frame[is_all].set_index("metric"), frame[~is_all]


@pytest.mark.parametrize("name", SETS)
def test_item_test_reproduces_published_winning_rates(name, shared, monkeypatch):
    monkeypatch.setattr(alternative, "LEAST_ITEMS", 30)
    nominal, epsilon = SETS[name]
    folder = shared / "data" / "alttest"
    tables = [pd.read_csv(folder / name / f"{x}.csv") for x in ("people", "judges")]
    if nominal:
        codes = pd.factorize(pd.concat(tables)["label"])[0]
        tables[0]["label"] = codes[: len(tables[0])]
        tables[1]["label"] = codes[len(tables[0]) :]
    people, judges = (
        x.pivot(index="annotator", columns="item", values="label") for x in tables
    )
    labels = judges[people.columns].to_numpy(float)
    found, _ = compared(
        people.to_numpy(float),
        labels,
        epsilon,
        nominal=nominal,
        metrics=list(judges.index),
        by_items=True,
    )
    published = pd.read_csv(folder / "expected.csv").set_index(["set", "judge"])
    for judge, row in published.loc[name].iterrows():
        own = found.loc[judge]
        assert own["winning_rate"] == pytest.approx(row["winning_rate"], abs=0.0051)
        given = row["advantage_probability"]
        assert own["rho_metric"] == pytest.approx(given, abs=0.0051)
        assert (own["verdict"] == "replaces") == (row["passed"] == "PASSED")


def test_no_judge_of_viescore_replaces_an_annotator(shared):
    """Four judges win against none of three people in each of seven tasks."""
    folder = shared / "data" / "viescore"
    keys = ["task", "story", "method"]
    ratings = pd.read_csv(folder / "ratings.csv")
    scores = pd.read_csv(folder / "scores.csv")
    scores[["judge", "part"]] = scores["metric"].str.split("|", expand=True)
    judges = [f"{name}_0shot" for name in ("gpt4o", "gpt4v", "gemini", "llava")]
    scores = scores[scores["judge"].isin(judges)]
    people, metrics = (
        np.sqrt(
            x.pivot(index=keys, columns=columns, values=value)
            .T.groupby(who)
            .prod(min_count=2)
            .T
        )
        for x, columns, value, who in (
            (ratings, ["annotator", "dimension"], "rating", "annotator"),
            (scores, ["judge", "part"], "score", "judge"),
        )
    )
    both = people.join(metrics, how="inner").dropna(subset=judges)
    assert both.index.get_level_values("task").nunique() == 7
    for _task, own in both.groupby("task"):
        story = pd.factorize(own.index.get_level_values("story"))[0]
        votes, labels = own[people.columns].T, own[judges].T
        found, _ = compared(votes.to_numpy(), labels.to_numpy(), 0.1, story)
        assert (found["wins"] == 0).all()
        assert (found["n_annotators"] == 3).all()


def test_crossed_test_equals_a_t_test_of_story_means_when_stories_are_of_one_size():
    rng = np.random.default_rng(1)
    gain = rng.choice([-1.0, 0.0, 1.0], (1, 60))
    story = np.repeat(np.arange(12), 5)
    one = alternative.LeftOut("a", story, gain, np.zeros((1, 60)))
    found = alternative.measured([one], np.array([0.1]))
    means = gain.reshape(12, 5).mean(axis=1)
    expected = stats.ttest_1samp(means, -0.1, alternative="greater").pvalue
    p_value, p_worse = found.p_values(np.array([0.1]))
    assert p_value[0, 0] == pytest.approx(expected)
    assert p_worse[0, 0] == pytest.approx(1 - expected)


def test_few_items_have_the_signed_rank_test():
    gain = np.array([-1.0, 0.0, 1.0, 1.0, 0.0, 0.0, 1.0])
    expected = stats.wilcoxon(gain + 0.2, alternative="greater").pvalue
    assert alternative.item_p(gain, 0.2) == pytest.approx(expected)


def ratings(people=5, stories=20, methods=3, seed=0):
    rng = np.random.default_rng(seed)
    truth = rng.normal(3, 1, stories * methods)
    votes = np.clip(np.round(truth + rng.normal(0, 1, (people, len(truth)))), 1, 5)
    return votes, np.repeat(np.arange(stories), methods)


def test_metric_equal_to_the_mean_replaces_everybody_without_a_margin():
    votes, story = ratings()
    found, _ = compared(votes, votes.mean(axis=0)[None], 0.01, story)
    assert found.loc["m0", "verdict"] == "replaces"
    assert found.loc["m0", "wins"] == 5


@given(arrays(float, (4, 24), elements=st.integers(1, 5).map(float)))
def test_mean_of_the_others_has_an_advantage_probability_of_one(votes):
    """Proposition of the paper: no answer is nearer to all others than their mean."""
    for j in range(len(votes)):
        others = np.delete(votes, j, axis=0).mean(axis=0)
        items = alternative.label_items(
            votes, others[None], np.arange(24), ["a", "b", "c", "d"]
        )
        assert ([*items][j].metrics == 1).all()


@pytest.mark.slow
@given(st.integers(0, 10_000))
def test_smallest_epsilon_passes_and_a_smaller_one_does_not(seed):
    votes, story = ratings(seed=seed % 100)
    rng = np.random.default_rng(seed)
    label = np.clip(votes[0] + rng.integers(-1, 2, votes.shape[1]), 1, 5)[None]
    needed = compared(votes, label, NAN, story)[0].loc["m0", "epsilon_needed"]
    if needed == needed:
        above, _ = compared(votes, label, needed + 1e-6, story)
        assert above.loc["m0", "verdict"] == "replaces"
        if needed > 1e-3:
            below, _ = compared(votes, label, needed - 1e-3, story)
            assert below.loc["m0", "verdict"] != "replaces"


def test_more_stories_of_the_same_kind_decide():
    votes, story = ratings(seed=3)
    label = votes[:1, ::-1].copy()
    label[0, ::2] = votes[1, ::2]
    first, _ = compared(votes, label, 0.28, story)
    assert first.loc["m0", "verdict"] == "cannot be told"
    more = int(first.loc["m0", "n_more_stories"])
    times = 1 + -(-more // 20)
    again = np.concatenate([story + 20 * k for k in range(times)])
    repeated = np.tile(votes, times), np.tile(label, times)
    second, _ = compared(*repeated, 0.28, again)
    assert second.loc["m0", "verdict"] != "cannot be told"


@pytest.mark.parametrize(
    ("people", "stories", "methods", "epsilon", "reason"),
    [
        (1, 20, 3, 0.1, "1 annotator; at least three are needed"),
        (2, 20, 3, 0.1, "2 annotators; at least three are needed"),
        (5, 4, 6, 0.1, FEW),
        (5, 6, 3, 0.1, FEW),
        (5, 20, 3, NAN, "no epsilon was declared"),
    ],
)
def test_reason_is_given_when_no_test_is_made(
    people, stories, methods, epsilon, reason
):
    votes, story = ratings(people, stories, methods)
    found, single = compared(votes, votes[:1], epsilon, story)
    row = found.loc["m0"]
    assert (row["reason"], row["verdict"]) == (reason, "cannot be told")
    assert single["p_value"].isna().all()
    assert (row["epsilon_needed"] == row["epsilon_needed"]) == (people + stories == 25)
    assert (single["value"].notna()).all() == (people > 1)


def test_error_over_annotators_is_that_of_an_analysis_of_variance():
    rng = np.random.default_rng(2)
    A, S, n = 6, 15, 4
    effects = rng.normal(0, 1, (A, 1, 1)) + rng.normal(0, 0.5, (1, S, 1))
    gains = effects + rng.normal(0, 1, (A, S, n))
    story = np.repeat(np.arange(S), n)
    items = [
        alternative.LeftOut(str(a), story, gains[[a]].reshape(1, -1), np.zeros((1, 1)))
        for a in range(A)
    ]
    found = alternative.measured(items, np.array([NAN]))
    error, freedom = found.over_annotators(np.ones(A, bool))
    cells = gains.mean(axis=2)
    frame = pd.DataFrame(
        [(a, s, cells[a, s]) for a in range(A) for s in range(S)], columns=[*"asx"]
    )
    squares = anova_lm(ols("x ~ C(a) + C(s)", frame).fit())["mean_sq"]
    people = (squares["C(a)"] - squares["Residual"]) / (A * S) * (1 - 1 / S)
    stories = cells.mean(axis=0).var(ddof=1) / S
    assert error[0] ** 2 == pytest.approx(people + stories)
    assert freedom[0] <= A - 1


@pytest.mark.parametrize("people", [4, 5])
def test_interval_over_annotators_needs_five_of_them(people):
    votes, story = ratings(people)
    row = compared(votes, votes[:1], 0.1, story)[0].loc["m0"]
    assert (row["low"] < row["value"] < row["high"]) == (people == 5)
    assert np.isnan(row["low"]) == (people == 4)


def test_annotator_with_few_items_is_not_tested_when_others_are():
    votes, story = ratings()
    votes[4, 10:] = NAN
    found, single = compared(votes, votes[:4].mean(axis=0)[None], 0.1, story)
    assert found.loc["m0", "n_annotators"] == 4
    last = single.iloc[-1]
    assert last["reason"] == "10 items of 4 stories are too few"
    assert last["verdict"] == "cannot be told"


def test_constant_metric_has_no_verdict():
    votes, story = ratings()
    found, _ = compared(votes, np.full((1, votes.shape[1]), 3.0), 0.5, story)
    assert found.loc["m0", "reason"] == "every score is the same"
    assert found.loc["m0", "verdict"] == "cannot be told"


def test_metric_that_is_the_negative_of_people_is_shown_to_be_worse():
    votes, story = ratings()
    found, _ = compared(votes, 6 - votes.mean(axis=0)[None], 0.1, story)
    assert found.loc["m0", "verdict"] == "does not"
