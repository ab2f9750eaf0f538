"""Reader of JSON from other programs, and invalid files."""

import json

import pytest

from analysis.problems import InputError
from evalcore.formats import json_files
from evalcore.formats.json_files import (
    as_found,
    number_of,
    read_json,
    read_json_lines,
    storable,
)


def problem(read, path, data, **options):
    path.write_bytes(data)
    with pytest.raises(InputError) as refused:
        read(path, **options)
    return [str(p).removeprefix(str(path)) for p in refused.value.problems]


def test_byte_order_mark_is_removed(tmp_path):
    path = tmp_path / "a.json"
    path.write_bytes(b'\xef\xbb\xbf[{"a": 1}]')
    assert read_json(path) == [{"a": 1}]


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (b'[\n {"a": }]', ":2: expected JSON (Expecting value, column 8)"),
        (b"", ":1: expected JSON (Expecting value, column 1)"),
        (b'["a",\n "\xff"]', ":2: expected UTF-8 text"),
        (b'{"a": {"b": 1, "c": 2, "b": 3}}', ": b: expected each key once per object"),
        (b"[" * 5000, ": expected JSON with fewer levels of nesting"),
        (b"[" * 70 + b"]" * 70, ": expected JSON with fewer levels of nesting"),
        (b'["\\u0000"]', ": expected text without NUL or invalid characters"),
        (b'{"\\ud800": 1}', ": expected text without NUL or invalid characters"),
        (b"[NaN]", ": expected finite numbers, not NaN or Infinity"),
        (b"[1e999]", ": expected finite numbers, not NaN or Infinity"),
    ],
)
def test_invalid_json_is_reported_with_its_place(tmp_path, data, what):
    assert problem(read_json, tmp_path / "a.json", data) == [what]


def test_number_with_too_many_digits_is_reported(tmp_path):
    (text,) = problem(read_json, tmp_path / "a.json", b"[" + b"1" * 5000 + b"]")
    assert "JSON with numbers of fewer digits" in text


def test_huge_file_is_refused_before_reading(tmp_path, monkeypatch):
    monkeypatch.setattr(json_files, "LARGEST_FILE", 10**6)
    path = tmp_path / "a.json"
    with path.open("wb") as file:
        file.truncate(3 * 10**6)
    with pytest.raises(InputError, match="3 MB: expected a file of at most 1 MB"):
        read_json(path)


def test_unreadable_file_is_reported(tmp_path):
    with pytest.raises(InputError, match=r"none.json: expected a readable file \(No"):
        read_json(tmp_path / "none.json")
    with pytest.raises(InputError, match=r"expected a readable file \(Is a directory"):
        read_json(tmp_path)


def test_wrong_lines_are_all_reported(tmp_path):
    data = b'{"a": 1}\n\n{"a": }\n[]\n{"a": NaN}\n'
    assert problem(read_json_lines, tmp_path / "a.jsonl", data) == [
        ":3: expected JSON (Expecting value, column 7)",
        ":5: expected finite numbers, not NaN or Infinity",
    ]
    path = tmp_path / "b.jsonl"
    path.write_bytes(b'\xef\xbb\xbf{"a": 1}\r\n\r\n[2]')
    assert read_json_lines(path) == [(1, {"a": 1}), (3, [2])]


def test_non_finite_numbers_can_be_stored_and_restored(tmp_path):
    path = tmp_path / "a.json"
    path.write_text('{"a": [NaN, -Infinity, 0.1, 3]}')
    kept = storable(read_json(path, strange=True))
    json.dumps(kept, allow_nan=False)  # no database refuses it
    back = as_found(kept)["a"]
    assert str(back[0]) == "nan"
    assert back[1:] == [float("-inf"), 0.1, 3]


@pytest.mark.parametrize(
    ("value", "number"),
    [
        (3, 3.0),
        ("0.81", 0.81),
        (" 1e-3 ", 0.001),
        (10**400, "not finite"),
        ("1e999", "not finite"),
        ("NaN", "not finite"),
        (float("inf"), "not finite"),
        (None, "no value"),
        ("null", "no value"),
        ("", "no value"),
        (True, "not a number"),
        ("good", "not a number"),
        ([1], "not a number"),
    ],
)
def test_number_or_reason_is_returned(value, number):
    assert number_of(value) == number
