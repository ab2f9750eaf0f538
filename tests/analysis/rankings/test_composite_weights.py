"""Parts of composites, read from files or refused."""

from pathlib import Path

import pytest

from analysis.problems import InputError
from analysis.rankings.composite_weights import (
    Composite,
    check_composites,
    equally,
    read_composites,
)

TAGS = {"angle": {"SF", "MA"}, "role": {"GD", "MA"}}


def read(tmp_path, text, name="c.yaml"):
    path = tmp_path / name
    path.write_text(text, "utf-8")
    return read_composites(path)


def refused(tmp_path, text, name="c.yaml"):
    with pytest.raises(InputError) as caught:
        read(tmp_path, text, name)
    return caught.value.lines()


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (
            "c.yaml",
            """\
# Other keys of a study file do not matter.
title: A study
composites:
  overall: {over: questions, weights: {look: 0.5, plot: 2, light: 0}}
  artist:
    over: metrics
    weights: [hwpq@SF, csd]
  lost: {over: metrics, kind: drop, weights: [core, hard]}
""",
        ),
        (
            "c.json",
            """{
\t"composites": {
\t\t"overall": {"over": "questions",
\t\t\t"weights": {"look": 0.5, "plot": 2, "light": 0}},
\t\t"artist": {"over": "metrics", "weights": {"hwpq@SF": 1, "csd": 1.0}},
\t\t"lost": {"over": "metrics", "kind": "drop", "weights": ["core", "hard"]}
\t}
}""",
        ),
    ],
)
def test_yaml_and_json_say_the_same(tmp_path, name, text):
    assert read(tmp_path, text, name) == (
        Composite("overall", {"look": 0.5, "plot": 2, "light": 0}, "questions"),
        equally("artist", ["hwpq@SF", "csd"]),
        equally("lost", ["core", "hard"], kind="drop"),
    )


@pytest.mark.parametrize(
    ("lines", "problems"),
    [
        (
            "x: {over: metrics, weights: {a: 1}}\n  x: {over: metrics, weights: [b]}",
            ["c.yaml:3: x: expected each name once"],
        ),
        (
            "x: {over: metrics, weights: {a: 1, a: 2}}",
            ["c.yaml:2: x: a: expected each name once"],
        ),
        (
            "x: {over: metrics, weights: {a: -1, b: much, c: .nan, d: {}}}",
            [
                "c.yaml:2: x: a: -1: expected a weight from 0 to 1,000,000,000",
                "c.yaml:2: x: b: much: expected a weight from 0 to 1,000,000,000",
                "c.yaml:2: x: c: .nan: expected a weight from 0 to 1,000,000,000",
                "c.yaml:2: x: d: expected a weight from 0 to 1,000,000,000",
            ],
        ),
        (
            "x:\n    over: metrics\n    weights:\n      a: 0\n      b: 0",
            ["c.yaml:5: x: expected weights that do not sum to 0"],
        ),
        (
            "x: {over: people, weight: {a: 1}}",
            [
                "c.yaml:2: x: weight: expected one of over, weights, kind",
                "c.yaml:2: x: expected over: questions or metrics, and weights",
                "c.yaml:2: x: people: expected one of questions, metrics",
            ],
        ),
        (
            "x: {over: metrics, kind: sum, weights: [a]}",
            ["c.yaml:2: x: sum: expected one of mean, ranks, drop"],
        ),
        (
            "x: {over: metrics, kind: drop, weights: [a]}",
            ["c.yaml:2: x: expected two parts of a drop: what it is from, and to"],
        ),
        (
            "x: {over: metrics, weights: [y]}\n  y: {over: metrics, weights: [x]}",
            [
                "c.yaml:2: x: expected a composite that is no part of itself",
                "c.yaml:3: y: expected a composite that is no part of itself",
            ],
        ),
        (
            "x: {over: questions, weights: [y]}\n  y: {over: metrics, weights: [a]}",
            ["c.yaml:2: x: y: expected a composite over questions"],
        ),
        ("x: []", ["c.yaml:2: x: expected over: questions or metrics, and weights"]),
        ("[x]", ["c.yaml:2: expected composites by their names"]),
    ],
)
def test_composite_problems_name_the_line(tmp_path, lines, problems):
    assert refused(tmp_path, f"composites:\n  {lines}\n") == problems


def test_aliases_are_refused_before_they_unfold(tmp_path):
    """A list of a thousand parts that stands a thousand times is a million."""
    parts = ", ".join(f"p{i}" for i in range(1000))
    again = "".join(f"  d{i}: *a\n" for i in range(1000))
    text = f"composites:\n  c: &a {{over: metrics, weights: [{parts}]}}\n{again}"
    (told,) = refused(tmp_path, text)
    assert told == "c.yaml:3: expected values written out, no aliases"


def test_file_without_composites_or_without_sense_is_refused(tmp_path):
    assert refused(tmp_path, "title: A\n") == ["c.yaml:1: expected the key composites"]
    (told,) = refused(tmp_path, "composites: [\n")
    assert told.startswith("c.yaml:2: expected YAML or JSON")
    with pytest.raises(InputError, match=r"none.yaml: expected a readable file"):
        read_composites(Path("none.yaml"))


@pytest.mark.parametrize(
    ("part", "over", "right"),
    [
        ("hwqp", "metrics", "one of csd@paper, hwpq (nearest: hwpq)"),
        ("HWPQ@SF", "metrics", "one of csd@paper, hwpq (nearest: hwpq)"),
        ("look", "metrics", "one of csd@paper, hwpq"),
        ("hwpq", "questions", "one of look"),
        ("hwpq@sf", "metrics", "a tag behind @: one of GD, MA, SF (nearest: SF)"),
        ("hwpq@role=SF", "metrics", "a tag behind @: one of GD, MA, SF (nearest: SF)"),
        ("hwpq@MA", "metrics", "hwpq@angle=MA or hwpq@role=MA"),
    ],
)
def test_unknown_part_is_refused_with_the_nearest_name(part, over, right):
    with pytest.raises(InputError) as caught:
        check(equally("x", [part], over=over))
    assert caught.value.lines() == [f"c.yaml: x: {part}: expected {right}"]


def check(*composites):
    check_composites(
        composites,
        questions={"look"},
        metrics={"hwpq", "csd@paper"},
        tags=TAGS,
        file="c.yaml",
    )
