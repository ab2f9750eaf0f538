"""The commands as functions: the same tables, checks and files."""

import json
import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import analysis
from analysis.__main__ import main
from analysis.options import OptionError
from analysis.problems import InputError
from tests.analysis.commands.test_alignment import study

RATINGS, CHOICES, SCORES = study()
RANKINGS = pd.DataFrame(
    [
        (f"{s:02d}", method, "quality", annotator, rank)
        for s in range(4)
        for annotator in ("Ann", "Bob")
        for rank, method in enumerate(np.roll(["good", "copy", "drift"], s % 2), 1)
    ],
    columns=["story", "method", "criterion", "annotator", "rank"],
)
TRIALS = pd.concat([RATINGS.assign(round=k, annotator="judge") for k in (1, 2)])
TRIALS = TRIALS.drop_duplicates(["story", "method", "dimension", "round"])
TABLES = {
    "ratings": RATINGS,
    "choices": CHOICES,
    "scores": SCORES,
    "rankings": RANKINGS,
    "trials": TRIALS,
    "other": SCORES.assign(score=-SCORES["score"]),
    "tags": pd.DataFrame(
        {"story": [f"{k:02d}" for k in range(6)], "kind": list("ababab")}
    ),
    "meant": pd.DataFrame({"question": ["identity"], "metric": ["cids"]}),
    "worse": SCORES.assign(twin="blurred", score=SCORES["score"] - 0.1),
    "made": {"all": {"over": "questions", "weights": {"identity": 1, "aesthetics": 2}}},
}
# A command, its tables by keyword, and its other keywords.
CALLS = [
    (
        "align",
        {
            **{"ratings": "ratings", "scores": "scores", "choices": "choices"},
            **{"stories": "tags", "hypotheses": "meant"},
            **{"composites": "made", "twins": "worse"},
        },
        {"scale": (0, 4), "levels": ("story",), "lower_is_better": ("cids",)},
    ),
    ("agreement", {"choices": "choices"}, {"confidence": 0.9}),
    ("leaderboard", {"choices": "choices"}, {"ties": "davidson", "majority": True}),
    ("leaderboard", {"rankings": "rankings"}, {}),
    ("power", {"ratings": "ratings", "scores": "scores"}, {"target": 0.2}),
    ("subset", {"scores": "scores", "subset": "other"}, {"sizes": (2, 3)}),
    ("stability", {"ratings": "trials", "people": "ratings"}, {}),
]


def written(keyword, value):
    """Return a keyword as options of the command line."""
    option = f"--{keyword.replace('_', '-')}"
    if value is True:
        return [option]
    between = ":" if keyword == "scale" else ","
    text = between.join(map(str, value)) if isinstance(value, tuple) else str(value)
    return [option, text]


def stored(name, folder, called=""):
    """Write a table, or composites, as a file; return its path."""
    table = TABLES[name]
    if isinstance(table, dict):
        path = folder / f"{called or name}.json"
        path.write_text(json.dumps({"composites": table}))
    else:
        path = folder / f"{called or name}.csv"
        table.to_csv(path, index=False)
    return path


def contents(folder):
    """Return what lies in a folder, without the row that tells the call."""
    found = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            lines = path.read_text("utf-8").splitlines()
            found[str(path.relative_to(folder))] = [
                line
                for line in lines
                if not any(x in line for x in ("plumbline ", "analysis."))
            ]
    return found


@pytest.mark.slow
@pytest.mark.parametrize(("command", "tables", "further"), CALLS)
def test_files_give_what_the_command_writes_and_frames_give_their_tables(
    tmp_path, monkeypatch, command, tables, further
):
    monkeypatch.chdir(tmp_path)
    # Judges are called as their files are, or as the keywords of their frames.
    paths = {
        keyword: stored(name, tmp_path, called=keyword).name
        for keyword, name in tables.items()
    }
    options = further | {"resamples": 9}
    line = [w for k, v in (paths | options).items() for w in written(k, v)]
    assert main([command, *line, "--images", "none", "--out", "command"]) == 0
    report = getattr(analysis, command)(**paths, **options)
    page = report.save("notebook", images="none")
    assert page == Path("notebook/report.html")
    assert contents(tmp_path / "notebook") == contents(tmp_path / "command")
    run = report["run"].set_index("key")["value"]
    assert run["command"].startswith(f"analysis.{command}(")
    frames = {keyword: TABLES[name] for keyword, name in tables.items()}
    found = getattr(analysis, command)(**frames, **options)
    assert list(found) == list(report)
    for name in set(found) - {"run"}:
        assert found[name].to_csv() == report[name].to_csv(), name


@pytest.mark.slow
def test_date_is_that_of_the_files_and_frames_have_none(tmp_path, monkeypatch):
    path = tmp_path / "r.csv"
    RATINGS.to_csv(path, index=False)
    os.utime(path, (86400, 86400))

    def date(given):
        run = analysis.agreement(ratings=given, resamples=0)["run"]
        return run.set_index("key")["value"]["date"]

    assert date(path) == "1970-01-02T00:00:00+00:00"
    assert date(RATINGS) == "unknown date"
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "0")
    assert date(RATINGS) == date(path) == "1970-01-01T00:00:00+00:00"


