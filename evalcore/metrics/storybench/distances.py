"""FID and FVD: how far a method's frames, or videos, lie from the true ones."""

from collections.abc import Mapping, Sequence
from typing import Literal

from evalcore.metrics.base import Ask, Item, MetricInfo, Rendering, Run, Scoring, Value
from evalcore.metrics.storybench.features import Features, Profile, SeenByNetwork
from evalcore.metrics.storybench.frechet import distance_value
from evalcore.metrics.storybench.subjects import clip_of, left_out, paired

# What a distance is called, and what lies apart.
TITLES: Mapping[Features, tuple[str, str, Literal["frames", "videos"]]] = {
    "inception": ("fid", "FID", "frames"),
    "clip": ("fid_clip", "FID with CLIP", "frames"),
    "i3d": ("fvd", "FVD", "videos"),
}
SOURCES = {"frames": "Heusel et al. 2017", "videos": "Unterthiner et al. 2018"}
MEASURES = {
    "frames": (
        "How far all frames of a method together lie from all true frames. It "
        "sees neither time nor text, and is too large for few frames: only "
        "methods with as many frames can be compared."
    ),
    "videos": (
        "How far all videos of a method together lie from the true ones, in "
        "looks and motion. It does not read the text, and is too large for few "
        "videos: only methods with as many can be compared."
    ),
}


class FrechetDistance(SeenByNetwork):
    """Frechet distance between the frames or videos of a method and the true ones.

    Parameters
    ----------
    features
        Whose features: of frames `inception` (FID) or `clip`; of videos `i3d` (FVD).
    profile
        Which CLIP: that of StoryBench's program or the one of its paper.
    """

    def __init__(
        self, features: Features, profile: Profile = "storybench-code"
    ) -> None:
        super().__init__(features, profile)
        name, title, self.what = TITLES[features]
        self.info = MetricInfo(
            name=name,
            title=title,
            family="StoryBench",
            scores="run",
            higher_is_better=False,
            high=None,
            source=f"StoryBench, section 3.4; {SOURCES[self.what]}",
            measures=MEASURES[self.what],
            backend=self.backend,
            profile=profile if features == "clip" else "",
            queue="gpu",
            needs_truth=True,
        )

    def score(self, run: Run) -> Scoring:
        """Return one value; undefined without true outputs of the same stories.

        Of videos, outputs told in pictures are left out: they have no motion. Its trace
        names all stories that are left out, also those for want of frames on both
        sides.
        """
        pairs = paired(run)
        if self.what == "videos":
            pairs = [p for p in pairs if p.output.is_video and p.truth.is_video]
        if not pairs:
            what = "output" if self.what == "frames" else "video"
            reason = f"no {what} has a true one of the same story"
            return [Value(None, reason=reason)]
        outputs = [item for pair in pairs for item in self._items(pair.output)]
        truths = [item for pair in pairs for item in self._items(pair.truth)]
        features = yield Ask(self.encoder, [*outputs, *truths])
        count = len(outputs)
        sides = features[:count], features[count:]
        return [distance_value(*sides, self.what, left_out(run, pairs))]

    def _items(self, rendering: Rendering) -> Sequence[Item]:
        return rendering.frames if self.what == "frames" else [clip_of(rendering)]
