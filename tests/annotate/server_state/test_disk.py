from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace

import pytest

from annotate import tasks
from annotate.server_state import disk

NOW = datetime(2026, 3, 9, 12, tzinfo=UTC)
GB = 10**9


@pytest.fixture(autouse=True)
def folders(settings):
    settings.MEDIA_ROOT.mkdir()
    (settings.MEDIA_ROOT / "original").mkdir()
    (settings.MEDIA_ROOT / "original" / "a.webp").write_bytes(b"x" * 700)
    settings.REPORTS_ROOT.mkdir()
    (settings.REPORTS_ROOT / "report.json").write_bytes(b"x" * 30)


def free(monkeypatch, n: int) -> None:
    usage = SimpleNamespace(total=100 * GB, free=n)
    monkeypatch.setattr(disk.shutil, "disk_usage", lambda _folder: usage)


def test_two_folders_of_one_disk_are_one_disk(settings):
    (found,) = disk.disks()
    assert found.names == ("DATA_DIR", "MEDIA_ROOT")
    assert found.folder == settings.DATA_DIR
    assert 0 < found.free < found.total


def test_a_folder_that_is_gone_is_left_out(settings):
    settings.MEDIA_ROOT = Path("/nowhere")
    assert [one.names for one in disk.disks()] == [("DATA_DIR",)]


def test_the_worker_adds_up_what_folders_hold(settings):
    assert disk.measured() is None
    tasks.measure_disk()
    found = disk.measured()
    assert (found.media, found.reports) == (700, 30)
    assert [path.name for path in settings.DATA_DIR.glob("disk-use*")] == [disk.FILE]


def test_what_cannot_be_read_counts_as_not_measured(settings):
    (settings.DATA_DIR / disk.FILE).write_text("{")
    assert disk.measured() is None
    tasks.measure_disk()
    assert disk.measured().media == 700


def test_a_week_is_kept(monkeypatch):
    for days in range(12):
        free(monkeypatch, days)
        disk.measure(NOW + timedelta(days=days))
    assert [n for _at, n in disk.measured().free] == [*range(3, 12)]


@pytest.mark.parametrize(
    ("days_ago", "then", "left"),
    [
        (7, 17 * GB, 10),  # a gigabyte a day, 10 of them left
        (5, 17 * GB, None),  # too short a time
        (7, 10 * GB, None),  # it does not fill
        (7, 9 * GB, None),  # it has been emptied
        (7, 10 * GB + 10**6, None),  # far away
    ],
)
def test_how_long_a_disk_lasts_is_told_from_a_week(monkeypatch, days_ago, then, left):
    free(monkeypatch, then)
    disk.measure(NOW - timedelta(days=days_ago))
    free(monkeypatch, 10 * GB)
    disk.measure(NOW)
    assert disk.days_left(disk.measured(), 10 * GB, NOW) == left


@pytest.mark.django_db
def test_the_database_takes_room():
    assert disk.database_bytes() > 100_000
