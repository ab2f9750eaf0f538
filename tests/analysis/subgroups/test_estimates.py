"""Subgroups: the same numbers as from their stories alone, and differences."""

from functools import cache
from itertools import chain

import numpy as np
import pandas as pd
import pytest

from analysis.commands.alignment import align
from analysis.options import AlignOptions, OptionError
from analysis.questions import kept_scores, rated_questions
from analysis.reading.column_cleaning import kept_rows
from analysis.reading.kept_answers import RATING_KEYS
from analysis.reading.scores import score_table
from analysis.report.sections import all_figures
from analysis.sentences import Notes
from analysis.subgroups.estimates import OTHERS, score_mean_rows
from tests.cases import slow

OPTIONS = AlignOptions(resamples=0)


def study(n_stories=12, n_methods=4, seed=0, flip=()):
    """Ratings by three people and two metrics; `flip`: stories where one is wrong."""
    rng = np.random.default_rng(seed)
    rows, scores = [], []
    for s in range(n_stories):
        story = f"s{s:02}"
        for m in range(n_methods):
            method = f"m{m}"
            quality = m + rng.normal()
            for name in "xyz":
                value = float(np.clip(round(quality + rng.normal()), 0, 4))
                rows.append((story, method, "look", name, value))
            good = -quality if story in flip else quality
            scores.append((story, method, "good", good + 0.3 * rng.normal()))
            scores.append((story, method, "noise", rng.normal()))
    ratings = pd.DataFrame(
        rows, columns=["story", "method", "dimension", "annotator", "rating"]
    )
    return ratings, pd.DataFrame(
        scores, columns=["story", "method", "metric", "score"]
    ).assign(higher_is_better=True)


def halves(n_stories=12, name="set", values=("core", "hard")):
    stories = [f"s{s:02}" for s in range(n_stories)]
    tags = [values[i % len(values)] for i in range(n_stories)]
    return pd.DataFrame({"story": stories, name: tags})


def strata(options=OPTIONS, tags=None, flip=(), seed=0):
    ratings, scores = study(flip=flip, seed=seed)
    tags = halves() if tags is None else tags
    return align(
        ratings=ratings, choices=None, scores=scores, options=options, tags=tags
    )


@cache
def plain():
    """The tables of two equal subgroups; tests only read them."""
    return strata().tables


@pytest.mark.slow
def test_subgroup_tables_have_every_statistic():
    tables = plain()
    rows = tables["strata"]
    assert set(rows["stratum"]) == {"core", "hard"}
    assert {"mean", "alpha_ordinal", "kendall", "ppa_half"} <= set(rows["statistic"])
    assert set(tables["strata_differences"]["stratum_b"]) == {"hard"}


@pytest.mark.parametrize("stratum", ["core", *slow("hard")])
def test_stratum_is_what_its_stories_alone_give(stratum):
    ratings, scores = study()
    tags = halves()
    own = set(tags.loc[tags["set"] == stratum, "story"])
    alone = align(
        ratings=ratings[ratings["story"].isin(own)],
        choices=None,
        scores=scores[scores["story"].isin(own)],
        options=OPTIONS,
    ).tables
    rows = plain()["strata"]
    rows = rows[(rows["stratum"] == stratum) & (rows["question"] == "look")]
    for expected in alone["correlations"].itertuples():
        here = rows[
            (rows["statistic"] == expected.coefficient)
            & (rows["level"] == expected.level)
            & (rows["metric"] == expected.metric)
        ]
        assert here["value"].tolist() == pytest.approx([expected.value], nan_ok=True)
        assert here["n"].tolist() == [expected.n]
    for expected in alone["method_means"].itertuples():
        here = rows[(rows["statistic"] == "mean") & (rows["method"] == expected.method)]
        assert here["value"].tolist() == pytest.approx([expected.mean])
    for expected in alone["agreement"].itertuples():
        here = rows[rows["statistic"] == expected.statistic]
        assert here["value"].tolist() == pytest.approx([expected.value], nan_ok=True)
    accuracies = alone["pairwise_accuracy"].set_index("metric")
    here = rows[(rows["statistic"] == "ppa_half") & (rows["metric"] == "good")]
    assert here["value"].tolist() == pytest.approx([accuracies.loc["good", "ppa_half"]])


@pytest.mark.parametrize("resamples", [0, 100])
def test_mean_scores_are_those_of_each_metric_alone(resamples):
    _ratings, scores = study()
    # Other stories and methods, and values of another size.
    other = scores[(scores["story"] != "s03") & (scores["method"] != "m1")]
    other = other.assign(metric=other["metric"] + "+", score=1e300 * other["score"])
    good = scores[scores["metric"] == "good"]
    one_story = good[good["story"] == "s05"].assign(metric="single")
    table = score_table(pd.concat([scores, other, one_story]))
    options = AlignOptions(resamples=resamples)
    alone = [score_mean_rows(table.only(m), options=options) for m in table.metrics]
    assert repr(score_mean_rows(table, options=options)) == repr([*chain(*alone)])


