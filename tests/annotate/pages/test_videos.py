"""Videos: opaque addresses, ranges, access."""

import pytest
from django.urls import reverse

from annotate.models import Slot
from annotate.presentation import slot_view
from evalcore.models import Benchmark, Method, Output, Shot, Story
from evalcore.video import storing
from tests.clips import stored_clip, write_clip
from tests.factories import make_study

pytestmark = pytest.mark.django_db

TIMES = ((0.5, 1.5), (1.5, 3.0))


def video_benchmark(folder, *, methods=("Alder", "Birch"), times=TIMES) -> Benchmark:
    """Create stories of two captions with one video per method."""
    benchmark = Benchmark.objects.create(slug="reel", title="Reel")
    story = Story.objects.create(
        benchmark=benchmark, key="01", conditioning_seconds=0.5
    )
    for number, (start, end) in enumerate(times, start=1):
        Shot.objects.create(
            story=story,
            number=number,
            start_seconds=start,
            end_seconds=end,
            text={
                "en": {"caption": f"Fox walks {number}"},
                "zh": {"caption": f"狐狸走路 {number}"},
            },
        )
    for place, name in enumerate(methods):
        source = write_clip(folder / f"{name}.mp4", frames=24 + 12 * place)
        Output.objects.create(
            story=story,
            method=Method.objects.create(name=name),
            video=stored_clip(source),
        )
    return benchmark


@pytest.fixture
def slot(tmp_path) -> Slot:
    study = make_study(
        benchmark=video_benchmark(tmp_path), kind="choice", consented=True
    )
    return study.slots.get(annotator__name="A01")


def address(slot: Slot, side: str) -> str:
    token = slot.annotator.invitation.token
    return reverse("rate-video", args=[token, slot.code, side])


def rendition(slot: Slot, side: str):
    return storing.video_rendition_path(slot_view.sides(slot)[side].video)


def body(response) -> bytes:
    return b"".join(response)


def test_headers_are_the_same_for_all_methods_and_name_nothing(client, slot):
    sent = []
    for side in ("left", "right"):
        response = client.get(address(slot, side))
        headers = dict(response.headers.items())
        assert int(headers.pop("Content-Length")) == len(body(response))
        sent.append(headers)
    assert sent[0] == sent[1]
    assert sent[0]["Content-Type"] == "video/mp4"
    assert sent[0]["Accept-Ranges"] == "bytes"
    assert sent[0]["Cache-Control"] == "private, max-age=86400"
    assert not {"ETag", "Last-Modified", "Content-Disposition"} & set(sent[0])


def test_video_range_is_sent(client, slot, subtests):
    whole = rendition(slot, "left").read_bytes()
    for asked, part in [
        ("bytes=0-", slice(0, None)),
        ("bytes=0-0", slice(0, 1)),
        ("bytes=100-299", slice(100, 300)),
        ("bytes=100-99999999", slice(100, None)),
        ("bytes=-50", slice(-50, None)),
        ("bytes=-99999999", slice(0, None)),
    ]:
        with subtests.test(asked):
            response = client.get(address(slot, "left"), headers={"Range": asked})
            assert response.status_code == 206
            assert body(response) == whole[part]
            start, stop, _step = part.indices(len(whole))
            assert response["Content-Range"] == f"bytes {start}-{stop - 1}/{len(whole)}"
            assert int(response["Content-Length"]) == stop - start
            assert response["Accept-Ranges"] == "bytes"


def test_invalid_video_range_is_refused(client, slot, subtests):
    size = rendition(slot, "left").stat().st_size
    for asked in [
        "bytes=99999999-",
        "bytes=5-2",
        "bytes=-0",
        "bytes=-",
        "bytes=",
        "bytes=a-b",
        "bytes=1",
        "bytes=--5",
        "bytes=0-" + "9" * 5000,
    ]:
        with subtests.test(asked[:20]):
            response = client.get(address(slot, "left"), headers={"Range": asked})
            assert response.status_code == 416
            assert response["Content-Range"] == f"bytes */{size}"


def test_other_range_headers_get_the_whole_video(client, slot, subtests):
    for headers in [
        {"Range": "frames=0-5"},
        {"Range": "bytes=0-5,10-15"},
        {"Range": "bytes=0-5", "If-Range": '"an old tag"'},
    ]:
        with subtests.test(str(headers)):
            response = client.get(address(slot, "left"), headers=headers)
            assert response.status_code == 200
            assert body(response) == rendition(slot, "left").read_bytes()


def test_large_files_are_streamed(client, slot, monkeypatch):
    monkeypatch.setattr("annotate.pages.annotator.media_files.BLOCK", 100)
    response = client.get(address(slot, "left"), headers={"Range": "bytes=50-349"})
    assert [len(block) for block in response] == [100, 100, 100]


def test_long_range_is_cut(client, slot, monkeypatch):
    monkeypatch.setattr("annotate.pages.annotator.media_files.LARGEST_PART", 1000)
    whole = rendition(slot, "left").read_bytes()
    got, start = b"", 0
    while start < len(whole):
        asked = {"Range": f"bytes={start}-"}
        response = client.get(address(slot, "left"), headers=asked)
        part = body(response)
        assert len(part) == int(response["Content-Length"]) <= 1000
        assert response["Content-Range"].startswith(f"bytes {start}-")
        got += part
        start += len(part)
    assert got == whole


def test_video_requires_access_and_existing_slot(client, slot):
    other = slot.study.annotators.get(name="A02")
    eve = reverse("rate-video", args=[other.invitation.token, slot.code, "left"])
    assert client.get(eve).status_code == 404
    assert client.get(address(slot, "only")).status_code == 404
    assert client.post(address(slot, "left")).status_code == 405
    Output.objects.update(video=None)
    assert client.get(address(slot, "left")).status_code == 404


def test_player_gets_times_and_captions(slot):
    left, right = slot_view.shown_videos(slot)
    first, second = (left, right) if slot.a_is_left else (right, left)
    assert (first.frames, first.duration, first.frame_rate) == (24, 2.0, 12)
    assert (second.frames, second.duration) == (36, 3.0)
    assert (left.side, right.side, left.present) == ("left", "right", True)
    assert (left.width, left.height) == (96, 64)
    captions = slot_view.shown_captions(slot, [left, right])
    assert [(one.number, one.start, one.end, one.text) for one in captions] == [
        (1, 0.5, 1.5, "Fox walks 1"),
        (2, 1.5, 3.0, "Fox walks 2"),
    ]
    assert not any(one.is_estimated for one in captions)
    assert slot_view.for_player(slot)["conditioning"] == 0.5


def test_video_preview_is_for_managers_only(client, slot, django_user_model):
    code = f"{slot.unit.output_a_id}-{slot.unit.output_b_id}"
    url = reverse("preview-video", args=["reel", code, "right"])
    assert client.get(url).status_code == 404
    boss = django_user_model.objects.create_superuser("ann", password="x")
    client.force_login(boss)
    path = storing.video_rendition_path(slot.unit.output_b.video)
    assert body(client.get(url)) == path.read_bytes()
