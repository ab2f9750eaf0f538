"""Planted leaks are found and named; a study without any passes, and nothing stays."""

import io
import json

import av
import numpy as np
import pytest
from django.core.management import CommandError, call_command
from django.http import HttpResponse
from PIL import Image

from annotate.blinding import blinding_check
from annotate.blinding.blinding_check import BlindingCheck
from annotate.blinding.findings import BlindingReport
from annotate.models import Annotator, Event, Slot, Study
from evalcore import media
from evalcore.models import Frame, Method, Output, Shot
from tests.annotate.blinding import planting
from tests.annotate.blinding.planting import output_of
from tests.annotate.presentation.test_same_size import uneven
from tests.factories import make_benchmark
from tests.working import LIKERT, PAIRWISE, make_planned

pytestmark = pytest.mark.django_db

CHECKED = """
training:
  units: [{story: '01', method: Alder, expected: {character: 4},
           feedback: "See how it keeps the hat."}]
checks:
  per_session: 1
  kinds: [gold, repeat, twin]
  share: 1
  degradations: [blurred, shuffled]
  gold: [{story: '04', method: Birch, expected: {character: 0}}]
"""


def look(
    study: Study, slots: int | None = 1, *, around: bool = False, units: bool = True
) -> BlindingCheck:
    """Look at a study; the pages around its slots take long and are seldom needed.

    What is known without asking for a page is found without its `units`, too.
    """
    looked = BlindingCheck(Study.objects.get(pk=study.pk), slots=slots)
    if not units:
        looked.units = []
    with pytest.MonkeyPatch.context() as patched:
        if not around:
            patched.setattr(blinding_check, "visit_pages", lambda *_given: [])
        for _unit in looked.run():
            pass
    return looked


def check(study: Study, slots: int | None = 1, **how: bool) -> BlindingReport:
    return look(study, slots, **how).report


@pytest.fixture
def study():
    benchmark = make_benchmark(stories=1, shots=2)
    for output in Output.objects.select_related("method"):
        name = output.method.name.lower()
        output.source = f"/data/results/{name}_run7/{output.story.key}"
        output.mode, output.timestamp = "full", f"2025-05-{len(name):02}"
        output.save()
    return make_planned(LIKERT, benchmark=benchmark, annotators=3)


@pytest.fixture
def plant(settings):
    """Return what lets a change of answers take part in every request."""
    settings.MIDDLEWARE = [
        *settings.MIDDLEWARE,
        "tests.annotate.blinding.planting.middleware",
    ]
    yield planting.planted.append
    planting.planted.clear()


def counts() -> list[int]:
    return [m.objects.count() for m in (Annotator, Slot, Event, Study, Method)]


# What is clean passes


CHECKLIST = """
kind: checklist
questions:
  - {key: pan, category: Camera, title: Pan}
  - {key: zoom, category: Camera, title: Zoom}
"""


@pytest.mark.parametrize(
    ("text", "state"),
    [
        pytest.param(LIKERT, "draft", marks=pytest.mark.slow),
        (PAIRWISE, "open"),
        pytest.param(CHECKLIST, "closed", marks=pytest.mark.slow),
    ],
)
def test_blind_study_passes_and_nothing_is_stored(text, state):
    made = make_planned(text, benchmark=uneven(shots=2), annotators=3)
    Study.objects.update(state=state)
    before = counts(), list(Study.objects.values())
    report = check(made, around=True)
    assert report.leaks == []
    assert report.counts["pictures"] >= 4 * 2 * 2
    assert report.counts["pages"] > 8
    assert (counts(), list(Study.objects.values())) == before


@pytest.mark.slow
def test_check_reads_files_behind_nginx(study, settings):
    """Headers for nginx differ between methods, and no browser sees them."""
    settings.MEDIA_ACCEL = "/media-files/"
    drawn_anew("Birch", size=(48, 32))
    only(check(study), "Birch: picture (display) are 48 x 32 pixels", "96 x 64")


