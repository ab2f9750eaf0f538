"""Turns of runs in a queue, the time they have left, and workers on several GPUs."""

from datetime import timedelta

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse
from django.utils import timezone

from evalcore.models import MetricChunk, MetricRun, MetricScore
from evalcore.scoring import metric_runs, planning, tasks, time_left, turns
from evalcore.scoring.chunks import ChunkWork
from evalcore.scoring.gpu_workers import run_on
from evalcore.serving import supervisor
from tests.evalcore.scoring.test_runs import environment
from tests.factories import make_benchmark, make_study
from tests.people import alice

pytestmark = pytest.mark.django_db


def queued(slug: str, stories: int, metric: str = "shots_present") -> MetricRun:
    run = metric_runs.queue_run(make_benchmark(slug=slug, stories=stories), [metric])
    metric_runs.plan(run)
    run.refresh_from_db()
    return run


@pytest.fixture
def in_fours(monkeypatch):
    monkeypatch.setattr(planning, "CHUNK", 4)


@pytest.mark.postgresql
@pytest.mark.usefixtures("in_fours")
def test_new_run_has_its_turn_within_one_chunk_of_an_older_run(monkeypatch):
    worked_on = []
    compute = ChunkWork.compute

    def noted(self, signs):
        worked_on.append(self.chunk.run_id)
        if len(worked_on) == 2:
            queued("new", stories=2)
        return compute(self, signs)

    monkeypatch.setattr(ChunkWork, "compute", noted)
    old = queued("old", stories=6)
    metric_runs.work()
    new = MetricRun.objects.exclude(pk=old.pk).get().pk
    # 18 outputs are five chunks, 6 are two.
    assert worked_on == [old.pk, old.pk, new, old.pk, new, old.pk, old.pk]


@pytest.mark.usefixtures("in_fours")
def test_run_that_was_worked_on_longest_ago_is_next():
    runs = [queued(f"of-{n}", stories=4) for n in range(3)]
    now = timezone.now()
    for run, minutes in zip(runs, (1, 3, 2), strict=True):
        first = run.chunks.order_by("pk").first()
        MetricChunk.objects.filter(pk=first.pk).update(
            state="done", heartbeat_at=now - timedelta(minutes=minutes)
        )
    taken = [turns.take(["cpu"], None).run_id for _ in range(3)]
    assert taken == [runs[1].pk, runs[2].pk, runs[0].pk]
    # Work in another queue is no turn in this one.
    runs[0].chunks.update(queue="gpu", state="running", heartbeat_at=now)
    assert turns.take(["cpu"], None).run_id == runs[1].pk


@pytest.mark.usefixtures("in_fours")
def test_worker_has_one_message_in_its_queue_however_often_it_is_woken(monkeypatch):
    """Otherwise a report would wait behind a message of every minute of a long run."""
    waiting: list[tuple] = []
    monkeypatch.setattr(tasks, "_sent", {})

    def send(message, queue):
        if queue == "cpu":
            waiting.append(message)

    monkeypatch.setattr(tasks.score, "apply_async", send)
    queued("of", stories=12)
    monkeypatch.setattr(metric_runs, "work", lambda *_args, **_options: True)
    for _minute in range(5):
        tasks.sweep()
        for message in [*waiting]:
            waiting.remove(message)
            tasks.score(*message)
    assert waiting == [("cpu", True)]


def finished(run: MetricRun, *minutes_ago: float, queue: str = "cpu") -> None:
    """End the first chunks of a queue of a run, so many minutes ago."""
    keys = run.chunks.filter(queue=queue).order_by("pk").values_list("pk", flat=True)
    for key, minutes in zip(list(keys), minutes_ago, strict=False):
        at = timezone.now() - timedelta(minutes=minutes)
        MetricChunk.objects.filter(pk=key).update(state="done", heartbeat_at=at)


