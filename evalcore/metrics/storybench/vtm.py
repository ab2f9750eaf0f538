"""VTM: whether each part of a video shows what its caption says."""

from collections.abc import Sequence
from functools import cached_property
from typing import Literal

import numpy as np

from evalcore.metrics.base import (
    Ask,
    Encoder,
    Feature,
    Floats,
    MetricInfo,
    RenderedShot,
    Rendering,
    Run,
    Scoring,
    Text,
    Value,
)
from evalcore.metrics.storybench.features import CLIP_NAMES, Profile, SeenByNetwork

ALONE = (
    "Whether the frames of each shot show what its text says, as CLIP sees it. CLIP "
    "reads few details and no order; values lie near 20."
)
POOLED = (
    "VTM as one number for a method, as StoryBench publishes it: each shot counts "
    "alike, so that long stories weigh more."
)
UNTOLD = "no shot has both frames and a text"


def video_text_matching(segments: Sequence[Feature], texts: Feature) -> Floats:
    """Return how well each segment of a video matches its text, times 100.

    `segments`: by segment: frames x dimensions, at least one frame, of any lengths but
    0. A picture of an image story is a segment of one frame; what a network makes of a
    whole segment is one row. Result: by segment: the mean of its frames' directions
    times the direction of its text. The mean is not normalised again, so that a segment
    whose frames differ scores lower. The value of an output is the mean over its
    segments.

    Source: StoryBench, section 3.4 (VTM), and its program, metrics/vtm_clip.

    >>> frames = [np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([[0.6, 0.8]])]
    >>> video_text_matching(frames, np.array([[1.0, 0.0], [0.0, 2.0]]))
    array([50., 80.])
    """
    if len(segments) != len(texts):
        raise ValueError(f"a text a segment, not {len(texts)} for {len(segments)}")
    if not all(len(frames) for frames in segments):
        raise ValueError("a segment has no frames")
    means = [_directions(frames).mean(axis=0) for frames in segments]
    matches: Floats = 100 * (np.array(means) * _directions(texts)).sum(axis=1)
    return matches


def _directions(rows: Feature) -> Floats:
    exact = rows.astype(np.float64)
    directions: Floats = exact / np.linalg.norm(exact, axis=1, keepdims=True)
    return directions


def matched_value(
    shots: Sequence[RenderedShot], segments: Sequence[Feature], texts: Feature
) -> Value:
    """Return the mean match of an output's shots, with that of each in the trace."""
    matches = video_text_matching(segments, texts)
    numbers = (str(shot.number) for shot in shots)
    by_shot = dict(zip(numbers, matches.tolist(), strict=True))
    return Value(float(matches.mean()), trace={"shots": by_shot})


class VideoTextMatching(SeenByNetwork):
    """Match of segments with their captions, by CLIP: of an output's, or a method's.

    A method's mean over its outputs counts each story alike, however many shots it has.
    StoryBench's program takes the mean over all segments of all stories: level ``run``.

    Parameters
    ----------
    level
        What has a value: an output, or all outputs of a method (``run``).
    profile
        Which CLIP: that of StoryBench's program or the one of its paper.
    """

    def __init__(self, level: Literal["output", "run"], profile: Profile) -> None:
        super().__init__("clip", profile)
        is_pooled = level == "run"
        self.info = MetricInfo(
            name="vtm_pooled" if is_pooled else "vtm",
            title="VTM, pooled" if is_pooled else "VTM",
            family="StoryBench",
            scores=level,
            low=-100,
            high=100,
            source="StoryBench, section 3.4",
            measures=POOLED if is_pooled else ALONE,
            backend=self.backend,
            profile=profile,
            queue="gpu",
        )

    @cached_property
    def reader(self) -> Encoder:
        from evalcore.metrics.encoders.clip import clip_text_encoder

        return clip_text_encoder(CLIP_NAMES[self.profile])

    def score(self, subject: Rendering | Run) -> Scoring:
        """Return one value; shots without frames or without a text are left out."""
        outputs = subject.outputs if isinstance(subject, Run) else (subject,)
        shots = [shot for output in outputs for shot in told(output)]
        if not shots:
            return [Value(None, reason=UNTOLD)]
        frames = yield Ask(self.encoder, [f for shot in shots for f in shot.frames])
        texts = yield Ask(self.reader, [Text(shot.wording) for shot in shots])
        ends = np.cumsum([len(shot.frames) for shot in shots])[:-1]
        segments = np.split(np.stack(frames), ends)
        if isinstance(subject, Rendering):
            return [matched_value(shots, segments, np.stack(texts))]
        matches = video_text_matching(segments, np.stack(texts))
        return [Value(float(matches.mean()), trace={"shots": len(shots)})]


def told(rendering: Rendering) -> list[RenderedShot]:
    """Return the shots that have both frames and a text."""
    return [shot for shot in rendering.rendered if shot.wording]
