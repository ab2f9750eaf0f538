"""OCCM: whether as many characters appear as the script says."""

import math
from typing import Literal

from evalcore.metrics.base import Rendering, Scoring, Value
from evalcore.metrics.errors import Lacks
from evalcore.metrics.registry import declared
from evalcore.metrics.vistorybench import character_matching
from evalcore.metrics.vistorybench.cids import (
    BACKEND,
    FINDER,
    NOBODY_EXPECTED,
    why_no_cast,
    why_no_value,
)

Profile = Literal["vsb-code-2026.02", "vsb-code-2025.11"]
SMOOTHING = 1e-6


def occm(detected: int, expected: int) -> float:
    """Return how well a count matches: 100 exp(-|D - E| / (1e-6 + E)).

    Source: ViStoryBench, equation 1.
    """
    return 100 * math.exp(-abs(detected - expected) / (SMOOTHING + expected))


class CharacterCount:
    """OCCM of each shot that has a picture and expects anybody.

    `vsb-code-2026.02`, as the paper's text says, counts all boxes of the detector and
    asks no other network: a story with a character whose references are not recognised,
    which fails in the program, has an OCCM here. `vsb-code-2025.11` counts, as the
    program up to version 1.2, only expected characters that received a box; shots and
    matches are as in CIDS. The published tables may stem from either.

    Parameters
    ----------
    profile
        What is counted.
    """

    def __init__(self, profile: Profile) -> None:
        self.profile = profile
        backend = FINDER if profile == "vsb-code-2026.02" else BACKEND
        self.info = declared("occm", profile, backend=backend)

    def missing(self) -> Lacks:
        """Return what is lacking of the detector, and of encoders if they are asked."""
        if self.profile == "vsb-code-2026.02":
            return character_matching.missing_detector()
        return character_matching.missing()

    def score(self, rendering: Rendering) -> Scoring:
        """Return one value a shot; undefined as CIDS is, save for what is said above.

        A shot without a box counts 0 figures.
        """
        if (reason := why_no_cast(rendering)) is not None:
            return [Value(None, reason=reason)]
        if self.profile == "vsb-code-2026.02":
            return (yield from _boxes(rendering))
        return (yield from _matched(rendering))


def _boxes(rendering: Rendering) -> Scoring:
    shots = character_matching.expecting(rendering)
    if not shots:
        return [Value(None, reason=NOBODY_EXPECTED)]
    figures = yield from character_matching.find_figures(
        shots, character_matching.the_detector()
    )
    return [
        Value(occm(len(figures[shot.number]), len(shot.characters)), shot.number)
        for shot in shots
    ]


def _matched(rendering: Rendering) -> Scoring:
    eyes = character_matching.the_eyes("vsb-code-2026.02")
    cast = yield from character_matching.find_cast(rendering, eyes)
    if (reason := why_no_value(cast)) is not None:
        return [Value(None, reason=reason)]
    return [
        Value(
            occm(len(cast.matches[number]), len(expected)),
            number,
            trace=cast.errors or None,
        )
        for number, expected in cast.expected.items()
    ]
