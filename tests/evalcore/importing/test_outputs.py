"""Every layout of rendered stories, and every mistake in them."""

import os
from pathlib import Path

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from PIL import Image

from analysis.problems import InputError
from evalcore import media
from evalcore.importing.outputs import import_outputs
from evalcore.models import (
    Benchmark,
    Frame,
    Method,
    MetricScore,
    Output,
    Shot,
    Story,
)
from evalcore.scoring import metric_runs
from fixtures import dataset
from tests.factories import picture_bytes

pytestmark = pytest.mark.django_db


@pytest.fixture
def benchmark():
    """Two stories, 01 and 02, of three shots."""
    row = Benchmark.objects.create(slug="vistory", title="ViStory")
    for key in ("01", "02"):
        story = Story.objects.create(benchmark=row, key=key)
        for number in (1, 2, 3):
            Shot.objects.create(story=story, number=number)
    return row


def draw(folder: Path, names) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        (folder / name).write_bytes(picture_bytes(f"{folder} {name}", size=(8, 8)))


ONE = ("shot_01.png", "shot_02.png", "shot_03.png")
ZERO = ("shot_00.png", "shot_01.png", "shot_02.png")

LAYOUTS = {
    "mode first": "UNO/base/en/20250601_120000/{story}",
    "mode first, shots": "UNO/base/en/20250601_120000/{story}/shots",
    "timestamp with dash": "UNO/base/en/20250601-120000/{story}/shots",
    "language first": "UNO/en/base/20250601_120000/{story}",
    "readme": "UNO/base/en/20250601_120000/shots/{story}",
    "story before time": "UNO/ViStory_en/{story}/20250601_120000",
    "image_outputs": "UNO/ViStory_en/{story}/20250601_120000/image_outputs",
    "flat": "UNO/{story}",
    "flat, shots": "UNO/{story}/shots",
    "Chinese": "UNO/base/ch/20250601_120000/{story}",
}


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS.keys())
@pytest.mark.parametrize("names", [ONE, ZERO], ids=["from 1", "from 0"])
def test_every_layout(tmp_path, benchmark, layout, names):
    for story in ("01", "02"):
        draw(tmp_path / layout.format(story=story), names)
    summary = import_outputs(tmp_path, benchmark=benchmark)
    assert (summary.methods, summary.stories, summary.pictures) == (["UNO"], 2, 6)
    assert summary.missing == []
    assert list(Method.objects.values_list("name", flat=True)) == ["UNO"]
    output = Output.objects.get(story__key="02")
    assert [f.number for f in output.frames.all()] == [1, 2, 3]
    assert output.index_shift == (1 if names is ZERO else 0)
    assert output.language == (
        "zh" if "ch" in layout.split("/") else "en" if "en" in layout else ""
    )


def test_shot_that_arrives_later_is_scored_again(tmp_path, benchmark):
    draw(tmp_path / "UNO/01", ("shot_01.png", "shot_03.png"))
    import_outputs(tmp_path, benchmark=benchmark)

    def shares():
        metric_runs.run(metric_runs.queue_run(benchmark, ["shots_present"]).pk)
        return list(MetricScore.objects.values_list("value", flat=True))

    assert shares() == [pytest.approx(2 / 3)]
    draw(tmp_path / "UNO/01", ("shot_02.png",))
    import_outputs(tmp_path, benchmark=benchmark)
    assert shares() == [1.0]


def test_another_picture_of_a_stored_shot_is_refused(tmp_path, benchmark):
    draw(tmp_path / "UNO/01", ("shot_01.png", "shot_02.png"))
    import_outputs(tmp_path, benchmark=benchmark)
    before = list(Frame.objects.values_list("pk", "media"))
    path = tmp_path / "UNO/01/shot_02.png"
    path.write_bytes(picture_bytes("another"))
    with pytest.raises(InputError) as caught:
        import_outputs(tmp_path, benchmark=benchmark)
    (problem,) = caught.value.problems
    assert str(problem).startswith(f"{path}: ")
    assert "another rendering is another method" in str(problem)
    assert list(Frame.objects.values_list("pk", "media")) == before


def test_same_pixels_in_another_file_are_the_same_picture(tmp_path, benchmark):
    draw(tmp_path / "UNO/01", ("shot_01.png",))
    import_outputs(tmp_path, benchmark=benchmark)
    path = tmp_path / "UNO/01/shot_01.png"
    with Image.open(path) as picture:
        picture.save(tmp_path / "UNO/01/shot_01.bmp")
    path.unlink()
    summary = import_outputs(tmp_path, benchmark=benchmark)
    assert summary.line().startswith("Nothing new")


