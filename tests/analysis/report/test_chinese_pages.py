"""Chinese pages of every command hold no sentence in English, whatever was left out."""

import itertools
import json
import re

import numpy as np
import pandas as pd
import pytest

from analysis.__main__ import main
from fixtures import published
from tests.analysis.report.test_language import Visible

# Names of the data have fewer words, and code has others between them.
SENTENCE = re.compile(r"[A-Za-z][a-z'’-]*(?:[ \n]+[A-Za-z][a-z'’-]*){4,}")
STORIES = [f"s{i:02}" for i in range(14)]
METHODS = ["UNO", "Sora", "Wan", "SEED", "Kling"]
PEOPLE = ["Ann", "Bob", "Cem"]


class Everything(Visible):
    """What `Visible` sees, and the cells of tables, and what is marked as English."""

    def handle_starttag(self, tag, attributes):
        given = [each for each in attributes if each != ("lang", "en")]
        super().handle_starttag("dd" if tag == "td" else tag, given)

    def handle_endtag(self, tag):
        super().handle_endtag("dd" if tag == "td" else tag)


def english_sentences(page):
    html = page.read_text("utf-8")
    seen = Everything()
    seen.feed(html)
    drawn = ""
    if "const all = {" in html:
        drawn = html[html.rindex("const all = {") : html.rindex("const INK")]
    texts = [*seen.texts, *re.findall(r'"((?:[^"\\]|\\.)*)"', drawn)]
    assert len(texts) > 50
    return [text for text in texts if SENTENCE.search(text)]


