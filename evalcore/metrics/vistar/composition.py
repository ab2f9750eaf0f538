"""CSE: whether the panels match their texts and show the same subject throughout."""

import re
from collections.abc import Generator, Sequence
from functools import cached_property
from itertools import combinations
from math import sqrt
from typing import Any, Literal

import numpy as np

from evalcore.metrics.base import (
    Ask,
    Encoder,
    FeatureError,
    Floats,
    Image,
    MetricInfo,
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
from evalcore.metrics.oneig.alignment import cells
from evalcore.metrics.registry import declared
from evalcore.metrics.vistar.prompt_language import parameter
from evalcore.metrics.weights import Weights, missing_requirements

Profile = Literal["vistar-regions", "story-shots"]
# Subject if the prompt names none: ViStoryBench's word for characters.
SUBJECT = "character"
GRID = re.compile(r"([1-9])\s*[x\u00d7]\s*([1-9])")
TWO_BY_TWO = "2x2"  # the paper's example


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


def regions(rendering: Rendering) -> tuple[list[Image], list[str]]:
    """Return the regions of the one picture of a prompt, row by row, and their texts.

    The prompt's parameter `grid` has columns and rows, 2x2 without it; edges that no
    region can share are left out. `panels` has the sub-prompts, separated by "|";
    without it, the prompt's text is the only one (all ours).

    Source: VISTAR, section 3.3.3: N regions, such as a 2 x 2 grid, of one picture, and
    M sub-prompts, usually as many.
    """
    if len(rendering.images) != 1:
        raise ValueError(
            f"expected one picture, found {len(rendering.images)} (the profile "
            "story-shots compares shots)"
        )
    wanted = parameter(rendering, "grid") or TWO_BY_TWO
    grid = GRID.fullmatch(wanted)
    if grid is None:
        what = f"columns and rows, such as {TWO_BY_TWO}"
        raise ValueError(f"parameter grid: expected {what}, found {wanted!r}")
    (shot,) = rendering.rendered
    texts = parameter(rendering, "panels").split("|")
    return (
        cells(rendering.images[0], (int(grid[1]), int(grid[2]))),
        _worded(texts) or _worded([shot.wording]),
    )


def shots(rendering: Rendering) -> tuple[list[Image], list[str]]:
    """Return the shots' pictures and texts, as panels and sub-prompts (ours).

    The text of a shot without a picture counts too: another panel must match it.
    """
    return rendering.images, _worded([shot.wording for shot in rendering.shots])


def _worded(texts: Sequence[str]) -> list[str]:
    return [text.strip() for text in texts if text.strip()]


PANELS = {"vistar-regions": regions, "story-shots": shots}


class Composition:
    """Compositional scene evaluation of an output.

    The subject is the prompt's parameter `subject`, or else "character"; in each panel
    the best box of Grounding DINO above 0.25 is segmented by SAM and encoded by DINOv2.

    Parameters
    ----------
    profile
        `vistar-regions`: panels are the regions of a prompt's picture (`regions`).
        `story-shots`: panels are the shots of a story (`shots`).
    clip
        CLIP network for comparing pictures and texts.
    """

    def __init__(self, profile: Profile = "vistar-regions", clip: str = LARGE) -> None:
        self.profile = profile
        self.clip = clip

    @property
    def info(self) -> MetricInfo:
        return declared("composition", self.profile)

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
    def weights(self) -> tuple[Weights, ...]:
        """Return the files of its networks."""
        return clip_weights(self.clip), DETECTOR, CUT_OUT, APPEARANCE

    def missing(self) -> MissingRequirements:
        return missing_requirements((*CLIP_PACKAGES, "transformers"), self.weights)

    def score(self, rendering: Rendering) -> Scoring:
        """Return one value; undefined unless two panels show the subject."""
        try:
            panels, texts = PANELS[self.profile](rendering)
        except ValueError as error:
            return [Value(None, reason=str(error))]
        if not texts or not panels:
            what = "picture" if texts else "text"
            return [Value(None, reason=f"no shot has a {what}")]
        pictures, words, subjects = self.encoders
        seen = yield Ask(pictures, panels)
        sentences = yield Ask(words, [Text(text) for text in texts])
        covered = coverage(np.stack(seen) @ np.stack(sentences).T)
        subject = parameter(rendering, "subject") or SUBJECT
        vectors = yield from _seen(subject, panels, subjects)
        trace = {
            "panels": len(panels),
            "sub_prompts": texts,
            "coverage": covered,
            "subject": subject,
            "found": len(vectors),
        }
        if len(vectors) < 2:
            reason = f"{subject!r} was found in {len(vectors)} of {len(panels)} panels"
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
