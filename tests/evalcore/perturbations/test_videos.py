"""Degraded copies of videos whose frames carry their numbers."""

import numpy as np
import pytest

from evalcore.importing.stories import import_benchmark
from evalcore.models import Benchmark, Character, Method, Output, Shot, Story
from evalcore.perturbations import degraded_copies
from evalcore.video.storing import video_rendition_path
from tests.clips import numbered, numbers, read_clip, stored_clip, write_clip
from tests.evalcore.formats.test_storybench import film_shot
from tests.evalcore.importing.test_benchmark import write

pytestmark = pytest.mark.django_db

ALL = ["shuffled", "foreign_shot", "repeated_shot", "blurred", "swapped_characters"]
# Half a second of conditioning, then three shots of 12, 6 and 12 frames at 12 per
# second.
GIVEN, TIMES = 0.5, [(0.5, 1.5), (1.5, 2.0), (2.0, 3.0)]
SHOTS = {1: range(6, 18), 2: range(18, 24), 3: range(24, 36)}
LENGTH = 40  # the last four frames belong to no shot


def add_story(benchmark, key="01", times=TIMES, given=GIVEN) -> Story:
    """Put a fox into odd shots and a hare into even ones."""
    story = Story.objects.create(
        benchmark=benchmark, key=key, conditioning_seconds=given
    )
    names = ("hare", "fox")
    rows = [Character.objects.create(story=story, key=name) for name in names]
    for number, (start, end) in enumerate(times, start=1):
        shot = Shot.objects.create(
            story=story, number=number, start_seconds=start, end_seconds=end
        )
        shot.characters.add(rows[number % 2])
    return story


def add_output(story, clip, method="Alder") -> Output:
    row, _created = Method.objects.get_or_create(name=method)
    return Output.objects.create(story=story, method=row, video=stored_clip(clip))


@pytest.fixture
def reel(tmp_path):
    """Return two stories; the frames of the second are numbered from 128."""
    benchmark = Benchmark.objects.create(slug="reel", title="Reel")
    for place, key in enumerate(("01", "02")):
        clip = write_clip(
            tmp_path / f"{key}.mp4",
            frames=LENGTH,
            pictures=lambda n, place=place: numbered(128 * place + n),
        )
        add_output(add_story(benchmark, key), clip)
    return benchmark


@pytest.fixture
def output(reel):
    return Output.objects.get(story__key="01")


def shown(output) -> list[int]:
    return numbers(video_rendition_path(output.video))


def shots_of(frames: list[int], shots=SHOTS) -> dict[int, list[int]]:
    return {number: [frames[i] for i in own] for number, own in shots.items()}


def pictures(output) -> list[np.ndarray]:
    return [one for _time, one in read_clip(video_rendition_path(output.video))]


def steepest(picture) -> float:
    """Return the largest step between adjacent columns."""
    return np.abs(np.diff(picture.astype(int).mean(axis=2), axis=1)).max()


def differing(perturbation) -> set[int]:
    return {
        number for number, _start, _stop, shown in perturbation.parts if shown != number
    }


@pytest.mark.parametrize("degradation", ALL)
def test_degraded_copy_keeps_length_and_size(output, degradation):
    perturbation = degraded_copies.make_perturbation(output, degradation, seed=3)
    assert (perturbation.twin_of, perturbation.degradation) == (output, degradation)
    assert (perturbation.source, perturbation.story, perturbation.method) == (
        "seed 3",
        output.story,
        output.method,
    )
    for field in ("width", "height", "duration_seconds", "frame_rate", "content_type"):
        assert getattr(perturbation.video, field) == getattr(output.video, field)
    frames = shown(perturbation)
    assert len(frames) == LENGTH
    assert frames[:6] == list(range(6)), "what was given stays"
    assert frames[36:] == list(range(36, 40))
    assert perturbation.video.pk != output.video.pk
    perturbation.refresh_from_db()
    assert [part[:3] for part in perturbation.parts] == [
        [1, 6, 18],
        [2, 18, 24],
        [3, 24, 36],
    ]
    assert not perturbation.frames.exists()
    assert [perturbation.pk] == [
        one.pk for one in degraded_copies.current_perturbations(reel_of(output))
    ]


def reel_of(output) -> Benchmark:
    return output.story.benchmark


def test_shuffled_shots_fill_the_time_of_those_they_replace(output):
    perturbation = degraded_copies.make_perturbation(output, "shuffled", 1)
    after = shots_of(shown(perturbation))
    # For three shots, only the reverse order is shuffled enough.
    assert after[1] == list(range(24, 36))
    assert after[2] == list(range(18, 24))
    assert after[3] == list(range(6, 18))
    assert differing(perturbation) == {1, 3}


def test_blurred_frames_keep_content_with_soft_edges(output):
    perturbation = degraded_copies.make_perturbation(output, "blurred", 1)
    assert shown(perturbation) == shown(output)
    assert differing(perturbation) == {1, 2, 3}
    after = pictures(perturbation)
    for number in (10, 20, 30, 38):
        # A Gaussian of 2 pixels has a slope of 255 / (2 * sqrt(2 * pi)) = 51.
        assert 40 < steepest(after[number]) < 80
    assert steepest(after[3]) > 200, "what was given is sharp"


# Refusals
# -------------------------------------------------------------------------------


# Metrics, and outputs that change ----------------------------------------------------


def test_later_script_deletes_degraded_copies(reel, tmp_path):
    benchmark = Benchmark.objects.create(slug="late", title="Late")
    story = Story.objects.create(benchmark=benchmark, key="01")
    Shot.objects.bulk_create(Shot(story=story, number=n) for n in (1, 2, 3))
    output = add_output(story, write_clip(tmp_path / "a.mp4", frames=36))
    degraded_copies.make_perturbation(output, "shuffled", 1)
    shots = [film_shot(n, n - 1, n) for n in (1, 2, 3)]
    write(tmp_path / "story", Shots=shots)
    import_benchmark(tmp_path / "story", slug="late")
    assert not Output.twins.exists()
    degraded_copies.make_perturbation(output, "shuffled", 1)
    import_benchmark(tmp_path / "story", slug="late")
    assert Output.twins.exists()
