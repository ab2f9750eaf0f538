from datetime import timedelta

import pytest
from django.utils import timezone

from annotate.health import jobs
from annotate.models import Report
from evalcore.models import MetricChunk, MetricRun
from evalcore.scoring import metric_runs
from tests.factories import make_study

pytestmark = [pytest.mark.django_db, pytest.mark.postgresql]
NOW = timezone.now()
EARLIER = NOW - timedelta(minutes=30)


@pytest.fixture
def study():
    return make_study()


def report(study, **fields) -> Report:
    return Report.objects.create(study=study, **{"created_at": EARLIER, **fields})


def run_of(study, state="running", **fields) -> MetricRun:
    run = metric_runs.queue_run(study.benchmark, ["sharpness"])
    MetricRun.objects.filter(pk=run.pk).update(
        state=state, created_at=EARLIER, **fields
    )
    return run


def told(found) -> list[tuple]:
    return [(job.kind, job.pk, job.waits_for, job.since) for job in found]


def test_a_report_waits_until_somebody_works_on_it(study):
    waits = report(study)
    at_work = report(study, state="running", heartbeat_at=NOW, step="reading")
    report(study, state="done")
    report(study, state="failed")
    found = jobs.unfinished(NOW)
    assert told(found) == [
        ("report", waits.pk, "worker", EARLIER),
        ("report", at_work.pk, "", EARLIER),
    ]
    assert [job.told for job in found] == ["", "reading"]


def test_a_report_whose_worker_was_killed_waits_since_its_last_sign(study):
    last = NOW - timedelta(minutes=5)
    lost = report(study, state="running", heartbeat_at=last)
    assert told(jobs.unfinished(NOW)) == [("report", lost.pk, "worker", last)]


def test_a_report_that_waits_for_scores_waits_for_no_worker(study):
    run = run_of(study)
    MetricChunk.objects.create(
        run=run, queue="cpu", metrics=["sharpness"], state="running", heartbeat_at=NOW
    )
    held = report(study, waits=True)
    assert told(jobs.unfinished(NOW)) == [
        ("report", held.pk, "scores", EARLIER),
        ("scores", run.pk, "", EARLIER),
    ]
    MetricRun.objects.update(state="done", finished_at=NOW)
    assert told(jobs.unfinished(NOW)) == [("report", held.pk, "worker", EARLIER)]


def test_a_computation_waits_while_none_of_its_chunks_is_at_work(study):
    queued, running = run_of(study, "queued"), run_of(study)
    last = NOW - timedelta(minutes=4)
    for state, sign in (("queued", None), ("done", last)):
        MetricChunk.objects.create(
            run=running, queue="cpu", metrics=[], state=state, heartbeat_at=sign
        )
    (first, second) = jobs.unfinished(NOW)
    assert told([first, second]) == [
        ("scores", queued.pk, "worker", EARLIER),
        ("scores", running.pk, "worker", last),
    ]
    assert (first.name, first.study, first.told) == ("woods", "trial", "sharpness")
