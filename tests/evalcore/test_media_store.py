"""Media in an object store: S3 by moto's server, gs:// by fsspec's interface."""

import hashlib
import os
import shutil
import time

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from evalcore import media, media_store
from evalcore.models import Benchmark, Frame, MediaFile, Method, MetricScore, Output
from evalcore.object_store import StoreError
from evalcore.scoring import metric_runs
from evalcore.scoring.judged_outputs import rendering
from evalcore.serving import environment, health
from evalcore.video import storing
from tests.clips import stored_clip, write_clip
from tests.factories import make_benchmark, picture_bytes, store_picture

pytestmark = pytest.mark.django_db


@pytest.fixture
def store(shelf, settings):
    """The folder behind MEDIA_ROOT=gs://shelf/media."""
    settings.MEDIA_STORE = "gs://shelf/media"
    media_store._away.clear()
    return shelf / "media"


def forget_copies(settings) -> None:
    """Leave nothing on this machine, as on another one."""
    shutil.rmtree(settings.MEDIA_ROOT)


def test_picture_lies_in_the_store_and_is_fetched(store, settings):
    stored = store_picture(picture_bytes("fox"))
    shown = media.rendition_path(stored, "display").read_bytes()
    name = f"original/{stored.sha256[:2]}/{stored.sha256}.png"
    data = (store / name).read_bytes()
    assert hashlib.sha256(data).hexdigest() == stored.sha256
    forget_copies(settings)
    assert media.original_path(stored).read_bytes() == data
    assert media.rendition_path(stored, "display").read_bytes() == shown
    forget_copies(settings)
    shutil.rmtree(store / "display")  # drawn again from the original
    assert media.rendition_path(stored, "display").read_bytes() == shown
    assert (store / f"display/{stored.sha256[:2]}/{stored.sha256}.webp").exists()


def test_video_is_fetched_for_pages_and_metrics(store, settings, tmp_path):
    stored = stored_clip(write_clip(tmp_path / "clip.mp4", frames=24))
    story = make_benchmark(stories=1, shots=1, methods=()).stories.get()
    method = Method.objects.create(name="Dogwood")
    output = Output.objects.create(story=story, method=method, video=stored)
    forget_copies(settings)
    assert storing.video_rendition_path(stored).is_file()
    assert storing.video_still_path(stored, "thumb").is_file()
    forget_copies(settings)
    (shot,) = rendering(output).shots
    assert next(iter(shot.frames[0].source.pictures())).ndim == 3


def test_copies_unused_for_longest_are_removed(settings):
    settings.MEDIA_STORE = "gs://shelf/media"
    now = time.time()
    for age in range(5):
        path = settings.MEDIA_ROOT / "original" / f"{age}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x" * 100)
        os.utime(path, (now - 1000 * age, now - 1000 * age))
    media_store.remove_unused_copies(250)
    left = sorted(path.name for path in settings.MEDIA_ROOT.rglob("*.png"))
    assert left == ["0.png", "1.png"]
    media_store.remove_unused_copies(0)  # what was used lately may be open
    assert [path.name for path in settings.MEDIA_ROOT.rglob("*.png")] == ["0.png"]


def test_limit_of_copies_holds_while_pictures_are_read(store, settings, monkeypatch):
    settings.MEDIA_CACHE_MB = 1
    monkeypatch.setattr(media_store, "USE_SECONDS", -1)
    rows = [MediaFile(sha256=f"{n:064}", extension="png") for n in range(40)]
    for row in rows:
        path = store / "original/00" / f"{row.sha256}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x" * 100_000)
    for row in rows:
        assert len(media.original_path(row).read_bytes()) == 100_000
    kept = sum(path.stat().st_size for path in settings.MEDIA_ROOT.rglob("*.png"))
    assert 500_000 < kept <= 1_100_000


def test_store_that_fails_is_not_asked_again_at_once(store, settings, monkeypatch):
    stored = store_picture(picture_bytes("fox"))
    forget_copies(settings)
    asked = []

    def fail(*_args: object) -> None:
        asked.append(1)
        raise PermissionError("no")

    monkeypatch.setattr("fsspec.implementations.dirfs.DirFileSystem.get_file", fail)
    for _attempt in range(3):
        with pytest.raises(StoreError, match="gs://shelf/media: access is refused"):
            media.original_path(stored)
    assert len(asked) == 1


@pytest.mark.parametrize(
    ("variables", "error"),
    [
        ({"MEDIA_ROOT": "http://host/x"}, "such as s3://bucket/folder"),
        ({"MEDIA_ROOT": "s3://bucket", "MEDIA_ACCEL": "/media/"}, "Leave out MEDIA_AC"),
    ],
)
def test_wrong_address_of_media_stops_the_start(
    monkeypatch, tmp_path, variables, error
):
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(environment.ImproperlyConfigured, match=error):
        environment.media(tmp_path)


@pytest.fixture
def s3(bucket, settings):
    settings.MEDIA_STORE = f"{bucket.address}/media"
    return bucket


@pytest.mark.slow
def test_benchmark_in_s3_is_scored_on_a_machine_without_copies(s3, settings, tmp_path):
    folder = tmp_path / "outputs/Dogwood/01"
    folder.mkdir(parents=True)
    make_benchmark(stories=1, shots=2, methods=())
    for number in (1, 2):
        (folder / f"shot_0{number}.png").write_bytes(picture_bytes(f"fox {number}"))
    command = ["import_outputs", str(tmp_path / "outputs"), "--benchmark", "woods"]
    call_command(*command, "--without-baselines")
    assert Frame.objects.filter(media__isnull=False).count() == 2
    assert len(s3.keys("media/original/")) == 2
    forget_copies(settings)
    names = ["sharpness", "palette_consistency"]
    run = metric_runs.run(metric_runs.queue_run(Benchmark.objects.get(), names).pk)
    assert run.state == "done", run.error
    assert MetricScore.objects.count() == 3


@pytest.mark.slow
def test_import_stores_nothing_without_the_bucket(s3, tmp_path):
    folder = tmp_path / "outputs/Dogwood/01"
    folder.mkdir(parents=True)
    make_benchmark(stories=1, shots=1, methods=())
    (folder / "shot_01.png").write_bytes(picture_bytes("fox"))
    s3.remove()
    with pytest.raises(CommandError, match=r"no such bucket.*Nothing was written"):
        call_command("import_outputs", str(tmp_path / "outputs"), benchmark="woods")
    assert not Output.objects.exists()
    assert not health.can_store_media()


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_backup_names_what_stays_in_s3_and_restore_checks_it(
    s3, settings, tmp_path, capsys
):
    rows = [store_picture(picture_bytes(f"fox {n}")) for n in range(3)]
    call_command("backup", str(tmp_path / "backups"))
    place = capsys.readouterr().out.partition(": ")[0]
    call_command("restore", "--check", place)
    name = f"media/original/{rows[0].sha256[:2]}/{rows[0].sha256}.png"
    data = s3.client.get_object(Bucket=s3.name, Key=name)["Body"].read()
    s3.put(name, data[:-1] + b"?")
    with pytest.raises(CommandError, match="is damaged"):
        call_command("restore", "--check", place)
    s3.client.delete_object(Bucket=s3.name, Key=name)
    with pytest.raises(CommandError, match="any more"):
        call_command("restore", "--check", place)
    with pytest.raises(CommandError, match="except for 1 original"):
        call_command("backup", str(tmp_path / "backups"))
    s3.put(name, data)
    s3.remove()
    with pytest.raises(CommandError, match=r"no such bucket|any more"):
        call_command("restore", "--check", place)
