"""Decimal commas of German, French and other spreadsheets."""

import pytest

from analysis.problems import InputError
from analysis.reading.inputs import read_scores
from analysis.reading.story_tags import binned, read_stories

HEAD = "story;method;metric;score\n"


def written(tmp_path, text, name="s.csv"):
    path = tmp_path / name
    path.write_text(text)
    return path


def scores(tmp_path, cells):
    rows = "".join(f"s{i};m;k;{cell}\n" for i, cell in enumerate(cells))
    return read_scores(written(tmp_path, HEAD + rows))


def told(call, *given, **named):
    with pytest.raises(InputError) as caught:
        call(*given, **named)
    return str(caught.value).splitlines()


def test_commas_are_decimal_where_they_can_be_nothing_else(tmp_path):
    found = scores(tmp_path, ["0,5", "-1,25e-1", "1,234", "7", "", " 2,5 "])
    assert found["score"].tolist() == [0.5, -0.125, 1.234, 7, 2.5]


def test_comma_that_may_stand_between_thousands_is_refused(tmp_path):
    assert told(scores, tmp_path, ["1,234", "7"]) == [
        "s.csv:2: score: 1,234: expected a number such as 1234 or 1.234: the comma "
        "may mean either"
    ]


def test_points_and_commas_in_one_table_are_refused(tmp_path):
    assert told(scores, tmp_path, ["0,5", "1.234"]) == [
        "s.csv:2: score: 0,5: expected a decimal point, as other numbers of this "
        "table have"
    ]


def test_tags_that_are_numbers_are_cut_into_classes(tmp_path):
    rows = "".join(f"s{i};0,{i:02d}\n" for i in range(30))
    tags = read_stories(written(tmp_path, "story;share\n" + rows))
    assert binned(tags, "share").nunique() == 3
    # As text they stay what they are.
    tags = read_stories(written(tmp_path, "story;share\na;0,5\nb;1.5\n"))
    assert tags["share"].tolist() == ["0,5", "1.5"]
