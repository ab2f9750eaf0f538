"""The table of whether metrics may take an annotator's place."""

import numpy as np
import pandas as pd
import pytest

from analysis.commands.alignment import align
from analysis.options import AlignOptions, OptionError
from analysis.reliability import alternative_annotators as alternative

OPTIONS = {"resamples": 10, "levels": ("method",), "coefficients": ("kendall",)}
STORIES, METHODS, PEOPLE = 8, 4, 4
INDEX = pd.MultiIndex.from_product(
    [[f"s{s}" for s in range(STORIES)], [f"m{m}" for m in range(METHODS)]],
    names=["story", "method"],
)


def study():
    """Return ratings of four people, and scores of a judge and of other metrics."""
    rng = np.random.default_rng(0)
    truth = rng.normal(3, 1, len(INDEX))

    def rated(spread):
        return np.clip(np.round(truth + rng.normal(0, spread, len(truth))), 1, 5)

    cells = INDEX.to_frame(index=False)
    ratings = pd.concat(
        cells.assign(dimension="look", annotator=f"a{k}", rating=rated(0.8))
        for k in range(PEOPLE)
    )
    scores = {
        "judge": (rated(0.5), "gpt"),
        "large": (rated(0.5) * 20, "gpt"),
        "csd": (truth, ""),
        "plain": (rated(0.5), ""),
        "flat": (truth * 0, ""),
    }
    return ratings, pd.concat(
        cells.assign(metric=name, score=values, judge=judge)
        for name, (values, judge) in scores.items()
    )


@pytest.fixture(scope="module")
def tables():
    ratings, scores = study()
    hypotheses = pd.DataFrame(
        {"question": "look", "metric": ["judge", "csd"], "epsilon": [0.25, np.nan]}
    )
    options = AlignOptions(replaces_within=0.1, **OPTIONS)
    return align(
        ratings=ratings, scores=scores, hypotheses=hypotheses, options=options
    ).tables


def test_judges_on_the_scale_are_compared_by_rating_and_others_by_pairs(tables):
    table = tables["alternative_annotator"]
    statistic = table.groupby("metric")["statistic"].unique().map(list).to_dict()
    assert statistic == {
        "judge": ["rating"],
        **{key: ["ppa_half"] for key in ("large", "csd", "plain", "flat")},
    }
    drawn = table.groupby("metric")["drawn"].unique().map(sorted)
    assert drawn["judge"] == ["stories", "units"]
    assert drawn["csd"] == ["stories"]


def test_declared_epsilon_goes_before_the_one_of_all(tables):
    epsilon = tables["alternative_annotator"].groupby("metric")["epsilon"].first()
    assert epsilon.to_dict() == {
        "judge": 0.25,
        **dict.fromkeys(("large", "csd", "plain", "flat"), 0.1),
    }


def test_row_of_all_annotators_sums_up_the_others(tables):
    table = tables["alternative_annotator"]
    single = table[table["annotator"] != ""].groupby(["metric", "drawn"])
    of_all = table[table["annotator"] == ""].set_index(["metric", "drawn"])
    wins = single["wins"].sum()
    tested = of_all[of_all["reason"] == ""]
    assert len(tested) == 5
    assert (tested["wins"] == wins[tested.index]).all()
    assert np.allclose(tested["winning_rate"], tested["wins"] / PEOPLE)
    assert np.allclose(of_all["value"], single["value"].mean()[of_all.index])
    assert (tested["verdict"] == "replaces").tolist() == [
        rate >= 0.5 for rate in tested["winning_rate"]
    ]


def test_verdicts_have_a_second_line(tables):
    verdicts = tables["verdicts"].query("leads and role != 'baseline'")
    verdicts = verdicts.set_index("metric")
    of_all = tables["alternative_annotator"].query(
        "annotator == '' and drawn == 'stories'"
    )
    for row in of_all.itertuples():
        own = verdicts.loc[row.metric]
        shown = row.verdict
        if row.verdict == "replaces" and own["verdict"] != "above chance":
            shown = "cannot be told"
        assert own["in_place"] == ("" if row.metric == "flat" else shown)
        if row.metric != "flat":
            assert (own["n_replaced"], own["n_replaceable"]) == (row.wins, PEOPLE)


def test_epsilon_that_reaches_chance_is_refused():
    ratings, scores = study()
    options = AlignOptions(replaces_within=0.4, **OPTIONS)
    found = align(ratings=ratings, scores=scores, options=options).tables
    table = found["alternative_annotator"].query("statistic == 'ppa_half'")
    of_all = table[(table["annotator"] == "") & (table["metric"] != "flat")]
    assert (of_all["rho_annotator"] < 0.9).all()
    assert of_all["reason"].str.endswith("epsilon 0.4 reaches chance").all()
    assert of_all["wins"].isna().all()
    assert table["p_value"].isna().all()


def test_choices_are_compared_by_pairs_of_the_others_majority():
    rng = np.random.default_rng(1)
    rows = [
        (f"s{s}", "x", "y", "look", f"a{k}", rng.choice(["a", "b", "tie"]))
        for s in range(30)
        for k in range(4)
    ]
    columns = ["story", "method_a", "method_b", "criterion", "annotator", "choice"]
    choices = pd.DataFrame(rows, columns=columns)
    # The metric answers as the first annotator does.
    own = choices[choices["annotator"] == "a0"].set_index("story")["choice"]
    better = own.map({"a": 1.0, "b": -1.0, "tie": 0.0})
    scores = pd.concat(
        pd.DataFrame({"story": own.index, "method": m, "score": sign * better.values})
        for m, sign in (("x", 1), ("y", -1))
    ).assign(metric="csd")
    options = AlignOptions(replaces_within=0.1, **OPTIONS)
    found = align(choices=choices, scores=scores, options=options).tables
    table = found["alternative_annotator"].set_index("annotator")
    first = table.loc["a0"]
    assert first["source"] == "choices"
    assert first["value"] == 0
    assert first["rho_metric"] == first["rho_annotator"]
    votes = choices[choices["annotator"] != "a0"].groupby("story")["choice"]
    counts = votes.value_counts().unstack(fill_value=0)
    # More than half of the three others prefer the same output.
    assert first["n"] == (counts[["a", "b"]].max(axis=1) >= 2).sum()


def test_table_has_no_tests_when_intervals_are_off():
    ratings, scores = study()
    options = AlignOptions(replaces_within=0.3, **(OPTIONS | {"resamples": 0}))
    found = align(ratings=ratings, scores=scores, options=options).tables
    table = found["alternative_annotator"]
    assert table["p_value"].isna().all()
    assert table.loc[0, "reason"] == "no interval was asked for"
    assert table["value"].notna().all()


def test_margin_outside_its_range_is_refused():
    with pytest.raises(OptionError, match="--replaces-within: "):
        AlignOptions(replaces_within=1.2)


def test_annotator_without_shared_items_has_no_value():
    items = alternative.label_items(
        np.array([[1.0, np.nan], [np.nan, 2.0], [np.nan, 3.0]]),
        np.array([[1.0, 2.0]]),
        np.arange(2),
        ["a", "b", "c"],
    )
    found = alternative.measured(items, np.array([0.1]))
    assert found.n.tolist() == [0, 1, 1]
    assert np.isnan(found.value[0, 0])
