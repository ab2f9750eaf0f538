"""Reports without metrics, for every kind of answers."""

import html
import itertools
import re

import numpy as np
import pandas as pd
import pytest

from analysis.__main__ import main

STORIES = [f"s{i:02}" for i in range(12)]
METHODS = ["Kling", "Sora", "UNO", "Wan"]
PEOPLE = ["Ann", "Bob", "Cem"]
RATED = ["story", "method", "dimension", "annotator", "rating"]
CHOSEN = ["story", "method_a", "method_b", "criterion", "annotator", "choice"]
RANKED = ["story", "method", "criterion", "annotator", "rank"]
# A column of tables by groups of stories, and the option that chooses metrics.
NAMES = {"metric", "metrics"}


def rated(dimensions, most):
    rng = np.random.default_rng(1)
    return pd.DataFrame(
        [
            (s, m, d, who, int(np.clip(i + rng.integers(-1, 3), 0, most)))
            for s, d, who in itertools.product(STORIES, dimensions, PEOPLE)
            for i, m in enumerate(METHODS)
        ],
        columns=RATED,
    )


def answers(kind):
    rng = np.random.default_rng(2)
    if kind == "ratings":
        return kind, rated(("looks", "plot"), 4)
    if kind == "checklist":
        return "ratings", rated(("pan|text", "pan|video"), 1)
    if kind == "choices":
        rows = [
            (s, a, b, "best", who, rng.choice(["a", "b", "b", "tie"]))
            for s, who in itertools.product(STORIES, PEOPLE)
            for a, b in itertools.combinations(METHODS, 2)
        ]
        return kind, pd.DataFrame(rows, columns=CHOSEN)
    rows = [
        (s, m, "best", who, rank)
        for s, who in itertools.product(STORIES, PEOPLE)
        for rank, m in enumerate(rng.permutation(METHODS), 1)
    ]
    return kind, pd.DataFrame(rows, columns=RANKED)


def texts(page):
    """Return the words of a page and of its figures, element by element."""
    source = page.read_text("utf-8")
    drawn = source.rpartition("const all = {")[2].partition("function start()")[0]
    plain = re.sub(r"<(script|style).*?</\1>", "", source, flags=re.DOTALL)
    parts = re.split(r"<[^>]*>", plain) + re.findall(r'"((?:[^"\\]|\\.)*)"', drawn)
    found = {html.unescape(part).strip() for part in parts}
    return {text for text in found if text}


def report(folder, kind, *options):
    """Return the page of some answers, split by a tag of the stories."""
    name, table = answers(kind)
    table.to_csv(folder / "answers.csv", index=False)
    task = ["continuation", "generation"] * 6
    tags = pd.DataFrame({"story": STORIES, "task": task})
    tags.to_csv(folder / "tags.csv", index=False)
    given = [f"--{name}", folder / "answers.csv", "--stories", folder / "tags.csv"]
    given += [
        "--resamples",
        "20",
        "--images",
        "none",
        *options,
        "--out",
        folder / "out",
    ]
    assert main(["align", *map(str, given)]) == 0
    return folder / "out/report.html"


def scores_of(folder):
    """Write scores of a metric for every output, as scores.csv."""
    rows = [(s, m, "csd", i + len(s)) for s in STORIES for i, m in enumerate(METHODS)]
    table = pd.DataFrame(rows, columns=["story", "method", "metric", "score"])
    table.to_csv(folder / "scores.csv", index=False)


@pytest.mark.slow
@pytest.mark.parametrize("language", ["en", "zh-Hans"])
@pytest.mark.parametrize("kind", ["ratings", "checklist", "choices", "rankings"])
def test_report_of_people_does_not_mention_metrics(tmp_path, kind, language):
    told = texts(report(tmp_path, kind, "--figures", "all", "--language", language))
    word = re.compile(r"\bmetrics?\b|\bjudges?\b|指标", re.IGNORECASE)
    assert {text for text in told if word.search(text)} <= NAMES
    heading = {
        "en": "Do groups of stories differ?",
        "zh-Hans": "各故事分组之间有差异吗？",
    }
    # Rankings are not split by tags.
    assert (heading[language] in told) == (kind != "rankings")


@pytest.mark.slow
def test_metrics_of_choices_are_mentioned_without_correlations(tmp_path):
    scores_of(tmp_path)
    page = report(tmp_path, "choices", "--scores", tmp_path / "scores.csv")
    assert not (page.parent / "tables" / "correlations.csv").exists()
    assert "Where do metrics and people disagree?" in texts(page)
