"""Pictures and videos through nginx: sent by it, allowed by Plumbline, and nameless."""

from collections import Counter

import pytest
from django.urls import reverse
from django.utils.http import http_date

from annotate.presentation import same_size, slot_view
from evalcore import media
from evalcore.models import Frame
from evalcore.video import storing
from tests.annotate.pages.test_videos import video_benchmark
from tests.cases import slow
from tests.deploy import nginx
from tests.factories import make_study

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(nginx.program() is None, reason=nginx.LACKS),
]
TELLING = {"etag", "last-modified", "content-disposition", "x-accel-redirect"}
# What a browser may ask by that was told a date or an ETag before.
GUESSES = {
    "If-Modified-Since": "Fri, 01 Jan 2100 00:00:00 GMT",
    "If-Unmodified-Since": "Thu, 01 Jan 1970 00:00:00 GMT",
    "If-None-Match": "*",
    "If-Match": '"guessed"',
}


@pytest.fixture
def site(settings, live_server, tmp_path):
    settings.MEDIA_ACCEL = "/media-files/"
    web = live_server.url.removeprefix("http://")
    with nginx.served(tmp_path, media=settings.MEDIA_ROOT, web=web) as site:
        yield site


def slot_of(study):
    return study.slots.filter(annotator__name="A01").first()


@pytest.fixture
def watching(tmp_path):
    benchmark = video_benchmark(tmp_path)
    return slot_of(make_study(benchmark=benchmark, kind="choice", consented=True))


@pytest.fixture
def looking():
    return slot_of(make_study(kind="choice", consented=True))


def address(slot, side: str, annotator=None) -> str:
    token = (annotator or slot.annotator).invitation.token
    if slot_view.sides(slot)[side].video_id:
        return reverse("rate-video", args=[token, slot.code, side])
    return reverse("rate-picture", args=[token, slot.code, side, "1", "display"])


def file_of(slot, side: str):
    output = slot_view.sides(slot)[side]
    box = same_size.box_of(slot.study)
    if output.video is not None:
        return storing.video_rendition_path(output.video, box)
    frame = Frame.objects.get(output=output, number=1)
    return media.rendition_path(frame.media, "display", box)


@pytest.mark.parametrize("what", ["looking", "watching"])
def test_nginx_sends_it_under_headers_that_name_nothing(site, request, what):
    slot = request.getfixturevalue(what)
    shown = []
    for side in ("left", "right"):
        answer = site.ask(address(slot, side))
        assert answer.status == 200
        assert answer.body == file_of(slot, side).read_bytes()
        assert int(answer.headers.pop("content-length")) == len(answer.body)
        shown.append({n: v for n, v in answer.headers.items() if n != "date"})
    assert shown[0] == shown[1]
    assert not TELLING & set(shown[0])
    kind = "video/mp4" if what == "watching" else "image/webp"
    assert shown[0]["content-type"] == kind
    assert shown[0]["cache-control"] == "private, max-age=86400"
    assert shown[0]["accept-ranges"] == "bytes"
    assert shown[0]["x-content-type-options"] == "nosniff"


def test_parts_of_a_video(site, watching):
    whole = file_of(watching, "left").read_bytes()
    at = address(watching, "left")
    for asked, part in (
        ("bytes=0-", slice(0, None)),
        ("bytes=100-299", slice(100, 300)),
        ("bytes=-50", slice(-50, None)),
    ):
        answer = site.ask(at, Range=asked)
        start, stop, _step = part.indices(len(whole))
        assert (answer.status, answer.body) == (206, whole[part])
        told = f"bytes {start}-{stop - 1}/{len(whole)}"
        assert answer.headers["content-range"] == told
    assert site.ask(at, Range="bytes=99999999-").status == 416
    old = site.ask(at, Range="bytes=0-5", If_Range='"an old tag"')
    assert (old.status, old.body) == (200, whole)
    written = http_date(file_of(watching, "left").stat().st_mtime)
    guessed = site.ask(at, Range="bytes=0-5", If_Range=written)
    assert (guessed.status, guessed.body) == (200, whole)
    head = site.ask(at, "HEAD")
    assert (head.status, head.body) == (200, b"")
    assert int(head.headers["content-length"]) == len(whole)


@pytest.mark.parametrize("guess", GUESSES)
@pytest.mark.parametrize("what", ["looking", *slow("watching")])
def test_file_dates_cannot_be_guessed(site, request, what, guess):
    slot = request.getfixturevalue(what)
    answer = site.ask(address(slot, "left"), **{guess: GUESSES[guess]})
    assert (answer.status, answer.body) == (200, file_of(slot, "left").read_bytes())


def test_file_is_refused_without_permission(site, looking, settings):
    other = looking.study.annotators.get(name="A02")
    refused = site.ask(address(looking, "left", other))
    assert refused.status == 404
    assert not TELLING & set(refused.headers)
    path = file_of(looking, "left")
    assert path.is_file()
    below = path.relative_to(settings.MEDIA_ROOT).as_posix()
    for asked in (
        f"/media-files/{below}",
        f"//media-files/{below}",
        f"/media-files/../media-files/{below}",
        f"/x/..%2fmedia-files/{below}",
        f"/media-files%2f{below}",
    ):
        assert site.ask(asked).status == 404, asked


def test_logs_of_nginx_contain_no_link(site, looking):
    token = looking.annotator.invitation.token
    page = site.ask(reverse("rate-entry", args=[token]))
    assert page.status in (200, 302)
    site.ask(address(looking, "left").replace(token, f"{token}x"))
    moved = site.ask_plainly(f"/rate/{token}/")
    assert moved.status == 301
    assert moved.headers["location"] == f"https://127.0.0.1/rate/{token}/"
    for path in site.folder.rglob("*"):
        if path.is_file():
            assert token.encode() not in path.read_bytes(), path


def statuses(site, url: str, times: int) -> Counter[int]:
    return Counter(site.ask(url, "POST").status for _number in range(times))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("url", "burst"), [("/login/", 20), ("/api/v1/token/", 20), ("/join/nobody/", 100)]
)
def test_requests_of_one_address_are_limited(site, url, burst):
    """Attack: a program that guesses, or that takes all places of a public link.

    One of each zone's rate comes at once, and as many as its burst; a test takes far
    less than the minute in which 30 or 60 more come.
    """
    found = statuses(site, url, 3 * burst)
    assert found[429] >= burst
    assert found.total() - found[429] > burst


@pytest.mark.slow
def test_saves_of_one_annotator_are_limited_and_hold_up_nobody_else(site, looking):
    mine = reverse("rate-save", args=[looking.annotator.invitation.token, looking.code])
    other = looking.study.annotators.get(name="A02").invitation.token
    theirs = mine.replace(looking.annotator.invitation.token, other)
    assert statuses(site, mine, 200)[429] > 50
    assert statuses(site, theirs, 20)[429] == 0
