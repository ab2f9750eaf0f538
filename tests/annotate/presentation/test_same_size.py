"""Common size of a study's outputs, and renditions drawn in advance."""

import io
import os
import re
import time
from dataclasses import replace

import pytest
from django.test import Client
from django.urls import reverse
from PIL import Image

from annotate import tasks
from annotate.blinding.sent_files import examine
from annotate.models import Invitation, Study, User
from annotate.presentation import same_size, slot_view
from annotate.studies import drafting
from annotate.studies.extending import extend
from annotate.studies.parts import Presentation
from evalcore import media
from evalcore.models import Benchmark, Frame, Output
from tests.cases import slow
from tests.clips import stored_clip, write_clip
from tests.factories import make_benchmark, picture_bytes, store_picture
from tests.working import LIKERT, PAIRWISE, join, make_planned

pytestmark = pytest.mark.django_db

SIZES = {"Alder": (96, 64), "Birch": (48, 80), "Cedar": (96, 96)}


def uneven(**kw) -> Benchmark:
    """Create a benchmark whose methods have different sizes."""
    benchmark = make_benchmark(**kw)
    for frame in Frame.objects.select_related("output__method", "output__story"):
        method = frame.output.method.name
        label = f"{frame.output.story.key} {method} {frame.number}"
        size = SIZES.get(method, (200, 100))
        frame.media = store_picture(picture_bytes(label, size))
        frame.save()
    return benchmark


def seen(study: Study, *, rendition="display") -> set[tuple[int, int]]:
    """Return the sizes of all pictures sent to the study's first annotator."""
    planned = study.annotators.first()
    person = join(study, planned.name if planned else "")
    token = Invitation.objects.get(annotator=person).token
    client, sizes = Client(), set()
    for slot in person.slots.all():
        sides = ("left", "right") if slot.unit.output_b else ("only",)
        for side in sides:
            address = reverse(
                "rate-picture", args=[token, slot.code, side, 1, rendition]
            )
            data = client.get(address).content
            sizes.add(Image.open(io.BytesIO(data)).size)
    return sizes


@pytest.mark.parametrize("text", [LIKERT, *slow(PAIRWISE)])
def test_outputs_of_all_methods_have_one_size(text):
    study = make_planned(text, benchmark=uneven(), annotators=3)
    assert seen(study) == {(96, 96)}
    assert seen(study, rendition="thumb") == {(96, 96)}
    assert Study.objects.get().presentation["box"] == [96, 96]


def test_pictures_keep_their_size_without_the_option():
    text = LIKERT + "presentation: {same_size: false}"
    study = make_planned(text, benchmark=uneven(), annotators=3)
    assert seen(study) == set(SIZES.values())


def test_box_is_even_and_no_larger_than_the_outputs():
    benchmark = make_benchmark(stories=1, shots=1, pictures=False)
    frame = Frame.objects.first()
    for size, box in (((95, 63), (96, 64)), ((4096, 1024), (2048, 512))):
        frame.media = store_picture(picture_bytes("a", size))
        frame.save()
        outputs = Output.objects.filter(story__benchmark=benchmark)
        assert same_size.box_around(outputs) == box
    assert same_size.box_around(outputs.none()) is None


def files(name: str) -> int:
    return len(list(media.settings.MEDIA_ROOT.glob(f"{name}/**/*.webp")))


def test_renditions_of_open_studies_are_drawn_in_advance():
    study = make_planned(LIKERT, benchmark=uneven(), annotators=3)
    tasks.draw_pictures()
    pictures = Frame.objects.count()
    assert (files("display"), files("thumb")) == (pictures, pictures)
    assert Study.objects.get().presentation["drawn"]
    extend(study, annotators=1)
    assert "drawn" not in Study.objects.get().presentation


@pytest.mark.slow
@pytest.mark.parametrize("method", ["Elm", "Alder"])
def test_method_added_while_drawing_is_drawn_too(monkeypatch, method):
    methods = ("Alder", "Birch", "Cedar", "Elm")
    study = make_planned(
        LIKERT,
        benchmark=uneven(methods=methods),
        annotators=3,
        methods=["Birch", "Cedar"],
    )
    render, come = same_size.media.rendition_path, iter([method])

    def slow(*given):
        for name in come:
            extend(Study.objects.get(), methods=[name])
        return render(*given)

    monkeypatch.setattr(same_size.media, "rendition_path", slow)
    assert not same_size.draw(study, seconds=100)
    now = Study.objects.get()
    assert "drawn" not in now.presentation
    assert same_size.box_of(now) == ((200, 100) if method == "Elm" else (96, 96))
    assert same_size.draw(now, seconds=100)
    assert files("display") == (30 if method == "Elm" else 18)


