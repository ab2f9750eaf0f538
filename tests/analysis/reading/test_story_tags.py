"""Tags of stories, and numbers among them cut into classes."""

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.problems import InputError
from analysis.reading.story_tags import (
    binned,
    read_stories,
    stratum_order,
    word_count_class,
)


def write(tmp_path, text, name="t.csv"):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


def complaints(path, **options):
    with pytest.raises(InputError) as caught:
        read_stories(path, **options)
    return [str(problem) for problem in caught.value.problems]


def test_tags_are_read_and_stripped(tmp_path):
    tags = read_stories(write(tmp_path, "style,story,level\noil, s1 ,core\n,s2,hard\n"))
    assert tags.columns.tolist() == ["story", "style", "level"]
    assert tags.to_numpy().tolist() == [["s1", "oil", "core"], ["s2", "", "hard"]]
    assert tags.index.tolist() == [2, 3]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("name,style\ns,oil\n", "t.csv:1: story: expected a column of this name"),
        ("story\ns\n", "t.csv:1: expected at least one column of tags"),
        ("story,\ns,oil\n", "t.csv:1: (empty): expected a name of each tag"),
        ("story,style\n,oil\n", "t.csv:2: story: (empty): expected a name"),
        (
            "story,style\ns,oil\nt,\ns,ink\n",
            "t.csv:4: s: expected a row that is there once; line 2 has the same story",
        ),
        (
            "story,style\ns,oil,x\n",
            "t.csv:2: expected 2 columns as in the header, not 3",
        ),
        ("story,style\ns,o\0\n", "t.csv:2: style: o\\x00: expected text without NUL"),
        *(
            (
                f"story,drawing_probability\nr,0.5\ns,{bad}\n",
                f"t.csv:3: drawing_probability: {bad}: expected a probability above 0, "
                "at most 1",
            )
            for bad in ("0.0", "-0.2", "1.01")
        ),
        (
            "story,drawing_probability\ns,half\n",
            "t.csv:2: drawing_probability: half: expected a number",
        ),
    ],
)
def test_mistakes(tmp_path, text, expected):
    (problem,) = complaints(write(tmp_path, text))
    assert problem.startswith(expected)


def test_drawing_probabilities_are_numbers(tmp_path):
    text = "story,drawing_probability,style\ns1,1,oil\ns2,0.25,\ns3,,ink\n"
    found = read_stories(write(tmp_path, text))
    assert found.columns.tolist() == ["story", "style", "drawing_probability"]
    assert found["drawing_probability"].fillna(-1).tolist() == [1, 0.25, -1]


def test_classes_of_prompts_are_those_of_oneig():
    # Supplement, table 1: short is less than 30 words, long exceeds 60.
    words = [0, 29, 30, 60, 61, 1000]
    classes = ["short", "short", "middle", "middle", "long", "long"]
    assert list(map(word_count_class, words)) == classes


@given(st.lists(st.integers(0, 60), min_size=20, max_size=60), st.randoms())
def test_thirds_keep_order_and_equal_numbers_together(values, random):
    tags = pd.DataFrame({"story": range(len(values)), "chars": values}).astype(str)
    found = binned(tags, "chars")
    if len(set(values)) <= 12:
        assert found.tolist() == tags["chars"].tolist()
        return
    classes = sorted(set(found), key=stratum_order)
    assert 2 <= len(classes) <= 3
    place = [classes.index(label) for label in found]
    for a, first in zip(values, place, strict=True):
        for b, second in zip(values, place, strict=True):
            assert not (a < b and first > second)
            assert a != b or first == second
    order = list(range(len(values)))
    random.shuffle(order)
    assert binned(tags.iloc[order], "chars").tolist() == found.iloc[order].tolist()
