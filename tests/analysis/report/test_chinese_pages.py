"""Chinese pages of every command without English sentences."""

import itertools
import re

import pandas as pd
import pytest

from analysis.__main__ import main
from tests.analysis.report.test_language import Visible
from tests.cases import slow

# Names of the data have fewer words, and code has others between them.
SENTENCE = re.compile(r"[A-Za-z][a-z'’-]*(?:[ \n]+[A-Za-z][a-z'’-]*){4,}")
STORIES = [f"s{i:02}" for i in range(10)]
METHODS = ["UNO", "Sora", "Wan", "SEED"]
PEOPLE = ["Ann", "Bob", "Cem"]
RATINGS = ["story", "method", "dimension", "annotator", "rating"]
CHOICES = ["story", "method_a", "method_b", "criterion", "annotator", "choice"]
COMMANDS = {
    "align": "--ratings ratings --scores scores --stories stories "
    "--exclude-methods SEED",
    "agreement": "--ratings ratings --resample annotators",
    "leaderboard": "--choices choices --rankings rankings --ties davidson",
    "power": "--ratings ratings --scores scores",
    "subset": "--scores scores --ratings ratings --stories stories --tag kind "
    "--value a",
    "stability": "--ratings trials --people ratings",
    "late-entry": "earlier ratings --method SEED",
}


class Everything(Visible):
    """A parser of visible texts, with the cells of tables."""

    def handle_starttag(self, tag, attributes):
        super().handle_starttag("dd" if tag == "td" else tag, attributes)

    def handle_endtag(self, tag):
        super().handle_endtag("dd" if tag == "td" else tag)


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    """Write tables with gaps: no spread, one person, few stories."""
    ratings, scores, choices, rankings = [], [], [], []
    for (i, story), (j, method) in itertools.product(
        enumerate(STORIES), enumerate(METHODS)
    ):
        scores += [(story, method, "fid", i + 3 * j % 4), (story, method, "flat", 1)]
        scores += [(story, method, "rare", j)] if i < 2 else []
        scores += [(story, method, "csd", i * j)] if i != 1 else []
        scores += [(f"other {story}", method, "gone", i)]
        for k, who in enumerate(PEOPLE):
            value = min(4, (i * j + k) % 3 + j)
            ratings.append((story, method, "looks", who, value))
            ratings.append((story, method, "flat", who, 4))
            ratings += [(story, method, "alone", who, value)] if not k else []
            rankings.append((story, method, "order", who, (i + j + k) % 4 + 1))
            word = ("a", "b", "tie")[(i + j + k) % 3]
            choices += [
                (story, method, other, "best", who, word) for other in METHODS[j + 1 :]
            ]
    rated = pd.DataFrame(ratings, columns=RATINGS)
    frames = {
        "ratings": rated,
        "earlier": rated[rated["method"] != "SEED"],
        "trials": pd.concat(
            [rated.assign(round=r, annotator="judge " + rated.annotator) for r in "12"]
        ),
        "scores": pd.DataFrame(scores, columns=["story", "method", "metric", "score"]),
        "choices": pd.DataFrame(choices, columns=CHOICES),
        "rankings": pd.DataFrame(
            rankings, columns=[*RATINGS[:2], *CHOICES[3:5], "rank"]
        ),
        "stories": pd.DataFrame({"story": STORIES, "kind": ["a", "b"] * 4 + ["", ""]}),
    }
    folder = tmp_path_factory.mktemp("gaps")
    for name, frame in frames.items():
        frame.to_csv(folder / f"{name}.csv", index=False)
    return folder


@pytest.mark.parametrize(
    "command",
    ["leaderboard", *slow(*(one for one in COMMANDS if one != "leaderboard"))],
)
def test_chinese_page_has_no_english_sentence(command, tables, tmp_path):
    asked = [
        str(path) if (path := tables / f"{word}.csv").exists() else word
        for word in COMMANDS[command].split()
    ]
    how = ["--resamples", "20", "--images", "none", "--language", "zh-Hans"]
    assert main([command, *asked, *how, "--out", str(tmp_path)]) == 0
    seen = Everything()
    html = (tmp_path / "report.html").read_text("utf-8")
    seen.feed(html)
    drawn = html.partition("const all = {")[2].partition("function start()")[0]
    texts = [*seen.texts, *re.findall(r'"((?:[^"\\]|\\.)*)"', drawn)]
    assert len(texts) > 50
    assert [text for text in texts if SENTENCE.search(text)] == []
    assert '<span lang="en">' not in html
