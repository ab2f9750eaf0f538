"""Parts of an upload: in order, doubled, out of place, damaged, from two windows."""

import json
import zlib
from datetime import timedelta

import pytest
from django.utils import timezone

from annotate.models import Upload, User
from annotate.uploads import queue, receiving, storage
from tests.factories import make_benchmark
from tests.people import log_in

pytestmark = pytest.mark.django_db

DATA = bytes(range(250)) * 8


@pytest.fixture
def alice():
    client = log_in("alice")
    User.objects.update(is_superuser=True)
    return client


ONE = [["mine/a.csv", len(DATA), 1]]


def begin(client, files=ONE, name="mine"):
    body = json.dumps({"name": name, "files": files})
    return client.post("/uploads/begin/", body, content_type="application/json")


def send(client, place, offset, part, crc=None):
    checksum = zlib.crc32(part) if crc is None else crc
    address = f"{place['part']}?offset={offset}&crc={checksum}"
    return client.post(address, part, content_type="application/octet-stream")


def test_parts_are_appended_and_file_waits_for_inspection(alice):
    place = begin(alice).json()
    assert send(alice, place, 0, DATA[:700]).json() == {"received": 700}
    assert send(alice, place, 700, DATA[700:]).json() == {"received": len(DATA)}
    upload = Upload.objects.get()
    assert (upload.stage, upload.state) == ("inspect", "queued")
    assert storage.data_file(upload).read_bytes() == DATA
    storage.data_file(upload).unlink()  # as the worker does; a second window is late
    assert send(alice, place, 700, DATA[700:]).json() == {"received": len(DATA)}
    assert not storage.data_file(upload).exists()


def test_same_files_go_on_where_the_upload_stopped(alice):
    place = begin(alice).json()
    send(alice, place, 0, DATA[:700])
    assert begin(alice).json() == place | {"received": 700}
    changed = begin(alice, [("mine/a.csv", len(DATA), 2)]).json()
    assert changed["received"] == 0
    assert changed["page"] != place["page"]


def test_upload_begins_with_the_benchmark_that_the_user_owns(alice):
    make_benchmark(pictures=False)
    for benchmark, chosen in (("woods", {"benchmark": "woods"}), ("hills", {})):
        body = {"name": benchmark, "files": ONE, "benchmark": benchmark}
        alice.post("/uploads/begin/", body, content_type="application/json")
        assert Upload.objects.get(name=benchmark).chosen == chosen


def test_doubled_part_changes_nothing(alice):
    place = begin(alice).json()
    for _time in range(2):
        assert send(alice, place, 0, DATA[:700]).json() == {"received": 700}
    # the second window is behind, and overlaps what is new
    assert send(alice, place, 500, DATA[500:900]).json() == {"received": 900}
    assert storage.data_file(Upload.objects.get()).read_bytes() == DATA[:900]


def test_wrong_part_is_refused(alice, subtests):
    place = begin(alice).json()
    send(alice, place, 0, DATA[:700])
    for offset, part, crc, status in [
        (800, DATA[800:900], None, 409),
        (700, DATA[700:] + b"more", None, 409),
        (700, DATA[700:900], 7, 400),
        (501, DATA[:300], None, 400),
        (700, b"", None, 400),
        ("x", DATA[700:900], None, 400),
        (700, DATA[700:900], "-1", 400),
    ]:
        with subtests.test(str(offset)):
            response = send(alice, place, offset, part, crc)
            assert response.status_code == status
            assert response.json()["error"]
            if status == 409:
                assert response.json()["received"] == 700
            assert storage.data_file(Upload.objects.get()).read_bytes() == DATA[:700]


def test_part_larger_than_the_limit_is_refused(alice, monkeypatch):
    monkeypatch.setattr(receiving, "LARGEST_PART", 100)
    assert send(alice, begin(alice).json(), 0, DATA[:101]).status_code == 400


def test_list_of_files_is_refused(alice, settings, subtests):
    settings.UPLOAD_MAX_FILES = 10
    for files, said in [
        ([["../a.png", 1, 1]], "leads out of its folder"),
        ([["/etc/passwd", 1, 1]], "leads out of its folder"),
        ([["C:\\a.png", 1, 1]], "leads out of its folder"),
        ([["a\x1b/b.png", 1, 1]], "characters that are no letters"),
        ([["a" * 300, 1, 1]], "too long"),
        ([["a/b", 1, 1], ["a\\b", 1, 1]], "Two files"),
        ([["a", 1, 1], ["a/b", 1, 1]], "is a file and a folder"),
        ([["a.png", 0, 1], [".hidden", 9, 1]], "nothing in these files"),
        ([["a.png", -1, 1]], "cannot be read"),
        ([["a.png", 6 * 10**9, 1]], "UPLOAD_MAX_MB"),
        ([[f"{n}.png", 1, 1] for n in range(12)], "UPLOAD_MAX_FILES"),
        ("a.png", "cannot be read"),
    ]:
        with subtests.test(said):
            response = begin(alice, files)
            assert response.status_code == 400
            assert said in response.json()["error"]
            assert not Upload.objects.exists()


def test_full_disk_refuses_an_upload(alice, monkeypatch):
    monkeypatch.setattr(storage, "RESERVE_BYTES", 10**18)
    assert "has room for 0 MB" in begin(alice).json()["error"]


def test_fourth_unfinished_upload_waits_for_the_others(alice):
    for number in range(3):
        assert begin(alice, [["a.csv", 9, number]]).status_code == 200
    refused = begin(alice, [["a.csv", 9, 3]])
    assert "3 unfinished uploads" in refused.json()["error"]
    queue.discard(Upload.objects.first())
    assert begin(alice, [["a.csv", 9, 3]]).status_code == 200


def test_discarded_upload_takes_no_further_part(
    alice, django_capture_on_commit_callbacks
):
    place = begin(alice).json()
    send(alice, place, 0, DATA[:700])
    upload = Upload.objects.get()
    with django_capture_on_commit_callbacks(execute=True):
        alice.post(f"/uploads/{upload.pk}/discard/")
    assert not storage.folder(upload).exists()
    assert send(alice, place, 700, DATA[700:]).status_code == 410


def test_forgotten_upload_is_removed(alice, django_capture_on_commit_callbacks):
    send(alice, begin(alice).json(), 0, DATA[:700])
    upload = Upload.objects.get()
    queue.tidy_up()
    assert storage.folder(upload).exists()
    Upload.objects.update(heartbeat_at=timezone.now() - timedelta(days=8))
    with django_capture_on_commit_callbacks(execute=True):
        queue.tidy_up()
    upload.refresh_from_db()
    assert upload.state == "cancelled"
    assert not storage.folder(upload).exists()


def test_upload_is_hidden_from_others(alice):
    place = begin(alice).json()
    eve = log_in("eve")
    assert eve.get(place["page"]).status_code == 404
    assert send(eve, place, 0, DATA[:700]).status_code == 404
    assert begin(eve).status_code == 403