@pytest.mark.usefixtures("in_fours")
def test_time_left_follows_the_chunks_that_ended():
    run = queued("of", stories=12)  # 36 outputs, nine chunks
    assert time_left.seconds_left(run) is None
    finished(run, 20, 10, 0)
    # Ten minutes a chunk, and six are left.
    assert time_left.seconds_left(run) == pytest.approx(3600, abs=5)
    assert time_left.in_words(3600) == "about 60 min left"
    # An hour without a fourth: three chunks in 80 minutes.
    finished(run, 80, 70, 60)
    assert time_left.seconds_left(run) == pytest.approx(6 * 1600 - 1600, abs=5)


@pytest.mark.usefixtures("in_fours")
def test_time_left_is_unknown_while_one_queue_has_no_speed():
    run = queued("of", stories=12)
    late = run.chunks.order_by("pk")[5:]
    MetricChunk.objects.filter(pk__in=[one.pk for one in late]).update(queue="gpu")
    finished(run, 3, 2, 1)
    assert time_left.seconds_left(run) is None
    assert time_left.in_words(None) == "time left not known yet"
    finished(run, 30, 10, queue="gpu")
    # The slower queue has two chunks left, of 20 minutes; one since ten minutes.
    assert time_left.seconds_left(run) == pytest.approx(30 * 60, abs=5)
    both = time_left.seconds_left(run, by_one_worker=True)
    assert both == pytest.approx(31 * 60, abs=5)


def test_time_left_of_a_small_run_follows_its_pieces():
    run = queued("of", stories=8)  # 24 outputs, one chunk
    begun = timezone.now() - timedelta(minutes=10)
    MetricRun.objects.update(done=4, started_at=begun)
    run.refresh_from_db()
    assert time_left.seconds_left(run) is None
    MetricRun.objects.update(done=8)
    run.refresh_from_db()
    assert time_left.seconds_left(run) == pytest.approx(1200, abs=5)


@pytest.mark.usefixtures("in_fours")
def test_page_shows_the_time_left():
    study = make_study(benchmark=make_benchmark(stories=12))
    run = metric_runs.queue_run(study.benchmark, ["shots_present"])
    metric_runs.plan(run)
    client, url = alice(study), reverse("study-scoring", args=[study.slug])
    assert "time left not known yet" in client.get(url).content.decode()
    finished(run, 20, 10, 0)
    assert "about 60 min left" in client.get(url, {"part": "runs"}).content.decode()


def test_each_gpu_has_a_worker():
    commands = supervisor.worker_commands(gpus=supervisor.devices("0,1"))
    assert list(commands) == ["cpu", "judge", "gpu-0", "gpu-1"]
    assert commands["gpu-1"][:2] == ["env", "EVALCORE_DEVICE=cuda:1"]
    assert "--queues gpu --hostname gpu-1@%h" in " ".join(commands["gpu-1"])
    for wrong in ("", "0,0", "cuda:1", "-1"):
        with pytest.raises(ValueError, match="each once, such as 0,1"):
            supervisor.devices(wrong)


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_two_workers_share_a_run(tmp_path, monkeypatch):
    """The devices do not exist here, and a metric without networks needs none."""
    for name, value in environment(tmp_path).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(planning, "CHUNK", 4)
    benchmark = make_benchmark(stories=24)
    run = metric_runs.queue_run(benchmark, ["sharpness", "palette_consistency"])
    metric_runs.plan(run)
    seen = []
    ended = run_on(("cuda:0", "cuda:1"), run.pk, lambda *counts: seen.append(counts))
    assert (ended.state, ended.done) == ("done", 144)
    assert seen[-1] == (144, 144)
    assert MetricScore.objects.count() == 72 * 4


def test_wrong_gpus_are_refused_before_anything_is_queued():
    make_benchmark(slug="of")
    with pytest.raises(CommandError, match="--gpus: 0,0: write the numbers of GPUs"):
        call_command("score", "of", "--metrics", "shots_present", "--gpus", "0,0")
    with pytest.raises(CommandError, match="--gpus: expected no --background"):
        call_command("score", "of", "--gpus", "0", "--background")
    with pytest.raises(CommandError, match="expected no --only, or --only gpu"):
        call_command("serve", "--only", "cpu", "--gpus", "0")
    assert not MetricRun.objects.exists()
