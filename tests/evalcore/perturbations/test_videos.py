"""Degraded twins of videos: every frame says where it comes from."""

from fractions import Fraction

import numpy as np
import pytest

from analysis.problems import InputError
from evalcore import media
from evalcore.importing.stories import import_benchmark
from evalcore.metrics import registry
from evalcore.models import Benchmark, Character, MediaFile, Method, Output, Shot, Story
from evalcore.perturbations import degraded_copies as twin_outputs
from evalcore.perturbations import sensitivity
from evalcore.perturbations.degrading import ImpossibleDegradationError
from evalcore.video.storing import video_rendition_path
from tests.clips import numbered, numbers, read_clip, stored_clip, write_clip
from tests.evalcore.formats.test_storybench import film_shot
from tests.evalcore.importing.test_benchmark import write

pytestmark = pytest.mark.django_db

ALL = ["shuffled", "foreign_shot", "repeated_shot", "blurred", "swapped_characters"]
# Half a second is given, then three shots of 12, 6 and 12 frames of 12 a second.
GIVEN, TIMES = 0.5, [(0.5, 1.5), (1.5, 2.0), (2.0, 3.0)]
SHOTS = {1: range(6, 18), 2: range(18, 24), 3: range(24, 36)}
LENGTH = 40  # the last four frames belong to no shot


def add_story(benchmark, key="01", times=TIMES, given=GIVEN) -> Story:
    """A fox in odd shots, a hare in even ones."""
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
    """Two stories; the frames of the second are numbered from 128."""
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
    """The largest step between columns that stand side by side."""
    return np.abs(np.diff(picture.astype(int).mean(axis=2), axis=1)).max()


def differing(twin) -> set[int]:
    return {number for number, _start, _stop, shown in twin.parts if shown != number}


@pytest.mark.parametrize("degradation", ALL)
def test_a_twin_is_as_long_and_as_large_as_its_original(output, degradation):
    twin = twin_outputs.make_twin(output, degradation, seed=3)
    assert (twin.twin_of, twin.degradation) == (output, degradation)
    assert (twin.source, twin.story, twin.method) == (
        "seed 3",
        output.story,
        output.method,
    )
    for field in ("width", "height", "duration_seconds", "frame_rate", "content_type"):
        assert getattr(twin.video, field) == getattr(output.video, field)
    frames = shown(twin)
    assert len(frames) == LENGTH
    assert frames[:6] == list(range(6)), "what was given stays"
    assert frames[36:] == list(range(36, 40))
    assert twin.video.pk != output.video.pk
    twin.refresh_from_db()
    assert [part[:3] for part in twin.parts] == [[1, 6, 18], [2, 18, 24], [3, 24, 36]]
    assert not twin.frames.exists()
    assert [twin.pk] == [one.pk for one in twin_outputs.current_twins(reel_of(output))]


def reel_of(output) -> Benchmark:
    return output.story.benchmark


def test_shots_come_in_another_order_and_fill_the_time_of_those_they_replace(output):
    twin = twin_outputs.make_twin(output, "shuffled", 1)
    after = shots_of(shown(twin))
    # Of three the only order that is shuffled enough turns them round.
    assert after[1] == list(range(24, 36))
    assert after[2] == list(range(18, 24))
    assert after[3] == list(range(6, 18))
    assert differing(twin) == {1, 3}


def test_a_longer_shot_is_cut_and_a_shorter_one_goes_slower(output):
    twin = twin_outputs.make_twin(output, "swapped_characters", 1)
    after = shots_of(shown(twin))
    (other,) = differing(twin) - {2}
    assert after[2] == list(SHOTS[other])[:6]
    assert after[other] == [n for n in range(18, 24) for _twice in "12"]
    assert differing(twin) == {2, other}


def test_a_shot_is_repeated(output):
    twin = twin_outputs.make_twin(output, "repeated_shot", 1)
    (changed,) = differing(twin)
    after = shots_of(shown(twin))
    first = after[changed][0]
    assert first in {own.start for n, own in SHOTS.items() if n != changed}


def test_a_foreign_shot_is_another_storys(output):
    twin = twin_outputs.make_twin(output, "foreign_shot", 1)
    (changed,) = differing(twin)
    for number, frames in shots_of(shown(twin)).items():
        if number == changed:
            assert frames[0] - 128 in {own.start for own in SHOTS.values()}
        else:
            assert frames == list(SHOTS[number])


def test_one_of_another_size_and_rate_keeps_its_pace_and_fills_the_picture(
    reel, output, tmp_path
):
    """Twice as many frames a second, so that every second one is seen."""
    Output.objects.get(story__key="02").delete()
    clip = write_clip(
        tmp_path / "large.mp4",
        frames=LENGTH * 2,
        rate=24,
        size=(256, 200),
        pictures=lambda n: numbered(128 + n, (256, 200)),
    )
    add_output(Story.objects.get(key="02"), clip, "Birch")
    twin = twin_outputs.make_twin(output, "foreign_shot", 1)
    (changed,) = differing(twin)
    frames = shots_of(shown(twin))[changed]
    assert frames[0] - 128 in {2 * own.start for own in SHOTS.values()}
    pace = 1 if len(frames) == 12 and frames[0] == 128 + 2 * 18 else 2
    assert frames == [frames[0] + pace * i for i in range(len(frames))]
    assert twin.video.frame_rate == 12
    picture = pictures(twin)[SHOTS[changed].start]
    assert picture.shape == (64, 96, 3)
    assert picture[0, 5].mean() > 200, "no black above it"