@pytest.mark.slow
def test_training_gold_repeats_and_twins_pass():
    benchmark = uneven(stories=4, shots=2)
    made = make_planned(
        LIKERT + CHECKED, benchmark=benchmark, annotators=3, stories=["01"]
    )
    report = check(made, slots=None)
    assert report.leaks == []
    purposes = set(made.units.values_list("purpose", flat=True))
    assert purposes == {"real", "training", "gold", "twin"}
    assert report.counts["slots"] == made.units.count()


def test_check_covers_every_method():
    made = make_planned(PAIRWISE, benchmark=make_benchmark(stories=6), annotators=3)
    looked = BlindingCheck(made, slots=1)
    shown = [unit.output_a.method.name for unit in looked.units]
    shown += [unit.output_b.method.name for unit in looked.units]
    assert min(shown.count(name) for name in ("Alder", "Birch", "Cedar")) >= 2


# What is planted is found


def only(report: BlindingReport, *words: str) -> None:
    """Each leak has all these words, and there is one."""
    assert report.leaks
    for one in report.leaks:
        for word in words:
            assert word in one.line(), one.line()


def each(report: BlindingReport, *expected: tuple[str, ...]) -> None:
    """Every expected leak is found, and no other; each is named by its words."""
    lines = [one.line() for one in report.leaks]

    def told(line: str, words: tuple[str, ...]) -> bool:
        return all(word in line for word in words)

    for words in expected:
        assert any(told(line, words) for line in lines), words
    for line in lines:
        assert any(told(line, words) for words in expected), line


def in_page(change):
    """Plant a change of the slots' pages: from a slot and its HTML to other HTML."""

    def apply(request, response, slot):
        if slot is not None and response.headers.get("Content-Type", "").startswith(
            "text/html"
        ):
            html = response.content.decode()
            response.content = change(slot, html).encode()
        return response

    return apply


def in_picture(change):
    """Plant a change of answers with pictures: from an answer and its output."""

    def apply(request, response, slot):
        output = output_of(request, slot)
        if output is not None and response.headers["Content-Type"] == "image/webp":
            return change(response, output)
        return None

    return apply


def named(slot) -> str:
    return slot.unit.output_a.method.name


WRITTEN = (
    "<!-- {} -->",
    '<p class="m-{}"></p>',
    '<img alt="{}, shot 1">',
    "<p>by {}-XL</p>",
    '<script type="application/json">{{"m": "{}"}}</script>',
)


@pytest.mark.slow
@pytest.mark.parametrize("written", WRITTEN)
def test_name_in_a_page_is_a_leak(study, plant, written):
    def change(slot, html):
        told = written.format(named(slot).lower())
        return html.replace("</main>", f"{told}</main>")

    plant(in_page(change))
    report = check(study)
    only(report, "name “", "; in line ", " at /rate/…/story/…/")
    assert {one.method for one in report.leaks} == {"Alder", "Birch", "Cedar"}


@pytest.mark.slow
def test_headers_of_pictures_are_compared(study, plant):
    def change(response, output):
        name = output.method.name
        response["X-Cache"] = f"HIT {output.method.pk}"
        if name == "Birch":
            response["X-Render"] = "1"
        response["Link"] = f"</{name.lower()}/1.png>"
        response["ETag"] = f'"{output.pk}"'
        response["Content-Disposition"] = f'inline; filename="{output.pk}_1.webp"'
        return response

    plant(in_picture(change))
    none_of_them = "no ETag, Last-Modified or Content-Disposition"
    each(
        check(study),
        ("picture (", "have header x-cache: HIT", "elsewhere HIT"),
        ("Birch: picture (", "have header x-render: 1, elsewhere none"),
        ("picture (", "have header link: <", "elsewhere <"),
        ("Alder: name “Alder”; in header Link at",),
        ("Birch: name “Birch”; in header Link at",),
        ("Cedar: name “Cedar”; in header Link at",),
        ("header ETag", none_of_them),
        ("header Content-Disposition (inline; filename=", none_of_them),
    )


@pytest.mark.slow
def test_headers_of_pages_are_compared(study, plant):
    def apply(request, response, slot):
        if slot is not None and named(slot) == "Cedar":
            response["X-Render"] = "1"
        return response

    plant(apply)
    report = check(study)
    each(
        report,
        ("Cedar: pages (en) have header x-render: 1, elsewhere none",),
        ("Cedar: pages (zh-hans) have header x-render: 1, elsewhere none",),
        ("Cedar: picture (", "have header x-render: 1, elsewhere none"),
    )


