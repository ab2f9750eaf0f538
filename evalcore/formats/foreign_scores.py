"""Scores as other people's files have them, before the database knows them."""

from dataclasses import dataclass, field
from typing import Any


@dataclass
class FoundScore:
    """One value of a metric, or the reason why there is none.

    Parameters
    ----------
    metric, method
        Their names here.
    value
        None where the file has none; then `reason` says why.
    story, shot
        Empty where it belongs to all of a method's stories, or shots.
    version, backend
        What tells values of one metric apart.
    higher
        Direction.
    details
        What the file says beside the value.
    file, line
        Where it stands.
    run
        The file or folder that it came with.
    """

    metric: str
    method: str
    value: float | None
    story: str = ""
    shot: int | None = None
    version: str = ""
    backend: str = ""
    higher: bool = True
    details: dict[str, Any] | None = None
    reason: str = ""
    file: str = ""
    line: int | None = None
    run: str = ""


@dataclass
class ForeignScores:
    """What files have: scores, what is to be kept with each run, and notes."""

    scores: list[FoundScore] = field(default_factory=list)
    options: dict[str, dict[str, Any]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
