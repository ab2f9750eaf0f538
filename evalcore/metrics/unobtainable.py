"""Metrics that nobody can compute, declared so that values can be imported.

What they need was never published, or no maintained package builds it. Each says what
that is; direction, range and title hold for values that another program computed.
"""

from dataclasses import replace

from evalcore.metrics.base import MetricInfo, Scoring
from evalcore.metrics.errors import Lacks
from evalcore.metrics.weights import WeightsError, unobtainable

INTERNVIDEO = unobtainable(
    "InternVideo-MM-L-14", "it has no maintained package; StoryBench's program runs it"
)
DOVER = unobtainable(
    "DOVER", "it has no maintained package; StoryBench's program writes its TSV"
)
PQA = MetricInfo(
    name="pqa",
    title="PQA",
    family="StoryBench",
    scores="output",
    high=100,
    source="StoryBench, section 3.4; DOVER (Wu et al. 2023)",
    measures=(
        "How good people find a video, as one shot by anybody. It knows nothing of the "
        "story."
    ),
    backend="DOVER",
    queue="gpu",
)
DECLARED: list[tuple[MetricInfo, Lacks]] = [
    (
        MetricInfo(
            name="fvd_internvideo",
            title="FVD with InternVideo",
            family="StoryBench",
            scores="run",
            higher_is_better=False,
            high=None,
            source="StoryBench, section 3.4; Unterthiner et al. 2018",
            measures=(
                "How far all videos of a method together lie from the true ones, in "
                "looks and motion. It does not read the text, and is too large for few "
                "videos: only methods with as many can be compared."
            ),
            backend="InternVideo-MM-L-14",
            queue="gpu",
            needs_truth=True,
        ),
        INTERNVIDEO,
    ),
    (
        MetricInfo(
            name="vtm_internvideo",
            title="VTM with InternVideo",
            family="StoryBench",
            scores="output",
            low=-100,
            high=100,
            source="StoryBench, section 3.4 and appendix E.2",
            measures=(
                "Whether each part of a video shows what its text says, motion too."
            ),
            backend="InternVideo-MM-L-14",
            queue="gpu",
        ),
        INTERNVIDEO,
    ),
    (PQA, DOVER),
    (
        replace(
            PQA,
            name="pqa_aesthetic",
            title="PQA, aesthetic",
            measures="How well composed and pleasant people find a video.",
        ),
        DOVER,
    ),
    (
        replace(
            PQA,
            name="pqa_technical",
            title="PQA, technical",
            measures="How free of noise, blur and artefacts people find a video.",
        ),
        DOVER,
    ),
    (
        MetricInfo(
            name="oneig_style",
            title="OneIG style",
            family="OneIG",
            scores="output",
            source="OneIG-Bench, section on stylization, and its program",
            measures=(
                "Whether a picture looks like one of a few pictures of the style that "
                "was asked for. It does not ask what is shown."
            ),
            backend="CSD ViT-L and OneIG's style encoder",
            queue="gpu",
        ),
        unobtainable(
            "OneIG-StyleEncoder",
            "it has no maintained package; OneIG's program runs it",
        ),
    ),
    (
        MetricInfo(
            name="oneig_diversity",
            title="OneIG diversity",
            family="OneIG",
            scores="output",
            high=2,
            source="OneIG-Bench, section on diversity; DreamSim (Fu et al. 2023)",
            measures=(
                "Whether the pictures of one prompt differ as people see it. Of a "
                "story it would be the opposite of consistency."
            ),
            backend="DreamSim",
            queue="gpu",
        ),
        unobtainable(
            "DreamSim",
            "its package fetches weights while it runs, which is not done here; "
            "OneIG's program runs it",
        ),
    ),
    (
        MetricInfo(
            name="oneig_reasoning",
            title="OneIG reasoning",
            family="OneIG",
            scores="output",
            low=-1,
            source="OneIG-Bench, section on knowledge and reasoning, and its program",
            measures=(
                "Whether a picture is near the true answer in words, as LLM2CLIP sees "
                "it. It does not check single facts."
            ),
            backend="LLM2CLIP",
            queue="gpu",
        ),
        unobtainable(
            "LLM2CLIP",
            "it is built by code that its repository brings along, which is not run "
            "here; OneIG's program runs it",
        ),
    ),
    (
        MetricInfo(
            name="light_integrity",
            title="Light integrity (LI)",
            family="VISTAR",
            scores="shot",
            source="VISTAR, section 3.3.2",
            measures="Whether the light comes from the direction the prompt names.",
            backend="none: the shadow network is unpublished",
        ),
        unobtainable(
            "VISTAR's shadow network",
            "the network that segments cast shadows and the rule that pairs them with "
            "objects are not published",
        ),
    ),
    (
        MetricInfo(
            name="geometric_coherence",
            title="Geometric coherence (GC)",
            family="VISTAR",
            scores="shot",
            source="VISTAR, section 3.3.6",
            measures="The worst of six signs of flawed geometry.",
            backend="none: PaDiM's reference set is unpublished",
            queue="gpu",
        ),
        unobtainable(
            "PaDiM's set of flawless pictures",
            "the sixth cue, PaDiM, compares with a set of pictures without flaws, "
            "which is not published; `geometric_cues` is the worst of the other five",
        ),
    ),
]


class Unobtainable:
    """A metric that is never ready.

    Parameters
    ----------
    info
        What it declares.
    lacks
        What nobody can obtain.
    profile
        Whose definition imported values follow.
    """

    def __init__(self, info: MetricInfo, lacks: Lacks, profile: str = "") -> None:
        self.info = replace(info, profile=profile)
        self.lacks = lacks

    def missing(self) -> Lacks:
        return self.lacks

    def score(self, subject: object) -> Scoring:
        """Refuse.

        Raises
        ------
        WeightsError
            Always.
        """
        yield from ()
        raise WeightsError(str(self.lacks))
