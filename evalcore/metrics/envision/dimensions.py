"""Envision-Score: nine sub-scores, three dimensions, one overall score.

All are from 0 to 5; the paper prints them times 20. Its equation weighs the three
sub-scores of a dimension alike; its program weighs them .33, .33 and .34, and so do its
printed tables: they follow the program's weights to the second decimal, and the plain
mean only to about a tenth.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

CODE, PAPER = "envision-code-05be960", "envision-paper"
HIGHEST = 5
# The program's heavier weight is that of the last one.
DIMENSIONS: Mapping[str, tuple[str, str, str]] = MappingProxyType(
    {
        "consistency": ("semantic", "factual", "spatial_temporal"),
        "physicality": ("basic_properties", "dynamics", "physical_reliability"),
        "aesthetic": ("expressiveness", "artistic_quality", "authenticity"),
    }
)
SUB_SCORES = tuple(name for names in DIMENSIONS.values() for name in names)
PARTS = (*SUB_SCORES, *DIMENSIONS, "overall")
SUB_WEIGHTS: Mapping[str, tuple[float, float, float]] = MappingProxyType(
    {CODE: (0.33, 0.33, 0.34), PAPER: (1 / 3, 1 / 3, 1 / 3)}
)
WEIGHTS: Mapping[str, float] = MappingProxyType(
    {"consistency": 0.4, "physicality": 0.4, "aesthetic": 0.2}
)


def dimension_score(sub_scores: Sequence[float], profile: str = PAPER) -> float:
    """Return the score of a dimension.

    `sub_scores`: its three, in the order of `DIMENSIONS`. `profile`: whose weights: the
    paper's are equal, the program's .33, .33 and .34.

    Source: Envision, section 3.3, and its program at 05be960.

    >>> round(dimension_score([3, 4, 5]), 2)
    4.0
    >>> round(dimension_score([3, 4, 5], CODE), 2)
    4.01
    """
    weights = SUB_WEIGHTS[profile]
    pairs = zip(weights, sub_scores, strict=True)
    return float(sum(weight * score for weight, score in pairs))


def overall_score(consistency: float, physicality: float, aesthetic: float) -> float:
    """Return the overall score: .4 C + .4 P + .2 A.

    Source: Envision, section 3.3.

    >>> overall_score(5, 5, 0)
    4.0
    """
    return (
        WEIGHTS["consistency"] * consistency
        + WEIGHTS["physicality"] * physicality
        + WEIGHTS["aesthetic"] * aesthetic
    )


def all_scores(
    sub_scores: Mapping[str, float], profile: str = PAPER
) -> dict[str, float]:
    """Return the nine sub-scores, the three dimensions and the overall score.

    `sub_scores`: all nine, by name.
    """
    scores = {name: float(sub_scores[name]) for name in SUB_SCORES}
    for dimension, names in DIMENSIONS.items():
        scores[dimension] = dimension_score([scores[n] for n in names], profile)
    scores["overall"] = overall_score(*(scores[d] for d in WEIGHTS))
    return scores


@dataclass(frozen=True)
class Stability:
    """Mean, bounds and standard deviation over trials."""

    mean: float
    low: float
    high: float
    deviation: float


def stability(trials: Sequence[float]) -> Stability:
    """Return how a score varies over trials of the same sequence.

    `trials`: at least one score.

    The deviation divides by the number of trials; that of one trial is 0.

    Source: Envision, equations 4 to 7.

    >>> stability([2, 4])
    Stability(mean=3.0, low=2.0, high=4.0, deviation=1.0)
    """
    scores = np.asarray(trials, dtype=np.float64)
    return Stability(
        float(scores.mean()),
        float(scores.min()),
        float(scores.max()),
        float(scores.std()),
    )
