"""Headers that let nginx serve media; `tests/deploy` uses a real nginx."""

from pathlib import Path

import pytest
from django.test import Client
from django.urls import reverse

from annotate.presentation import slot_view
from evalcore import media
from evalcore.models import Frame
from evalcore.video import storing
from tests.annotate.pages.test_videos import video_benchmark
from tests.factories import make_study
from tests.people import alice, eve

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def behind_nginx(settings):
    settings.MEDIA_ACCEL = "/files-of/media/"


def told(response) -> Path:
    """Return the file named for nginx; the response has no body."""
    assert response.status_code == 200
    assert response.content == b""
    assert response["Cache-Control"] == "private, max-age=86400"
    below = response["X-Accel-Redirect"].removeprefix("/files-of/media/")
    return Path(below)


def in_media(path: Path, settings) -> Path:
    return path.relative_to(settings.MEDIA_ROOT)


@pytest.fixture
def slot():
    study = make_study(kind="choice", consented=True)
    return study.slots.filter(annotator__name="A01").first()


def test_nginx_serves_an_annotators_picture(client, slot, settings):
    token = slot.annotator.invitation.token
    url = reverse("rate-picture", args=[token, slot.code, "left", "1", "thumb"])
    output = slot_view.sides(slot)["left"]
    frame = Frame.objects.get(output=output, number=1)
    expected = in_media(media.rendition_path(frame.media, "thumb"), settings)
    answer = client.get(url)
    assert told(answer) == expected
    assert answer["Content-Type"] == "image/webp"


def test_nginx_serves_any_range_of_a_video(client, tmp_path, settings):
    study = make_study(
        benchmark=video_benchmark(tmp_path), kind="choice", consented=True
    )
    slot = study.slots.get(annotator__name="A01")
    token = slot.annotator.invitation.token
    url = reverse("rate-video", args=[token, slot.code, "right"])
    path = storing.video_rendition_path(slot_view.sides(slot)["right"].video)
    answer = client.get(url, headers={"Range": "bytes=5-9"})
    assert told(answer) == in_media(path, settings)
    assert answer["Content-Type"] == "video/mp4"
    still = reverse("output-still", args=["trial", slot.unit.output_a_id])
    expected = in_media(
        storing.video_still_path(slot.unit.output_a.video, "thumb"), settings
    )
    assert told(alice(study).get(still)) == expected


def test_nginx_serves_only_accessible_files(slot):
    frame = Frame.objects.get(output=slot_view.sides(slot)["left"], number=1)
    url = reverse("frame-display", args=["trial", frame.pk])
    assert "X-Accel-Redirect" in alice(slot.study).get(url)
    for visitor in (eve(), Client()):
        refused = visitor.get(url)
        assert refused.status_code in (302, 404)
        assert "X-Accel-Redirect" not in refused


def test_conditional_requests_bypass_nginx(slot):
    frame = Frame.objects.get(output=slot_view.sides(slot)["left"], number=1)
    url = reverse("frame-display", args=["trial", frame.pk])
    asked = {"If-Unmodified-Since": "Thu, 01 Jan 1970 00:00:00 GMT"}
    answer = alice(slot.study).get(url, headers=asked)
    assert "X-Accel-Redirect" not in answer
    assert answer.content == media.rendition_path(frame.media, "display").read_bytes()
