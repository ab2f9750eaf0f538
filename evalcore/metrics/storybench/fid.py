"""FID: how far a method's frames, all together, lie from the true ones."""

from functools import cached_property

from evalcore.metrics.base import Ask, Encoder, MetricInfo, Run, Scoring, Value
from evalcore.metrics.storybench.features import (
    ImageFeatures,
    Profile,
    backend,
    frame_encoder,
    missing_features,
)
from evalcore.metrics.storybench.frechet import distance_value
from evalcore.metrics.storybench.subjects import left_out, paired
from evalcore.metrics.weights import Lacks


class FrechetImageDistance:
    """Frechet distance between the frames of a method and the true ones.

    Parameters
    ----------
    features
        Whose features: `inception` (FID) or `clip`.
    profile
        Which CLIP: that of StoryBench's program or the one of its paper.
    """

    def __init__(
        self, features: ImageFeatures, profile: Profile = "storybench-code"
    ) -> None:
        self.features = features
        self.profile = profile
        self.info = MetricInfo(
            name="fid" if features == "inception" else "fid_clip",
            title="FID" if features == "inception" else "FID with CLIP",
            family="StoryBench",
            scores="run",
            higher_is_better=False,
            high=None,
            source="StoryBench, section 3.4; Heusel et al. 2017",
            measures=(
                "How far all frames of a method together lie from all true frames. It "
                "sees neither time nor text, and is too large for few frames: only "
                "methods with as many frames can be compared."
            ),
            backend=backend(features, profile),
            profile=profile if features == "clip" else "",
            queue="gpu",
            needs_truth=True,
        )

    def missing(self) -> Lacks:
        """Return what is lacking."""
        return missing_features(self.features, self.profile)

    @cached_property
    def encoder(self) -> Encoder:
        """Return what sees frames."""
        return frame_encoder(self.features, self.profile)

    def score(self, run: Run) -> Scoring:
        """Return one value; undefined without true outputs of the same stories.

        Its trace names the stories that are left out for want of frames on both sides.
        """
        pairs = paired(run)
        if not pairs:
            reason = "no output has a true one of the same story"
            return [Value(None, reason=reason)]
        outputs = [frame for pair in pairs for frame in pair.output.frames]
        truths = [frame for pair in pairs for frame in pair.truth.frames]
        features = yield Ask(self.encoder, [*outputs, *truths])
        count = len(outputs)
        sides = features[:count], features[count:]
        return [distance_value(*sides, "frames", left_out(run, pairs))]
