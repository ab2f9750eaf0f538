"""PQA: how good a video looks, as DOVER predicts people's opinion.

DOVER looks at a video twice: at pieces in full resolution (technical) and at small
whole pictures (aesthetic). No maintained package builds it, so that nothing here can
run it: the metrics say so. What follows its two raw outputs is here.
"""

from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Literal

from scipy.special import expit

from evalcore.metrics.base import Ask, Encoder, MetricInfo, Rendering, Scoring, Value
from evalcore.metrics.storybench.subjects import clip_of
from evalcore.metrics.weights import WeightsError, unobtainable

Part = Literal["overall", "aesthetic", "technical"]
# Mean and deviation of the raw outputs on videos that people rated, as published.
AESTHETIC = (0.1107, 0.07355)
TECHNICAL = (-0.08285, 0.03774)
SHARES = (0.6104, 0.3896)  # aesthetic, technical
NAMES: dict[Part, str] = {
    "overall": "pqa",
    "aesthetic": "pqa_aesthetic",
    "technical": "pqa_technical",
}
MISSING = unobtainable(
    "DOVER", "it has no maintained package; StoryBench's program writes its TSV"
)


@dataclass(frozen=True)
class Quality:
    """Predicted quality of a video, each from 0 to 100."""

    overall: float
    aesthetic: float
    technical: float


def perceptual_quality(aesthetic: float, technical: float) -> Quality:
    """Return the quality of a video from the raw outputs of DOVER.

    `aesthetic`, `technical`: the mean of what either branch gives, over its clips and
    places; any numbers. Result: a = (aesthetic - .1107) / .07355 and t = (technical +
    .08285) / .03774, through the logistic function, times 100; overall is that of .6104
    a + .3896 t.

    Source: Wu et al. (2023), Exploring video quality assessment on user generated
    contents (DOVER); StoryBench, section 3.4 (PQA), and its program, metrics/pqa_dover.

    >>> perceptual_quality(0.1107, -0.08285)
    Quality(overall=50.0, aesthetic=50.0, technical=50.0)
    """
    a = (aesthetic - AESTHETIC[0]) / AESTHETIC[1]
    t = (technical - TECHNICAL[0]) / TECHNICAL[1]
    overall = SHARES[0] * a + SHARES[1] * t
    return Quality(*(float(100 * expit(x)) for x in (overall, a, t)))


MEASURES: dict[Part, str] = {
    "overall": (
        "How good people find a video, as one shot by anybody. It knows nothing of the "
        "story."
    ),
    "aesthetic": "How well composed and pleasant people find a video.",
    "technical": "How free of noise, blur and artefacts people find a video.",
}


class PerceptualQuality:
    """Quality of an output's video.

    Parameters
    ----------
    part
        Which quality: overall, aesthetic or technical.
    """

    def __init__(self, part: Part) -> None:
        self.part = part
        self.info = MetricInfo(
            name=NAMES[part],
            title="PQA" if part == "overall" else f"PQA, {part}",
            family="StoryBench",
            scores="output",
            high=100,
            source="StoryBench, section 3.4; DOVER (Wu et al. 2023)",
            measures=MEASURES[part],
            backend="DOVER",
            queue="gpu",
        )

    missing = staticmethod(lambda: MISSING)

    @cached_property
    def encoder(self) -> Encoder:
        """Say that there is nothing that gives a clip's raw outputs.

        It would make two numbers of a clip, aesthetic and technical.
        """
        raise WeightsError(str(MISSING))

    def score(self, rendering: Rendering) -> Scoring:
        """Return one value; undefined for a story told in pictures."""
        if not rendering.is_video or not rendering.frames:
            return [Value(None, reason="the output is no video, or has no frames")]
        (raw,) = yield Ask(self.encoder, [clip_of(rendering)])
        quality = asdict(perceptual_quality(float(raw[0]), float(raw[1])))
        return [Value(quality[self.part], trace=quality)]
