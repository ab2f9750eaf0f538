"""The table of what metrics save, and its place in a report."""

import numpy as np
import pandas as pd
import pytest

import analysis
from analysis.options import AlignOptions
from analysis.questions import chosen_questions, kept_scores, rated_questions
from analysis.rankings.win_rates import method_win_rates
from analysis.reading.story_tags import without_probabilities
from analysis.report.findings_uses import save_claims
from analysis.report.sections import all_figures
from analysis.result_tables.contract import TableCollector
from analysis.result_tables.prediction import add_predictions
from analysis.sentences import Notes

STORIES, METHODS = [f"s{i:02}" for i in range(24)], list("abc")
RATED = STORIES[:10]


@pytest.fixture(scope="module")
def tables():
    rng = np.random.default_rng(4)
    cells = pd.MultiIndex.from_product([STORIES, METHODS], names=["story", "method"])
    opinion = rng.normal(size=len(cells)) + np.tile([0, 0.5, 1], len(STORIES))
    good, noise = (
        opinion + 0.3 * rng.normal(size=len(cells)),
        rng.normal(size=len(cells)),
    )
    flat = np.tile([0.1, 0.2, 0.3], len(STORIES))
    names = {"cids": good, "noise": noise, "flat": flat}
    scores = pd.concat(
        pd.Series(values, cells, name="score").reset_index().assign(metric=name)
        for name, values in names.items()
    )
    ratings = pd.concat(
        pd.Series(opinion + 0.4 * rng.normal(size=len(cells)), cells, name="rating")
        .reset_index()
        .assign(annotator=name, dimension="look")
        for name in ("ann", "bob", "cem")
    )
    return ratings, scores


def drawn(chance=0.4, **others):
    """Return the table of stories, with other probabilities for some."""
    chances = dict.fromkeys(STORIES, chance) | others
    columns = {"story": list(chances), "drawing_probability": list(chances.values())}
    return pd.DataFrame(columns)


def powered(tables, stories=None, rated=RATED, metric="cids", choices=None):
    """Return the table of answers about some stories, with a declared metric."""
    ratings, scores = tables
    options = AlignOptions(resamples=10)
    known, notes = kept_scores(scores, ()), Notes()
    if choices is None:
        kept = ratings[ratings["story"].isin(rated)]
        questions = [*rated_questions(kept, known, options, notes)]
    else:
        questions = [*chosen_questions(choices, known, notes)]
    found = TableCollector(options)
    for source in ("ratings", "choices"):
        found.add("verdicts", verdict(metric, "declared", source=source))
    add_predictions(questions, known, without_probabilities(stories)[1], found)
    return found.frames()["prediction_powered"]


def verdict(metric, role, value=0.7, word="above chance", source="ratings"):
    names = {"question": "look", "metric": metric, "role": role, "source": source}
    return names | {"value": value, "verdict": word, "leads": True}


def rows_of(table, statistic):
    return table[table["statistic"] == statistic]


@pytest.fixture(scope="module")
def report(tables):
    ratings, scores = tables
    return analysis.align(
        ratings=ratings[ratings["story"].isin(RATED)],
        scores=scores,
        stories=drawn(),
        hypotheses={"look": "cids"},
        resamples=10,
        coefficients="kendall",
        levels="story",
    )


def test_saved_is_the_squared_correlation_within_methods(tables, report):
    ratings, scores = tables
    people = ratings.groupby(["story", "method"])["rating"].mean().unstack()[:10]
    for row in rows_of(report["prediction_powered"], "saved").to_dict("records"):
        own = scores[scores["metric"] == row["metric"]]
        own = own.pivot(index="story", columns="method", values="score")[:10]
        if row["metric"] == "flat":
            assert np.isnan(row["value"])
            assert row["reason"] == (
                "the metric is constant within methods, and saves nothing"
            )
            continue
        both = [(x - x.mean()).to_numpy().ravel() for x in (people, own)]
        r = np.corrcoef(*both)[0, 1]
        assert row["rho_squared"] == pytest.approx(max(r, 0) ** 2)
        assert row["low"] <= row["value"] <= row["high"]
    values = rows_of(report["prediction_powered"], "saved").set_index("metric")["value"]
    assert values["cids"] > 0.5 > values["noise"]


def test_metric_goes_against_people_only_if_its_interval_does(tables):
    ratings, scores = tables
    worse = scores[scores["metric"] == "cids"].assign(metric="worse")
    worse["score"] = -worse["score"]
    table = powered((ratings, pd.concat([scores, worse])))
    saved = rows_of(table, "saved").set_index("metric")
    assert (
        saved.loc["worse", "reason"] == "the metric goes against people within methods"
    )
    unclear = saved.loc["noise"]
    assert unclear["reason"] == "no positive correlation is shown within methods"
    assert unclear["rho_squared"] == 0 < unclear["high"]


def test_untested_saving_is_not_called_absent(report):
    table = report["prediction_powered"].assign(low=np.nan, high=np.nan)
    ((is_shown, text),) = save_claims(table, report["verdicts"])
    assert not is_shown
    assert "not tested" in text