def test_every_problem_is_listed_and_nothing_is_written(tmp_path, benchmark):
    draw(tmp_path / "UNO/01", ("shot_01.png", "shot_07.png"))
    (tmp_path / "UNO/01/shot_02.png").write_bytes(b"not a picture")
    draw(tmp_path / "UNO/O1", ONE)
    with pytest.raises(InputError) as caught:
        import_outputs(tmp_path, benchmark=benchmark)
    text = "\n".join(map(str, caught.value.problems))
    assert "shot_02.png: expected a readable picture" in text
    assert "shot_07.png: shot 7: expected a shot of story 01, which has 3 shots" in text
    assert "UNO/O1: O1: expected a story of the benchmark" in text
    assert not Output.objects.exists()
    assert not Method.objects.exists()


@pytest.mark.slow
@pytest.mark.shared
def test_nine_real_stories(shared, capsys):
    call_command(
        "import_outputs",
        shared / "data/real_stories/outputs",
        benchmark="real",
        create_stories=True,
    )
    assert (
        "9 stories by 1 method (story-adapter), 114 pictures, 0 missing"
        in capsys.readouterr().out
    )
    assert Frame.objects.count() == 114
    assert set(Output.objects.values_list("index_shift", flat=True)) == {1}


@pytest.mark.slow
def test_demo_data_set_reads_back(tmp_path, monkeypatch):
    monkeypatch.setattr(dataset, "METHODS", {"Lumen": dataset.METHODS["Lumen"]})
    benchmark_folder, outputs = dataset.write_dataset(tmp_path)
    call_command("import_benchmark", benchmark_folder, benchmark="demo")
    call_command("import_outputs", outputs, benchmark="demo")
    assert Output.objects.count() == 6
    story = Story.objects.get(key="01")
    assert story.title == "The lantern in the wood"
    assert story.shots.get(number=1).text["zh"]["plot"] == "米拉踏上林间小路。"
    assert [c.key for c in story.shots.get(number=2).characters.all()] == [
        "Fox",
        "Mira",
    ]


# Names of folders ---------------------------------------------------------------------


def imported(root, benchmark, **options):
    """Import and return the outputs as (method, story) pairs and the notes."""
    summary = import_outputs(root, benchmark=benchmark, **options)
    pairs = Output.objects.values_list("method__name", "story__key")
    return sorted(pairs), summary.warnings


# Numbers of shots ---------------------------------------------------------------------


def test_methods_that_count_differently_draw_the_same_shots(tmp_path, benchmark):
    draw(tmp_path / "UNO/fox", ZERO)
    draw(tmp_path / "DALL/fox", ONE)
    summary = import_outputs(tmp_path, benchmark=benchmark, create_stories=True)
    assert summary.missing == []
    assert Story.objects.get(key="fox").shots.count() == 3


# Runs, containers, and names ----------------------------------------------------------


def test_folder_that_cannot_be_read_is_a_problem(tmp_path, benchmark, monkeypatch):
    draw(tmp_path / "UNO/01", ONE)
    draw(tmp_path / "UNO/02", ONE)
    listed = os.scandir

    def refuse(path):
        if str(path).endswith("02"):
            raise PermissionError(13, "Permission denied", str(path))
        return listed(path)

    monkeypatch.setattr(os, "scandir", refuse)
    with pytest.raises(InputError, match=r"02: expected a readable folder \(Perm"):
        import_outputs(tmp_path, benchmark=benchmark)
    assert not Output.objects.exists()


# Unreadable pictures ------------------------------------------------------------------

EMPTY = b""
CUT_SHORT = picture_bytes("cut", size=(64, 64))[:200]
LARGE = picture_bytes("large", size=(2000, 1000))
UNREADABLE = {
    "empty": (EMPTY, "a readable picture; this file is empty"),
    "cut short": (CUT_SHORT, "a readable picture (image file is truncated"),
    "a page": (b"<html>404</html>", "a readable picture (PNG, JPEG, GIF"),
    "too large": (
        LARGE,
        "at most 1 megapixels (MEDIA_MAX_MEGAPIXELS), not 2000 x 1000",
    ),
}


