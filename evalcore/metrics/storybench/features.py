"""Which networks see frames, videos and captions for StoryBench, by profile.

StoryBench's paper names CLIP ViT-L/14; its program takes the ViT-L/14 for pictures of
336 pixels, and its published numbers are the program's. CLIP's features keep their
lengths, which FID needs; who compares directions normalises them.
"""

from functools import cached_property
from typing import Literal

from evalcore.metrics.base import Encoder
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
from evalcore.metrics.errors import Lacks
from evalcore.metrics.weights import lacking

Features = Literal["inception", "clip", "i3d"]
Profile = Literal["storybench-code", "storybench-paper"]

CLIP_NAMES = {"storybench-code": LARGE_336, "storybench-paper": LARGE}
BACKENDS = {
    LARGE: "CLIP ViT-L/14 (OpenAI)",
    LARGE_336: "CLIP ViT-L/14 at 336 pixels (OpenAI)",
    "inception": "Inception v3 of FID",
    "i3d": "I3D of StyleGAN-V",
}


class SeenByNetwork:
    """What metrics share that are formulas on what one network sees.

    `profile`: which CLIP: that of StoryBench's program or the one of its paper.
    """

    def __init__(self, features: Features, profile: Profile) -> None:
        self.features = features
        self.profile = profile

    @property
    def backend(self) -> str:
        is_clip = self.features == "clip"
        return BACKENDS[CLIP_NAMES[self.profile] if is_clip else self.features]

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
                from evalcore.metrics.encoders.inception import fid_encoder

                return fid_encoder()
            case "i3d":
                from evalcore.metrics.encoders.i3d import i3d_encoder

                return i3d_encoder()
        from evalcore.metrics.encoders.clip import clip_image_encoder

        name = CLIP_NAMES[self.profile]
        return clip_image_encoder(name, normalise=False, half="rounded")
