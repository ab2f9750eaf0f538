"""How much of the palette the shots of a story share."""

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from evalcore.metrics.base import Ask, Floats, MetricInfo, Rendering, Scoring, Value
from evalcore.metrics.pixels import PixelFormula
from evalcore.metrics.weights import needing

LEVELS = 8  # steps a channel


def histogram(rgb: Floats) -> Floats:
    """Return the share of pixels in each of 8 x 8 x 8 colours.

    `rgb`: height x width x 3, from 0 to 255.
    """
    steps = np.minimum(rgb // (256 / LEVELS), LEVELS - 1).astype(int)
    index = (steps[..., 0] * LEVELS + steps[..., 1]) * LEVELS + steps[..., 2]
    counts = np.bincount(index.ravel(), minlength=LEVELS**3)
    shares: Floats = counts / counts.sum()
    return shares


def palette_consistency(histograms: Sequence[Floats]) -> float:
    """Return the mean intersection of the histograms of all pairs of shots.

    `histograms`: at least two, each summing to 1. Result: 1 when all shots use the same
    colours in the same shares, 0 when no two shots share a colour.

    Source: Swain and Ballard (1991), Color indexing: histogram intersection.

    >>> palette_consistency([np.array([1.0, 0.0]), np.array([0.5, 0.5])])
    0.5
    """
    shared = [np.minimum(a, b).sum() for a, b in combinations(histograms, 2)]
    return float(np.mean(shared))


ENCODER = PixelFormula("palette 2", histogram)


class PaletteConsistency:
    """Palette consistency of an output."""

    info = MetricInfo(
        name="palette_consistency",
        title="Palette consistency",
        family="baseline",
        scores="output",
        version="2",
        source="histogram intersection (Swain and Ballard 1991) of shots; baseline",
        measures=(
            "Whether the shots share their colours. Copying one picture scores 1; a "
            "story that moves from day to night scores low."
        ),
    )

    missing = needing()

    def score(self, rendering: Rendering) -> Scoring:
        """Return one value; undefined for fewer than two shots."""
        histograms = yield Ask(ENCODER, rendering.images)
        if len(histograms) < 2:
            return [Value(None, reason="fewer than two shots have a picture")]
        return [Value(palette_consistency(histograms))]


METRIC = PaletteConsistency
