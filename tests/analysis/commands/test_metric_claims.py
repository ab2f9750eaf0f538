"""Favoured methods, equivalent metrics, and values over questions and studies."""

import itertools
import json

import numpy as np
import pandas as pd
import pytest

import analysis
from analysis.__main__ import main
from analysis.problems import InputError

STORIES, METHODS = [f"s{i:02}" for i in range(12)], list("abcdef")
KEYS = ["story", "method"]


def tables(seed=0):
    """Ratings of three questions; the metric `judge` favours the first method."""
    rng = np.random.default_rng(seed)
    cells = pd.DataFrame(itertools.product(STORIES, METHODS), columns=KEYS)
    good = cells["method"].map(dict(zip(METHODS, range(6), strict=True))) * 0.7
    good += rng.normal(0, 0.3, len(cells))
    ratings = pd.concat(
        [
            cells.assign(
                dimension=question,
                annotator=who,
                rating=np.clip(
                    np.round(1 + good + rng.normal(0, 0.4, len(cells))), 1, 5
                ),
            )
            for question in ("look", "plot", "pace")
            for who in ("Ann", "Bob", "Eve")
        ]
    )
    fair = good + rng.normal(0, 0.3, len(cells))
    scores = {
        "judge": fair + 2.5 * (cells["method"] == "a"),
        "fair": fair,
        "twin": fair + rng.normal(0, 0.02, len(cells)),
    }
    scored = [cells.assign(metric=name, score=x) for name, x in scores.items()]
    return ratings, pd.concat(scored).assign(higher_is_better=True)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("claims")
    ratings, scores = tables()
    declared = [("look", "judge"), ("plot", "fair"), ("plot", "twin"), ("pace", "fair")]
    for name, frame in {
        "ratings": ratings,
        "scores": scores,
        "hypotheses": pd.DataFrame(declared, columns=["question", "metric"]),
        "trained": pd.DataFrame({"method": ["a"], "metric": ["judge"]}),
    }.items():
        frame.to_csv(folder / f"{name}.csv", index=False)
    return folder


def run(files, out, *further):
    given = ["align", "--images", "none", "--resamples", "50", "--out", str(out)]
    for name in ("ratings", "scores", "hypotheses"):
        given += [f"--{name}", str(files / f"{name}.csv")]
    few = ["--levels", "story", "--coefficients", "kendall", "--components", "fair"]
    return main([*given, *few, *further])


@pytest.fixture(scope="module")
def report(files, tmp_path_factory):
    out = tmp_path_factory.mktemp("claims") / "first"
    further = "--trained-on", str(files / "trained.csv"), "--equivalent-within", "0.1"
    assert run(files, out, *further) == 0
    return out


def table(report, name):
    return pd.read_csv(report / "tables" / f"{name}.csv")


@pytest.mark.slow
def test_first_screen_names_the_favoured_method(report):
    rows = table(report, "method_deviation")
    row = rows[(rows["question"] == "look") & (rows["metric"] == "judge")].iloc[0]
    assert (row["method"], bool(row["trained_on"])) == ("a", True)
    assert row["p_adjusted"] < 0.05
    known = json.loads((report / "report.json").read_text())
    claim, *_declared = [text for text in known["claims"] if "favours" in text]
    assert f"judge favours a by {row['value']:.2f}" in claim
    assert "declared as trained on it" in claim
    assert any("No method is favoured" in text for text in known["limits"])
    # What was declared is named for every question, also where another metric leads.
    others = [
        text for text in known["claims"] + known["limits"] if "trained on" in text
    ]
    for question in ("look", "plot", "pace"):
        assert any(question in text for text in others)


def test_equivalent_metrics_are_named(report):
    rows = table(report, "equivalence")
    half = rows[(rows["question"] == "plot") & (rows["statistic"] == "ppa_half")]
    (row,) = half.to_dict("records")
    assert (row["metric_a"], row["metric_b"]) == ("fair", "twin")
    assert row["verdict"] == "equivalent"
    assert -0.1 < row["low"] < row["high"] < 0.1
    known = json.loads((report / "report.json").read_text())
    assert any("fair and twin" in text for text in known["claims"])


