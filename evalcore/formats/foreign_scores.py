"""Scores as other people's files have them, before the database knows them."""

from dataclasses import dataclass, field
from typing import Any


@dataclass
class FoundScore:
    """One value of a metric, or the reason why there is none."""

    metric: str
    method: str
    value: float | None  # None where the file has none; then `reason` says why
    story: str = ""  # empty where it belongs to all of a method's stories, or shots
    shot: int | None = None
    version: str = ""  # what tells values of one metric apart
    backend: str = ""
    higher: bool = True
    details: dict[str, Any] | None = None  # what the file says beside the value
    reason: str = ""
    file: str = ""
    line: int | None = None
    run: str = ""  # the file or folder that it came with


@dataclass
class ForeignScores:
    """What files have: scores, what is to be kept with each run, and notes."""

    scores: list[FoundScore] = field(default_factory=list)
    options: dict[str, dict[str, Any]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
