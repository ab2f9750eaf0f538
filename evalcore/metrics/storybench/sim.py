"""SIM: how similar each frame is to the true one at its place."""

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from evalcore.metrics.base import (
    Ask,
    Encoder,
    Feature,
    MetricInfo,
    Pair,
    Run,
    Scoring,
    Value,
)
from evalcore.metrics.storybench.features import Features, Profile, SeenByNetwork
from evalcore.metrics.storybench.subjects import (
    GENERATION,
    left_out,
    matching_frames,
    paired,
)

ALONE = (
    "Whether each frame looks like the true frame at its place. It asks for one true "
    "continuation: a good one that goes otherwise scores low."
)
POOLED = (
    "SIM as one number for a method, as StoryBench publishes it: each frame counts "
    "alike, so that long stories weigh more."
)
GENERATED = "not defined for story generation: no true video is continued"


def similarity_of_images(outputs: Feature, truths: Feature) -> float:
    """Return the mean cosine of matching frames, times 100.

    `outputs`, `truths`: frames x dimensions, of any lengths but 0; row i of one matches
    row i of the other. Result: 100 where every frame has the direction of the true one.
    Features of Inception v3 are nowhere negative, so that it is from 0 to 100 there.

    Source: StoryBench, section 3.4 (SIM), and its program, metrics/fid_inception.

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


class SimilarityOfImages(SeenByNetwork):
    """Similarity of frames with the true ones: of an output's, or of a method's.

    A method's mean over its outputs counts each story alike, however long. StoryBench's
    program takes the mean over all frames of all stories: level ``run``.

    Parameters
    ----------
    features, profile
        Whose features, `inception` (as FID) or `clip`; see `SeenByNetwork`.
    level
        What has a value: an output (``pair``), or all outputs of a method (``run``).
    """

    def __init__(
        self,
        features: Features,
        level: Literal["pair", "run"] = "pair",
        profile: Profile = "storybench-code",
    ) -> None:
        super().__init__(features, profile)
        name = "sim" if features == "inception" else "sim_clip"
        title = "SIM" if features == "inception" else "SIM with CLIP"
        is_pooled = level == "run"
        self.info = MetricInfo(
            name=f"{name}_pooled" if is_pooled else name,
            title=f"{title}, pooled" if is_pooled else title,
            family="StoryBench",
            scores=level,
            low=-100,
            high=100,
            source="StoryBench, section 3.4",
            measures=POOLED if is_pooled else ALONE,
            backend=self.backend,
            profile=profile if features == "clip" else "",
            queue="gpu",
            needs_truth=is_pooled,
        )

    def score(self, subject: Pair | Run) -> Scoring:
        """Return one value; undefined for story generation, and without frames.

        Of a run, stories without frames on both sides are left out, and those of story
        generation. The trace names them.
        """
        pairs = [subject] if isinstance(subject, Pair) else paired(subject)
        if not pairs:
            reason = "no output has a true one of the same story"
            return [Value(None, reason=reason)]
        continued = [pair for pair in pairs if _continued(pair)]
        if not continued:
            return [Value(None, reason=GENERATED)]
        if isinstance(subject, Pair):
            return (yield from _compared(self.encoder, continued))
        others = left_out(subject, continued)
        return (yield from _compared(self.encoder, continued, left_out=others))


def _compared(encoder: Encoder, pairs: Sequence[Pair], **more: Any) -> Scoring:
    """Return the mean over all frames of pairs, with more in its trace."""
    matching = [matching_frames(pair) for pair in pairs]
    outputs = [frame for frames, _true in matching for frame in frames]
    truths = [frame for _frames, true in matching for frame in true]
    if not outputs:
        reason = "no shot has frames both in the output and in the true one"
        return [Value(None, reason=reason)]
    features = yield Ask(encoder, [*outputs, *truths])
    count = len(outputs)
    sides = np.stack(features[:count]), np.stack(features[count:])
    return [Value(similarity_of_images(*sides), trace={"frames": count, **more})]


def _continued(pair: Pair) -> bool:
    sides = (pair.output, pair.truth)
    return GENERATION not in {side.extra.get("task") for side in sides}
