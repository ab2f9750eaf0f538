"""Stories as described by files, before they are stored."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from analysis.tables import is_name
from evalcore.formats.json_files import refuse

# Fits the column of a story's key on every database.
LONGEST_KEY = 200
Item = TypeVar("Item")
# Reports what was expected, and where.
Complain = Callable[[str, str], None]


@dataclass
class ReadCharacter:
    """A character as described by the folder; reference pictures by position."""

    key: str
    names: dict[str, str]
    descriptions: dict[str, str]
    kind: str
    images: dict[int, Path]


@dataclass
class ReadShot:
    """A shot as described by the file; shots of videos have times in seconds."""

    number: int
    text: dict[str, dict[str, str]]
    characters: list[str] = field(default_factory=list)
    start: float | None = None
    end: float | None = None


@dataclass
class ReadStory:
    """A story as described by the file."""

    file: Path
    key: str
    title: str
    tags: dict[str, Any]
    shots: list[ReadShot]
    characters: list[ReadCharacter] = field(default_factory=list)
    conditioning: float | None = None
    extra: dict[str, Any] = field(default_factory=dict)


def can_name_a_file(key: str) -> bool:
    """Return whether a story's key is a valid file or folder name.

    >>> can_name_a_file("oops_val_1004_0"), can_name_a_file("a/b"), can_name_a_file("")
    (True, False, False)
    """
    return (
        0 < len(key) <= LONGEST_KEY
        and is_name(key)
        and key not in (".", "..")
        and not set(key) & set("/\\\0")
    )


def seconds(value: Any, what: str, complain: Complain) -> float | None:
    """Return a time in a video; None if the value is missing or wrong."""
    if value is None:
        return None
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not math.isfinite(value) or value < 0:
        complain("a number of seconds, 0 or more", what)
        return None
    return float(value)


def check_times(shots: Sequence[ReadShot], complain: Complain) -> None:
    """Report a problem unless all shots have consecutive times, or none has."""
    known = [s for s in shots if s.start is not None or s.end is not None]
    reached = 0.0
    for shot in shots if known else ():
        what = f"shot {shot.number}"
        if shot.start is None or shot.end is None:
            complain("start_seconds and end_seconds, as other shots have", what)
        elif shot.end <= shot.start:
            complain("an end after its start", what)
        elif shot.start < reached:
            complain("a start not before the previous shot's", what)
        else:
            reached = shot.start


@dataclass(frozen=True)
class GivenByUser:
    """Facts that the user states because a file does not; empty if not stated."""

    method: str = ""
    metric: str = ""
    metric_version: str = ""
    backend: str = ""
    mode: str = ""
    language: str = ""
    timestamp: str = ""


def only(
    items: Sequence[Item], what: str, wanted: str, name_of: Callable[[Item], str]
) -> list[Item]:
    """Return the items that an option names; all of them if it is not given."""
    if not wanted:
        return list(items)
    names = {name_of(one) for one in items}
    if wanted not in names:
        there = ", ".join(sorted(name or "(none)" for name in names)) or "none"
        refuse(f"--{what}", f"one of: {there}", value=wanted)
    return [one for one in items if name_of(one) == wanted]


@dataclass
class ForeignScore:
    """One value of a metric, or the reason why it is missing."""

    metric: str
    method: str
    value: float | None  # None if the file has no value; `reason` explains it then
    story: str = ""  # empty for a value of all of a method's stories, or all shots
    shot: int | None = None
    version: str = ""  # distinguishes several values of one metric
    backend: str = ""
    # Further columns of what made it, if the file says so.
    made_by: dict[str, str] = field(default_factory=dict)
    higher: bool = True
    details: dict[str, Any] | None = None  # the file's further information on the value
    reason: str = ""
    file: str = ""
    line: int | None = None
    run: str = ""  # the file or folder that the value belongs to


@dataclass
class ForeignScores:
    """Contents of files: scores, details to store with each run, and notes."""

    scores: list[ForeignScore] = field(default_factory=list)
    options: dict[str, dict[str, Any]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