@pytest.mark.slow
def test_content_type_of_a_single_method_is_a_leak(study, plant):
    def change(response, output):
        if output.method.name == "Cedar":
            picture = Image.open(io.BytesIO(response.content))
            buffer = io.BytesIO()
            picture.save(buffer, "PNG")
            response.content = buffer.getvalue()
            response["Content-Type"] = "image/png"
        return response

    plant(in_picture(change))
    each(
        check(study),
        ("Cedar: picture (", "have header content-type: image/png, elsewhere image/"),
        ("Cedar: an unreadable file (image/png)",),
    )


def rewrite(output: Output, **how) -> None:
    """Draw a method's first picture again, as the file that annotators are sent."""
    frame = Frame.objects.filter(output=output).first()
    path = media.rendition_path(frame.media, "display", (96, 64))
    with Image.open(path) as picture:
        picture = picture.resize(how.pop("size", picture.size))
    picture.save(path, "WEBP", **how)


def drawn_anew(method: str, **how) -> None:
    for output in Output.objects.filter(method__name=method):
        rewrite(output, **how)


@pytest.mark.slow
def test_file_metadata_is_a_leak(study):
    exif = Image.Exif()
    exif[0x010E] = "drawn by somebody"
    drawn_anew("Alder", exif=exif.tobytes())
    drawn_anew("Birch", icc_profile=b"profile" * 20)
    frame = Frame.objects.filter(output__method__name="Cedar").first()
    path = media.rendition_path(frame.media, "thumb", (96, 64))
    path.write_bytes(path.read_bytes() + b"run 7 of the wood")
    each(
        check(study, None),
        ("Alder: file metadata: EXIF 'drawn by somebody'",),
        ("Birch: file metadata: ICCP",),
        ("Cedar: file metadata: bytes after the end 'run 7",),
    )


@pytest.mark.slow
def test_xmp_and_names_in_bytes_are_leaks(study):
    """Short names stand in the bytes of many a file; only long ones are found there."""
    Method.objects.filter(name="Alder").update(name="AlderTree")
    drawn_anew("AlderTree", xmp=b"<x>aldertree</x>")
    drawn_anew("Birch", xmp=b"<x>Birch</x>")
    each(
        check(study),
        ("AlderTree: file metadata: XMP '<x>aldertree</x>'",),
        ("AlderTree: name “AlderTree” in the bytes of a file",),
        ("Birch: file metadata: XMP '<x>Birch</x>'",),
    )


def test_missing_shots_of_one_method_are_a_warning(study):
    """The page says the same of every missing shot, but one method alone lacks one."""
    lacking = Frame.objects.filter(output__method__name="Birch", number=1)
    stories = lacking.count()
    lacking.update(media=None)
    (warning,) = [
        one.line()
        for one in check(study, units=False).warnings
        if "missing shots" in one.line()
    ]
    assert f"Birch {stories} of {stories}" in warning
    assert f"Cedar 0 of {stories}" in warning
    Frame.objects.filter(number=1).update(media=None)
    report = check(study, units=False)
    assert not [one for one in report.warnings if "missing shots" in one.line()]


@pytest.mark.slow
def test_different_sizes_are_a_leak(study):
    drawn_anew("Birch", size=(48, 32))
    only(
        check(study),
        "Birch: picture (display) are 48 x 32 pixels, elsewhere 96 x 64",
        "the same size for all, 96 x 64",
    )


@pytest.mark.slow
def test_sizes_are_a_warning_when_originals_are_shown():
    text = LIKERT + "presentation: {same_size: false}"
    made = make_planned(text, benchmark=uneven(stories=1, shots=1), annotators=3)
    report = check(made)
    assert report.leaks == []
    assert any(" pixels, elsewhere " in one.what for one in report.warnings)
    assert any("same_size" in note for note in report.notes)


