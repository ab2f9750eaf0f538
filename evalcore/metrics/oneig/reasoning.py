"""Reasoning: whether a picture shows the true answer to a question of knowledge."""

import numpy as np

from evalcore.metrics.base import (
    Ask,
    Encoder,
    Feature,
    Floats,
    MetricInfo,
    Rendering,
    Scoring,
    Text,
    Value,
)
from evalcore.metrics.encoders.unobtainable import Unobtainable
from evalcore.metrics.oneig.grids import SeenInGrids, seen_pictures
from evalcore.metrics.oneig.prompt import told
from evalcore.metrics.weights import unobtainable

MISSING = unobtainable(
    "LLM2CLIP",
    "it is built by code that its repository brings along, which is not run here; "
    "OneIG's program runs it",
)


def answer_similarities(pictures: Feature, answer: Feature) -> Floats:
    """Return the cosine of each picture with the true answer.

    `pictures`: pictures x dimensions, of any lengths but 0. `answer`: features of the
    answer's text: dimensions.

    Source: OneIG-Bench, section on knowledge and reasoning, and its program,
    scripts/reasoning; Huang et al. (2024), LLM2CLIP.

    >>> answer_similarities(np.array([[2.0, 0.0], [3.0, 4.0]]), np.array([0.0, 5.0]))
    array([0. , 0.8])
    """
    rows, goal = pictures.astype(np.float64), answer.astype(np.float64)
    lengths = np.linalg.norm(rows, axis=1) * np.linalg.norm(goal)
    cosines: Floats = rows @ goal / lengths
    return cosines


class Reasoning(SeenInGrids):
    """Similarity of the pictures of a prompt of OneIG with its true answer."""

    info = MetricInfo(
        name="oneig_reasoning",
        title="OneIG reasoning",
        family="OneIG",
        scores="output",
        low=-1,
        source="OneIG-Bench, section on knowledge and reasoning, and its program",
        measures=(
            "Whether a picture is near the true answer in words, as LLM2CLIP sees it. "
            "It does not check single facts."
        ),
        backend="LLM2CLIP",
        queue="gpu",
    )
    encoder: Encoder = Unobtainable(MISSING)
    reader: Encoder = Unobtainable(MISSING)
    missing = staticmethod(lambda: MISSING)

    def score(self, rendering: Rendering) -> Scoring:
        """Return the mean over the pictures; undefined without a true answer."""
        answer = str(told(rendering).get("answer") or "").strip()
        images = list((yield from seen_pictures(rendering, self.grid)).values())
        if not answer or not images:
            reason = "the prompt has no true answer, or no shot has a picture"
            return [Value(None, reason=reason)]
        pictures = yield Ask(self.encoder, images)
        (read,) = yield Ask(self.reader, [Text(answer)])
        return [Value(float(answer_similarities(np.stack(pictures), read).mean()))]
