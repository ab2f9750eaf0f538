"""Which metrics there are; a module is imported when its metric is asked for.

Adding a metric: write a module with a class that has `info`, `missing` and `score`
(see `evalcore.metrics.base.Metric`), and add a line here. Where paper and reference
program define it differently the class takes the profile as its argument, and the line
names the profiles, the default one first.
"""

import difflib
from dataclasses import dataclass
from functools import lru_cache, partial
from importlib import import_module
from typing import Any

from evalcore.metrics.base import Metric

VSB = ("vsb-code-2026.02", "vsb-paper")


@dataclass(frozen=True)
class Entry:
    """Where a metric is made, with which arguments, and whose definitions it knows."""

    place: str
    arguments: tuple[Any, ...] = ()
    profiles: tuple[str, ...] = ()


BASELINES = "evalcore.metrics.baselines"
STANDINS = "evalcore.metrics.standins"
VISTORY = "evalcore.metrics.vistorybench"
METRICS: dict[str, Entry] = {
    # Baselines and stand-ins
    "colourfulness": Entry(f"{BASELINES}.colourfulness:Colourfulness"),
    "palette_consistency": Entry(f"{BASELINES}.palette:PaletteConsistency"),
    "sharpness": Entry(f"{BASELINES}.sharpness:Sharpness"),
    "shots_present": Entry(f"{BASELINES}.presence:ShotsPresent"),
    "clip_consistency": Entry(f"{BASELINES}.clip_only:ClipConsistency"),
    "clip_score": Entry(f"{BASELINES}.clip_only:ClipScore"),
    "mobilenet_self": Entry(f"{STANDINS}.appearance:MobilenetConsistency"),
    # ViStoryBench
    "cids_cross": Entry(f"{VISTORY}.cids:CharacterConsistency", ("cross",)),
    "cids_self": Entry(f"{VISTORY}.cids:CharacterConsistency", ("self",)),
    "cids_cross_strict": Entry(
        f"{VISTORY}.cids:CharacterConsistency", ("cross_strict",)
    ),
    "cids_self_strict": Entry(f"{VISTORY}.cids:CharacterConsistency", ("self_strict",)),
    "matched_rate": Entry(f"{VISTORY}.cids:CharacterConsistency", ("matched",)),
    "csd_cross": Entry(f"{VISTORY}.csd:StyleFaithfulness", profiles=VSB),
    "csd_self": Entry(f"{VISTORY}.csd:StyleConsistency", profiles=VSB),
    "aesthetic": Entry(f"{VISTORY}.aesthetic:Aesthetic", profiles=VSB),
    "occm": Entry(
        f"{VISTORY}.occm:CharacterCount",
        profiles=("vsb-code-2026.02", "vsb-code-2025.11"),
    ),
    "copy_paste": Entry(f"{VISTORY}.copy_paste:CopyPaste", profiles=VSB),
}


class UnknownMetricError(KeyError):
    """No metric of that name; the message names the nearest and all others."""

    def __str__(self) -> str:
        return str(self.args[0])


def names() -> list[str]:
    """Return the names of all metrics, those of one paper together."""
    return list(METRICS)


@lru_cache(maxsize=512)
def load(name: str) -> Metric:
    """Return the metric of that name, or `name@profile`.

    Raises
    ------
    UnknownMetricError
        There is none, or it has no such profile.

    Examples
    --------
    >>> load("sharpness").info.scores
    'shot'
    """
    plain, at, profile = name.partition("@")
    if plain not in METRICS:
        close = difflib.get_close_matches(plain, METRICS, n=1)
        hint = f" Did you mean {close[0]!r}?" if close else ""
        raise UnknownMetricError(
            f"Unknown metric {plain!r}.{hint} Available: {', '.join(names())}."
        )
    entry = METRICS[plain]
    if at and profile not in entry.profiles:
        known = ", ".join(entry.profiles) or "none"
        raise UnknownMetricError(
            f"Metric {plain!r} has no profile {profile!r}; it has: {known}."
        )
    module, _colon, attribute = entry.place.partition(":")
    make = partial(getattr(import_module(module), attribute), *entry.arguments)
    metric: Metric = make(profile or entry.profiles[0]) if entry.profiles else make()
    return metric
