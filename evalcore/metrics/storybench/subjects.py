"""What StoryBench's metrics look at: frames without the given part, and true videos.

The frames of a `Rendering` are those of its shots, so that what was given to a method
(conditioning) is not among them. `rendering.extra["task"]` names StoryBench's task:
`action_exe`, `story_cont` or `story_gen`.
"""

from collections.abc import Sequence

from evalcore.metrics.base import Clip, Image, Pair, Rendering, Run
from evalcore.metrics.errors import FeatureError

GENERATION = "story_gen"


def paired(run: Run) -> list[Pair]:
    """Return the outputs of a run that have frames, each with the true one.

    An output without a true one, and a true one without an output, is left out: both
    sides show the same stories. `left_out` names the others.
    """
    truths = {truth.story: truth for truth in run.truths if truth.frames}
    return [
        Pair(output, truths[output.story])
        for output in run.outputs
        if output.story in truths and output.frames
    ]


def left_out(run: Run, pairs: Sequence[Pair]) -> list[str]:
    """Return the stories of a run, of either side, that the pairs lack, in order."""
    stories = {one.story for one in (*run.outputs, *run.truths)}
    return sorted(stories - {pair.output.story for pair in pairs})


def matching_frames(pair: Pair) -> tuple[list[Image], list[Image]]:
    """Return the frames of an output and the true ones that they match.

    Frames match by shot and place in it. A shot that one side lacks is left out.
    """
    truths = {shot.number: shot.frames for shot in pair.truth.rendered}
    outputs: list[Image] = []
    wanted: list[Image] = []
    for shot in pair.output.rendered:
        true = truths.get(shot.number)
        if true is None:
            continue
        if len(true) != len(shot.frames):
            raise FeatureError(
                f"shot {shot.number} has {len(shot.frames)} frames and the true one "
                f"{len(true)}: they cannot be matched"
            )
        outputs += shot.frames
        wanted += true
    return outputs, wanted


def clip_of(rendering: Rendering) -> Clip:
    """Return the video of an output: first frame of the first shot to the last one."""
    return clip_of_frames(rendering.frames)


def clip_of_frames(frames: Sequence[Image]) -> Clip:
    """Return frames of one video as a clip, with what lies between them."""
    sources = {frame.source.key for frame in frames}
    if len(sources) != 1:
        raise FeatureError(f"one video, not frames of {len(sources)} files")
    indices = [frame.index for frame in frames]
    return Clip(frames[0].source, min(indices), max(indices) + 1)
