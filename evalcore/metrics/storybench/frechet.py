"""The Frechet distance between two sets of features: FID and FVD.

Both sets are taken for samples of normal distributions; the distance is that between
the two distributions.
"""

import warnings
from collections.abc import Mapping, Sequence
from typing import cast

import numpy as np
from scipy.linalg import LinAlgWarning, sqrtm

from evalcore.metrics.base import (
    Ask,
    Feature,
    Floats,
    Item,
    Rendering,
    Run,
    Scoring,
    Value,
)
from evalcore.metrics.storybench.features import (
    Features,
    Profile,
    SeenByNetwork,
    clip_of,
    left_out,
    paired,
)

RIDGE = 1e-6
IMAGINARY = 1e-3
BLOCK = 4096
FEWEST = 2  # a covariance needs two


def moments(features: Feature) -> tuple[Floats, Floats]:
    """Return mean and covariance of features."""
    count, dimensions = features.shape
    if count < FEWEST:
        raise ValueError(f"a covariance needs {FEWEST} items, not {count}")
    mean: Floats = features.mean(axis=0, dtype=np.float64)
    scatter = np.zeros((dimensions, dimensions))
    # In blocks: a benchmark's frames in 64 bits may not fit into memory twice.
    for start in range(0, count, BLOCK):
        centred = features[start : start + BLOCK].astype(np.float64) - mean
        scatter += centred.T @ centred
    return mean, scatter / (count - 1)


def frechet_distance(
    mean_a: Floats, covariance_a: Floats, mean_b: Floats, covariance_b: Floats
) -> float:
    """Return the (squared) Frechet distance between two normal distributions.

    d = |mean_a - mean_b|^2 + Tr(A + B - 2 (A B)^(1/2)). Only where the root is not
    finite, 1e-6 is added to both diagonals and it is taken again. Imaginary parts up to
    1e-3 on the root's diagonal count as none.

    Source: Heusel et al. (2017), GANs trained by a two time-scale update rule, eq. 6;
    StoryBench, section 3.4, and its program, metrics/utils.
    """
    root = _root(covariance_a @ covariance_b)
    if not np.isfinite(root).all():
        ridge = RIDGE * np.eye(len(mean_a))
        root = _root((covariance_a + ridge) @ (covariance_b + ridge))
    diagonal = np.diagonal(root)
    if not np.isfinite(diagonal).all():
        raise ValueError("the covariances have no finite root: numbers are too large")
    if not np.allclose(diagonal.imag, 0, atol=IMAGINARY):
        raise ValueError(
            f"the root of the covariances has the imaginary part "
            f"{np.abs(diagonal.imag).max():.3g} on its diagonal, more than {IMAGINARY}"
        )
    apart = mean_a - mean_b
    traces = np.trace(covariance_a) + np.trace(covariance_b)
    distance = float(apart @ apart + traces - 2 * diagonal.real.sum())
    return max(distance, 0.0)


def _root(matrix: Floats) -> Feature:
    with warnings.catch_warnings():
        # Few items make a singular product; whether its root is right is looked at.
        warnings.simplefilter("ignore", LinAlgWarning)
        return cast(Feature, sqrtm(matrix))


def distance_value(
    outputs: Sequence[Feature],
    truths: Sequence[Feature],
    what: str,
    left_out: Sequence[str] = (),
) -> Value:
    """Return the distance between the features of outputs and of true outputs.

    Undefined where either side has fewer than two items. The trace says whether a
    covariance is rank deficient: with no more items than dimensions the distance comes
    out too large, and distances of different numbers of items cannot be compared.
    """
    for items, whose in ((outputs, "the method's outputs"), (truths, "the true ones")):
        if len(items) < FEWEST:
            reason = f"a covariance needs two {what}; {whose} have {len(items)}"
            return Value(None, reason=reason)
    distance = frechet_distance(*moments(np.stack(truths)), *moments(np.stack(outputs)))
    dimensions = len(outputs[0])
    trace = {
        "outputs": len(outputs),
        "truths": len(truths),
        "dimensions": dimensions,
        "rank_deficient": min(len(outputs), len(truths)) <= dimensions,
        "left_out": list(left_out),
    }
    return Value(distance, trace=trace)


# FID and FVD --------------------------------------------------------------------------


# What a distance is called.
NAMES: Mapping[Features, str] = {"inception": "fid", "clip": "fid_clip", "i3d": "fvd"}


class FrechetDistance(SeenByNetwork):
    """Frechet distance between the frames or videos of a method and the true ones.

    Parameters
    ----------
    features
        Whose features: of frames `inception` (FID) or `clip`; of videos `i3d` (FVD).
    profile
        Which CLIP: that of StoryBench's program or the one of its paper.
    """

    def __init__(
        self, features: Features, profile: Profile = "storybench-code"
    ) -> None:
        super().__init__(features, profile)
        self.what = "videos" if features == "i3d" else "frames"
        self.info = self.declared(NAMES[features])

    def score(self, run: Run) -> Scoring:
        """Return one value; undefined without true outputs of the same stories.

        Of videos, outputs told in pictures are left out: they have no motion. Its trace
        names all stories that are left out, also those for want of frames on both
        sides.
        """
        pairs = paired(run)
        if self.what == "videos":
            pairs = [p for p in pairs if p.output.is_video and p.truth.is_video]
        if not pairs:
            what = "output" if self.what == "frames" else "video"
            reason = f"no {what} has a true one of the same story"
            return [Value(None, reason=reason)]
        outputs = [item for pair in pairs for item in self._items(pair.output)]
        truths = [item for pair in pairs for item in self._items(pair.truth)]
        features = yield Ask(self.encoder, [*outputs, *truths])
        count = len(outputs)
        sides = features[:count], features[count:]
        return [distance_value(*sides, self.what, left_out(run, pairs))]

    def _items(self, rendering: Rendering) -> Sequence[Item]:
        return rendering.frames if self.what == "frames" else [clip_of(rendering)]
