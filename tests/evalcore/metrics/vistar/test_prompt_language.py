import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalcore.metrics.vistar.prompt_language import (
    ParseError,
    parse,
)


@given(st.text(alphabet='[]{}=",—- \\\nGDTRabx1', max_size=30))
def test_text_is_parsed_or_refused_with_position(text):
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


def test_other_roles_and_angles_are_read():
    prompt = parse("[Game Designer—ORI] A fox")
    assert (prompt.role, prompt.angle) == ("Game Designer", "ORI")


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
def test_parameters_may_be_written_in_several_ways(written):
    assert parse(f"[MS-MA] Gold {written}").parameters == {"a": "1", "b": "2"}


# Text, line, column, expected and found text.
WRONG = [
    ("", 1, 1, 'a tag such as "[GD—TR]"', "the end"),
    ("A poster", 1, 1, 'a tag such as "[GD—TR]"', "'A'"),
    ("[-TR] a", 1, 2, "a role", "'-'"),
    ("[GD", 1, 4, '"—"', "the end"),
    ("[GD]", 1, 4, '"—"', "']'"),
    ("[GD-] a", 1, 5, "an angle", "']'"),
    ("[GD-TR, a", 1, 7, '"]"', "','"),
    ("[GD-TR", 1, 7, '"]"', "the end"),
    ("[GD-TR]  ", 1, 10, "a text", "the end"),
    ('[GD-TR] {a="1"}', 1, 9, "a text", "'{'"),
    ("[GD-TR] a } b", 1, 11, "more text", "'}'"),
    (r"[GD-TR] a \n", 1, 12, "an escape sequence such as", "'n'"),
    ("[GD-TR] a {", 1, 12, "a parameter's key", "the end"),
    ("[GD-TR] a {}", 1, 12, "a parameter's key", "'}'"),
    ('[GD-TR] a {1="b"}', 1, 12, "a parameter's key", "'1'"),
    ('[GD-TR] a {b="c",}', 1, 18, "a parameter's key", "'}'"),
    ('[GD-TR] a {b "c"}', 1, 14, '"=" and a value', "'\"'"),
    ("[GD-TR] a {b=c}", 1, 14, "the value of 'b' in double quotes", "'c'"),
    ('[GD-TR] a {b="c"; d="e"}', 1, 17, '"," and another parameter', "';'"),
    ('[GD-TR] a\n  b {c="d}\n', 2, 8, "ends with a double quote", "a value that does"),
    ('[GD-TR] a {b="\\q"}', 1, 16, "an escape sequence such as", "'q'"),
    ('[GD-TR] a {b="1" b="2"}', 1, 18, "a new key", "'b' a second time"),
    ('[GD-TR] a {b="1"} {b="2"}', 1, 20, "a new key", "'b' a second time"),
    ('[GD-TR] a {b="1"} c', 1, 19, "the end, or parameters", "'c'"),
]


@pytest.mark.parametrize(("text", "line", "column", "expected", "found"), WRONG)
def test_error_has_position_and_expectation(text, line, column, expected, found):
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
