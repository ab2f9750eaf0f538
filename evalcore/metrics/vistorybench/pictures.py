"""CSD, aesthetics and Inception Score: metrics of whole pictures."""

from functools import cached_property
from itertools import pairwise
from typing import Literal

import numpy as np
from scipy.special import rel_entr

from evalcore.metrics.base import (
    Ask,
    Encoder,
    Feature,
    Image,
    RenderedShot,
    Rendering,
    Run,
    Scoring,
    Value,
)
from evalcore.metrics.encoders.published import (
    AESTHETIC_HEAD,
    CLIP_PACKAGES,
    CSD,
    INCEPTION_IMAGENET,
    SIGLIP,
    TORCHVISION,
    TRANSFORMERS,
)
from evalcore.metrics.formulas import consistency
from evalcore.metrics.registry import declared
from evalcore.metrics.weights import requires

Profile = Literal["vsb-code-2026.02", "vsb-paper"]


def references_of(rendering: Rendering, shot: RenderedShot) -> list[tuple[str, Image]]:
    """Return the first reference picture of each of a shot's characters.

    For a character without pictures, or a shot without characters, this is the first
    picture of the story's first character that has one (neither appendix J nor the
    reference program at 514cc31 specifies it).
    """
    having = [c for c in rendering.characters.values() if c.references]
    if not having:
        return []
    keys = [key for key in shot.characters if key in rendering.characters]
    chosen = []
    for key in keys or [having[0].key]:
        own = rendering.characters[key].references
        chosen.append((key, (own or having[0].references)[0]))
    return chosen


# Before version 2, pictures were rounded when they were squashed.
VERSIONS = {"vsb-code-2026.02": "2", "vsb-paper": "1"}


class _CsdMetric:
    """Base of both metrics."""

    name: str
    weights = (CSD,)
    missing = requires(CLIP_PACKAGES, weights)

    def __init__(self, profile: Profile) -> None:
        self.info = declared(self.name, profile, version=VERSIONS[profile])

    @cached_property
    def encoder(self) -> Encoder:
        """Return the style encoder, with the profile's preprocessing."""
        from evalcore.metrics.encoders.clip import csd_encoder

        is_cropped = self.info.profile == "vsb-paper"
        return csd_encoder("centercrop" if is_cropped else "squash")


class StyleConsistency(_CsdMetric):
    """CSD of an output: mean cosine over pairs of its shots (`csd_self`)."""

    name = "csd_self"

    def score(self, rendering: Rendering) -> Scoring:
        """Return one value; undefined for fewer than two shots."""
        return (yield from consistency(self.encoder, rendering.images))


class StyleFaithfulness(_CsdMetric):
    """CSD of each shot with its characters' first references (`csd_cross`)."""

    name = "csd_cross"

    def score(self, rendering: Rendering) -> Scoring:
        """Return one value per shot; undefined if no character has a picture."""
        shots = rendering.rendered
        wanted = {s.number: references_of(rendering, s) for s in shots}
        if not any(wanted.values()):
            reason = "no character of the story has a reference picture"
            return [Value(None, reason=reason)]
        images = dict.fromkeys(i for refs in wanted.values() for _key, i in refs)
        styles = yield Ask(self.encoder, [*rendering.images, *images])
        style = dict(zip([*rendering.images, *images], styles, strict=True))
        values = []
        for shot in shots:
            own = style[shot.frames[0]]
            cosines = {key: float(own @ style[i]) for key, i in wanted[shot.number]}
            mean = float(np.mean(list(cosines.values())))
            values.append(Value(mean, shot.number, trace={"characters": cosines}))
        return values


class Aesthetic:
    """Aesthetic rating of each shot, about 1 to 10; 5.5 and more is good.

    Profile `vsb-paper` rates as the predictor's author does; `vsb-code-2026.02` as the
    reference program does, whose pictures are smaller and never normalised, so that its
    numbers differ from the predictor's.
    """

    def __init__(self, profile: Profile) -> None:
        self.info = declared("aesthetic", profile)

    weights = (SIGLIP, AESTHETIC_HEAD)
    missing = requires(TRANSFORMERS, weights)

    @cached_property
    def encoder(self) -> Encoder:
        from evalcore.metrics.encoders.scenes import aesthetic_encoder

        official = self.info.profile == "vsb-paper"
        return aesthetic_encoder("official" if official else "vsb")

    def score(self, rendering: Rendering) -> Scoring:
        """Return one value per shot; undefined for an output without pictures."""
        ratings = yield Ask(self.encoder, rendering.images)
        if not ratings:
            return [Value(None, reason="no shot has a picture")]
        return [
            Value(rating.item(), shot.number)
            for shot, rating in zip(rendering.rendered, ratings, strict=True)
        ]


# Inception Score ----------------------------------------------------------------------


SPLITS = {"vsb-code-2026.02": 1, "vsb-paper": 10}


def inception_score(probabilities: Feature, splits: int) -> tuple[float, float]:
    """Return the Inception Score of pictures, and its deviation over splits.

    `probabilities`: pictures x classes. For each of the `splits`, in order and of
    nearly equal size: exp(mean over pictures of KL(p(y|x) || p(y))), with the natural
    logarithm and p(y) as the mean over the split; a class of probability 0 adds
    nothing. Result: mean and deviation over the splits.

    Source: Salimans et al. (2016), Improved techniques for training GANs, section 4,
    with 10 splits; ViStoryBench, section 3.3, whose program takes 1.
    """
    count = len(probabilities)
    if not 1 <= splits <= count:
        raise ValueError(f"from 1 to {count} splits (one a picture), not {splits}")
    exact = probabilities.astype(np.float64)
    bounds = [count * i // splits for i in range(splits + 1)]
    scores = [
        np.exp(rel_entr(part, part.mean(axis=0)).sum(axis=1).mean())
        for part in (exact[a:b] for a, b in pairwise(bounds))
    ]
    return float(np.mean(scores)), float(np.std(scores))


class InceptionScore:
    """Inception Score of all pictures of a method, stories pooled.

    Parameters
    ----------
    profile
        `vsb-code-2026.02`: inputs outside the range of the weights, one split, as in
        ViStoryBench's program; not comparable with any other Inception Score.
        `vsb-paper`: the definition that the paper cites: inputs as in training, 10
        splits.
    """

    def __init__(self, profile: Profile) -> None:
        self.splits = SPLITS[profile]
        self.exact = True  # its network never rounds to bf16
        self.info = declared("inception_score", profile)

    weights = (INCEPTION_IMAGENET,)
    missing = requires(TORCHVISION, weights)

    @cached_property
    def encoder(self) -> Encoder:
        from evalcore.metrics.encoders.torchvision_networks import imagenet_encoder

        return imagenet_encoder(transform_input=self.info.profile == "vsb-paper")

    def score(self, run: Run) -> Scoring:
        """Return one value; undefined for fewer pictures than splits."""
        images = [image for output in run.outputs for image in output.images]
        if len(images) < self.splits:
            reason = f"{len(images)} pictures, where at least {self.splits} are needed"
            return [Value(None, reason=reason)]
        probabilities = yield Ask(self.encoder, images)
        mean, deviation = inception_score(np.stack(probabilities), self.splits)
        trace = {"pictures": len(images), "splits": self.splits, "deviation": deviation}
        return [Value(mean, trace=trace)]