def test_estimates_use_the_declared_metric_and_all_stories(tables, report):
    table = report["prediction_powered"]
    means = rows_of(table, "mean")
    assert means["metric"].unique().tolist() == ["cids"]
    assert (means[["n_drawn", "n_stories"]] == [10, 24]).all(axis=None)
    assert means["drawn"].unique().tolist() == ["stories+annotators"]
    truth = tables[0].groupby("method")["rating"].mean().to_numpy()
    assert ((means["low"] < truth) & (truth < means["high"])).all()
    assert abs(means["value"] - truth).sum() < abs(means["classical"] - truth).sum()
    assert (means["saved"] > 0).all()
    known = report["method_means"].set_index("method")
    for name, own in (("classical", "mean"), ("classical_low", "low")):
        assert means[name].tolist() == pytest.approx(known[own].tolist())
    pairs = rows_of(table, "difference")
    assert list(zip(pairs["method"], pairs["other"], strict=True)) == [
        ("a", "b"),
        ("a", "c"),
        ("b", "c"),
    ]


def test_estimates_are_refused_when_drawing_is_unknown(tables):
    found = powered(tables)
    (row,) = rows_of(found, "mean").to_dict("records")
    assert row["reason"] == "how the rated stories were drawn is unknown"
    assert np.isnan(row["value"])
    assert rows_of(found, "saved")["value"].notna().sum() == 2


def test_estimates_are_refused_when_a_story_was_picked_by_hand(tables):
    found = powered(tables, drawn(s03=None))
    (row,) = rows_of(found, "mean").to_dict("records")
    assert row["reason"] == (
        "1 rated story without a drawing probability: picked by hand"
    )


def test_stories_that_could_not_be_drawn_are_left_out(tables):
    means = rows_of(powered(tables, drawn(s20=None, s21=None)), "mean")
    assert (means["n_stories"] == 22).all()


def test_estimates_are_absent_when_every_story_was_rated(tables):
    found = powered(tables, rated=STORIES)
    assert rows_of(found, "mean").empty
    assert rows_of(found, "saved")["value"].notna().sum() == 2


def test_metric_that_is_constant_within_methods_has_no_estimate(tables):
    found = powered(tables, drawn(), metric="flat")
    (row,) = rows_of(found, "mean").to_dict("records")
    assert row["reason"] == "the metric is constant within methods, and saves nothing"


def test_drawing_probability_is_no_tag(report):
    assert "strata" not in report.tables
    tags, chances = without_probabilities(drawn().assign(half=["one", "two"] * 12))
    assert [*tags] == ["story", "half"]
    assert chances.to_dict() == dict.fromkeys(STORIES, 0.4)


def as_choices(ratings):
    """Return whom each annotator prefers; within 0.2 it is a tie."""
    one = ratings.pivot(index=["story", "annotator"], columns="method", values="rating")
    parts = []
    for first, second in (("a", "b"), ("a", "c"), ("b", "c")):
        gap = one[first] - one[second]
        choice = np.select([gap > 0.2, gap < -0.2], ["a", "b"], "tie")
        pair = {"method_a": first, "method_b": second, "choice": choice}
        parts.append(pd.DataFrame(pair, one.index).assign(criterion="look"))
    return pd.concat(parts).reset_index()


def test_win_rates_have_estimates(tables):
    every = as_choices(tables[0])
    kept = every[every["story"].isin(RATED)]
    rates = rows_of(powered(tables, drawn(), choices=kept), "win_rate")
    rates = rates.set_index("method")
    known, truth = (
        {row["method"]: row["rate"] for row in method_win_rates(rows, parts=())}
        for rows in (kept, every)
    )
    assert rates["classical"].to_dict() == pytest.approx(known)
    right = pd.Series(truth).reindex(rates.index)
    before, after = (abs(rates[name] - right).sum() for name in ("classical", "value"))
    assert after < before
    assert ((rates["low"] < right) & (right < rates["high"])).all()


def test_first_screen_says_what_the_metric_saves(report):
    (claim,) = save_claims(report["prediction_powered"], report["verdicts"])
    is_shown, text = claim
    assert is_shown
    value = (
        rows_of(report["prediction_powered"], "saved")
        .set_index("metric")
        .loc["cids", "value"]
    )
    assert f"cids would save {100 * value:.0f} %" in text


def test_several_questions_have_two_sentences(report):
    tables = [report["prediction_powered"], report["verdicts"]]
    several = [
        pd.concat([table.assign(question=name) for name in ("look", "plot", "sound")])
        for table in tables
    ]
    _first, (is_shown, text) = save_claims(*several)
    saved = rows_of(report["prediction_powered"], "saved").set_index("metric")
    most = 100 * saved.loc["cids", "high"]
    assert not is_shown
    assert f"In 2 other questions, a saving of more than {most:.0f} %" in text


def test_figure_is_drawn_only_beside_stories_without_ratings(tables):
    for rated, n in ((RATED, 1), (STORIES, 0)):
        table = powered(tables, drawn(), rated=rated)
        figures = all_figures({"prediction_powered": table}, pd.DataFrame())
        assert [one.key for one in figures] == ["powered"] * n