def test_metric_declared_for_two_questions_has_one_value(report):
    rows = table(report, "meta_analysis")
    wholes = rows[rows["part"].isna()]
    assert set(wholes["metric"]) == {"fair"}
    assert set(zip(wholes["statistic"], wholes["level"], strict=True)) == {
        ("ppa_half", "pairs"),
        ("kendall", "story"),
    }
    for row in wholes.itertuples():
        own = rows[(rows["metric"] == "fair") & (rows["statistic"] == row.statistic)]
        parts = own.loc[own["part"].notna(), "value"]
        assert row.value == pytest.approx(parts.mean())
        assert row.p_adjusted < 0.05


@pytest.mark.slow
def test_meta_combines_reports(files, report, tmp_path, capsys):
    other = tmp_path / "second"
    ratings, scores = tables(seed=1)
    declared = {"look": "judge", "plot": "fair"}
    options = {"levels": "story", "coefficients": "kendall", "resamples": 50}
    second = analysis.align(
        ratings=ratings, scores=scores, hypotheses=declared, **options
    )
    second.write(other, "second", "none")
    out = tmp_path / "both"
    asked = ["meta", str(report), str(other), "--images", "none", "--out", str(out)]
    assert main(asked) == 0
    rows = table(out, "meta_analysis")
    row = rows[(rows["metric"] == "fair") & rows["part"].isna()].iloc[0]
    assert (row["over"], row["n"], row["drawn"]) == ("studies", 2, "studies")
    known = json.loads((out / "report.json").read_text())
    assert any("over 2 studies" in text for text in known["claims"] + known["limits"])
    assert "no intervals" not in (out / "report.html").read_text()
    second = other / "tables" / "meta_analysis.csv"
    same = analysis.meta({"a": table(report, "meta_analysis"), "b": second})
    assert same["meta_analysis"]["value"].to_list() == pytest.approx(
        rows["value"].to_list(), nan_ok=True
    )
    assert main(["meta", str(report), str(files), "--out", str(tmp_path / "no")]) == 2
    assert "expected a report of `align`" in capsys.readouterr().err
    assert main(["meta", str(report), "--out", str(tmp_path / "no")]) == 2
    assert not (tmp_path / "no").exists()


def test_meta_names_a_cell_that_is_no_number(report):
    broken = table(report, "meta_analysis").astype(object)
    broken.loc[1, "error"] = "small"
    with pytest.raises(InputError, match=r"b/.*:3: error: small: expected a number"):
        analysis.meta({"a": table(report, "meta_analysis"), "b": broken})


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("method\na\n", "trained.csv:1: metric: expected the columns method, metric"),
        ("method,metric\nz,judge\n", "trained.csv:2: method: z: expected one of a, b"),
        ("method,metric\na,judges\n", "trained.csv:2: metric: judges: expected one of"),
        (
            "method,metric\na,judge\na,judge\n",
            "trained.csv:3: metric: judge: expected a method and metric once",
        ),
    ],
)
def test_bad_declarations_of_training_write_nothing(
    text, problem, files, tmp_path, capsys
):
    path = tmp_path / "trained.csv"
    path.write_text(text)
    assert run(files, tmp_path / "out", "--trained-on", str(path)) == 2
    assert capsys.readouterr().err.startswith(problem)
    assert not (tmp_path / "out").exists()


def test_choices_compare_shares_of_wins():
    rows = []
    order = {method: place for place, method in enumerate(METHODS)}
    rng = np.random.default_rng(0)
    for story, who in itertools.product(STORIES, ("Ann", "Bob")):
        for one, other in itertools.combinations(METHODS, 2):
            is_first = order[one] + rng.normal(0, 2) > order[other] + rng.normal(0, 2)
            word = "a" if is_first else "b"
            rows.append((story, one, other, "best", who, word))
    names = ["story", "method_a", "method_b", "criterion", "annotator", "choice"]
    _, scores = tables()
    found = analysis.align(
        choices=pd.DataFrame(rows, columns=names),
        scores=scores[scores["metric"] == "judge"],
        resamples=50,
    )["method_deviation"]
    wins = pd.DataFrame(rows, columns=names)
    first = wins[wins["method_a"] == "a"]
    row = found.set_index("method").loc["a"]
    assert row["human"] == pytest.approx((first["choice"] == "a").mean())
    assert (row["source"], row["drawn"]) == ("choices", "stories")
    assert row["difference"] == pytest.approx(row["score"] - row["human"])
    assert row["difference_low"] > 0