def test_difference_is_the_one_less_the_other():
    tables = strata(AlignOptions(resamples=50)).tables
    rows = tables["strata"].set_index(
        ["stratum", "question", "metric", "method", "statistic", "level"]
    )["value"]
    for row in tables["strata_differences"].itertuples():
        if row.statistic == "drop_percent":
            continue
        place = (row.question, row.metric, row.method, row.statistic, row.level)
        expected = rows[("core", *place)] - rows[("hard", *place)]
        assert row.value == pytest.approx(expected, nan_ok=True)
        if np.isfinite(row.low):
            assert row.low <= row.high


def question(seed=0, **study_options):
    """One rated question beside its scores."""
    ratings, scores = study(seed=seed, **study_options)
    table = kept_scores(scores, ())
    rows = kept_rows(ratings, RATING_KEYS)
    return next(rated_questions(rows, table, OPTIONS, Notes()))


def test_drop_is_vistars():
    # VISTAR, table 3, SD 3.5: core 88.0, hard 82.3, a drop of 6.5 per cent.
    ratings = pd.DataFrame(
        [
            (story, method, "score", "mean", value)
            for story, value in (("c1", 87.0), ("c2", 89.0), ("h1", 82.3))
            for method in ("SD 3.5", "other")
        ],
        columns=["story", "method", "dimension", "annotator", "rating"],
    )
    scores = ratings.rename(columns={"dimension": "metric", "rating": "score"})
    tags = pd.DataFrame({"story": ["c1", "c2", "h1"], "set": ["core", "core", "hard"]})
    found = align(
        ratings=ratings,
        choices=None,
        scores=scores.drop(columns="annotator"),
        options=OPTIONS,
        tags=tags,
    ).tables["strata_differences"]
    drop = found[(found["statistic"] == "drop_percent") & (found["method"] == "SD 3.5")]
    assert set(drop["question"]) == {"score", ""}  # of people, and of the metric
    assert [round(value, 1) for value in drop["value"]] == [6.5, 6.5]


@pytest.mark.slow
def test_several_strata_are_each_compared_with_all_others():
    rows = strata(tags=halves(values=("ink", "oil", "clay"))).tables
    found = rows["strata_differences"]
    assert set(zip(found["stratum_a"], found["stratum_b"], strict=True)) == {
        ("ink", OTHERS),
        ("oil", OTHERS),
        ("clay", OTHERS),
    }


@pytest.mark.slow
def test_split_by_chooses_tags_and_refuses_unknown_ones():
    tags = halves().assign(genre=halves()["set"].map({"core": "a", "hard": "b"}))
    rows = strata(AlignOptions(resamples=0, split_by=("genre",)), tags=tags).tables
    assert set(rows["strata"]["tag"]) == {"genre"}
    with pytest.raises(OptionError, match="--split-by: 'style': expected set, genre"):
        strata(AlignOptions(resamples=0, split_by=("style",)), tags=tags)


def chosen(n_stories=12, seed=0):
    """Answers side by side; in every second story the third method is the best."""
    rng = np.random.default_rng(seed)
    rows = []
    for s in range(n_stories):
        strength = dict(zip("abc", (1, 0, 2 if s % 2 else -1), strict=True))
        for one, two in (("a", "b"), ("a", "c"), ("b", "c")):
            for who in "xyz":
                gap = strength[one] - strength[two] + rng.logistic() / 2
                choice = "tie" if abs(gap) < 0.3 else "a" if gap > 0 else "b"
                rows.append((f"s{s:02}", one, two, "look", who, choice))
    names = ["story", "method_a", "method_b", "criterion", "annotator", "choice"]
    return pd.DataFrame(rows, columns=names)


@pytest.mark.slow
def test_win_rates_of_a_stratum_are_those_of_its_stories_and_differ():
    choices, tags = chosen(40), halves(40)
    found = align(choices=choices, tags=tags, options=AlignOptions(resamples=200))
    rows = found.tables["strata"]
    rows = rows[rows["statistic"] == "win_rate"].set_index(["stratum", "method"])
    for name, own in tags.groupby("set"):
        here = choices[choices["story"].isin(own["story"])]
        alone = align(choices=here, options=AlignOptions()).tables["method_win_rates"]
        for row in alone.to_dict("records"):
            mine = rows.loc[name, row["method"]]
            assert (mine["value"], mine["low"], mine["high"]) == pytest.approx(
                (row["rate"], row["low"], row["high"])
            )
            assert mine["n"] == row["n_votes"]
    table = found.tables["strata_differences"]
    table = table[table["statistic"] == "win_rate"].set_index("method")
    for method, row in table.iterrows():
        apart = rows.loc["core", method]["value"] - rows.loc["hard", method]["value"]
        assert row["value"] == pytest.approx(apart)
    assert table.loc["c", "value"] < -0.5
    assert table.loc["c", "p_adjusted"] < 0.05
    assert table.loc["c", "high"] < 0
    figure = {one.key: one for one in all_figures(found.tables, found.cells)}
    assert "strata-win-rate" in figure
