"""Comparison of the papers' metrics with the papers' programs, as declared.

`papers.toml` has a metric's reasons under `differs`, `fidelity.toml` their texts.
"""

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

from evalcore.metrics.registry import declarations

TABLE = Path(__file__).with_name("fidelity.toml")
UNKNOWN = "unknown"
PROGRAMS_OWN = "-code"  # part of the names of profiles that follow a program
State = Literal["same", "differs", "unknown", "imported"]


@dataclass(frozen=True)
class Fidelity:
    """The comparison of a metric with its paper's program."""

    state: State
    program: str = ""  # repository and revision; empty if none is published
    profile: str = ""  # the profile that is compared; empty if there is only one way
    reasons: tuple[str, ...] = ()  # names of the reasons why values differ on purpose

    def __str__(self) -> str:
        if not self.program:
            return "unknown: no program is published"
        if self.state == "imported":
            return "same: imported from the program"
        if self.state == "differs":
            texts = [reason_texts()[name] for name in self.reasons]
            return f"differs on purpose: {'; '.join(texts)}"
        return self.state


@cache
def _table() -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = tomllib.loads(TABLE.read_text("utf-8"))
    return found


def papers() -> dict[str, str]:
    """Return the papers' programs by family; empty where none is published."""
    return _table()["programs"]


def reason_texts() -> dict[str, str]:
    """Return why values differ on purpose from a program's, by the reason's name."""
    return _table()["reasons"]


def fidelity_of(name: str) -> Fidelity | None:
    """Return a metric's comparison; None for baselines and proxies of no paper.

    KeyError if a metric of a paper declares none.
    """
    said: dict[str, Any] | None = declarations().get(name)
    if said is None:
        return None
    program = papers().get(said["family"], "")
    profiles = [p for p in said.get("profiles", ()) if PROGRAMS_OWN in p]
    if not program:
        return Fidelity("unknown")
    if "import_only" in said:
        return Fidelity("imported", program)
    differs = said["differs"]
    if differs == UNKNOWN:
        return Fidelity("unknown", program)
    return Fidelity(
        "differs" if differs else "same",
        program,
        profiles[0] if profiles else "",
        tuple(differs),
    )
