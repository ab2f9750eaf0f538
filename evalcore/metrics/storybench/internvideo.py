"""VTM by InternVideo, which looks at a whole segment at once.

No maintained package builds InternVideo-MM-L-14, so that nothing here can run it: the
metrics say so, and their formulas are those of `vtm` and `frechet`.
"""

import numpy as np

from evalcore.metrics.base import (
    Ask,
    Encoder,
    MetricInfo,
    Rendering,
    Scoring,
    Text,
    Value,
)
from evalcore.metrics.baselines.clip_only import wording
from evalcore.metrics.encoders.unobtainable import Unobtainable
from evalcore.metrics.storybench.subjects import clip_of_frames
from evalcore.metrics.storybench.vtm import matched_value
from evalcore.metrics.weights import unobtainable

MISSING = unobtainable(
    "InternVideo-MM-L-14", "it has no maintained package; StoryBench's program runs it"
)


class InternVideoTextMatching:
    """Match of an output's segments with their captions, each segment seen whole."""

    info = MetricInfo(
        name="vtm_internvideo",
        title="VTM with InternVideo",
        family="StoryBench",
        scores="output",
        low=-100,
        high=100,
        source="StoryBench, section 3.4 and appendix E.2",
        measures="Whether each part of a video shows what its text says, motion too.",
        backend="InternVideo-MM-L-14",
        queue="gpu",
    )
    encoder: Encoder = Unobtainable(MISSING)  # sees segments
    reader: Encoder = Unobtainable(MISSING)  # reads captions

    missing = staticmethod(lambda: MISSING)

    def score(self, rendering: Rendering) -> Scoring:
        """Return one value; shots without frames or without a text are left out."""
        if not rendering.is_video:
            return [Value(None, reason="the output is no video")]
        shots = [shot for shot in rendering.rendered if wording(shot)]
        if not shots:
            return [Value(None, reason="no shot has both frames and a text")]
        clips = [clip_of_frames(shot.frames) for shot in shots]
        seen = yield Ask(self.encoder, clips)
        texts = yield Ask(self.reader, [Text(wording(shot)) for shot in shots])
        segments = [np.atleast_2d(one) for one in seen]
        return [matched_value(shots, segments, np.stack(texts))]