def test_unreadable_picture_does_not_block_others(caplog):
    study = make_planned(LIKERT, benchmark=uneven(), annotators=3)
    media.original_path(Frame.objects.first().media).write_bytes(b"")
    assert same_size.draw(study, seconds=100)
    assert files("display") == Frame.objects.count() - 1
    assert "cannot be drawn" in caplog.text


@pytest.mark.slow
@pytest.mark.parametrize("switch", [True, False])
def test_preview_matches_the_annotators_page(client, switch):
    study = make_planned(LIKERT, benchmark=uneven(), annotators=3)
    client.force_login(User.objects.create_user("mary", is_superuser=True))
    setup = drafting.setup_of(study)
    definition = setup.definition.with_changes(
        presentation=Presentation(same_size=switch)
    )
    drafting.create(
        replace(setup, slug="again", definition=definition), User.objects.get()
    )
    page = client.get("/studies/again/preview/").content.decode()
    address = re.search(r"/preview/woods/[^\"]*/only/1/display/", page)[0]
    size = Image.open(io.BytesIO(client.get(address).content)).size
    assert size == ((96, 96) if switch else SIZES["Alder"])
    for size in ("_0x9999", "_97x96", "_1x1", "_96x96"):
        other = re.sub(r"/(\d+)(_[^/]*)?/only/", rf"/\g<1>{size}/only/", address)
        assert client.get(other).status_code == 404
    others = address.replace("_96x96/", "_95x96/")
    assert client.get(others).status_code == (404 if switch else 200)


@pytest.mark.slow
def test_unused_renditions_are_removed_and_redrawn(settings):
    study = make_planned(LIKERT, benchmark=uneven(), annotators=3)
    assert same_size.draw(study, seconds=100)
    drawn = sorted((settings.MEDIA_ROOT / "display").rglob("*.webp"))
    long_ago = time.time() - 31 * 24 * 3600
    for path in drawn:
        os.utime(path, (long_ago, long_ago))
    box, frame = same_size.box_of(study), Frame.objects.first()
    used = media.rendition_path(frame.media, "display", box)
    tasks.remove_unused_pictures()
    assert sorted((settings.MEDIA_ROOT / "display").rglob("*.webp")) == [used]
    assert files("thumb") == len(drawn)
    tasks.draw_pictures()
    assert sorted((settings.MEDIA_ROOT / "display").rglob("*.webp")) == drawn


@pytest.fixture
def films(tmp_path) -> Study:
    """Create two methods whose videos differ in size, sound, tags and frame rate."""
    benchmark = make_benchmark(
        stories=1, shots=1, methods=("Alder", "Birch"), pictures=False
    )
    for place, output in enumerate(Output.objects.order_by("method__name")):
        size, name = ((96, 64), (48, 80))[place], output.method.name
        clip = write_clip(
            tmp_path / f"{name}.{('mp4', 'webm')[place]}",
            frames=12,
            size=size,
            rate=(12, 8)[place],
            tags={"title": f"by {name}"},
            sound=not place,
        )
        output.video = stored_clip(clip)
        output.save()
    return make_planned(PAIRWISE, benchmark=benchmark, annotators=3)


def test_videos_have_one_size_and_no_metadata(client, films):
    assert same_size.draw(films, seconds=100)
    slot = films.slots.exclude(annotator=None).first()
    token = join(films, slot.annotator.name).invitation.token
    told = []
    for side in ("left", "right"):
        response = client.get(reverse("rate-video", args=[token, slot.code, side]))
        told.append(examine(b"".join(response)))
    assert [facts.size for facts in told] == [(96, 80)] * 2
    assert [facts.metadata for facts in told] == [()] * 2
    assert {(one.width, one.height) for one in slot_view.shown_videos(slot)} == {
        (96, 80)
    }