def aligned(**change):
    given = {"ratings": RATINGS, "scores": SCORES, "resamples": 0}
    return analysis.align(**(given | change))


@pytest.mark.slow
def test_hypotheses_are_a_mapping_a_frame_or_a_file(tmp_path):
    path = tmp_path / "meant.csv"
    TABLES["meant"].to_csv(path, index=False)
    for given in ({"identity": "cids"}, {"identity": ["cids"]}, TABLES["meant"], path):
        found = aligned(hypotheses=given, levels="story", coefficients="kendall")
        verdicts = found.verdicts
        declared = verdicts[verdicts["role"] == "declared"]
        assert set(zip(declared["question"], declared["metric"], strict=True)) == {
            ("identity", "cids")
        }


@pytest.mark.parametrize(
    ("hypotheses", "problems"),
    [
        (
            {"identiy": "cids", "aesthetics": ["blur", "cid"]},
            [
                "['identiy']: question: identiy: expected one of aesthetics, identity "
                "(nearest: identity)",
                "['aesthetics']: metric: cid: expected one of blur, cids "
                "(nearest: cids)",
            ],
        ),
        (
            {"identity": ["cids", "cids"]},
            ["['identity']: metric: cids: expected a hypothesis once"],
        ),
        (
            {"identity": None},
            ["['identity']: None: expected a metric, or a list of metrics"],
        ),
        ({}, [": expected at least one row, and a column"]),
        (
            pd.DataFrame({"question": ["identity"], "metric": ["CIDS"]}),
            [".iloc[0]: metric: CIDS: expected one of blur, cids (nearest: cids)"],
        ),
        (
            TABLES["meant"].set_index("question"),
            [": question: expected a column, no index: give hypotheses.reset_index()"],
        ),
    ],
)
def test_hypotheses_that_are_refused(hypotheses, problems):
    with pytest.raises(InputError) as error:
        aligned(hypotheses=hypotheses)
    assert error.value.lines() == [f"hypotheses{problem}" for problem in problems]


@pytest.mark.parametrize(
    ("keyword", "given", "problem"),
    [
        ("ratings", RATINGS.assign(rating="x"), "ratings.iloc[0]: rating: x: expected"),
        ("ratings", "absent.csv", "absent.csv: expected a readable file"),
        ("scores", [0.5], "scores: list: expected a pandas DataFrame, or the path"),
        ("stories", TABLES["tags"].assign(story="a"), "stories.iloc[1]: a: expected a"),
        (
            "composites",
            {"all": {"over": "questions", "weights": {"identty": 1}}},
            "composites: all: identty: expected one of aesthetics, identity",
        ),
        (
            "twins",
            TABLES["worse"].assign(metric="cid"),
            "twins.iloc[0]: metric: cid: expected one of",
        ),
    ],
)
def test_wrong_table_is_named_by_its_keyword(keyword, given, problem):
    with pytest.raises(InputError) as error:
        aligned(**{keyword: given})
    assert error.value.lines()[0].startswith(problem)


def test_rows_of_frames_are_named_by_their_positions():
    rated = RATINGS.copy()
    rated.loc[3, "rating"] = 44
    found = analysis.align(ratings=rated, scores=SCORES, resamples=0)
    assert any(" 44 (ratings.iloc[3])." in note for note in found.notes)
    other = SCORES.assign(method="X" + SCORES["method"])
    with pytest.raises(InputError) as caught:
        analysis.align(ratings=rated, scores=other, resamples=0)
    assert str(caught.value).startswith("scores.iloc[0]: method: X")


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"levels": "storey"}, "levels: 'storey': expected method, story, pooled"),
        ({"lower_is_better": "blu"}, "lower_is_better: 'blu': expected some of blur"),
        ({"exclude_methods": ["x"]}, "exclude_methods: 'x': expected one of copy"),
        ({"scale": (4, 0)}, "scale: (4, 0): expected the lowest and the highest"),
        ({"scale": 4}, "scale: 4: expected the lowest and the highest rating, as in"),
        ({"scale": (0, 1.5)}, "scale: (0, 1.5): expected the lowest and the highest"),
        (
            {"scores": None, "lower_is_better": "x"},
            "lower_is_better: expected scores beside it",
        ),
        ({"ratings": None}, "ratings, choices, rankings: expected one of them"),
    ],
)
def test_wrong_option_is_named_as_the_keyword_it_is(options, problem):
    with pytest.raises(OptionError) as error:
        aligned(**options)
    assert str(error.value).startswith(problem)


def test_unknown_keyword_names_the_nearest():
    with pytest.raises(TypeError, match=r"'resample_s'.*\(nearest: resamples"):
        aligned(resample_s=3)


def test_wide_frame():
    wide = SCORES.pivot(index=["story", "method"], columns="metric", values="score")
    wide = wide.reset_index().assign(family="x").rename(columns={"method": "model"})
    found = analysis.align(
        choices=CHOICES, scores=wide, wide=True, method_column="model", resamples=0
    )
    long = analysis.align(
        choices=CHOICES, scores=SCORES.drop(columns="higher_is_better"), resamples=0
    )
    pd.testing.assert_frame_equal(found.verdicts, long.verdicts)
    assert found.notes[0] == (
        "Columns of scores that hold no numbers are left out: family."
    )
