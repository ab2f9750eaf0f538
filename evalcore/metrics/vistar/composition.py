"""CSE: whether the panels match their texts and show the same subject throughout."""

from collections.abc import Generator, Sequence
from functools import cached_property
from itertools import combinations
from math import sqrt
from typing import Any

import numpy as np

from evalcore.metrics.base import (
    Ask,
    Encoder,
    FeatureError,
    Floats,
    Image,
    MissingRequirements,
    Rendering,
    Scoring,
    Text,
    Value,
)
from evalcore.metrics.encoders.published import (
    APPEARANCE,
    CLIP_PACKAGES,
    CUT_OUT,
    DETECTOR,
    LARGE,
    clip_weights,
)
from evalcore.metrics.encoders.scene_features import Boxed
from evalcore.metrics.registry import declared
from evalcore.metrics.vistar.prompt_language import parameter
from evalcore.metrics.weights import AnyWeights, missing_requirements

# Subject if the prompt names none: ViStoryBench's word for characters.
SUBJECT = "character"


def coverage(similarity: Floats) -> float:
    """Return the mean over sub-prompts of the best panel's cosine, not rescaled.

    `similarity`: panels x sub-prompts, of CLIP's features, at least 1 x 1: about 0.2 to
    0.35; the paper does not specify a scaling.

    Source: VISTAR, section 3.3.3, CSE-Cov.
    """
    if similarity.size == 0:
        raise ValueError("coverage needs at least one panel and one sub-prompt")
    return float(similarity.max(axis=0).mean())


def consistency(vectors: Sequence[Floats]) -> float:
    """Return the subject's mean similarity over the panels that show it.

    Source: VISTAR, section 3.3.3, CSE-Con.
    """
    if len(vectors) < 2:
        raise ValueError("consistency needs the subject in at least two panels")
    units = [vector / np.linalg.norm(vector) for vector in vectors]
    return float(np.mean([a @ b for a, b in combinations(units, 2)]))


def composition(covered: float, consistent: float) -> float:
    """Return the geometric mean of both; a negative one counts 0 (ours).

    Source: VISTAR, section 3.3.3, CSE-Score.
    """
    return sqrt(max(covered, 0.0) * max(consistent, 0.0))


class Composition:
    """Compositional scene evaluation of an output.

    Panels are the shots' pictures, sub-prompts the shots' texts, including shots
    without a picture, whose text another panel must match. The subject is the prompt's
    parameter `subject`, or else "character"; in each picture the best box of Grounding
    DINO above 0.25 is segmented by SAM and encoded by DINOv2.

    Parameters
    ----------
    clip
        CLIP network for comparing pictures and texts.
    """

    info = declared("composition")

    def __init__(self, clip: str = LARGE) -> None:
        self.clip = clip

    @cached_property
    def encoders(self) -> tuple[Encoder, Encoder, Encoder]:
        from evalcore.metrics.encoders.clip import clip_image_encoder, clip_text_encoder
        from evalcore.metrics.encoders.subjects import subject_encoder

        return (
            clip_image_encoder(self.clip),
            clip_text_encoder(self.clip),
            subject_encoder(),
        )

    @property
    def weights(self) -> tuple[AnyWeights, ...]:
        """Return the files of its networks."""
        return clip_weights(self.clip), DETECTOR, CUT_OUT, APPEARANCE

    def missing(self) -> MissingRequirements:
        return missing_requirements((*CLIP_PACKAGES, "transformers"), self.weights)

    def score(self, rendering: Rendering) -> Scoring:
        """Return one value."""
        texts = [
            Text(text) for shot in rendering.shots if (text := shot.wording.strip())
        ]
        images = rendering.images
        if not texts or not images:
            what = "picture" if texts else "text"
            return [Value(None, reason=f"no shot has a {what}")]
        pictures, words, subjects = self.encoders
        panels = yield Ask(pictures, images)
        sentences = yield Ask(words, texts)
        covered = coverage(np.stack(panels) @ np.stack(sentences).T)
        subject = parameter(rendering, "subject") or SUBJECT
        vectors = yield from _seen(subject, images, subjects)
        trace = {"coverage": covered, "subject": subject, "found": len(vectors)}
        if len(vectors) < 2:
            reason = (
                f"{subject!r} was found in {len(vectors)} of {len(images)} pictures"
            )
            return [Value(None, reason=f"{reason}, not in at least 2", trace=trace)]
        consistent = consistency(vectors)
        trace["consistency"] = consistent
        return [Value(composition(covered, consistent), trace=trace)]


def _seen(
    subject: str, images: Sequence[Image], subjects: Encoder
) -> Generator[Ask, list[Any], list[Floats]]:
    """Return the subject's features for each picture where it is found."""
    from evalcore.metrics.encoders.subjects import detector

    features = yield Ask(detector(subject), images)
    boxed = [
        Boxed(image, tuple(float(side) for side in boxes[0][:4]))
        for image, boxes in zip(images, features, strict=True)
        if len(boxes)
    ]
    vectors = yield Ask(subjects, boxed, tolerant=True)
    return [vector for vector in vectors if not isinstance(vector, FeatureError)]
