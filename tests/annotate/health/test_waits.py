from datetime import timedelta

import pytest
from django.utils import timezone

from annotate.health.gauges import waits
from annotate.models import Report
from evalcore.models import MetricChunk, MetricRun
from evalcore.scoring import metric_runs
from tests.factories import make_study

pytestmark = [pytest.mark.django_db, pytest.mark.postgresql]
HALF_HOUR = 1800


@pytest.fixture
def study():
    return make_study()


def report(study, **fields) -> Report:
    fields = {"created_at": ago(HALF_HOUR), **fields}
    return Report.objects.create(study=study, **fields)


def ago(seconds: float):
    return timezone.now() - timedelta(seconds=seconds)


def waiting() -> dict[str, float]:
    return {kind: round(n, -1) for kind, n in waits(timezone.now()).items()}


def test_report_waits_until_a_worker_takes_it(study):
    row = report(study)
    for state in ("done", "failed", "cancelled"):
        report(study, state=state)
    assert waiting() == {"report": HALF_HOUR}
    Report.objects.filter(pk=row.pk).update(state="running", heartbeat_at=ago(0))
    assert waiting() == {}


def test_report_of_a_killed_worker_waits_since_its_last_heartbeat(study):
    report(study, state="running", heartbeat_at=ago(300))
    assert waiting() == {"report": 300}


def test_run_waits_while_no_chunk_is_running(study):
    run = metric_runs.queue_run(study.benchmark, ["sharpness"])
    MetricRun.objects.update(created_at=ago(HALF_HOUR))
    assert waiting() == {"scores": HALF_HOUR}
    chunk = MetricChunk.objects.create(
        run=run, queue="cpu", metrics=[], state="running", heartbeat_at=ago(0)
    )
    assert waiting() == {}
    MetricChunk.objects.filter(pk=chunk.pk).update(
        state="queued", heartbeat_at=ago(240)
    )
    assert waiting() == {"scores": 240}