def test_unusual_aspect_ratio_is_a_warning():
    made = make_planned(LIKERT, benchmark=uneven(shots=1), annotators=3)
    warnings = [one.line() for one in check(made, units=False).warnings]
    assert any("Birch: 2 of 2 pictures or videos of Birch" in line for line in warnings)


@pytest.mark.slow
def test_size_in_an_attribute_is_a_leak(study, plant):
    sizes = {"Alder": 512, "Birch": 512, "Cedar": 768}
    plant(in_page(lambda s, h: h.replace('alt=""', f'width="{sizes[named(s)]}"')))
    only(check(study), "Cedar: number 768; in width, more often")


@pytest.mark.slow
def test_number_is_a_warning_but_not_a_name_within_a_word(study, plant):
    plant(in_page(lambda s, h: h.replace('alt=""', f'data-n="{len(named(s))}7"')))
    plant(in_page(lambda s, h: h.replace("</main>", "<p>Alderney birches</p></main>")))
    Method.objects.filter(name="Cedar").update(name="Hazelnut")
    report = check(study)
    assert report.leaks == []
    lines = [one.line() for one in report.warnings]
    assert any("Hazelnut: number 87; in data-n" in line for line in lines)


# Addresses


def in_address(told):
    """Plant a query in the addresses of a slot's pictures."""
    return in_page(
        lambda s, h: h.replace("/display/", f"/display/?x={told(s.unit.output_a)}")
    )


@pytest.mark.slow
def test_hash_in_an_address_is_a_leak(study, plant):
    plant(in_address(lambda o: o.frames.first().media.sha256[:16]))
    each(
        check(study),
        ("hash of a picture (", "; in line ", " at /rate/…/story/…/"),
        ("” occurs only in addresses of this method",),
    )


@pytest.mark.slow
@pytest.mark.parametrize("plus", [0, 1000])
def test_output_number_in_an_address_is_a_leak(study, plant, plus):
    """A small number is no excuse: the number of a shot has a separate place."""
    plant(in_address(lambda o: plus + o.pk))
    report = check(study)
    only(report, "occurs only in addresses of this method")
    assert {one.method for one in report.leaks} == {"Alder", "Birch", "Cedar"}


@pytest.mark.slow
def test_address_part_of_one_method_is_a_leak(study, plant):
    plant(in_address(lambda o: "b" if o.method.name == "Birch" else "a"))
    only(check(study), "Birch: “b” occurs only in addresses of this method")


@pytest.mark.slow
def test_shared_picture_address_is_a_leak(study, plant):
    def change(slot, html):
        at = f'src="/rate/{slot.annotator.invitation.token}/story/{slot.code}/'
        return html.replace(at, f'src="/rate/pictures/{slot.unit_id}/')

    plant(in_page(change))
    only(check(study), "two slots use the same picture address", "/rate/pictures/")


def test_name_in_a_code_is_a_leak(study):
    slot = study.slots.filter(unit__output_a__method__name="Cedar").first()
    Slot.objects.filter(pk=slot.pk).update(code="cedar-1")
    only(check(study, units=False), "Cedar: name “Cedar”; in the code of slot cedar-1")


# Other answers


@pytest.mark.slow
def test_name_in_json_and_failed_response_are_leaks(study, plant):
    def apply(request, response, slot):
        if request.path.endswith("/thumb/"):
            return HttpResponse("no", status=500)
        if response.headers.get("Content-Type") == "application/json":
            response.content = json.dumps({"told": [{"by": named(slot)}]})
        return response

    plant(apply)
    each(check(study), (" at /rate/…/story/…/save/",), ("status 500",))


@pytest.mark.slow
def test_page_without_pictures_is_a_leak(study, plant):
    def change(slot, html):
        if named(slot) != "Birch":
            return html
        return html.replace('src="/', 'src="#').replace('href="/', 'href="#')

    plant(in_page(change))
    only(check(study), "Birch: none of its pictures or videos could be checked")


# Common words


@pytest.fixture
def common(study):
    """Call methods like a letter, a word of the pages and a number."""
    for name, word in (("Alder", "A"), ("Birch", "Left"), ("Cedar", "3")):
        Method.objects.filter(name=name).update(name=word)
    return study


