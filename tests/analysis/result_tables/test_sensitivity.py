"""Results without annotators at chance level, recomputed."""

import itertools

import krippendorff
import numpy as np
import pandas as pd
import pytest
from scipy.stats import kendalltau

import analysis


def ratings(n_stories, questions, seed=5):
    """Return ratings of six people; Eve answers at random."""
    rng = np.random.default_rng(seed)
    rows = []
    quality = np.linspace(-1, 1, 5)
    for s, m, q in itertools.product(range(n_stories), range(5), questions):
        opinion = quality[m] / 2 + rng.normal()
        for who in ("Ann", "Bob", "Cid", "Dan", "Fay", "Eve"):
            seen = opinion + 0.7 * rng.normal()
            value = rng.integers(0, 5) if who == "Eve" else round(2 + seen)
            rows.append((f"s{s:02}", f"m{m}", q, who, int(np.clip(value, 0, 4))))
    names = ["story", "method", "dimension", "annotator", "rating"]
    return pd.DataFrame(rows, columns=names)


@pytest.fixture(scope="module")
def rated():
    return ratings(24, ("look", "plot"))


@pytest.fixture(scope="module")
def chosen():
    rng = np.random.default_rng(6)
    rows = []
    for s, (a, b) in itertools.product(range(30), itertools.combinations(range(4), 2)):
        difference = (a - b) / 3 + rng.normal()
        for who in ("Ann", "Bob", "Eve", "Fay"):
            seen = 5 * rng.normal() if who == "Eve" else difference
            seen += 0.7 * rng.normal()
            word = "a" if seen > 0.3 else "b" if seen < -0.3 else "tie"
            rows.append((f"s{s:02}", f"m{a}", f"m{b}", "overall", who, word))
    names = ["story", "method_a", "method_b", "criterion", "annotator", "choice"]
    return pd.DataFrame(rows, columns=names)


def alpha(rows, units, value, level):
    table = rows.pivot_table(index="annotator", columns=units, values=value)
    return krippendorff.alpha(
        reliability_data=table.to_numpy(), level_of_measurement=level
    )


def test_ratings_without_random_annotators(rated):
    report = analysis.agreement(ratings=rated, resamples=300)
    without = report["without_marked"]
    assert set(without["left_out"]) == {"Eve"}
    assert set(without["n_answers"]) == {600}
    for question, here in without.groupby("question"):
        rows = rated[rated["dimension"] == question]
        for name, kept in (
            ("value_all", rows),
            ("value", rows.query("annotator!='Eve'")),
        ):
            row = here.set_index("statistic").loc["alpha_ordinal"]
            expected = alpha(kept, ["story", "method"], "rating", "ordinal")
            assert row[name] == pytest.approx(expected)
            means = kept.groupby("method")["rating"].mean()
            ranks = here[here["statistic"] == "rank"].set_index("method")[name]
            assert ranks.to_dict() == means.rank(ascending=False).to_dict()
    assert without["question"].nunique() == 2


@pytest.mark.slow
def test_other_tables_keep_marked_annotators(rated):
    report = analysis.agreement(ratings=rated, resamples=300)
    assert set(report["agreement"]["n_annotators"].dropna()) == {6}
    assert "Eve" in set(report["annotators"]["annotator"])


@pytest.mark.slow
def test_choices_without_random_annotators(chosen):
    report = analysis.agreement(choices=chosen, resamples=300)
    here = report["without_marked"]
    row = here.set_index("statistic").loc["alpha_nominal"]
    rest = chosen[chosen["annotator"] != "Eve"]
    for name, kept in (("value_all", chosen), ("value", rest)):
        codes = kept.assign(code=pd.factorize(kept["choice"])[0])
        units = ["story", "method_a", "method_b"]
        assert row[name] == pytest.approx(alpha(codes, units, "code", "nominal"))
        board = analysis.leaderboard(choices=kept, resamples=0)["leaderboard"]
        ranks = here[here["statistic"] == "rank"].set_index("method")[name]
        assert ranks.to_dict() == board.set_index("method")["rank"].to_dict()


def test_table_is_missing_when_no_annotator_is_marked(rated):
    rest = rated[rated["annotator"] != "Eve"]
    report = analysis.agreement(ratings=rest, resamples=300)
    assert "without_marked" not in report.tables
    assert set(report["annotators"]["verdict"].dropna()) == {"above chance"}


def test_annotator_marked_on_all_questions_is_left_out_of_each():
    questions = ("look", "plot", "style", "story", "text")
    report = analysis.agreement(ratings=ratings(6, questions), resamples=300)
    own = report["annotators"].query("annotator == 'Eve'").dropna(subset=["verdict"])
    told = own.set_index("question")["verdict"]
    assert told.pop("all questions") == "like chance"
    assert "cannot be told" in set(told)
    assert set(report["without_marked"]["question"]) == set(questions)


@pytest.fixture(scope="module")
def ranked():
    """Return rankings of four outputs by four people; Eve ranks at random."""
    rng = np.random.default_rng(7)
    rows = []
    for s in range(40):
        opinion = rng.normal(size=4) - np.arange(4) / 4
        for who in ("Ann", "Bob", "Eve", "Fay"):
            own = rng.normal(size=4)
            seen = own if who == "Eve" else opinion + 0.7 * own
            for rank, m in enumerate(np.argsort(-seen), start=1):
                rows.append((f"s{s:02}", f"m{m}", "overall", who, rank))
    names = ["story", "method", "criterion", "annotator", "rank"]
    return pd.DataFrame(rows, columns=names)


@pytest.mark.slow
def test_rankings_without_random_annotators(ranked):
    report = analysis.agreement(rankings=ranked, resamples=300)
    here = report["without_marked"]
    assert set(here["left_out"]) == {"Eve"}
    assert set(here["n_answers"]) == {120}
    row = here.set_index("statistic").loc["kendall_between_annotators"]
    rest = ranked[ranked["annotator"] != "Eve"]
    for name, kept in (("value_all", ranked), ("value", rest)):
        wide = kept.pivot_table(
            index=["story", "method"], columns="annotator", values="rank"
        )
        taus = [
            kendalltau(own[a], own[b])[0]
            for _story, own in wide.groupby(level="story")
            for a, b in itertools.combinations(wide.columns, 2)
        ]
        assert row[name] == pytest.approx(np.mean(taus))
        tables = analysis.leaderboard(rankings=kept, resamples=0)
        board = tables["ranking_leaderboard"].set_index("method")["rank"]
        ranks = here[here["statistic"] == "rank"].set_index("method")[name]
        assert ranks.to_dict() == board.to_dict()


@pytest.mark.slow
def test_ratings_and_rankings_of_one_question_have_separate_rows(rated, ranked):
    rankings = ranked.assign(criterion="look")
    report = analysis.agreement(ratings=rated, rankings=rankings, resamples=300)
    here = report["without_marked"].query("question == 'look' and statistic != 'rank'")
    assert here["statistic"].tolist() == ["alpha_ordinal", "kendall_between_annotators"]
    assert here["n_answers"].tolist() == [600, 120]
