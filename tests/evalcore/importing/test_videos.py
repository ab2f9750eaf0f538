"""Layouts of rendered videos, and mistakes in them."""

import shutil

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from analysis.problems import InputError
from evalcore import media
from evalcore.importing.outputs import import_outputs
from evalcore.models import (
    Benchmark,
    Frame,
    MediaFile,
    Method,
    MetricScore,
    Output,
    Shot,
    Story,
)
from evalcore.scoring import metric_runs
from evalcore.video import storing
from tests.clips import write_clip
from tests.factories import picture_bytes

pytestmark = pytest.mark.django_db


@pytest.fixture
def benchmark():
    """Return two stories, 01 and 02, of two captions."""
    row = Benchmark.objects.create(slug="reel", title="Reel")
    for key in ("01", "02"):
        story = Story.objects.create(benchmark=row, key=key)
        for number in (1, 2):
            Shot.objects.create(story=story, number=number)
    return row


@pytest.fixture(scope="session")
def clips(tmp_path_factory):
    """Return some different videos."""
    folder = tmp_path_factory.mktemp("clips")
    for frames in (12, 13, 14):
        for ending in ("mp4", "webm"):
            write_clip(folder / f"{frames}.{ending}", frames=frames)
    return folder


@pytest.fixture
def place(tmp_path, clips):
    """Return a function that places a clip of some length in the outputs' root."""

    def put(path: str, frames: int = 12):
        target = tmp_path / path
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(clips / f"{frames}{target.suffix}", target)
        return target

    return put


def problems_of(root, benchmark, **kw) -> list[str]:
    with pytest.raises(InputError) as refused:
        import_outputs(root, benchmark=benchmark, **kw)
    assert not Output.objects.filter(video__isnull=False).exists()
    return [str(problem) for problem in refused.value.problems]


LAYOUTS = {
    "file": "Loom/{story}.mp4",
    "webm": "Loom/{story}.webm",
    "folder": "Loom/{story}/video.mp4",
    "folder, other name": "Loom/{story}/final cut.mp4",
    "mode first": "Loom/base/en/20250601_120000/{story}/video.mp4",
    "mode first, file": "Loom/base/en/20250601_120000/{story}.mp4",
    "file in shots": "Loom/base/en/20250601_120000/shots/{story}.mp4",
    "folder in shots": "Loom/base/en/20250601_120000/shots/{story}/output.mp4",
    "language first": "Loom/en/base/20250601_120000/{story}.mp4",
    "data set": "Loom/ViStory_en/{story}/20250601_120000/video.mp4",
    "data set, file": "Loom/ViStory_en/20250601_120000/{story}.mp4",
}


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS.keys())
def test_folder_layout_is_recognised(tmp_path, benchmark, place, layout):
    for frames, story in ((12, "01"), (13, "02")):
        source = place(layout.format(story=story), frames)
    summary = import_outputs(tmp_path, benchmark=benchmark)
    assert summary.line() == (
        "Imported 2 stories by 1 method (Loom), 2 videos (2 outputs, 2 videos are new)."
    )
    assert list(Method.objects.values_list("name", flat=True)) == ["Loom"]
    output = Output.objects.get(story__key="02")
    assert output.source == str(source)
    assert output.language == ("en" if "en" in layout else "")
    assert storing.frame_count(output.video) == 13
    assert not Frame.objects.exists()
    # The import already makes the rendition that people see.
    made = list((media.settings.MEDIA_ROOT / "video").rglob("*.mp4"))
    assert storing.video_rendition_path(output.video) in made


def test_different_video_of_stored_story_is_refused(tmp_path, benchmark, place):
    place("Loom/01.mp4")
    import_outputs(tmp_path, benchmark=benchmark)
    changed = place("Loom/01.mp4", 14)
    with pytest.raises(InputError) as refused:
        import_outputs(tmp_path, benchmark=benchmark)
    assert str(refused.value.problems[0]).startswith(
        f"{changed}: expected the video that is stored for this story; a different"
    )
    assert storing.frame_count(Output.objects.get().video) == 12


def test_bad_videos_are_reported_and_nothing_is_stored(tmp_path, benchmark, place):
    place("Loom/01.mp4")
    bad = place("Loom/02.mp4")
    bad.write_bytes(bad.read_bytes()[:300])
    empty = place("Mill/01.mp4")
    empty.write_bytes(b"")
    old = place("Mill/02/video.mp4").rename(tmp_path / "Mill/02/video.avi")
    old.write_bytes(b"RIFF....AVI LIST")
    (tmp_path / "Mill/03.mp4").symlink_to(bad)
    story = Story.objects.create(benchmark=benchmark, key="03")
    found = problems_of(tmp_path, benchmark)
    assert [line.split(":")[0] for line in found] == [
        str(bad),
        str(empty),
        str(old),
        str(tmp_path / "Mill/03.mp4"),
    ]
    assert "complete video" in found[0]
    assert "this file is empty" in found[1]
    assert "mp4 (H.264) or webm (VP8, VP9 or AV1)" in found[2]
    assert "not a link" in found[3]
    assert not MediaFile.objects.exists()
    assert not story.outputs.exists()


def draw(folder, names=("shot_01.png", "shot_02.png")):
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        (folder / name).write_bytes(picture_bytes(name))


def test_video_takes_precedence_over_pictures(tmp_path, benchmark, place):
    place("Loom/01/video.mp4")
    draw(tmp_path / "Loom/01")
    summary = import_outputs(tmp_path, benchmark=benchmark)
    assert "Loom: story 01 has pictures and a video; the video is used" in " ".join(
        summary.warnings
    )
    assert (summary.videos, summary.pictures, summary.missing) == (1, 0, [])
    assert not Frame.objects.exists()


def test_command_imports_videos(tmp_path, benchmark, place, capsys):
    place("Loom/01.mp4")
    call_command("import_outputs", tmp_path, benchmark="reel")
    out = capsys.readouterr().out
    assert "1 videos" in out
    assert "Baseline metrics are queued" in out
    assert metric_runs.run(metric_runs.waiting_runs()[0]).state == "done"
    assert set(MetricScore.objects.values_list("metric", flat=True)) >= {"sharpness"}
    call_command("import_outputs", tmp_path, benchmark="reel")
    assert "queued" not in capsys.readouterr().out
    assert metric_runs.waiting_runs() == []
    bad = place("Loom/02.mp4")
    bad.write_text("nothing")
    with pytest.raises(CommandError) as refused:
        call_command("import_outputs", tmp_path, benchmark="reel")
    assert refused.value.returncode == 2
    assert str(bad) in str(refused.value)
    assert "Nothing was written." in str(refused.value)


def test_unreadable_video_is_left_out_with_option(tmp_path, benchmark, place, capsys):
    place("Loom/01.mp4")
    bad = place("Loom/02.mp4")
    bad.write_bytes(bad.read_bytes()[:300])
    with pytest.raises(CommandError, match="--skip-unreadable leaves it out"):
        call_command("import_outputs", tmp_path, benchmark="reel")
    call_command("import_outputs", tmp_path, benchmark="reel", skip_unreadable=True)
    assert [output.story.key for output in Output.objects.all()] == ["01"]
    printed = capsys.readouterr()
    assert printed.out.splitlines()[-1].startswith(
        f"  {bad}: expected a complete video"
    )
    assert "Loom: story 02: none of its files is readable" in printed.err
