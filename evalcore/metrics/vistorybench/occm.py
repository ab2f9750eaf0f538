"""OCCM: whether as many characters appear as the script says."""

import math
from typing import Literal

from evalcore.metrics.base import MetricInfo, Rendering, Scoring, Value
from evalcore.metrics.errors import Lacks
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
    """Return how well a count matches.

    `detected`: how many figures were found in a shot. `expected`: how many the script
    names, at least 1. Result: 100 where they are equal, falling with their relative
    difference towards 0.

    Source: ViStoryBench, equation 1: 100 exp(-|D - E| / (1e-6 + E)).

    >>> round(occm(3, 2), 2), round(occm(0, 1), 2), round(occm(3, 4), 2)
    (60.65, 36.79, 77.88)
    """
    return 100 * math.exp(-abs(detected - expected) / (SMOOTHING + expected))


class CharacterCount:
    """OCCM of each shot that has a picture and expects anybody.

    Profile `vsb-code-2026.02`, which is what the paper's text says, counts all boxes of
    the detector and asks no other network. In the program itself a story with a
    character none of whose references is recognised fails, and has no OCCM either; here
    it has one, as telling that would take all encoders. A story with a character
    without reference pictures has none in either.

    Profile `vsb-code-2025.11` counts, as the program up to version 1.2, only expected
    characters that received a box, so that superfluous people cost nothing; whom the
    encoders do not recognise receives none. The published tables may stem from either.
    Nothing but the count is of the older program: which shots count, and who is matched
    with whom, is as in CIDS. (The older program gave a shot that expects nobody 100,
    and one whose file is missing the value of an empty picture; it matched greedily
    among the best boxes, as many as characters were expected.)

    Parameters
    ----------
    profile
        What is counted.
    """

    def __init__(self, profile: Profile) -> None:
        self.profile = profile
        self.info = MetricInfo(
            name="occm",
            title="Characters counted (OCCM)",
            family="ViStoryBench",
            scores="shot",
            high=100,
            source="ViStoryBench, equation 1 and appendix K",
            measures=(
                "Whether as many figures appear as the script says. Who they are does "
                "not matter."
            ),
            backend=FINDER if profile == "vsb-code-2026.02" else BACKEND,
            profile=profile,
            queue="gpu",
        )

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
    """Score the expected characters that received a box in each shot."""
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
