"""SIM: how similar each frame is to the true one at its place."""

from functools import cached_property

import numpy as np

from evalcore.metrics.base import (
    Ask,
    Encoder,
    Feature,
    MetricInfo,
    Pair,
    Scoring,
    Value,
)
from evalcore.metrics.storybench.features import (
    Features,
    Profile,
    backend,
    frame_encoder,
    missing_features,
)
from evalcore.metrics.storybench.subjects import GENERATION, matching_frames
from evalcore.metrics.weights import Lacks


def similarity_of_images(outputs: Feature, truths: Feature) -> float:
    """Return the mean cosine of matching frames, times 100.

    Parameters
    ----------
    outputs, truths
        Frames x dimensions, of any lengths but 0; row i of one matches row i of the
        other.

    Returns
    -------
    float
        100 where every frame has the direction of the true one. Features of Inception
        v3 are nowhere negative, so that it is from 0 to 100 there.

    Raises
    ------
    ValueError
        There are no frames, not as many on both sides, or one with only zeros.

    References
    ----------
    StoryBench, section 3.4 (SIM), and its program, metrics/fid_inception.

    Examples
    --------
    >>> similarity_of_images(np.array([[2.0, 0.0], [1.0, 0.0]]), 3 * np.eye(2))
    50.0
    """
    if len(outputs) != len(truths) or not len(outputs):
        raise ValueError(
            f"as many true frames as frames, not {len(truths)} and {len(outputs)}"
        )
    a, b = (rows.astype(np.float64) for rows in (outputs, truths))
    lengths = np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1)
    if not lengths.all():
        raise ValueError("a frame has a feature of zeros, which has no direction")
    return float(100 * np.mean((a * b).sum(axis=1) / lengths))


class SimilarityOfImages:
    """Similarity of an output's frames with the true ones.

    StoryBench's program takes the mean over all frames of all stories; a method's mean
    over its outputs counts each story alike, however long.

    Parameters
    ----------
    features
        Whose features: `inception` (as FID) or `clip`.
    profile
        Which CLIP: that of StoryBench's program or the one of its paper.
    """

    def __init__(
        self, features: Features, profile: Profile = "storybench-code"
    ) -> None:
        self.features = features
        self.profile = profile
        self.info = MetricInfo(
            name="sim" if features == "inception" else "sim_clip",
            title="SIM" if features == "inception" else "SIM with CLIP",
            family="StoryBench",
            scores="pair",
            higher_is_better=True,
            low=-100,
            high=100,
            version="1",
            source="StoryBench, section 3.4",
            measures=(
                "Whether each frame looks like the true frame at its place. It asks "
                "for one true continuation: a good one that goes otherwise scores low."
            ),
            backend=backend(features, profile),
            profile=profile if features == "clip" else "",
            queue="gpu",
        )

    def missing(self) -> Lacks:
        """Return what is lacking."""
        return missing_features(self.features, self.profile)

    @cached_property
    def encoder(self) -> Encoder:
        """Return what sees frames."""
        return frame_encoder(self.features, self.profile)

    def score(self, pair: Pair) -> Scoring:
        """Return one value; undefined for story generation, and without frames."""
        tasks = {side.extra.get("task") for side in (pair.output, pair.truth)}
        if GENERATION in tasks:
            reason = "not defined for story generation: no true video is continued"
            return [Value(None, reason=reason)]
        outputs, truths = matching_frames(pair)
        if not outputs:
            reason = "no shot has frames both in the output and in the true one"
            return [Value(None, reason=reason)]
        features = yield Ask(self.encoder, [*outputs, *truths])
        count = len(outputs)
        sides = np.stack(features[:count]), np.stack(features[count:])
        return [Value(similarity_of_images(*sides), trace={"frames": count})]
