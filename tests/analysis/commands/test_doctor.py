"""Findings of `doctor` about tables, and its exit status."""

import hashlib
import json
import subprocess
import sys
import zipfile
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from analysis.__main__ import main
from analysis.commands.doctor.checkup import examine
from analysis.commands.doctor.findings import FINDINGS, SOUND, UNUSABLE, Kind
from analysis.commands.doctor.responding import doubtful_annotators

ROOT = Path(__file__).resolve().parents[3]
METHODS = ("GPT-4o", "UNO", "Mimeo", "Dall")


def study(n_stories=20, people=("Ann", "Bob", "Eve", "Kim", "Lee")):
    """Ratings that follow a quality, and the quality as a metric."""
    rng = np.random.default_rng(5)
    ratings, scores = [], []
    for s, (m, method) in product(range(n_stories), enumerate(METHODS)):
        quality = m + rng.normal(0, 0.5)
        key = {"story": f"s{s}", "method": method}
        for name in people:
            rating = int(np.clip(round(1 + quality + rng.normal(0, 0.3)), 1, 5))
            ratings.append(
                {**key, "dimension": "look", "annotator": name, "rating": rating}
            )
        scores.append(
            {**key, "metric": "good", "score": quality, "higher_is_better": True}
        )
    return pd.DataFrame(ratings), pd.DataFrame(scores)


@pytest.fixture
def found(tmp_path):
    """Return a function that examines tables, given by the names of their files."""

    def found(**tables):
        paths = []
        for name, table in tables.items():
            paths.append(tmp_path / f"{name}.csv")
            text = table if isinstance(table, str) else table.to_csv(index=False)
            paths[-1].write_text(text, "utf-8")
        return examine(paths)

    return found


def texts(findings, kind):
    return [str(one) for one in findings if one.kind is kind]


def test_study_without_mistakes_has_nothing_to_check(found):
    ratings, scores = study()
    findings = found(ratings=ratings, scores=scores)
    assert texts(findings, Kind.CHECK) == texts(findings, Kind.UNUSABLE) == []
    assert texts(findings, Kind.TABLE) == [
        "ratings.csv: 400 ratings: 5 annotators, 20 stories x 4 methods, 1 question.",
        "scores.csv: 80 scores: 1 metric, 20 stories x 4 methods.",
    ]
    (limit,) = texts(findings, Kind.LIMIT)
    # Two of 4! orders are perfect: p = 2 / 24.
    assert "has p = .083. Needed: 5 to show agreement (1 more)" in limit


def test_needed_annotators_and_stories_are_counted(found):
    ratings, _scores = study(8, ("Ann", "Bob"))
    limits = {one.what: one.advice for one in found(ratings=ratings)}
    assert limits["annotators as a sample of others: 2."] == "Needed: 5, 3 more."
    stories = "stories as a sample of others: 8; intervals are too narrow."
    assert limits[stories] == "Needed: 20, 12 more."


def test_name_written_otherwise_is_found_with_the_outputs_it_costs(found):
    ratings, scores = study()
    scores["method"] = scores["method"].replace("GPT-4o", "gpt4o ")
    findings = found(ratings=ratings, scores=scores)
    name, coverage = texts(findings, Kind.CHECK)
    assert name.startswith("scores.csv: no method 'GPT-4o'; nearest: 'gpt4o'")
    assert "good scores 60 of 80 judged outputs (missing: all of method GPT-4o)" in (
        coverage
    )
    assert [one.n for one in findings if one.kind is Kind.CHECK] == [1, 20]


def test_tables_with_few_names_in_common_cannot_be_used(found):
    ratings, scores = study()
    scores["story"] = "x" + scores["story"]
    first, *_others = texts(found(ratings=ratings, scores=scores), Kind.UNUSABLE)
    assert first.startswith("scores.csv:2: story: xs0: expected a story of ratings.csv")


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda x: 0 * x["score"] + 1, "the same score for every output: odd."),
        (
            lambda x: x["story"].str[1:].astype(float),
            "the same score for all outputs of a story: odd.",
        ),
        (lambda x: -x["score"], "odd correlates -0.9"),
        (
            lambda x: 1 + 1e-12 * x["score"],
            "differ by rounding alone, in 60 pairs: odd.",
        ),
        (
            lambda x: x["score"].where(x.index < 30),
            "odd scores 30 of 80 judged outputs (missing: all of story s10, s11, s12 "
            "and 9 more; s7 Dall, s7 Mimeo). Needed: 50 more. Too few to compare it",
        ),
    ],
)
def test_odd_metric_is_found(found, change, text):
    ratings, scores = study()
    odd = scores.assign(metric="odd", score=change(scores))
    both = pd.concat([scores, odd])
    (check, *more) = texts(found(ratings=ratings, scores=both), Kind.CHECK)
    assert text in check
    assert more == []


