"""Before launch a manager is told, with a picture, whose shape is odd."""

import re

import pytest
from django.core.management import call_command
from django.http import HttpResponse

from annotate.models import Study
from annotate.presentation import shape_notes
from annotate.studies import lifecycle
from annotate.studies.planning import plan_study
from annotate.studies.study_file import read_definition
from evalcore.models import Benchmark, Frame, MediaFile, Output
from tests.factories import make_benchmark
from tests.people import alice, rob
from tests.working import LIKERT

pytestmark = pytest.mark.django_db

WIDE, TALL = (1024, 576), (512, 1024)
OWN_SIZE = LIKERT + "presentation: {same_size: false}"
TOLD = (
    "The pictures of Alder are 512 x 1024 (portrait), those of the other 2 methods "
    "1024 x 576 (landscape). In one box they fill 50 % of it, the usual ones 56 %; "
    "without Alder these would fill 100 %, 1.8 times as much. The bars tell "
    "Alder from the others. Crop or pad these pictures to the usual shape, or leave "
    "Alder out."
)


def stored(size: tuple[int, int], content_type="image/png") -> MediaFile:
    """The row of a picture, or a video, whose size is all that is looked at."""
    name = "{}-{}".format(*size)
    return MediaFile.objects.get_or_create(
        sha256=name,
        source_sha256=name,
        content_type=content_type,
        extension="png",
        bytes=1,
        width=size[0],
        height=size[1],
    )[0]


def sized(sizes: dict[str, tuple[int, int] | None], **kw) -> Benchmark:
    """A benchmark where the pictures of these methods have a size, or are missing."""
    benchmark = make_benchmark(methods=tuple(sizes), **kw)
    for method, size in sizes.items():
        frames = Frame.objects.filter(output__method__name=method)
        frames.update(media=size and stored(size))
    return benchmark


def drafted(benchmark: Benchmark, text: str = LIKERT) -> Study:
    definition = read_definition(text, file="study.yaml", name="trial")
    return plan_study(definition, benchmark=benchmark, slug="trial", annotators=3)


@pytest.fixture
def tall() -> Benchmark:
    return sized({"Alder": TALL, "Birch": WIDE, "Cedar": WIDE})


def texts(study: Study) -> list[str]:
    return [note.text for note in shape_notes.of_study(study)]


def test_degraded_twins_are_no_findings_of_their_own():
    study = drafted(sized({"Alder": WIDE, "Birch": WIDE, "Cedar": WIDE}))
    original = Output.objects.filter(method__name="Alder").first()
    twin = Output.everything.create(
        story=original.story,
        method=original.method,
        twin_of=original,
        degradation="foreign_shot",
    )
    shot = original.frames.first().shot
    Frame.objects.create(output=twin, shot=shot, number=1, media=stored(TALL))
    study.units.create(story=original.story, output_a=twin, purpose="twin")
    assert texts(study) == []


def test_some_pictures_of_a_method_are_counted():
    study = drafted(sized({"Alder": WIDE, "Birch": WIDE, "Cedar": WIDE}))
    first = Frame.objects.filter(output__method__name="Alder").first()
    first.media = stored(TALL)
    first.save()
    (text,) = texts(study)
    assert text.startswith(
        "1 of the 6 pictures of Alder is unlike most of the same story: 512 x 1024 "
        "(portrait) instead of 1024 x 576 (landscape)."
    )
    assert "The bars tell Alder from the others." in text


def test_in_its_own_size_a_larger_file_is_told_of():
    study = drafted(
        sized({"Alder": (2048, 1152), "Birch": WIDE, "Cedar": WIDE}), OWN_SIZE
    )
    (note,) = shape_notes.of_study(study)
    assert note.right == "Show all methods in one size."
    odd, usual = (drawing.picture for drawing in note.drawings)
    assert (odd.width, odd.height) == (160, 90)
    assert (usual.width, usual.height) == (80, 45)


def test_two_tall_methods_of_different_shapes_are_left_out_together():
    sizes = {"Alder": TALL, "Birch": WIDE, "Cedar": WIDE, "Elm": (400, 1000)}
    study = drafted(sized(sizes))
    for text, size in zip(texts(study), ("512 x 1024", "400 x 1000"), strict=True):
        assert text.startswith(("All 6 pictures of Alder", "All 6 pictures of Elm"))
        assert f"most often {size} (portrait) instead of 1024 x 576" in text
        assert "without Alder, Elm these would fill 100 %, 1.8 times as much" in text


def test_a_larger_method_in_one_of_the_shapes_makes_the_others_small():
    benchmark = sized({"Alder": None, "Birch": WIDE, "Cedar": WIDE}, stories=4)
    Frame.objects.exclude(output__story__key="01").update(media=stored((576, 1024)))
    frames = Frame.objects.filter(output__method__name="Alder")
    frames.update(media=None)
    frames.filter(output__story__key="01").update(media=stored((8192, 4608)))
    Output.objects.exclude(frames__media__isnull=False).delete()
    (text,) = texts(drafted(benchmark))
    # (1 + 3 * 81/256) / 4 = 0.487, and 9/16 = 0.5625
    assert text == (
        "The pictures of Alder are up to 8192 x 4608 (landscape), those of others only "
        "up to 1024 x 1024 (square). In one box they fill 100 % of it, the usual ones "
        "49 %; without Alder these would fill 56 %, 1.2 times as much. Bring these "
        "pictures to the size of the others, or leave Alder out."
    )


def shown(response: HttpResponse) -> str:
    return response.content.decode()


def drawn(page: str) -> list[tuple[str, ...]]:
    """The size of each drawing of a box, and of the picture in it."""
    number = r'="([\d.]+)"'
    return re.findall(
        rf"<svg width{number} height{number}.*?"
        rf"<rect x{number} y{number} width{number} height{number}",
        page,
    )


def test_the_page_of_a_draft_shows_it_with_a_picture(tall):
    study = drafted(tall)
    page = shown(alice(study).get("/studies/trial/"))
    assert TOLD in page
    assert drawn(page) == [
        ("80.0", "80.0", "20.0", "0.0", "40.0", "80.0"),  # Alder's
        ("80.0", "80.0", "0.0", "17.5", "80.0", "45.0"),  # a usual one
        ("106.7", "60.0", "0.0", "0.0", "106.7", "60.0"),  # and without Alder
    ]
    assert "style=" not in page
    assert TOLD in shown(rob(study).get("/studies/trial/"))
    lifecycle.launch(study)
    assert TOLD not in shown(alice(study).get("/studies/trial/"))


def test_planning_and_launching_by_command_tell_it(tall, capsys, tmp_path):
    path = tmp_path / "study.yaml"
    path.write_text(LIKERT)
    plan = ["plan_study", "trial", "--benchmark", "woods", "--file", str(path)]
    call_command(*plan, "--annotators", "3")
    assert f"note: {TOLD}" in capsys.readouterr().err.splitlines()
    call_command("launch", "trial")
    assert f"note: {TOLD}" in capsys.readouterr().err.splitlines()
    lifecycle.pause(Study.objects.get())
    call_command("launch", "trial")
    assert TOLD not in capsys.readouterr().err
