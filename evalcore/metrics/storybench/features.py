"""What StoryBench's metrics look at, and which network sees it, by profile.

The paper names CLIP ViT-L/14; the program, whose numbers are published, takes the one
for 336 pixels. What was given to a method (conditioning) is no frame of a `Rendering`.
`rendering.extra["task"]` is `action_exe`, `story_cont` or `story_gen`.
"""

from collections.abc import Sequence
from functools import cached_property
from typing import Literal

from evalcore.metrics.base import Clip, Encoder, Image, MetricInfo, Pair, Rendering, Run
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
from evalcore.metrics.errors import FeatureError, Lacks
from evalcore.metrics.registry import declared
from evalcore.metrics.weights import lacking

Features = Literal["inception", "clip", "i3d"]
Profile = Literal["storybench-code", "storybench-paper"]

CLIP_NAMES = {"storybench-code": LARGE_336, "storybench-paper": LARGE}
BACKENDS = {
    LARGE: "CLIP ViT-L/14 (OpenAI)",
    LARGE_336: "CLIP ViT-L/14 at 336 pixels (OpenAI)",
}


class SeenByNetwork:
    """What metrics share that are formulas on what one network sees."""

    def __init__(self, features: Features, profile: Profile) -> None:
        self.features = features
        self.profile = profile

    def declared(self, name: str) -> MetricInfo:
        """Return what a metric declares; CLIP depends on the profile."""
        if self.features != "clip":
            return declared(name)
        backend = BACKENDS[CLIP_NAMES[self.profile]]
        return declared(name, self.profile, backend=backend)

    def missing(self) -> Lacks:
        match self.features:
            case "inception":
                return lacking(TORCHVISION, (INCEPTION_FID,))
            case "i3d":
                return lacking(TORCH, (I3D,))
        return lacking(CLIP_PACKAGES, (clip_weights(CLIP_NAMES[self.profile]),))

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
    """Return the outputs of a run that have frames, each with the true one.

    An output without a true one, and a true one without an output, is left out: both
    sides show the same stories. `left_out` names the others.
    """
    truths = {truth.story: truth for truth in run.truths if truth.frames}
    return [
        Pair(output, truths[output.story])
        for output in run.outputs
        if output.story in truths and output.frames
    ]


def left_out(run: Run, pairs: Sequence[Pair]) -> list[str]:
    """Return the stories of a run, of either side, that the pairs lack, in order."""
    stories = {one.story for one in (*run.outputs, *run.truths)}
    return sorted(stories - {pair.output.story for pair in pairs})


def matching_frames(pair: Pair) -> tuple[list[Image], list[Image]]:
    """Return the frames of an output and the true ones that they match.

    Frames match by shot and place in it. A shot that one side lacks is left out.
    """
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
    """Return the video of an output: first frame of the first shot to the last one."""
    frames = rendering.frames
    sources = {frame.source.key for frame in frames}
    if len(sources) != 1:
        raise FeatureError(f"one video, not frames of {len(sources)} files")
    indices = [frame.index for frame in frames]
    return Clip(frames[0].source, min(indices), max(indices) + 1)
