"""Page of the server: troubles, advice and permissions."""

import re
from datetime import timedelta
from types import SimpleNamespace

import pytest
from django.core.cache import cache
from django.db.migrations.recorder import MigrationRecorder
from django.test import Client
from django.utils import timezone

from annotate.health import gauges
from annotate.models import Report, User
from evalcore.models import Worker
from evalcore.scoring import metric_runs
from tests.factories import make_benchmark, make_study
from tests.people import answer_everything
from tests.serving import free_port

pytestmark = pytest.mark.django_db


@pytest.fixture
def sue(settings) -> Client:
    """Return a superuser's client on a server without troubles."""
    cache.clear()
    settings.MEDIA_ROOT.mkdir()
    for kind in Worker.Kind.values:
        Worker.objects.create(kind=kind, seen_at=timezone.now())
    client = Client()
    client.force_login(User.objects.create(username="sue", is_superuser=True))
    return client


def page(client: Client) -> str:
    return client.get("/server/").content.decode()


def troubles(client: Client) -> list[str]:
    """Return the troubles on the page."""
    found = re.findall(
        r'<article class="alert error">(.*?)</article>', page(client), re.S
    )
    return [re.sub(r"\s+", " ", re.sub("<[^>]+>", " ", one)).strip() for one in found]


def test_htmx_gets_204_without_changes(sue, monkeypatch):
    usage = SimpleNamespace(total=10**12, free=10**11)
    monkeypatch.setattr(gauges.shutil, "disk_usage", lambda _folder: usage)
    (state,) = re.findall(r'name="since" value="(\w+)"', page(sue))
    asked = {"headers": {"hx-request": "true"}}
    assert sue.get(f"/server/?since={state}", **asked).status_code == 204
    Report.objects.create(study=make_study())
    again = sue.get(f"/server/?since={state}", **asked)
    assert again.status_code == 200
    assert b"<html" not in again.content
    assert "1 · 0 · 0" in again.content.decode()


@pytest.mark.parametrize("kind", ["cpu", "beat"])
def test_silent_worker_is_reported_with_start_command(sue, kind):
    Worker.objects.filter(kind=kind).update(
        seen_at=timezone.now() - timedelta(minutes=2)
    )
    (sentence,) = troubles(sue)
    assert sentence.endswith(f"plumbline serve --only {kind}")
    assert "not responding" in sentence


def test_restarting_worker_is_reported_with_time(sue):
    now = timezone.now()
    Worker.objects.filter(kind="cpu").update(
        seen_at=now - timedelta(minutes=2), restart_at=now + timedelta(seconds=30)
    )
    (sentence,) = troubles(sue)
    assert f"restarts at {now + timedelta(seconds=30):%H:%M:%S} UTC" in sentence
    assert "Next restart:" in page(sue)


def test_full_disk_is_reported_with_command(sue, monkeypatch, settings):
    usage = SimpleNamespace(total=10**11, free=5 * 10**8)
    monkeypatch.setattr(gauges.shutil, "disk_usage", lambda _folder: usage)
    (sentence,) = troubles(sue)
    assert re.search(r"Only 476.8.MB are free on the disk of DATA_DIR, MEDIA", sentence)
    assert f"du -xh --max-depth=2 {settings.DATA_DIR} " in sentence


def test_page_failures_are_reported_first(sue, settings):
    settings.MEDIA_ROOT.rmdir()
    MigrationRecorder.Migration.objects.filter(app="annotate").last().delete()
    settings.CELERY_BROKER_URL = f"redis://127.0.0.1:{free_port()}/0"
    migration, media, broker = troubles(sue)
    assert "lacks 1 migration of this version" in migration
    assert migration.endswith("plumbline migrate")
    assert f"ls -ld {settings.MEDIA_ROOT}" in media
    assert broker.endswith("redis-cli ping")


@pytest.mark.parametrize(("minutes", "sentences"), [(9, 0), (11, 1)])
def test_long_waiting_jobs_are_reported(sue, minutes, sentences):
    study = make_study()
    since = timezone.now() - timedelta(minutes=minutes)
    Report.objects.create(study=study, created_at=since)
    found = troubles(sue)
    assert len(found) == sentences
    assert all("Reports have waited for over ten minutes" in one for one in found)
    Worker.objects.filter(kind="cpu").update(seen_at=None)
    (sentence,) = troubles(sue)  # why they wait
    assert "is not responding" in sentence


def test_waiting_scores_link_to_metrics(sue):
    run = metric_runs.queue_run(make_benchmark(), ["sharpness"])
    type(run).objects.update(created_at=timezone.now() - timedelta(hours=1))
    assert "Scores have waited for over ten minutes" in troubles(sue)[0]
    assert 'class="button small" href="/metrics/"' in page(sue)


def test_slots_of_last_minute_are_counted(sue):
    study = make_study()
    answer_everything(study)
    minute = timezone.now().replace(second=0, microsecond=0)
    slots = list(study.slots.order_by("pk"))
    for slot, minutes in zip(slots, (0.5, 10, 59, 61), strict=False):
        slot.submitted_at = minute - timedelta(minutes=minutes)
        slot.save()
    study.slots.filter(pk__gt=slots[3].pk).update(submitted_at=minute)
    figures = re.findall(r"<dd>(\d+)</dd>", page(sue))
    assert figures[:2] == ["1", "0"]


def test_number_of_queries_does_not_grow(sue, django_assert_max_num_queries):
    study = make_study()
    for _ in range(3):
        Report.objects.create(study=study)
        metric_runs.queue_run(study.benchmark, ["sharpness"])
    with django_assert_max_num_queries(25):
        page(sue)