def test_metric_of_whole_methods_is_no_mistake(found):
    ratings, scores = study()
    whole = scores.assign(metric="whole", score=scores["method"].str.len())
    findings = found(ratings=ratings, scores=pd.concat([scores, whole]))
    assert texts(findings, Kind.CHECK) == []
    assert any("whatever the story: whole." in x for x in texts(findings, Kind.LIMIT))


def test_ratings_of_whole_methods_meet_scores_of_their_stories(found):
    ratings, scores = study()
    findings = found(ratings=ratings.iloc[:20].assign(story=""), scores=scores)
    assert texts(findings, Kind.CHECK) == []
    supports = texts(findings, Kind.SUPPORT)
    assert "scores.csv: good scores 4 of 4 judged outputs." in supports


def test_annotators_who_answer_oddly_are_named(found):
    ratings, _scores = study(people=("Ann", "Bob", "Eve", "Odd", "Turned", "Flat"))
    rng = np.random.default_rng(1)
    own = ratings["annotator"]
    ratings.loc[own == "Odd", "rating"] = rng.integers(1, 6, (own == "Odd").sum())
    ratings.loc[own == "Turned", "rating"] = 6 - ratings["rating"]
    ratings.loc[own == "Flat", "rating"] = 3
    assert [text.split(" (")[0] for text in texts(found(r=ratings), Kind.CHECK)] == [
        "r.csv: the same answer every time: Flat",
        "r.csv: Odd answers as if at random",
        "r.csv: Turned answers opposite to the others",
    ]


def test_honest_annotators_are_seldom_called_random():
    """Five people in 20 studies whose ratings correlate by about .4."""
    rng = np.random.default_rng(2)
    named = 0
    keys = pd.DataFrame(
        [*product(map(str, range(10)), METHODS, "abcde")],
        columns=["story", "method", "annotator"],
    )
    for _study in range(20):
        quality = np.repeat(rng.normal(size=40), 5)
        rating = np.round(3 + quality + rng.normal(0, 1.2, 200)).clip(1, 5)
        table = keys.assign(dimension="q", rating=rating)
        named += sum(one.n for one in doubtful_annotators("ratings", table, "r.csv"))
    assert named <= 0.05 * 5 * 20


def test_groups_of_methods_that_never_met_are_found(found):
    rows = [
        (f"s{s}", *pair, "best", who, "ab"[(s + k) % 2])
        for s in range(20)
        for pair in (("A", "B"), ("C", "D"))
        for k, who in enumerate(("Ann", "Bob"))
    ]
    columns = ["story", "method_a", "method_b", "criterion", "annotator", "choice"]
    choices = pd.DataFrame(rows, columns=columns)
    (check,) = texts(found(choices=choices), Kind.CHECK)
    assert "2 groups of methods were never compared with each other (A, B; C, D)" in (
        check
    )
    bridge = pd.DataFrame([("s0", "A", "C", "best", "Ann", "tie")], columns=columns)
    joined = pd.concat([choices, bridge])
    assert texts(found(choices=joined), Kind.CHECK) == []


def test_every_bad_table_is_reported_and_good_ones_are_examined(found):
    ratings, _scores = study()
    findings = found(
        ratings=ratings,
        scores="story,method,metric,score\ns0,UNO,good,high\n",
        tags="story,genre\ns0,fable\ns0,epic\n",
        odd="Model,BLEU\nUNO,1\n",
        empty="",
    )
    refused = [text.split(": expected")[0] for text in texts(findings, Kind.UNUSABLE)]
    assert refused == [
        "odd.csv:1",
        "empty.csv:1",
        "scores.csv:2: score: high",
        "tags.csv:3: s0",
    ]
    assert len(texts(findings, Kind.SUPPORT)) == 2


def test_hypotheses_need_known_names(found):
    ratings, scores = study()
    tables = {"ratings": ratings, "scores": scores}
    good = "question,metric\nlook,good\n"
    assert texts(found(**tables, plan=good), Kind.UNUSABLE) == []
    bad = texts(found(**tables, plan=good + "lok,good\n"), Kind.UNUSABLE)
    assert bad == ["plan.csv:3: question: lok: expected one of look (nearest: look)"]


