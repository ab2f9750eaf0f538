"""OCCM: whether as many characters appear as the script says."""

import math
from typing import Literal

from evalcore.metrics.base import MetricInfo, Rendering, Scoring, Value
from evalcore.metrics.vistorybench import casting
from evalcore.metrics.vistorybench.cids import BACKEND, why_no_cast
from evalcore.metrics.weights import Lacks

Profile = Literal["vsb-code-2026.02", "vsb-code-2025.11"]
SMOOTHING = 1e-6


def occm(detected: int, expected: int) -> float:
    """Return how well a count matches.

    Parameters
    ----------
    detected
        How many figures were found in a shot.
    expected
        How many the script names, at least 1.

    Returns
    -------
    float
        100 where they are equal, falling with their relative difference towards 0.

    References
    ----------
    ViStoryBench, equation 1: 100 exp(-|D - E| / (1e-6 + E)).

    Examples
    --------
    >>> round(occm(3, 2), 2), round(occm(0, 1), 2), round(occm(3, 4), 2)
    (60.65, 36.79, 77.88)
    """
    return 100 * math.exp(-abs(detected - expected) / (SMOOTHING + expected))


class CharacterCount:
    """OCCM of each shot that has a picture and expects anybody.

    Profile `vsb-code-2026.02`, which is what the paper's text says, counts all boxes of
    the detector; `vsb-code-2025.11`, the program up to version 1.2, only expected
    characters that received a box, so that superfluous people cost nothing. The
    published tables may stem from either.
    """

    def __init__(self, profile: Profile) -> None:
        self.info = MetricInfo(
            name="occm",
            title="Characters counted (OCCM)",
            family="ViStoryBench",
            scores="shot",
            higher_is_better=True,
            low=0,
            high=100,
            version="1",
            source="ViStoryBench, equation 1 and appendix K",
            measures=(
                "Whether as many figures appear as the script says. Who they are does "
                "not matter."
            ),
            backend=BACKEND,
            profile=profile,
            queue="gpu",
        )

    def missing(self) -> Lacks:
        """Return what is lacking of detector and identity encoders."""
        return casting.missing()

    def score(self, rendering: Rendering) -> Scoring:
        """Return one value a shot."""
        if (reason := why_no_cast(rendering)) is not None:
            return [Value(None, reason=reason)]
        cast = yield from casting.find_cast(rendering)
        if not cast.expected:
            return [Value(None, reason="no shot with a picture expects a character")]
        all_boxes = self.info.profile == "vsb-code-2026.02"
        return [
            Value(
                occm(
                    cast.boxes[number] if all_boxes else len(cast.matches[number]),
                    len(expected),
                ),
                number,
            )
            for number, expected in cast.expected.items()
        ]