def test_blurred_frames_show_the_same_with_soft_edges(output):
    twin = twin_outputs.make_twin(output, "blurred", 1)
    assert shown(twin) == shown(output)
    assert differing(twin) == {1, 2, 3}
    after = pictures(twin)
    for number in (10, 20, 30, 38):
        # A Gaussian of 2 pixels has a slope of 255 / (2 * sqrt(2 * pi)) = 51.
        assert 40 < steepest(after[number]) < 80
    assert steepest(after[3]) > 200, "what was given is sharp"


def test_webm_at_an_odd_rate_and_size(reel, tmp_path):
    clip = write_clip(
        tmp_path / "odd.webm",
        frames=LENGTH,
        rate=Fraction(30000, 1001),
        size=(98, 66),
        pictures=lambda n: numbered(n, (98, 66)),
    )
    times = [(0, 0.4), (0.4, 0.8), (0.8, 1.2)]
    output = add_output(add_story(reel, "03", times, None), clip)
    twin = twin_outputs.make_twin(output, "shuffled", 1)
    assert twin.video.frame_rate == pytest.approx(30000 / 1001)
    own = {1: range(12), 2: range(12, 24), 3: range(24, 36)}
    assert shots_of(shown(twin), own) == {
        1: list(own[3]),
        2: list(own[2]),
        3: list(own[1]),
    }


# What cannot be made -----------------------------------------------------------------


def test_what_is_impossible_says_why(reel, output, tmp_path):
    assert twin_outputs.possible(output) == ALL
    story = add_story(reel, "03", times=[(0, 1)])
    one = add_output(story, write_clip(tmp_path / "one.mp4"))
    assert twin_outputs.possible(one) == ["foreign_shot", "blurred"]
    assert "three shots" in twin_outputs.why_impossible(one, "shuffled")
    Shot.objects.filter(story=story).update(start_seconds=8, end_seconds=9)
    assert twin_outputs.possible(one) == []
    why = twin_outputs.why_impossible(one, "blurred")
    assert why == "its video shows no shot of the story"
    twin = twin_outputs.make_twin(output, "blurred", 1)
    assert "a degraded twin itself" in twin_outputs.why_impossible(twin, "shuffled")


def test_a_blank_video_cannot_be_blurred(reel, tmp_path):
    clip = write_clip(
        tmp_path / "blank.mp4",
        pictures=lambda _n: np.full((64, 96, 3), 40, np.uint8),
    )
    output = add_output(add_story(reel, "03"), clip)
    with pytest.raises(ImpossibleDegradationError, match="exactly like the original"):
        twin_outputs.make_twin(output, "blurred", 1)
    assert not Output.twins.exists()


def test_a_video_that_is_gone_is_named_and_nothing_is_stored(output):
    media.original_path(output.video).unlink()
    video_rendition_path(output.video).unlink()
    before = MediaFile.objects.count()
    with pytest.raises(InputError, match="Alder / 01: expected readable videos"):
        twin_outputs.make_twins([output], ["shuffled"], 1)
    assert MediaFile.objects.count() == before
    assert not Output.twins.exists()


# Metrics, and outputs that change ----------------------------------------------------


def test_a_metric_sees_the_blur(reel):
    for output in Output.objects.all():
        twin_outputs.make_twin(output, "blurred", 1)
    metrics = {"sharpness": registry.load("sharpness")}
    (row,), failed, scores = sensitivity.sensitivities(reel, metrics)
    assert failed == {}
    assert (row.better, row.worse, row.undefined) == (2, 0, 0)
    assert row.mean_twin < row.mean_original / 2
    assert len(scores) == 2


def test_shots_that_get_other_times_outdate_a_twin(output):
    twin_outputs.make_twin(output, "shuffled", 1)
    output.story.shots.filter(number=3).update(start_seconds=2.5)
    assert twin_outputs.current_twins(reel_of(output)) == []


def test_a_script_that_comes_later_removes_the_twins(reel, tmp_path):
    benchmark = Benchmark.objects.create(slug="late", title="Late")
    story = Story.objects.create(benchmark=benchmark, key="01")
    Shot.objects.bulk_create(Shot(story=story, number=n) for n in (1, 2, 3))
    output = add_output(story, write_clip(tmp_path / "a.mp4", frames=36))
    twin_outputs.make_twin(output, "shuffled", 1)
    shots = [film_shot(n, n - 1, n) for n in (1, 2, 3)]
    write(tmp_path / "story", Shots=shots)
    import_benchmark(tmp_path / "story", slug="late")
    assert not Output.twins.exists()
    twin_outputs.make_twin(output, "shuffled", 1)
    import_benchmark(tmp_path / "story", slug="late")
    assert Output.twins.exists()
