"""FVD: how far a method's videos, all together, lie from the true ones."""

from functools import cached_property
from typing import Literal

from evalcore.metrics.base import Ask, Encoder, MetricInfo, Run, Scoring, Value
from evalcore.metrics.encoders.published import I3D, TORCH
from evalcore.metrics.encoders.unobtainable import Unobtainable
from evalcore.metrics.storybench.frechet import distance_value
from evalcore.metrics.storybench.internvideo import MISSING
from evalcore.metrics.storybench.subjects import clip_of, left_out, paired
from evalcore.metrics.weights import Lacks, lacking

ClipFeatures = Literal["i3d", "internvideo"]


class FrechetVideoDistance:
    """Frechet distance between the videos of a method and the true ones.

    Parameters
    ----------
    features
        Whose features: `i3d` (FVD) or `internvideo`, which is lacking everywhere.
    """

    def __init__(self, features: ClipFeatures) -> None:
        self.features = features
        is_i3d = features == "i3d"
        self.info = MetricInfo(
            name="fvd" if is_i3d else "fvd_internvideo",
            title="FVD" if is_i3d else "FVD with InternVideo",
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
            backend="I3D of StyleGAN-V" if is_i3d else "InternVideo-MM-L-14",
            queue="gpu",
            needs_truth=True,
        )

    def missing(self) -> Lacks:
        """Return what is lacking."""
        return MISSING if self.features == "internvideo" else lacking(TORCH, (I3D,))

    @cached_property
    def encoder(self) -> Encoder:
        """Return what sees videos."""
        if self.features == "internvideo":
            return Unobtainable(MISSING)
        from evalcore.metrics.encoders.i3d import i3d_encoder

        return i3d_encoder()

    def score(self, run: Run) -> Scoring:
        """Return one value; undefined without true videos of the same stories.

        Outputs told in pictures are left out: they have no motion. Its trace names all
        stories that are.
        """
        pairs = [p for p in paired(run) if p.output.is_video and p.truth.is_video]
        if not pairs:
            reason = "no video has a true one of the same story"
            return [Value(None, reason=reason)]
        outputs = [clip_of(pair.output) for pair in pairs]
        truths = [clip_of(pair.truth) for pair in pairs]
        features = yield Ask(self.encoder, [*outputs, *truths])
        count = len(outputs)
        sides = features[:count], features[count:]
        return [distance_value(*sides, "videos", left_out(run, pairs))]
