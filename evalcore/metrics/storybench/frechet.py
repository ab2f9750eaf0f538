"""Frechet distance between two sets of features: FID and FVD.

Both sets are treated as samples of normal distributions; the distance is that between
the two distributions. The CLIP network depends on the profile: the paper names
ViT-L/14, the program uses the one for 336 pixels.
"""

import warnings
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Literal, cast

import numpy as np
from scipy.linalg import LinAlgWarning, sqrtm

from evalcore.metrics.base import (
    Ask,
    Clip,
    Encoder,
    Feature,
    FeatureError,
    Floats,
    Image,
    Item,
    MetricInfo,
    MissingRequirements,
    Pair,
    Rendering,
    Run,
    Scoring,
    Value,
)
from evalcore.metrics.encoders.published import (
    CLIP_PACKAGES,
    I3D,
    INCEPTION_FID,
    LARGE,
    LARGE_336,
    TORCH,
    TORCHVISION,
    clip_weights,
)
from evalcore.metrics.registry import declared
from evalcore.metrics.weights import Weights, missing_requirements

Features = Literal["inception", "clip", "i3d"]
Profile = Literal["storybench-code", "storybench-paper"]

CLIP_NAMES = {"storybench-code": LARGE_336, "storybench-paper": LARGE}
BACKENDS = {
    LARGE: "CLIP ViT-L/14 (OpenAI)",
    LARGE_336: "CLIP ViT-L/14 at 336 pixels (OpenAI)",
}


class NetworkMetric:
    """Base of metrics that are formulas on one network's features."""

    def __init__(self, features: Features, profile: Profile) -> None:
        self.features = features
        self.profile = profile
        self.exact = features != "clip"  # its network never rounds to bf16

    def declared(self, name: str) -> MetricInfo:
        """Return a metric's declaration; the CLIP network depends on the profile."""
        if self.features != "clip":
            return declared(name)
        backend = BACKENDS[CLIP_NAMES[self.profile]]
        return declared(name, self.profile, backend=backend)

    @property
    def weights(self) -> tuple[Weights]:
        """Return the file of its network."""
        match self.features:
            case "inception":
                return (INCEPTION_FID,)
            case "i3d":
                return (I3D,)
        return (clip_weights(CLIP_NAMES[self.profile]),)

    def missing(self) -> MissingRequirements:
        packages = {"inception": TORCHVISION, "i3d": TORCH, "clip": CLIP_PACKAGES}
        return missing_requirements(packages[self.features], self.weights)

    @cached_property
    def encoder(self) -> Encoder:
        match self.features:
            case "inception":
                from evalcore.metrics.encoders.torchvision_networks import fid_encoder

                return fid_encoder()
            case "i3d":
                from evalcore.metrics.encoders.i3d import i3d_encoder

                return i3d_encoder()
        from evalcore.metrics.encoders.clip import clip_image_encoder

        name = CLIP_NAMES[self.profile]
        return clip_image_encoder(name, normalise=False, half="rounded")


GENERATION = "story_gen"


def paired(run: Run) -> list[Pair]:
    """Return the outputs of a run that have frames, each with the true one."""
    truths = {truth.story: truth for truth in run.truths if truth.frames}
    return [
        Pair(output, truths[output.story])
        for output in run.outputs
        if output.story in truths and output.frames
    ]


def left_out(run: Run, pairs: Sequence[Pair]) -> list[str]:
    """Return the stories missing from the pairs, on either side, in order."""
    stories = {one.story for one in (*run.outputs, *run.truths)}
    return sorted(stories - {pair.output.story for pair in pairs})


def matching_frames(pair: Pair) -> tuple[list[Image], list[Image]]:
    """Return an output's frames and the matching true frames."""
    truths = {shot.number: shot.frames for shot in pair.truth.rendered}
    outputs: list[Image] = []
    wanted: list[Image] = []
    for shot in pair.output.rendered:
        true = truths.get(shot.number)
        if true is None:
            continue
        if len(true) != len(shot.frames):
            raise FeatureError(
                f"shot {shot.number} has {len(shot.frames)} frames and the true one "
                f"{len(true)}: they cannot be matched"
            )
        outputs += shot.frames
        wanted += true
    return outputs, wanted


def clip_of(rendering: Rendering) -> Clip:
    """Return an output's video: first frame of the first shot to the last one."""
    frames = rendering.frames
    sources = {frame.source.key for frame in frames}
    if len(sources) != 1:
        raise FeatureError(f"one video, not frames of {len(sources)} files")
    indices = [frame.index for frame in frames]
    return Clip(frames[0].source, min(indices), max(indices) + 1)


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
    # In blocks, since a benchmark's frames in 64 bits may not fit into memory twice.
    for start in range(0, count, BLOCK):
        centred = features[start : start + BLOCK].astype(np.float64) - mean
        scatter += centred.T @ centred
    return mean, scatter / (count - 1)


def frechet_distance(
    mean_a: Floats, covariance_a: Floats, mean_b: Floats, covariance_b: Floats
) -> float:
    """Return the (squared) Frechet distance between two normal distributions.

    d = |mean_a - mean_b|^2 + Tr(A + B - 2 (A B)^(1/2)). Only if the root is not finite,
    1e-6 is added to both diagonals and the root is computed again. Imaginary parts up
    to 1e-3 on the root's diagonal are ignored.

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
        # Few items make a singular product; the root is checked afterwards.
        warnings.simplefilter("ignore", LinAlgWarning)
        return cast(Feature, sqrtm(matrix))


def distance_value(
    outputs: Sequence[Feature],
    truths: Sequence[Feature],
    what: str,
    left_out: Sequence[str] = (),
) -> Value:
    """Return the distance between the features of outputs and of true outputs.

    Undefined if either side has fewer than two items. The trace records whether a
    covariance is rank deficient: with no more items than dimensions the distance is
    biased upwards, and distances for different numbers of items cannot be compared.
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


# Names of the distances.
NAMES: Mapping[Features, str] = {"inception": "fid", "clip": "fid_clip", "i3d": "fvd"}


class FrechetDistance(NetworkMetric):
    """Frechet distance between the frames or videos of a method and the true ones.

    Parameters
    ----------
    features
        Network of the features: for frames `inception` (FID) or `clip`; for videos
        `i3d` (FVD).
    profile
        CLIP network of StoryBench's program or of its paper.
    """

    def __init__(
        self, features: Features, profile: Profile = "storybench-code"
    ) -> None:
        super().__init__(features, profile)
        self.what = "videos" if features == "i3d" else "frames"
        self.info = self.declared(NAMES[features])

    def score(self, run: Run) -> Scoring:
        """Return one value; undefined without true outputs of the same stories.

        For videos, outputs made of pictures are left out, since they have no motion.
        The trace names all stories that are left out, including those without frames on
        both sides.
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
