import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalcore.metrics.vistar.prompt_language import (
    ANGLES,
    ROLES,
    ParseError,
    Prompt,
    parse,
)

ROLE = st.sampled_from(sorted(ROLES))
ANGLE = st.sampled_from(sorted(ANGLES))
TEXT = st.text(min_size=1).map(str.strip).filter(bool)
KEY = st.from_regex(r"[A-Za-z][A-Za-z0-9_-]*", fullmatch=True)
PARAMETERS = st.dictionaries(KEY, st.text(), max_size=4)


@given(st.builds(Prompt, ROLE, ANGLE, TEXT, PARAMETERS))
def test_what_is_written_is_read_back(prompt):
    again = parse(str(prompt))
    assert again == prompt
    assert list(again.parameters) == list(prompt.parameters)
    assert str(again) == str(prompt)


@given(st.text(alphabet='[]{}=",—- \\\nGDTRabx1', max_size=30))
def test_any_text_is_read_or_refused_with_a_place_in_it(text):
    error = None
    try:
        prompt = parse(text)
    except ParseError as raised:
        error = raised
    if error is None:
        assert parse(str(prompt)) == prompt
    else:
        lines = text.split("\n")
        assert 1 <= error.line <= len(lines)
        assert 1 <= error.column <= len(lines[error.line - 1]) + 1


@pytest.mark.parametrize(
    "written",
    [
        '{a="1", b="2"}',
        '{a="1" b="2"}',
        '{a="1"}{b="2"}',
        '{ a = "1" ,b="2" } ',
        '{a="1"}\n {b="2"}\n',
    ],
)
def test_ways_to_write_parameters(written):
    assert parse(f"[MS-MA] Gold {written}").parameters == {"a": "1", "b": "2"}


def test_escapes():
    prompt = parse(r'[CA-SF] A \{brace\} \\ here {quote="\"hi\"\n\\\t\r{}"}')
    assert prompt.text == r"A {brace} \ here"
    assert prompt.parameters == {"quote": '"hi"\n\\\t\r{}'}


# Text, line, column, what is expected, what is found.
WRONG = [
    ("", 1, 1, 'a tag such as "[GD—TR]"', "the end"),
    ("A poster", 1, 1, 'a tag such as "[GD—TR]"', "'A'"),
    ("[XX-TR] a", 1, 2, "a role", "'XX'"),
    ("[-TR] a", 1, 2, "a role", "'-'"),
    ("[GD", 1, 4, '"—"', "the end"),
    ("[GD]", 1, 4, '"—"', "']'"),
    ("[GD-XX] a", 1, 5, "an angle", "'XX'"),
    ("[GD-TR a", 1, 5, "an angle", "'TR a'"),
    ("[GD-TR", 1, 7, '"]"', "the end"),
    ("[GD-TR]  ", 1, 10, "a text", "the end"),
    ('[GD-TR] {a="1"}', 1, 9, "a text", "'{'"),
    ("[GD-TR] a } b", 1, 11, "the text to go on", "'}'"),
    (r"[GD-TR] a \n", 1, 12, "a backslash to be followed", "'n'"),
    ("[GD-TR] a {", 1, 12, "a parameter's key", "the end"),
    ("[GD-TR] a {}", 1, 12, "a parameter's key", "'}'"),
    ('[GD-TR] a {1="b"}', 1, 12, "a parameter's key", "'1'"),
    ('[GD-TR] a {b="c",}', 1, 18, "a parameter's key", "'}'"),
    ('[GD-TR] a {b "c"}', 1, 14, '"=" and a value', "'\"'"),
    ("[GD-TR] a {b=c}", 1, 14, "the value of 'b' in double quotes", "'c'"),
    ('[GD-TR] a {b="c"; d="e"}', 1, 17, '"," and another parameter', "';'"),
    ('[GD-TR] a\n  b {c="d}\n', 2, 8, "ends with a double quote", "one that does"),
    ('[GD-TR] a {b="\\q"}', 1, 16, "a backslash to be followed", "'q'"),
    ('[GD-TR] a {b="1" b="2"}', 1, 18, "a new key", "'b' a second time"),
    ('[GD-TR] a {b="1"} {b="2"}', 1, 20, "a new key", "'b' a second time"),
    ('[GD-TR] a {b="1"} c', 1, 19, "the end, or parameters", "'c'"),
]


@pytest.mark.parametrize(("text", "line", "column", "expected", "found"), WRONG)
def test_errors_say_where_and_what(text, line, column, expected, found):
    with pytest.raises(ParseError) as caught:
        parse(text)
    error = caught.value
    assert (error.line, error.column) == (line, column)
    assert expected in error.expected
    assert found in error.found
    first, shown, caret = str(error).split("\n")
    assert first.startswith(f"line {line}, column {column}: expected ")
    assert shown == f"    {text.split(chr(10))[line - 1]}"
    assert caret == f"    {' ' * (column - 1)}^"


@pytest.mark.parametrize(
    ("tag", "meant"),
    [
        ("gd-TR", "'GD' (Graphic Designer)"),
        ("Graphic Designer-TR", "'GD' (Graphic Designer)"),
        ("Storybord Artist-TR", "'SA' (Storyboard Artist)"),
        ("GD-CSA", "'CSE' (Compositional Scene Evaluation)"),
        ("GD-style fusion", "'SF' (Style Fusion)"),
    ],
)
def test_did_you_mean(tag, meant):
    with pytest.raises(ParseError) as caught:
        parse(f"[{tag}] a")
    assert f"did you mean {meant}?" in str(caught.value)


def test_no_guess_where_nothing_is_near():
    with pytest.raises(ParseError) as caught:
        parse("[qqqqqq-TR] a")
    assert "did you mean" not in str(caught.value)


@pytest.mark.parametrize(
    ("role", "angle", "text", "parameters", "said"),
    [
        ("ZZ", "TR", "a", {}, "no role 'ZZ'; there are GD, SA"),
        ("GD", "ZZ", "a", {}, "no angle 'ZZ'; there are TR, LI"),
        ("GD", "TR", "", {}, "not empty"),
        ("GD", "TR", " a", {}, "no white space around it, unlike ' a'"),
        ("GD", "TR", "a", {"1a": "x"}, "no parameter can be called '1a'"),
        ("GD", "TR", "a", {"é": "x"}, "no parameter can be called 'é'"),
    ],
)
def test_a_prompt_that_could_not_be_written_is_refused(
    role, angle, text, parameters, said
):
    with pytest.raises(ValueError, match=re.escape(said)):
        Prompt(role, angle, text, parameters)
