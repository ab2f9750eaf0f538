"""What the metrics of the papers declare: `papers.toml`, read once."""

import tomllib
from functools import cache
from pathlib import Path
from typing import Any

from evalcore.metrics.base import MetricInfo

PAPERS = Path(__file__).with_name("papers.toml")
# Keys that say how a metric is made; the others are those of `MetricInfo`.
MAKING = {"class", "arguments", "profiles", "ending", "needs", "because"}
UNBOUNDED = "none"  # TOML has no null


@cache
def declarations() -> dict[str, dict[str, Any]]:
    """Return what is declared, by the metrics' names."""
    return tomllib.loads(PAPERS.read_text("utf-8"))


def declared(name: str, profile: str = "", **other: Any) -> MetricInfo:
    """Return what a metric declares; `other` is what its profile or judge changes."""
    said = declarations()[name].items()
    facts = {key: value for key, value in said if key not in MAKING}
    for bound in ("low", "high"):
        if facts.get(bound) == UNBOUNDED:
            facts[bound] = None
    return MetricInfo(name=name, profile=profile, **facts | other)