def outputs(rng):
    return [
        (s, m, rng.normal() + i)
        for s, (i, m) in itertools.product(STORIES, enumerate(METHODS))
    ]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Tables with gaps of every kind that reports remark on."""
    folder = tmp_path_factory.mktemp("gaps")
    rng = np.random.default_rng(0)
    rows = []
    for s, (i, m), who in itertools.product(STORIES, enumerate(METHODS), PEOPLE):
        value = int(np.clip(i + rng.integers(-1, 2), 0, 4))
        rows.append((s, m, "looks", who, value, False))
        rows.append((s, m, "turned", who, 4 - value, False))
        rows.append((s, m, "flat", who, 4 - (s == "s00" and who == "Ann"), False))
        if who == "Ann":
            rows.append((s, m, "alone", who, value, False))
    rows.append(("s00", "UNO", "looks", "Eve", 33, False))
    rows.append(("s00", "Sora", "looks", "Eve", 3, True))
    rows.append(("", "UNO", "looks", "Eve", 3, False))
    ratings = pd.DataFrame(
        rows, columns=["story", "method", "dimension", "annotator", "rating", "is_gold"]
    )
    few = ratings[
        ratings["story"].isin(STORIES[:2]) & ratings["method"].isin(METHODS[:2])
    ]
    scores = []
    for k, metric in enumerate(("fid", "csd", "rare", "gone", "whole", "constant_one")):
        for s, m, value in outputs(rng):
            if metric == "csd" and s == "s01":
                continue
            if metric == "rare" and s > "s01":
                continue
            story = {"gone": f"other {s}", "whole": ""}.get(metric, s)
            if metric == "whole" and s != "s00":
                continue
            scores.append((story, m, metric, k if "one" in metric else value, k != 0))
    columns = ["story", "method", "metric", "score", "higher_is_better"]
    scores = pd.DataFrame(scores, columns=columns)
    twins = scores[scores["metric"].isin(("fid", "csd"))].iloc[:90]
    twins = twins.assign(twin="blurred", score=twins["score"] - 0.1)
    twins = pd.concat([twins, twins.head(2).assign(story="nowhere")])
    tags = pd.DataFrame({"story": [*STORIES[:12], "elsewhere"]})
    tags["kind"] = ["a", "b", ""] * 4 + ["a"]
    tags["same"], tags["words"] = "x", range(5, 70, 5)
    choices = [
        (s, a, b, q, who, word, left)
        for i, s in enumerate(STORIES)
        for j, who in enumerate(PEOPLE)
        for q, a, b, word, left in (
            ("best", "Sora", "UNO", ("a", "b", "tie", "both_bad")[(i + j) % 4], "UNO"),
            ("lost", "Sora", "UNO", "a", "Sora"),
            ("lost", "SEED", "Wan", "a", ""),
        )
    ]
    names = ["story", "method_a", "method_b", "criterion", "annotator", "choice"]
    choices = pd.DataFrame(choices, columns=[*names, "left_method"])
    rankings = [
        (s, m, "order", who, rank)
        for s in STORIES
        for who in PEOPLE
        for rank, m in enumerate(rng.permutation(METHODS[:3]), 1)
    ]
    rankings.append(("s00", "Kling", "order", "Eve", 1))
    rankings.append(("s00", "Wan", "order", "Eve", 2))
    names = ["story", "method", "criterion", "annotator", "rank"]
    rankings = pd.DataFrame(rankings, columns=names)
    trials = pd.concat(
        [
            ratings[ratings["dimension"].isin(("looks", "flat"))]
            .query("annotator != 'Eve'")
            .assign(round=r, annotator=lambda x: x["annotator"].map("judge {}".format))
            for r in (1, 2, 3)
        ]
    )
    tables = {
        "ratings": ratings,
        "few": few,
        "scores": scores,
        "twins": twins,
        "tags": tags,
        "choices": choices,
        "rankings": rankings,
        "trials": trials,
        "hypotheses": pd.DataFrame(
            {"question": ["looks", "looks"], "metric": ["fid", "rare"]}
        ),
    }
    for name, frame in tables.items():
        frame.to_csv(folder / f"{name}.csv", index=False)
    composites = {
        "overall": {"over": "questions", "weights": {"looks": 1, "alone": 1}},
        "mixed": {"over": "metrics", "weights": {"fid": 1, "csd": 1}},
    }
    (folder / "composites.json").write_text(json.dumps({"composites": composites}))
    return folder


COMMANDS = {
    "align": "align --ratings ratings.csv --scores scores.csv --stories tags.csv "
    "--twins twins.csv --hypotheses hypotheses.csv --composites composites.json "
    "--figures all --exclude-methods Kling",
    "align all answers": "align --ratings ratings.csv --choices choices.csv "
    "--rankings rankings.csv --scores scores.csv",
    "align few": "align --ratings few.csv --scores scores.csv --figures all",
    "align chosen": "align --ratings ratings.csv --scores scores.csv "
    "--questions looks,alone --metrics fid --resample annotators",
    "agreement": "agreement --ratings ratings.csv --resample annotators",
    "agreement choices": "agreement --choices choices.csv",
    "leaderboard": "leaderboard --choices choices.csv --rankings rankings.csv --side "
    "--ties davidson",
    "leaderboard drop": "leaderboard --choices choices.csv --majority --ties drop",
    "power": "power --ratings ratings.csv --scores scores.csv",
    "power few": "power --ratings few.csv",
    "subset": "subset --scores scores.csv --ratings ratings.csv --stories tags.csv "
    "--tag kind --value a",
    "sizes": "subset --scores scores.csv --sizes 3,6",
    "stability": "stability --ratings trials.csv --people ratings.csv",
}


def made(command, folder, out):
    given = [
        str(folder / part) if part.endswith((".csv", ".json")) else part
        for part in command.split()
    ]
    given += ["--resamples", "20", "--images", "none", "--language", "zh-Hans"]
    assert main([*given, "--out", str(out)]) == 0
    return out / "report.html"


@pytest.mark.slow
@pytest.mark.parametrize("name", COMMANDS)
def test_no_sentence_is_in_english(name, files, tmp_path):
    page = made(COMMANDS[name], files, tmp_path)
    assert english_sentences(page) == []
    assert '<span lang="en">' not in page.read_text("utf-8")
    # The gaps of the tables are remarked on.
    notes = json.loads((tmp_path / "report.json").read_text("utf-8"))["notes"]
    assert len(notes) > 15 or name != "align"


def test_published_numbers_in_chinese(tmp_path):
    page = published.write_report(tmp_path, "zh-Hans")
    assert english_sentences(page) == []


@pytest.mark.slow
@pytest.mark.shared
@pytest.mark.parametrize("name", ["dsg", "tifa"])
def test_real_studies_in_chinese(name, shared, tmp_path):
    command = "align --ratings ratings.csv --scores scores.csv --figures all"
    assert english_sentences(made(command, shared / "data" / name, tmp_path)) == []