@pytest.mark.parametrize(("data", "why"), UNREADABLE.values(), ids=UNREADABLE.keys())
def test_unreadable_picture_is_refused_or_left_out(
    tmp_path, benchmark, settings, capsys, data, why
):
    settings.MEDIA_MAX_MEGAPIXELS = 1
    draw(tmp_path / "UNO/01", ONE)
    bad = tmp_path / "UNO/01/shot_02.png"
    bad.write_bytes(data)
    with pytest.raises(CommandError) as refused:
        call_command("import_outputs", tmp_path, benchmark="vistory")
    (line, end) = str(refused.value).splitlines()
    assert line.startswith(f"{bad}: expected {why}")
    assert line.endswith("; --skip-unreadable leaves it out")
    assert end == "Nothing was written."
    assert not Output.objects.exists()
    call_command("import_outputs", tmp_path, benchmark="vistory", skip_unreadable=True)
    shown = capsys.readouterr()
    assert "note: missing: UNO: story 01: shot 2" in shown.err
    told = shown.out.splitlines()
    assert "2 pictures, 1 missing shots" in told[0]
    assert told[-2] == "Left out 1 unreadable file; their shots or videos are missing:"
    assert told[-1].startswith(f"  {bad}: expected {why}")
    assert "--skip" not in told[-1]
    assert [f.media_id is None for f in Frame.objects.all()] == [False, True, False]


def test_only_what_is_unreadable_is_left_out(tmp_path, benchmark, monkeypatch):
    """Not a link, nor what the machine does not give, nor another picture."""
    draw(tmp_path / "UNO/01", ONE)
    import_outputs(tmp_path, benchmark=benchmark)
    draw(tmp_path / "UNO/02", ONE)
    (tmp_path / "UNO/01/shot_01.png").write_bytes(picture_bytes("another"))
    (tmp_path / "UNO/02/shot_01.png").unlink()
    (tmp_path / "UNO/02/shot_01.png").symlink_to(tmp_path / "UNO/02/shot_02.png")
    read = media.read

    def denied(path):
        if path.name == "shot_03.png":
            raise PermissionError(13, "Permission denied")
        return read(path)

    monkeypatch.setattr(media, "read", denied)
    with pytest.raises(InputError) as caught:
        import_outputs(tmp_path, benchmark=benchmark, skip_unreadable=True)
    text = str(caught.value)
    assert "another rendering is another method" in text
    assert "not a link" in text
    assert "a readable file (Permission denied)" in text
    assert "--skip-unreadable" not in text


# Names and kinds of files -------------------------------------------------------------


@pytest.mark.parametrize(
    "names",
    [
        ("shot_01_00001_.png", "shot_02_00001_.png", "shot_03_00001_.png"),
        ("shot_01_42.png", "shot_02_7.png", "shot_03_19.png"),
        ("shot-1.png", "shot-2.png", "shot-3.png"),
        ("Shot 1.png", "Shot 2.png", "Shot 3.png"),
        ("scene1.jpeg", "scene2.jpeg", "scene3.jpeg"),
        ("fox_shot_1_00007_.png", "fox_shot_2_00008_.png", "fox_shot_3_00009_.png"),
    ],
    ids=lambda names: names[0],
)
def test_shot_number_wins_over_counters_and_seeds(tmp_path, names):
    row = Benchmark.objects.create(slug="own", title="own")
    draw(tmp_path / "UNO/fox", names)
    summary = import_outputs(tmp_path, benchmark=row, create_stories=True)
    assert list(Frame.objects.values_list("number", flat=True)) == [1, 2, 3]
    assert (summary.missing, summary.warnings) == ([], [])


@pytest.mark.parametrize(
    "copy",
    [
        "shot_01 (1).png",
        "shot_01 copy.png",
        "shot_01 - Copy.png",
        "shot_01_00002_.png",
        "shot_1.JPG",
        "shot_01.avif",
    ],
)
def test_copy_of_a_picture_is_refused(tmp_path, benchmark, copy):
    draw(tmp_path / "UNO/01", (*ONE, copy))
    with pytest.raises(InputError, match="one picture of shot 1") as caught:
        import_outputs(tmp_path, benchmark=benchmark)
    assert copy in str(caught.value)
    assert not Output.objects.exists()


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("01/00001-1234567891.png", "no shot number in the name"),
        ("01/shot_01.raw", "no picture or video by its name"),
        ("shot_01.png", "a story's own folder was expected"),
    ],
)
def test_method_that_loses_all_its_files_fails_the_import(
    tmp_path, benchmark, name, reason
):
    draw(tmp_path / "UNO/01", ONE)
    path = tmp_path / "Flux" / name
    draw(path.parent, [path.name])
    with pytest.raises(CommandError) as refused:
        call_command("import_outputs", tmp_path, benchmark="vistory")
    (line, end) = str(refused.value).splitlines()
    assert line.startswith(f"{tmp_path}/Flux: expected at least one output of method")
    assert reason in line
    assert (refused.value.returncode, end) == (2, "Nothing was written.")
    assert not Method.objects.exists()
