"""Annotators rate pictures and videos that lie in S3 (moto's server)."""

import shutil

import pytest
from django.urls import reverse

from annotate.models import Rating, Slot
from annotate.presentation import slot_view
from evalcore import media, media_store
from evalcore.models import MediaFile
from tests.annotate.pages.test_videos import video_benchmark
from tests.factories import make_study, picture_bytes
from tests.working import save

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


@pytest.fixture
def study(bucket, settings):
    settings.MEDIA_STORE = f"{bucket.address}/media"
    study = make_study(consented=True)
    # Their files were drawn once for all tests, beside the store.
    for path in sorted(settings.MEDIA_ROOT.rglob("*.png")):
        name = path.relative_to(settings.MEDIA_ROOT).as_posix()
        bucket.put(f"media/{name}", path.read_bytes())
    return study


def picture_of(slot: Slot) -> str:
    (side,) = slot_view.sides(slot)
    which = [slot.annotator.invitation.token, slot.code, side, "1", "display"]
    return reverse("rate-picture", args=which)


def test_pages_show_what_lies_in_the_bucket_and_name_nothing(
    client,
    study,
    bucket,
    settings,
):
    slot = study.slots.get(annotator__name="A01", position=1)
    shutil.rmtree(settings.MEDIA_ROOT)
    page = client.get(reverse("rate-slot", args=[*token_and_code(slot)]))
    answer = client.get(picture_of(slot))
    assert answer.content[8:12] == b"WEBP"
    for told in (page.content.decode(), str(answer.headers)):
        assert bucket.name not in told
        assert bucket.endpoint not in told
        hashes = MediaFile.objects.values_list("pk", flat=True)
        assert not any(one in told for one in hashes)
    shutil.rmtree(settings.MEDIA_ROOT)  # another web server, which draws nothing
    drawn = len(bucket.keys("media/display/"))
    assert client.get(picture_of(slot)).content == answer.content
    assert len(bucket.keys("media/display/")) == drawn == 1


def token_and_code(slot: Slot) -> tuple[str, str]:
    return slot.annotator.invitation.token, slot.code


def test_video_of_the_bucket_is_sent_in_ranges(client, bucket, settings, tmp_path):
    settings.MEDIA_STORE = f"{bucket.address}/media"
    study = make_study(
        benchmark=video_benchmark(tmp_path), kind="choice", consented=True
    )
    slot = study.slots.get(annotator__name="A01")
    url = reverse("rate-video", args=[*token_and_code(slot), "left"])
    whole = b"".join(client.get(url))
    shutil.rmtree(settings.MEDIA_ROOT)
    answer = client.get(url, headers={"Range": "bytes=100-299"})
    assert (answer.status_code, b"".join(answer)) == (206, whole[100:300])
    assert answer["Content-Range"] == f"bytes 100-299/{len(whole)}"


def test_no_answer_is_lost_when_the_bucket_disappears(
    client,
    study,
    bucket,
    settings,
):
    slot = study.slots.get(annotator__name="A01", position=1)
    seen, unseen = (
        picture_of(slot),
        picture_of(study.slots.get(annotator__name="A01", position=2)),
    )
    assert client.get(seen).status_code == 200
    bucket.remove()
    answer = client.get(unseen)
    assert answer.status_code == 503
    assert bucket.name not in answer.content.decode()
    assert client.get(seen).status_code == 200  # from the copy of this machine
    shutil.rmtree(settings.MEDIA_ROOT)
    assert client.get(seen).status_code == 503
    page = reverse("rate-slot", args=[*token_and_code(slot)])
    assert client.get(page).status_code == 200
    answer = save(client, page, submit=True, character=3, aesthetics=2)
    assert answer.status_code == 200, answer.content
    assert sorted(Rating.objects.values_list("value", flat=True)) == [2, 3]
    slot.refresh_from_db()
    assert slot.state == "submitted"
    bucket.client.create_bucket(Bucket=bucket.name)
    media_store._away.clear()
    prepared = media.prepare_picture(picture_bytes("new"))
    name = f"media/original/{prepared.sha256[:2]}/{prepared.sha256}.png"
    assert bucket.keys("media/original/") == [name]
