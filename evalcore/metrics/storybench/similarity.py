"""SIM (similarity of each frame to the true frame) and VTM (video-text matching)."""

from collections.abc import Sequence
from functools import cached_property
from typing import Any, Literal

import numpy as np

from evalcore.metrics.base import (
    Ask,
    Encoder,
    Feature,
    Floats,
    Pair,
    RenderedShot,
    Rendering,
    Run,
    Scoring,
    Text,
    Value,
)
from evalcore.metrics.storybench.frechet import (
    CLIP_NAMES,
    GENERATION,
    Features,
    NetworkMetric,
    Profile,
    left_out,
    matching_frames,
    paired,
)

GENERATED = "not defined for story generation, which continues no true video"


def similarity_of_images(outputs: Feature, truths: Feature) -> float:
    """Return the mean cosine of matching rows (frames), times 100.

    Source: StoryBench, section 3.4 (SIM), and its program, metrics/fid_inception.
    """
    if len(outputs) != len(truths) or not len(outputs):
        raise ValueError(
            f"as many true frames as frames, not {len(truths)} and {len(outputs)}"
        )
    a, b = (rows.astype(np.float64) for rows in (outputs, truths))
    lengths = np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1)
    if not lengths.all():
        raise ValueError("a frame has a feature of zeros, which has no direction")
    return float(100 * np.mean((a * b).sum(axis=1) / lengths))


class SimilarityOfImages(NetworkMetric):
    """Similarity of frames with the true ones.

    Parameters
    ----------
    features, profile
        Network of the features, `inception` (as FID) or `clip`; see `NetworkMetric`.
    level
        Level of the value: an output (``pair``), or all outputs of a method (``run``),
        over all frames, as in StoryBench's program.
    """

    def __init__(
        self,
        features: Features,
        level: Literal["pair", "run"] = "pair",
        profile: Profile = "storybench-code",
    ) -> None:
        super().__init__(features, profile)
        name = "sim" if features == "inception" else "sim_clip"
        self.info = self.declared(f"{name}_pooled" if level == "run" else name)

    def score(self, subject: Pair | Run) -> Scoring:
        """Return one value; undefined for story generation, and without frames.

        In a run, stories without frames on both sides are left out, and those of story
        generation; the trace names them.
        """
        pairs = [subject] if isinstance(subject, Pair) else paired(subject)
        if not pairs:
            reason = "no output has a true one of the same story"
            return [Value(None, reason=reason)]
        continued = [pair for pair in pairs if _continued(pair)]
        if not continued:
            return [Value(None, reason=GENERATED)]
        if isinstance(subject, Pair):
            return (yield from _compared(self.encoder, continued))
        others = left_out(subject, continued)
        return (yield from _compared(self.encoder, continued, left_out=others))


def _compared(encoder: Encoder, pairs: Sequence[Pair], **more: Any) -> Scoring:
    """Return the mean over all frames of pairs, with additions to its trace."""
    matching = [matching_frames(pair) for pair in pairs]
    outputs = [frame for frames, _true in matching for frame in frames]
    truths = [frame for _frames, true in matching for frame in true]
    if not outputs:
        reason = "no shot has frames both in the output and in the true one"
        return [Value(None, reason=reason)]
    features = yield Ask(encoder, [*outputs, *truths])
    count = len(outputs)
    sides = np.stack(features[:count]), np.stack(features[count:])
    return [Value(similarity_of_images(*sides), trace={"frames": count, **more})]


def _continued(pair: Pair) -> bool:
    sides = (pair.output, pair.truth)
    return GENERATION not in {side.extra.get("task") for side in sides}


# VTM ----------------------------------------------------------------------------------


UNTOLD = "no shot has both frames and a text"


def video_text_matching(segments: Sequence[Feature], texts: Feature) -> Floats:
    """Return how well each segment of a video matches its text, times 100.

    The mean of the frames' unit vectors times the text's unit vector. The mean is not
    normalised again, so that a segment whose frames differ scores lower.

    Source: StoryBench, section 3.4 (VTM), and its program, metrics/vtm_clip.
    """
    if len(segments) != len(texts):
        raise ValueError(f"one text per segment, not {len(texts)} for {len(segments)}")
    if not all(len(frames) for frames in segments):
        raise ValueError("a segment has no frames")
    means = [_directions(frames).mean(axis=0) for frames in segments]
    matches: Floats = 100 * (np.array(means) * _directions(texts)).sum(axis=1)
    return matches


def _directions(rows: Feature) -> Floats:
    exact = rows.astype(np.float64)
    directions: Floats = exact / np.linalg.norm(exact, axis=1, keepdims=True)
    return directions


class VideoTextMatching(NetworkMetric):
    """Match of segments with their captions, by CLIP.

    Parameters
    ----------
    level
        Level of the value: an output, or all outputs of a method (``run``), over all
        segments, as in StoryBench's program.
    profile
        CLIP network of StoryBench's program or of its paper.
    """

    def __init__(self, level: Literal["output", "run"], profile: Profile) -> None:
        super().__init__("clip", profile)
        self.info = self.declared("vtm_pooled" if level == "run" else "vtm")

    @cached_property
    def reader(self) -> Encoder:
        from evalcore.metrics.encoders.clip import clip_text_encoder

        return clip_text_encoder(CLIP_NAMES[self.profile])

    def score(self, subject: Rendering | Run) -> Scoring:
        """Return one value; shots without frames or without a text are left out."""
        outputs = subject.outputs if isinstance(subject, Run) else (subject,)
        shots = [shot for output in outputs for shot in shots_with_text(output)]
        if not shots:
            return [Value(None, reason=UNTOLD)]
        frames = yield Ask(self.encoder, [f for shot in shots for f in shot.frames])
        texts = yield Ask(self.reader, [Text(shot.wording) for shot in shots])
        ends = np.cumsum([len(shot.frames) for shot in shots])[:-1]
        segments = np.split(np.stack(frames), ends)
        if isinstance(subject, Rendering):
            matches = video_text_matching(segments, np.stack(texts))
            numbers = (str(shot.number) for shot in shots)
            by_shot = dict(zip(numbers, matches.tolist(), strict=True))
            return [Value(float(matches.mean()), trace={"shots": by_shot})]
        matches = video_text_matching(segments, np.stack(texts))
        return [Value(float(matches.mean()), trace={"shots": len(shots)})]


def shots_with_text(rendering: Rendering) -> list[RenderedShot]:
    """Return the shots that have both frames and a text."""
    return [shot for shot in rendering.rendered if shot.wording]
