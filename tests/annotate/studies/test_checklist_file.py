"""Tests of checklists in study files, which have labels for questions."""

import pytest

from annotate.studies.study_file import (
    DefinitionError,
    read_definition,
    write_definition,
)

FILE = """\
title: Signs
kind: checklist
questions:
  - key: pan
    category: {en: Camera, zh: 镜头}
    title: {en: Pan, zh: 摇镜}
    text: The camera turns.
    help: Left or right.
  - key: people
    title: People
"""


def read(text: str):
    return read_definition(text, file="signs.yaml", name="signs")


def error_of(text: str) -> str:
    with pytest.raises(DefinitionError) as caught:
        read(text)
    return str(caught.value)


def test_label_becomes_two_boxes():
    definition = read(FILE)
    pan, people = definition.questions
    assert (pan.key, pan.category) == ("pan", {"en": "Camera", "zh": "镜头"})
    assert people.category == {}
    stored = definition.stored_questions
    assert [row["key"] for row in stored] == [
        "pan|text",
        "pan|video",
        "people|text",
        "people|video",
    ]
    assert {(row["scale_min"], row["scale_max"]) for row in stored} == {(0, 1)}
    assert stored[1]["titles"] == pan.title


@pytest.mark.parametrize(
    ("more", "line", "reason"),
    [
        ("scale: [0, 4]\n", 11, "a checklist has no scale"),
        ("    anchors: {0: no}\n", 11, "unknown key; expected category"),
        ("    allow_tie: true\n", 11, "unknown key"),
        ("training: {units: []}\n", 11, "no known answers to train with"),
        ("checks: {kinds: [gold]}\n", 11, "write one of repeat"),
        ("checks:\n  degradations: [blurred]\n", 12, "a checklist has only repeat"),
        (
            "checks:\n  gold: [{story: '01', method: A, expected: {pan: 1}}]\n",
            12,
            "a checklist has only repeat",
        ),
        (
            "rules:\n  - {key: s, signal: side_bias, above: 0.1, action: note}\n",
            12,
            "write one of seconds_per_unit",
        ),
        ("pairs: all\n", 11, "only a study that shows two outputs at once has pairs"),
        ("    category: [a]\n", 11, "write text"),
    ],
)
def test_checklist_refuses_unsuitable_keys_with_line(more, line, reason):
    message = error_of(FILE + more)
    assert f"signs.yaml:{line}" in message
    assert reason in message


def test_rating_refuses_category():
    text = FILE.replace("checklist", "likert\nscale: [0, 4]")
    assert "unknown key; expected anchors" in error_of(text)


def test_checklist_accepts_repeats_and_rules_about_ticks():
    definition = read(
        FILE + "checks: {per_session: 1}\n"
        "rules:\n  - {key: blank, signal: flat, above: 0.9, action: note}\n"
    )
    assert definition.checks.kinds == ("repeat",)
    assert read(write_definition(definition)) == definition
