"""OneIG's alignment with a judge's server on this machine."""

import json

import pytest

from evalcore.metrics.base import FeatureError
from evalcore.metrics.llm_judge.client import asking
from evalcore.metrics.oneig.alignment import Alignment, read_answer
from tests.evalcore.metrics.asking import noise, rendering_of, score
from tests.evalcore.metrics.llm_judge.serving import answers, judge_at

QUESTIONS = json.dumps({"1": "A fox?", "2": "A red fox?", "3": "A barn?"})
DEPENDENCIES = json.dumps({"1": [0], "2": [1], "3": [0]})
ONEIG = {"questions": QUESTIONS, "dependencies": DEPENDENCIES}


def aligned(server, folder, pictures, oneig=ONEIG):
    with asking(judge_at(server)):
        (value,) = score(Alignment(), rendering_of(pictures, oneig=oneig), folder)
    return value


def says(no=(), unusable=()):
    """Return a judge that answers no to some questions and something else to others."""

    def behave(asked):
        question = asked.text.strip().splitlines()[0]
        if question in unusable:
            return answers("It depends.")
        return answers("No." if question in no else "Yes")

    return behave


def test_question_is_asked_about_each_picture(server, tmp_path):
    server.by_question = says(no=["A fox?"])
    value = aligned(server, tmp_path, [noise(1), None, noise(2)])
    # The red fox presupposes a fox: only the barn counts.
    assert value.value == pytest.approx(1 / 3)
    one = {"1": False, "2": True, "3": True}
    assert value.trace == {"answers": {"1": one, "3": one}}
    assert len(server.asked) == 6
    for asked in server.asked:
        assert len(asked.pictures) == 1
        assert "Yes or No" in asked.text
        assert asked.body["temperature"] == 0


def test_metric_fails_when_a_question_has_no_usable_answer(server, tmp_path):
    server.by_question = says(unusable=["A barn?"])
    with pytest.raises(FeatureError, match="Yes or No"):
        aligned(server, tmp_path, [noise(1), noise(2)])


def test_score_is_the_mean_over_pictures(server, tmp_path):
    first = noise(1, (40, 40))
    seen = []

    def behave(asked):
        (picture,) = asked.pictures
        if picture["url"] not in seen:
            seen.append(picture["url"])
        return answers("Yes" if picture["url"] == seen[0] else "No")

    server.by_question = behave
    value = aligned(server, tmp_path, [first, noise(2, (40, 40))])
    assert len(seen) == 2
    assert value.value == 0.5


@pytest.mark.parametrize(
    ("reply", "is_yes"),
    [
        ("Yes", True),
        ("yes.", True),
        ("**Yes**, there is no doubt", True),
        ("YES\n", True),
        ("是", True),
        ("是的。", True),
        ("有", True),
        ("No", False),
        (" no, it is red", False),
        ("Not at all", False),
        ("否", False),
        ("不是", False),
        ("没有", False),
    ],
)
def test_reply_is_read_as_yes_or_no(reply, is_yes):
    assert read_answer(reply) is is_yes
