"""Which networks see frames for StoryBench, by profile.

StoryBench's paper names CLIP ViT-L/14; its program takes the ViT-L/14 for pictures of
336 pixels, and its published numbers are the program's. CLIP's features keep their
lengths, which FID needs; who compares directions normalises them.
"""

from typing import Literal

from evalcore.metrics.base import Encoder
from evalcore.metrics.encoders.published import (
    CLIP_PACKAGES,
    INCEPTION_FID,
    LARGE,
    LARGE_336,
    TORCHVISION,
    clip_weights,
)
from evalcore.metrics.weights import Lacks, lacking

ImageFeatures = Literal["inception", "clip"]
Profile = Literal["storybench-code", "storybench-paper"]

CLIP_NAMES = {"storybench-code": LARGE_336, "storybench-paper": LARGE}
BACKENDS = {
    LARGE: "CLIP ViT-L/14 (OpenAI)",
    LARGE_336: "CLIP ViT-L/14 at 336 pixels (OpenAI)",
}
INCEPTION_BACKEND = "Inception v3 of FID"


def backend(features: ImageFeatures, profile: Profile) -> str:
    """Return what readers call the network."""
    return (
        INCEPTION_BACKEND if features == "inception" else BACKENDS[CLIP_NAMES[profile]]
    )


def missing_features(features: ImageFeatures, profile: Profile) -> Lacks:
    """Return what the network lacks here."""
    if features == "inception":
        return lacking(TORCHVISION, (INCEPTION_FID,))
    return lacking(CLIP_PACKAGES, (clip_weights(CLIP_NAMES[profile]),))


def frame_encoder(features: ImageFeatures, profile: Profile) -> Encoder:
    """Return what sees frames."""
    if features == "inception":
        from evalcore.metrics.encoders.inception import fid_encoder

        return fid_encoder()
    from evalcore.metrics.encoders.clip import clip_image_encoder

    return clip_image_encoder(CLIP_NAMES[profile], normalise=False, half="rounded")


def text_encoder(profile: Profile) -> Encoder:
    """Return what reads captions."""
    from evalcore.metrics.encoders.clip import clip_text_encoder

    return clip_text_encoder(CLIP_NAMES[profile], normalise=True)
