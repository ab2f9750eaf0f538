"""Win rates by groups of stories, adjusted together."""

import numpy as np
import pandas as pd
import pytest
from statsmodels.stats.multitest import multipletests

from analysis.commands.alignment import align
from analysis.options import AlignOptions
from analysis.rankings.choice_votes import with_weights

OPTIONS = AlignOptions(resamples=100)
METHODS = ("a", "b", "c")
TABLE = "strata_win_rates"


def chosen(n_stories=30, people="xyz"):
    """Two questions; in every third story the third method is the best."""
    rng = np.random.default_rng(1)
    rows = []
    for s in range(n_stories):
        strength = dict(zip(METHODS, (0.5, 0, 1 if s % 3 else -1), strict=True))
        for one, two in (("a", "b"), ("a", "c"), ("b", "c")):
            for question in ("look", "plot"):
                for who in people:
                    gap = strength[one] - strength[two] + rng.logistic()
                    choice = "tie" if abs(gap) < 0.3 else "a" if gap > 0 else "b"
                    rows.append((f"s{s:02}", one, two, question, who, choice))
    names = ["story", "method_a", "method_b", "criterion", "annotator", "choice"]
    return pd.DataFrame(rows, columns=names)


def tags(n_stories=30):
    stories = [f"s{s:02}" for s in range(n_stories)]
    return pd.DataFrame(
        {
            "story": stories,
            "task": ["cont", "gen", "gen"] * (n_stories // 3),
            "data": ["oops", "uvo"] * (n_stories // 2),
        }
    )


def split(choices, options=OPTIONS):
    return align(choices=choices, tags=tags(), options=options)


@pytest.mark.slow
@pytest.mark.parametrize("resample", [None, "stories", "annotators", "units"])
def test_group_has_the_rates_of_its_stories_only(resample):
    choices = chosen()
    options = AlignOptions(resamples=100, resample=resample, confidence=0.8)
    found = split(choices, options)
    table = found.tables[TABLE]
    assert len(table) == 2 * (2 + 2) * 3
    columns = [*table.columns.drop(["tag", "stratum", "p_adjusted"])]
    for (tag, stratum), rows in table.groupby(["tag", "stratum"]):
        own = tags().loc[tags()[tag] == stratum, "story"]
        here = choices[choices["story"].isin(own)]
        alone = align(choices=here, options=options)
        pd.testing.assert_frame_equal(
            rows[columns].reset_index(drop=True), alone.tables["win_rates"][columns]
        )
        assert alone.resampled["win_rates"] == found.resampled[TABLE]
    assert table["low"].notna().all()


@pytest.mark.slow
def test_p_values_are_adjusted_over_pairs_and_groups_of_a_question_and_tag():
    table = split(chosen()).tables[TABLE]
    for _, rows in table.groupby(["criterion", "tag"]):
        assert len(rows) == 6
        adjusted = multipletests(rows["p_value"], method="holm")[1]
        np.testing.assert_allclose(rows["p_adjusted"], adjusted)


@pytest.mark.slow
def test_adaptive_pairs_keep_the_weights_of_the_whole_question():
    choices = chosen()
    rng = np.random.default_rng(2)
    choices["probability"] = rng.choice([0.001, 0.004, 0.02], len(choices))
    choices["alternatives"] = 2 * len(choices)
    choices["submitted_at"] = [f"2024-01-01T{i:06}" for i in range(len(choices))]
    tables = split(choices).tables
    rates = tables[TABLE]
    assert rates["weighted"].all()
    rates = rates[(rates["criterion"] == "look") & (rates["tag"] == "task")]
    rows, _ = with_weights(choices[choices["criterion"] == "look"])
    rows = rows.merge(tags(), on="story")
    rows["won"] = rows["weight"] * rows["choice"].map({"a": 1, "tie": 0.5, "b": 0})
    keys = ["task", "method_a", "method_b"]
    summed = rows.groupby(keys)[["won", "weight"]].sum()
    np.testing.assert_allclose(rates["rate_a"], summed["won"] / summed["weight"])
    # The rates of single methods use the same weights.
    of_methods = tables["strata"].query("tag == 'task' and statistic == 'win_rate'")
    mine = of_methods.query("question == 'look' and method == 'a'").set_index("stratum")
    first = rates[rates["method_a"] == "a"].groupby("stratum")["rate_a"].mean()
    for stratum, rate in first.items():
        assert mine.loc[stratum, "value"] == pytest.approx(rate)


def test_win_rates_by_group_resample_the_chosen_units():
    options = AlignOptions(resamples=100, resample="stories", confidence=0.8)
    tables = split(chosen(), options).tables
    rows = tables["strata"]
    rows = rows[rows["statistic"] == "win_rate"]
    assert set(rows["drawn"]) == {"stories"}
    own = tags().loc[tags()["task"] == "cont", "story"]
    here = chosen().loc[lambda table: table["story"].isin(own)]
    alone = align(choices=here, options=options).tables["method_win_rates"]
    group = rows[(rows["stratum"] == "cont") & (rows["question"] == "look")]
    expected = alone[alone["criterion"] == "look"].set_index("method")
    for name, column in (("value", "rate"), ("low", "low"), ("high", "high")):
        found = group.set_index("method")[name]
        pd.testing.assert_series_equal(
            found, expected[column], check_names=False, check_like=True
        )