@pytest.mark.slow
def test_method_named_like_a_page_word_is_noted(common):
    report = check(common)
    assert report.leaks == []
    assert any("3, A, Left" in note for note in report.notes)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("written", "place"), [('alt="{}"', "alt"), ('alt="">by {}<img ', "text")]
)
def test_method_named_like_a_page_word_is_found_when_frequent(
    common, plant, written, place
):
    plant(in_page(lambda s, h: h.replace('alt=""', written.format(named(s)))))
    report = check(common)
    only(report, "name “", f"in {place}, more often")
    assert {one.method for one in report.leaks} == {"A", "Left", "3"}


@pytest.mark.slow
def test_story_with_a_method_name_is_a_warning(study):
    for shot in Shot.objects.filter(number=1):
        shot.text = {"en": {"plot": "An alder stands by the water."}}
        shot.save()
    report = check(study)
    assert report.leaks == []
    assert report.warnings[0].line().startswith("Alder: name “Alder” in a text of the")


# Videos


def mp4(title: str = "", rate: int = 8, codec: str = "mpeg4") -> bytes:
    buffer = io.BytesIO()
    options = {"fflags": "+bitexact"}
    with av.open(buffer, "w", format="mp4", options=options) as container:
        if title:
            container.metadata["title"] = title
        stream = container.add_stream(codec, rate=rate, options={"flags": "bitexact"})
        stream.width, stream.height, stream.pix_fmt = 96, 64, "yuv420p"
        for level in range(8):
            picture = np.full((64, 96, 3), 30 * level, dtype=np.uint8)
            container.mux(stream.encode(av.VideoFrame.from_ndarray(picture)))
        container.mux(stream.encode())
    return buffer.getvalue()


def as_videos(change):
    def apply(response, output):
        return HttpResponse(change(output), content_type="video/mp4")

    return in_picture(apply)


@pytest.mark.slow
def test_title_and_encoder_of_a_video_are_leaks(study, plant):
    files = {
        "Alder": mp4("Alder"),
        "Birch": mp4(),
        "Cedar": mp4(codec="libx264"),
    }
    plant(as_videos(lambda output: files[output.method.name]))
    each(
        check(study),
        ("Alder: file metadata: title 'Alder'",),
        ("Cedar: picture (", "differ in their encoder: h264", "elsewhere mpeg4"),
    )


@pytest.mark.slow
def test_rates_and_lengths_of_videos_are_warnings(study, plant):
    files = {name: mp4(rate=12) for name in ("Birch", "Cedar")} | {"Alder": mp4()}
    plant(as_videos(lambda output: files[output.method.name]))
    report = check(study)
    assert report.leaks == []
    assert report.counts["videos"] > 0
    told = {(one.method, one.what) for one in report.warnings}
    assert told == {
        (name, f"picture ({rendition}){what}")
        for name, what in (
            (
                "Alder",
                " have 8.00 frames per second, elsewhere 12.00 frames per second",
            ),
            ("Alder", " of story 01 last 1.0 s, elsewhere 0.7 s"),
        )
        for rendition in ("display", "thumb")
    }


# The command


@pytest.mark.slow
def test_command_fails_with_a_line_for_each_leak(study, capsys, monkeypatch):
    call_command("check_blinding", study.slug, slots=2)
    told = capsys.readouterr().out
    assert "Checked " in told
    assert "No leaks: nothing that annotators can fetch reveals a method." in told
    monkeypatch.setattr(blinding_check, "visit_pages", lambda *_given: [])
    monkeypatch.setattr(blinding_check, "choose_units", lambda *_given: [])
    Slot.objects.filter(pk=study.slots.first().pk).update(code="cedar-1")
    with pytest.raises(CommandError, match=r"trial is not blind\. Leaks: 1") as error:
        call_command("check_blinding", study.slug, slots=2)
    assert error.value.returncode == 1
    assert "leak: Cedar: name “Cedar”; in the code" in capsys.readouterr().out
    with pytest.raises(CommandError):
        call_command("check_blinding", study.slug, slots=2, json=True)
    told = json.loads(capsys.readouterr().out)
    assert told["blind"] is False
    assert told["leaks"][0]["method"] == "Cedar"
