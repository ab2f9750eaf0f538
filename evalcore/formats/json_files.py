"""Reader of JSON from other programs, with precise errors."""

import json
import math
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from stat import S_ISDIR, S_ISREG
from typing import Any, NoReturn

from analysis.problems import InputError, Problem, Problems
from analysis.reading.texts import as_number, is_nan_word
from analysis.tables import is_text

# StoryBench's tasks together are a tenth of this size.
LARGEST_FILE = 512 * 10**6
# Deeper nesting cannot be written or traversed everywhere.
DEEPEST = 60
# Key that marks a number unknown to JSON in the database.
UNREAL = "not a number"
# Expected in place of a link that leads out of a data folder.
NO_LINK = "a regular file, not a link"
NO_VALUE, NOT_A_NUMBER, NOT_FINITE = "no value", "not a number", "not finite"


class DoubledKeyError(ValueError):
    """An object in a file has the same key twice."""


def read_text(path: Path) -> str:
    """Return a file's text without its byte order mark."""
    try:
        about = path.stat()
        if not (S_ISREG(about.st_mode) or S_ISDIR(about.st_mode)):
            refuse(path, "a regular file, not a pipe or device")
        if about.st_size > LARGEST_FILE:
            expected = (
                f"a file of at most {LARGEST_FILE // 10**6} MB; split larger ones"
            )
            refuse(path, expected, value=f"{about.st_size // 10**6} MB")
        data = path.read_bytes()
    except OSError as error:
        refuse(path, f"a readable file ({error.strerror or error})", cause=error)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        refuse(path, "UTF-8 text", line, cause=error)


def refuse(
    path: Path | str,
    expected: str,
    line: int | None = None,
    *,
    value: str = "",
    cause: Exception | None = None,
) -> NoReturn:
    """Raise the problem of a file or an option."""
    raise InputError([Problem(str(path), expected, line, value=value)]) from cause


def read_json(path: Path, *, strange: bool = False) -> Any:
    """Return the content of a JSON file."""
    return _parsed(path, read_text(path), None, strange)


def read_json_lines(path: Path, *, strange: bool = False) -> list[tuple[int, Any]]:
    """Return the values of a JSON Lines file with their lines; skip empty lines."""
    rows: list[tuple[int, Any]] = []
    problems: Problems[Problem] = Problems()
    for number, text in enumerate(read_text(path).split("\n"), start=1):
        if text.strip():
            try:
                rows.append((number, _parsed(path, text, number, strange)))
            except InputError as error:
                problems += error.problems
    if problems:
        raise InputError(problems, table=rows)
    return rows


def read_rows(
    path: Path, expected: str, *, strange: bool = False
) -> list[tuple[int, Any]]:
    """Return rows of JSON Lines with their lines, or of a list with their positions."""
    if path.suffix.lower() == ".jsonl":
        return read_json_lines(path, strange=strange)
    rows = read_json(path, strange=strange)
    if not isinstance(rows, list):
        refuse(path, expected)
    return list(enumerate(rows, start=1))


def _parsed(path: Path, text: str, line: int | None, strange: bool) -> Any:
    """Parse a text; `line` is its line if it is one of many."""
    try:
        value = json.loads(text, object_pairs_hook=_object)
    except json.JSONDecodeError as error:
        where = line or error.lineno
        refuse(path, f"JSON ({error.msg}, column {error.colno})", where, cause=error)
    except DoubledKeyError as error:
        refuse(path, "each key once per object", line, value=str(error), cause=error)
    except RecursionError as error:
        refuse(path, "JSON with fewer levels of nesting", line, cause=error)
    except ValueError as error:
        refuse(path, f"JSON with numbers of fewer digits ({error})", line, cause=error)
    for depth, part in parts(value):
        if depth > DEEPEST:
            refuse(path, "JSON with fewer levels of nesting", line)
        if isinstance(part, str) and not is_text(part):
            refuse(path, "text without NUL or invalid characters", line)
        if isinstance(part, float) and not strange and not math.isfinite(part):
            refuse(path, "finite numbers, not NaN or Infinity", line)
    return value


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) < len(pairs):
        counts = Counter(key for key, _value in pairs)
        raise DoubledKeyError(counts.most_common(1)[0][0])
    return values


def parts(value: Any) -> Iterator[tuple[int, Any]]:
    """Yield a JSON value and all its parts, keys too, with their depth."""
    rest = [(0, value)]
    while rest:
        depth, part = rest.pop()
        yield depth, part
        if isinstance(part, dict):
            rest += [(depth + 1, inner) for inner in (*part, *part.values())]
        elif isinstance(part, list):
            rest += [(depth + 1, inner) for inner in part]


def storable(value: Any) -> Any:
    """Return a JSON value that every database can store; `as_found` reverses it."""
    if isinstance(value, float) and not math.isfinite(value):
        return {UNREAL: str(value)}
    if isinstance(value, dict):
        return {key: storable(part) for key, part in value.items()}
    return [storable(part) for part in value] if isinstance(value, list) else value


def as_found(value: Any) -> Any:
    """Return the original of a value from `storable`."""
    if isinstance(value, dict):
        if set(value) == {UNREAL}:
            return float(value[UNREAL])
        return {key: as_found(part) for key, part in value.items()}
    return [as_found(part) for part in value] if isinstance(value, list) else value


def number_of(value: Any) -> float | str:
    """Return a finite number, or the reason why there is none."""
    if value is None or str(value).strip().lower() in ("", "null", "none", "n/a"):
        return NO_VALUE
    if is_nan_word(str(value)):
        return NOT_FINITE
    number = as_number(value)
    if math.isnan(number):
        return NOT_A_NUMBER
    return number if math.isfinite(number) else NOT_FINITE


def number_in(value: Any, least: int, most: int) -> bool:
    """Return whether a value is a whole number between two others."""
    return type(value) is int and least <= value <= most