def test_methods_trained_on_metrics_need_known_names(found):
    ratings, scores = study()
    tables = {"ratings": ratings, "scores": scores}
    good = "method,metric\nUNO,good\n"
    findings = found(**tables, trained=good)
    assert texts(findings, Kind.UNUSABLE) == texts(findings, Kind.CHECK) == []
    assert [x for x in texts(findings, Kind.TABLE) if x.startswith("trained.csv")] == [
        "trained.csv: 1 method trained on, or selected by, 1 metric."
    ]
    (bad,) = texts(found(**tables, trained=good + "Uno,good\n"), Kind.UNUSABLE)
    assert bad.startswith("trained.csv:3: method: Uno: expected one of")
    other = "method,metric,value\nUNO,good,1\n"
    (bad,) = texts(found(**tables, trained=other), Kind.UNUSABLE)
    assert "trained_on (method, metric)" in bad


def test_second_table_of_a_kind_is_not_left_out_in_silence(found):
    ratings, _scores = study()
    (check,) = texts(found(ratings=ratings, more=ratings), Kind.CHECK)
    assert check.startswith("more.csv: another table of ratings")


def bundle(path, tables, scales):
    """Write what `plumbline export --bundle` writes, as far as it is read here."""
    study = {"title": "T", "scales": scales, "composites": {}}
    parts = {f"tables/{name}.csv": t.to_csv(index=False) for name, t in tables.items()}
    parts["analysis.json"] = json.dumps(study)
    files = {
        name: {
            "bytes": len(text.encode()),
            "sha256": hashlib.sha256(text.encode()).hexdigest(),
        }
        for name, text in parts.items()
    }
    manifest = {"format": 1, "plumbline": "0", "study": "t", "rows": {}, "files": files}
    manifest |= {"views": ["main"], "moment": {"at": "2026-01-01T00:00:00+00:00"}}
    with zipfile.ZipFile(path, "w") as packed:
        for name, text in parts.items():
            packed.writestr(name, text)
        packed.writestr("manifest.json", json.dumps(manifest))
    return path


def test_bundle_is_held_against_the_scales_of_its_study(tmp_path):
    ratings, scores = study()
    tables = {"ratings": ratings, "scores": scores}
    sound = examine([bundle(tmp_path / "a.zip", tables, {"look": [1, 5]})])
    assert len(texts(sound, Kind.TABLE)) == 2
    assert texts(sound, Kind.UNUSABLE) == []
    ratings.loc[7, "rating"] = 41
    found = examine([bundle(tmp_path / "b.zip", tables, {"look": [1, 5]})])
    assert texts(found, Kind.UNUSABLE) == [
        "ratings.csv:9: rating: 41.0: expected a value from 1 to 5"
    ]
    assert len(texts(found, Kind.TABLE)) == 1


@pytest.mark.shared
@pytest.mark.parametrize(
    ("folder", "status", "text"),
    [
        ("dsg", SOUND, "over 5 methods, a perfect order has p = .017. Needed: 8"),
        ("genai", FINDINGS, "33 (ratings.csv:4546), 41 (ratings.csv:4161)"),
        ("imagenhub", UNUSABLE, "but another task: let story name both, as task/story"),
        ("ttcw", UNUSABLE, "ratings.csv:1: method: expected a column of this name"),
        ("pandalm", SOUND, "answers join all 5 methods"),
        ("ppr", UNUSABLE, "battles.csv:1: expected the columns of ratings"),
        pytest.param(
            "hanna", SOUND, "all 72 metrics score 1,056", marks=pytest.mark.slow
        ),
    ],
)
def test_published_data(shared, capsys, folder, status, text):
    assert main(["doctor", str(shared / "data" / folder)]) == status
    assert text in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.parametrize("module", ["analysis", "plumbline"])
def test_command_runs_by_itself(tmp_path, module):
    ratings, _scores = study()
    ratings.loc[0, "rating"] = 41
    ratings.to_csv(tmp_path / "ratings.csv", index=False)
    done = subprocess.run(
        [sys.executable, "-m", module, "doctor", str(tmp_path / "ratings.csv")],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (FINDINGS, "")
    assert "41 (ratings.csv:2)" in done.stdout
