import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalcore.metrics.oneig.alignment import alignment, read_questionnaire

TWO = {"1": "Is there a fox?", "2": "Is the fox red?"}


def test_questions_may_be_json_within_json():
    # As in OneIG's files: the values are strings that hold JSON.
    item = json.loads(
        json.dumps({"question": json.dumps(TWO), "dependency": '{"1": [0], "2": [1]}'})
    )
    read = read_questionnaire(item["question"], item["dependency"])
    assert read.questions == {1: "Is there a fox?", 2: "Is the fox red?"}
    assert read.parents == {1: (), 2: (1,)}


@pytest.mark.parametrize(
    ("questions", "dependencies", "what"),
    [
        ({}, {}, "questions: at least one"),
        ("{", {}, r"questions: an object as JSON \(Expecting property name"),
        ("[1]", {}, "questions: an object by number, not list"),
        ({"one": "A fox?"}, {}, "questions: numbers from 1, not 'one'"),
        ({"0": "A fox?"}, {}, "questions: numbers from 1, not '0'"),
        ({"1": " "}, {}, "question 1 is a text, not ' '"),
        ({"1": 7}, {}, "question 1 is a text, not 7"),
        (TWO, {"3": [1]}, "dependencies: unknown question 3"),
        (TWO, {"2": [9, 1, 8]}, "question 2 presupposes 9, 8, which does not exist"),
        (TWO, {"2": 1}, "question 2 has a list of numbers, not 1"),
        (TWO, {"2": ["1"]}, r"question 2 has a list of numbers, not \['1'\]"),
        (TWO, {"2": [True]}, r"question 2 has a list of numbers, not \[True\]"),
    ],
)
def test_wrong_questionnaire_is_reported(questions, dependencies, what):
    with pytest.raises(ValueError, match=what):
        read_questionnaire(questions, dependencies)


def test_question_that_presupposes_itself_counts_by_its_answer():
    """As in two prompts of OneIG; its program looks at direct parents only."""
    read = read_questionnaire(TWO, {"1": [0], "2": [2]})
    assert alignment({1: True, 2: True}, read.parents) == 1
    assert alignment({1: True, 2: False}, read.parents) == 0.5


# The score ---------------------------------------------------------------------------


@given(st.lists(st.booleans(), min_size=1, max_size=8), st.data())
def test_dependencies_never_raise_a_score(answers, data):
    given_answers = dict(enumerate(answers, start=1))
    parents = {
        number: tuple(data.draw(st.sets(st.integers(1, number - 1))))
        if number > 1
        else ()
        for number in given_answers
    }
    plain = sum(answers) / len(answers)
    assert alignment(given_answers, {}) == plain
    assert 0 <= alignment(given_answers, parents) <= plain
    if all(answers):
        assert alignment(given_answers, parents) == 1
