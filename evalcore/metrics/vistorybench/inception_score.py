"""Inception Score: whether a method's pictures are clear, and differ."""

from functools import cached_property
from itertools import pairwise
from typing import Literal

import numpy as np
from scipy.special import rel_entr

from evalcore.metrics.base import Ask, Encoder, Feature, MetricInfo, Run, Scoring, Value
from evalcore.metrics.encoders.published import INCEPTION_IMAGENET, TORCHVISION
from evalcore.metrics.weights import needing

Profile = Literal["vsb-code-2026.02", "vsb-paper"]
SPLITS = {"vsb-code-2026.02": 1, "vsb-paper": 10}


def inception_score(probabilities: Feature, splits: int) -> tuple[float, float]:
    """Return the Inception Score of pictures, and its deviation over splits.

    `probabilities`: pictures x classes, rows summing to 1. `splits`: into how many
    parts the pictures are divided, in their order; the score is the mean over them. At
    most as many as pictures; their sizes differ by at most 1. Result: mean, deviation:
    the mean is from 1 (all pictures alike to the classifier, or all unclear) to the
    number of classes; the deviation is that of the parts, divided by their number: 0
    for one part.

    Of one part: exp(mean over pictures of KL(p(y|x) || p(y))) with the natural
    logarithm, p(y) being the mean over the part. A class of probability 0 adds nothing.

    Source: Salimans et al. (2016), Improved techniques for training GANs, section 4,
    with 10 splits; ViStoryBench, section 3.3 (image quality), whose program takes 1.

    >>> inception_score(np.eye(4), splits=1)
    (4.0, 0.0)
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
        `vsb-code-2026.02`: inputs not brought to the range of the weights, one split,
        as ViStoryBench's program; it can be compared with no other Inception Score.
        `vsb-paper`: the definition that the paper cites: inputs as trained, 10 splits.
    """

    def __init__(self, profile: Profile) -> None:
        self.splits = SPLITS[profile]
        self.info = MetricInfo(
            name="inception_score",
            title="Inception Score",
            family="ViStoryBench",
            scores="run",
            low=1,
            high=1000,
            source="ViStoryBench, section 3.3 (image quality); Salimans et al. 2016",
            measures=(
                "Whether each picture shows one clear kind of thing, and all together "
                "show many. It knows no story: consistency costs points, and more "
                "pictures give more."
            ),
            backend="Inception v3 of torchvision",
            profile=profile,
            queue="gpu",
        )

    missing = needing(TORCHVISION, (INCEPTION_IMAGENET,))

    @cached_property
    def encoder(self) -> Encoder:
        from evalcore.metrics.encoders.inception import imagenet_encoder

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
