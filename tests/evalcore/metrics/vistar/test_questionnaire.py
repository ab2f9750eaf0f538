import copy
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalcore.metrics.vistar.questionnaire import (
    QuestionnaireError,
    decode,
    read_questionnaire,
)


def pair(id, weight=1.0, positive="Is there {}?", negative="Is {} missing?"):
    return {
        "id": id,
        "positive": positive.format(id),
        "negative": negative.format(id),
        "weight": weight,
    }


def level(name, weight, *pairs):
    return {"level": name, "weight": weight, "questions": list(pairs)}


def questionnaire(*levels, **fields):
    return {"prompt_id": "p1", "prompt": "a cat", "levels": list(levels), **fields}


FOUR = questionnaire(
    level("L1", 0.2, pair("cat", 0.5), pair("hat", 0.5)),
    level("L2", 0.3, pair("red")),
    level("L3", 0.25, pair("fit", 0.25), pair("light", 0.75)),
    level("L4", 0.25, pair("mood")),
)


def problems(data):
    with pytest.raises(QuestionnaireError) as caught:
        read_questionnaire(data)
    return list(caught.value.problems)


def test_documented_form_is_read_and_written_back():
    read = read_questionnaire(decode(json.dumps(FOUR)))
    assert [lev.level for lev in read.levels] == ["L1", "L2", "L3", "L4"]
    assert [p.id for p in read.pairs] == ["cat", "hat", "red", "fit", "light", "mood"]
    assert read.as_json() == FOUR
    assert read_questionnaire(read.as_json()) == read


def test_author_is_read_and_written_back():
    author = {"name": "gpt-x, edited by Rob", "written_on": "2026-11-29"}
    read = read_questionnaire(FOUR | {"author": author})
    assert read.author == author
    assert read.as_json()["author"] == author
    assert problems(FOUR | {"author": {"date": "today"}}) == [
        "$.author.date: unknown key; known are name, written_on, prompt_version",
        "$.author.name: missing",
    ]


def test_problems_are_listed_with_paths():
    data = questionnaire(
        {"level": "L9", "weight": "0.5", "questions": [pair("a", True)], "note": 1},
        level("L1", 0.5, pair("b", 0.6), pair("b", 0.6), {"id": 7, "positive": 0}),
        "L2",
        {"level": "L1", "weight": -1, "questions": {}},
        colour="red",
    )
    del data["prompt_id"]
    data["prompt"] = "  "
    assert problems(data) == [
        "$.colour: unknown key; known are prompt_id, prompt, levels, author",
        "$.prompt_id: missing",
        '$.prompt: expected a text that is not empty, found "  "',
        "$.levels[0].note: unknown key; known are level, weight, questions",
        '$.levels[0].level: expected one of L1, L2, L3, L4, found "L9"',
        '$.levels[0].weight: expected a number from 0 to 1, found "0.5"',
        "$.levels[0].questions[0].weight: expected a number from 0 to 1, found true",
        "$.levels[1].questions[2].negative: missing",
        "$.levels[1].questions[2].weight: missing",
        "$.levels[1].questions[2].id: expected a text that is not empty, found 7",
        "$.levels[1].questions[2].positive: expected a text that is not empty, found 0",
        '$.levels[2]: expected an object with level, weight, questions, found "L2"',
        "$.levels[3].weight: expected a number from 0 to 1, found -1",
        "$.levels[3].questions: expected a list, found {}",
        "$.levels: the level 'L1' occurs 2 times",
        "$.levels: the id 'b' occurs 2 times",
    ]


@given(
    st.lists(
        st.lists(st.integers(1, 1000), min_size=1, max_size=5), min_size=1, max_size=4
    ),
    st.data(),
)
def test_weights_sum_to_one_and_stay_when_read_again(parts, draw):
    shares = draw.draw(
        st.lists(st.integers(1, 100), min_size=len(parts), max_size=len(parts))
    )
    data = questionnaire(
        *(
            level(
                f"L{i + 1}",
                shares[i] / sum(shares),
                *(pair(f"{i}-{j}", w / sum(ws)) for j, w in enumerate(ws)),
            )
            for i, ws in enumerate(parts)
        )
    )
    before = copy.deepcopy(data)
    read = read_questionnaire(data)
    assert data == before
    assert sum(lev.weight for lev in read.levels) == pytest.approx(1, abs=1e-12)
    for lev in read.levels:
        assert sum(p.weight for p in lev.questions) == pytest.approx(1, abs=1e-12)
    assert read_questionnaire(decode(json.dumps(read.as_json()))) == read
