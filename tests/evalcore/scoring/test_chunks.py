"""Computation of one chunk: errors stay local, and failures are stored at once."""

from dataclasses import replace

import pytest

from evalcore import media
from evalcore.importing.outputs import import_outputs
from evalcore.metrics.base import Value
from evalcore.models import (
    Benchmark,
    Frame,
    MediaFile,
    MetricChunk,
    MetricScore,
    Output,
    Shot,
    Story,
)
from evalcore.scoring import chunks, metric_runs, score_rows
from tests.clips import write_clip
from tests.factories import make_benchmark

pytestmark = [pytest.mark.django_db, pytest.mark.postgresql]


@pytest.fixture
def reels(tmp_path):
    """Return three stories of two shots, as films of 2 s by two methods."""
    benchmark = Benchmark.objects.create(slug="reels", title="Reels")
    for number in (1, 2, 3):
        story = Story.objects.create(benchmark=benchmark, key=f"{number:02}")
        for shot in (1, 2):
            Shot.objects.create(
                story=story, number=shot, start_seconds=shot - 1, end_seconds=shot
            )
        # Every file differs in its number of frames.
        for frames, method in ((16, "Loom"), (20, "Oak")):
            path = tmp_path / method / f"{story.key}.mp4"
            write_clip(path, frames=frames + number, rate=8)
    import_outputs(tmp_path, benchmark=benchmark)
    return benchmark


def without_length(method, story):
    output = Output.objects.get(method__name=method, story__key=story)
    MediaFile.objects.filter(pk=output.video_id).update(duration_seconds=None)


def scored(benchmark, *names, truth=""):
    return metric_runs.run(metric_runs.queue_run(benchmark, names, truth=truth).pk)


NO_LENGTH = "its video has no length in seconds: import it again"


def test_video_without_length_fails_only_its_story(reels):
    without_length("Loom", "02")
    run = scored(reels, "sharpness", "palette_consistency")
    assert (run.state, run.done, run.total) == ("failed", 12, 12)
    assert run.error.startswith("2 of 12 values could not be computed: ")
    for name in ("sharpness", "palette_consistency"):
        assert f"Loom / 02: {name}: {NO_LENGTH}" in run.error
    # 5 outputs x 2 shots.
    assert MetricScore.objects.filter(metric="sharpness").count() == 10


@pytest.mark.parametrize(
    ("start", "end", "said"),
    [
        (1.5, 0.5, "shot 2 ends at 0.5 s, before its start at 1.5 s"),
        (float("inf"), float("inf"), "cannot convert float infinity to integer"),
    ],
)
def test_shot_with_impossible_times_fails_only_its_story(reels, start, end, said):
    Shot.objects.filter(story__key="03", number=2).update(
        start_seconds=start, end_seconds=end
    )
    run = scored(reels, "sharpness")
    assert (run.done, run.total) == (6, 6)
    assert f"Loom / 03: sharpness: {said}" in run.error
    assert f"Oak / 03: sharpness: {said}" in run.error
    stories = set(MetricScore.objects.values_list("story__key", flat=True))
    assert stories == {"01", "02"}


def test_score_stays_when_another_run_stores_it_first(monkeypatch):
    store = score_rows.store

    def late(run, scored):
        store(run, [replace(one, values=[Value(0.5)]) for one in scored])
        store(run, scored)

    monkeypatch.setattr(score_rows, "store", late)
    run = scored(make_benchmark(), "shots_present")
    assert (run.state, run.error) == ("done", "")
    assert set(MetricScore.objects.values_list("value", flat=True)) == {0.5}


def test_failures_are_stored_with_values(monkeypatch):
    """If a worker is killed later, its failures are stored, and counted once."""
    monkeypatch.setattr(chunks, "STORED_TOGETHER", 1)
    benchmark = make_benchmark(stories=2)
    frame = Frame.objects.filter(output__method__name="Alder").first()
    media.original_path(frame.media).write_bytes(b"no picture")
    run = metric_runs.queue_run(benchmark, ["sharpness"])
    metric_runs.plan(run)

    class KilledError(BaseException):
        pass

    def killed(done, _total):
        if done == 3:
            raise KilledError

    with pytest.raises(KilledError):
        metric_runs.work(progress=killed)
    chunk = MetricChunk.objects.get()
    assert chunk.state == "running"
    assert [failure[0] for failure in chunk.failures] == ["Alder / 01"]
    MetricChunk.objects.update(heartbeat_at=None)
    run = metric_runs.run(run.pk)
    assert (run.state, run.done, run.total) == ("failed", 6, 6)
    assert len(MetricChunk.objects.get().failures) == 1
