"""Notes on methods with unusual aspect ratios, before launch."""

import pytest
from django.core.management import call_command

from annotate.models import Study
from annotate.presentation.same_size import aspect_ratio_notes, outputs_of
from annotate.studies import lifecycle
from annotate.studies.planning import plan_study
from annotate.studies.study_file import read_definition
from evalcore.models import Benchmark, Frame, MediaFile, Output
from tests.factories import make_benchmark
from tests.people import alice, rob
from tests.working import LIKERT

pytestmark = pytest.mark.django_db

WIDE, TALL, SQUARE = (1024, 576), (512, 1024), (1024, 1024)
TOLD = (
    "6 of 6 pictures or videos of Alder differ in shape from most others of the same "
    "story. Most often they are 512 x 1024 pixels, not 1024 x 576, so annotators could "
    "recognise the method. Crop or pad them to the usual shape, or leave the method "
    "out."
)


def stored(size: tuple[int, int]) -> MediaFile:
    """Create a picture's row with a size and no file."""
    name = "{}-{}".format(*size)
    fixed = {"content_type": "image/png", "extension": "png", "bytes": 1}
    return MediaFile.objects.get_or_create(
        sha256=name, source_sha256=name, width=size[0], height=size[1], **fixed
    )[0]


def sized(**sizes: tuple[int, int]) -> Benchmark:
    """Create a benchmark with six pictures per method in the given sizes."""
    benchmark = make_benchmark(methods=tuple(sizes))
    for method, size in sizes.items():
        frames = Frame.objects.filter(output__method__name=method)
        frames.update(media=stored(size))
    return benchmark


def drafted(benchmark: Benchmark) -> Study:
    definition = read_definition(LIKERT, file="study.yaml", name="trial")
    return plan_study(definition, benchmark=benchmark, slug="trial", annotators=3)


def texts(study: Study) -> list[str]:
    return [note.text for note in aspect_ratio_notes(outputs_of(study))]


@pytest.mark.parametrize(
    ("sizes", "odd"),
    [
        ({"Alder": TALL, "Birch": WIDE, "Cedar": WIDE}, ["Alder"]),
        ({"Alder": (1030, 1000), "Birch": (1000, 1000), "Cedar": SQUARE}, ["Alder"]),
        ({"Alder": SQUARE, "Birch": WIDE}, ["Birch"]),
        (
            {"Alder": TALL, "Birch": (256, 512), "Cedar": WIDE, "Elm": WIDE},
            ["Alder", "Birch"],
        ),
        (
            {"Alder": TALL, "Birch": TALL, "Cedar": WIDE, "Elm": WIDE, "Fir": WIDE},
            ["Alder, Birch"],
        ),
        ({"Alder": (4096, 2304), "Birch": WIDE, "Cedar": (512, 288)}, []),
        ({"Alder": (1020, 1000), "Birch": (1000, 1000), "Cedar": (1010, 1000)}, []),
    ],
    ids=[
        "tall",
        "3 % wider",
        "two methods",
        "half of them",
        "two alike",
        "larger",
        "2 % wider",
    ],
)
def test_aspect_ratio_notes_name_unusual_methods(sizes, odd):
    outputs = Output.objects.filter(story__benchmark=sized(**sizes))
    assert [note.methods for note in aspect_ratio_notes(outputs)] == odd


def test_aspect_ratios_are_compared_within_a_story():
    benchmark = sized(Alder=WIDE, Birch=WIDE, Cedar=WIDE)
    Frame.objects.filter(output__story__key="01").update(media=stored(TALL))
    outputs = Output.objects.filter(story__benchmark=benchmark)
    assert aspect_ratio_notes(outputs) == []
    assert aspect_ratio_notes(outputs.filter(method__name="Alder")) == []


def test_aspect_ratio_notes_count_pictures_and_ignore_degraded_copies():
    study = drafted(sized(Alder=WIDE, Birch=WIDE, Cedar=WIDE))
    first = Frame.objects.filter(output__method__name="Alder").first()
    twin = Output.everything.create(
        story=first.output.story,
        method=first.output.method,
        twin_of=first.output,
        degradation="foreign_shot",
    )
    Frame.objects.create(output=twin, shot=first.shot, number=1, media=stored(TALL))
    study.units.create(story=first.output.story, output_a=twin, purpose="twin")
    assert texts(study) == []
    first.media = stored(TALL)
    first.save()
    assert [text[:31] for text in texts(study)] == ["1 of 6 pictures or videos of Al"]


@pytest.mark.slow
def test_draft_page_shows_aspect_ratio_notes_until_launch():
    study = drafted(sized(Alder=TALL, Birch=WIDE, Cedar=WIDE))
    for user in (alice(study), rob(study)):
        assert TOLD in user.get("/studies/trial/").content.decode()
    lifecycle.launch(study)
    assert TOLD not in alice(study).get("/studies/trial/").content.decode()


def test_plan_and_launch_print_aspect_ratio_notes(capsys, tmp_path):
    sized(Alder=TALL, Birch=WIDE, Cedar=WIDE)
    path = tmp_path / "study.yaml"
    path.write_text(LIKERT)
    plan = ["plan_study", "trial", "--benchmark", "woods", "--file", str(path)]
    call_command(*plan, "--annotators", "3")
    assert f"note: {TOLD}" in capsys.readouterr().err.splitlines()
    call_command("launch", "trial")
    assert f"note: {TOLD}" in capsys.readouterr().err.splitlines()
