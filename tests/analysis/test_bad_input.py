"""Whole runs on odd input: a report with reasons, or a line that says what is wrong."""

import numpy as np
import pandas as pd
import pytest

from analysis.__main__ import main

KEYS = ["story", "method", "dimension", "annotator", "rating"]


def ratings(stories=5, methods=4, annotators=3, seed=0):
    rng = np.random.default_rng(seed)
    rows = [
        (f"s{i}", f"m{j}", "q", f"a{k}", int(rng.integers(0, 5)))
        for i in range(stories)
        for j in range(methods)
        for k in range(annotators)
    ]
    return pd.DataFrame(rows, columns=KEYS)


def scores(stories=5, methods=4):
    rng = np.random.default_rng(1)
    rows = [
        (f"s{i}", f"m{j}", metric, round(float(rng.normal()), 3))
        for i in range(stories)
        for j in range(methods)
        for metric in ("k", "l")
    ]
    return pd.DataFrame(rows, columns=["story", "method", "metric", "score"])


@pytest.fixture
def run(tmp_path, capsys):
    """Return a function that aligns two tables, given as frames or as bytes."""

    def run(rated, scored, *options):
        for name, table in (("r.csv", rated), ("s.csv", scored)):
            if isinstance(table, pd.DataFrame):
                table = table.to_csv(index=False).encode()
            (tmp_path / name).write_bytes(table)
        out = tmp_path / "out"
        status = main(
            [
                "align",
                "--ratings",
                str(tmp_path / "r.csv"),
                "--scores",
                str(tmp_path / "s.csv"),
                "--resamples",
                "9",
                "--images",
                "none",
                "--out",
                str(out),
                *options,
            ]
        )
        told = capsys.readouterr().err.splitlines()
        assert status == (2 if told else 0)
        assert out.exists() == (status == 0)  # nothing is written on failure
        if status:
            return told
        names = ("correlations", "agreement", "method_means")
        return {n: pd.read_csv(out / "tables" / f"{n}.csv") for n in names}

    return run


def undefined(table):
    """Return the reasons of the rows without a value; each needs one."""
    reasons = table.loc[table["value"].isna(), "reason"]
    assert reasons.notna().all()
    return set(reasons)


# What cannot be known has a reason ----------------------------------------------------


def test_single_annotator_has_no_agreement(run):
    tables = run(ratings(annotators=1), scores())
    assert tables["correlations"]["value"].notna().all()
    assert undefined(tables["agreement"]) == {"no unit has two answers"}
    assert tables["method_means"]["sd_annotators"].isna().all()


@pytest.mark.slow
def test_single_method_has_no_correlation(run):
    tables = run(ratings(methods=1), scores(methods=1))
    assert undefined(tables["correlations"]) == {
        "fewer than two methods",
        "in no story do both people and the metric distinguish two methods",
    }


@pytest.mark.slow
def test_all_ratings_equal(run):
    tables = run(ratings().assign(rating=3), scores())
    assert tables["correlations"]["value"].isna().all()
    assert "people's values are all the same" in undefined(tables["correlations"])
    assert tables["method_means"]["mean"].eq(3).all()


@pytest.mark.slow
def test_all_metrics_missing_on_a_story(run):
    scored = scores()
    tables = run(ratings(), scored[scored["story"] != "s2"])
    pooled = tables["correlations"].query("level == 'pooled'")
    assert pooled["n"].eq(16).all()
    assert tables["method_means"]["n_stories"].eq(5).all()  # of people alone


@pytest.mark.slow
def test_ten_thousand_distinct_values(run):
    rated = ratings(20, 10, 50)
    rated["rating"] = np.random.default_rng(2).permutation(len(rated)) / 7
    tables = run(rated, scores(20, 10))
    assert tables["correlations"]["value"].notna().all()
    values = tables["agreement"].set_index("statistic")["value"]
    assert np.isfinite(values["alpha_interval"])


@pytest.mark.slow
def test_versions_that_cover_different_outputs_are_each_judged_on_their_own(run):
    scored = scores()
    is_first = scored["story"] == "s0"
    scored["metric_version"] = np.where(is_first, "1", "2")
    table = run(ratings(), scored)["correlations"]
    pooled = table[table["level"] == "pooled"].groupby("metric")["n"].max()
    counts = scored.groupby(["metric", "metric_version"]).size()
    assert sorted(pooled) == sorted(counts)


# What is wrong has a line -------------------------------------------------------------


def with_line(text):
    return ratings(1, 2, 1).to_csv(index=False).encode() + text


@pytest.mark.parametrize(
    ("rated", "told"),
    [
        (with_line(b"s0,m1,q,a0,1\n"), "r.csv:4: s0 / m1 / q / a0: expected a row"),
        (ratings().to_csv().encode("utf-16-le"), "r.csv:1: expected UTF-8 text"),
        (ratings().assign(is_gold=1), "ratings: no row is left to analyse"),
    ],
)
def test_ratings_that_are_refused(run, rated, told):
    (problem,) = run(rated, scores(), "--scale", "0:4")
    assert problem.startswith(told)


@pytest.mark.parametrize(
    ("scored", "told"),
    [
        (
            scores().assign(story="t" + scores()["story"]),
            "s.csv:2: story: ts0: expected a story of r.csv; nearest: 's0'",
        ),
        (scores().assign(score=""), "scores: no row has a score"),
        (
            pd.concat([scores(1, 1).assign(higher_is_better=b) for b in ("yes", "no")]),
            "s.csv:4: higher_is_better: False: expected the direction of the metric's",
        ),
    ],
)
def test_scores_that_are_refused(run, scored, told):
    assert run(ratings(), scored)[0].startswith(told)


def test_wide_table_with_no_column_of_numbers(run):
    wide = b"method,q\nm0,good\nm1,bad\n"
    (problem,) = run(wide, b"method,k\nm0,1\nm1,2\n", "--wide")
    assert problem == "r.csv:1: expected at least one column of numbers"
