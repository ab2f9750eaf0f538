from datetime import timedelta

import pytest
from django.db import OperationalError
from django.utils import timezone

from annotate.health import gauges, prometheus
from annotate.models import Report
from evalcore.models import MetricChunk, Worker
from evalcore.scoring import metric_runs
from tests.factories import make_study
from tests.people import answer_everything

pytestmark = pytest.mark.django_db


def collected() -> dict[tuple[str, ...], float]:
    return {
        (sample.name.removeprefix("plumbline_"), *sample.labels.values()): sample.value
        for metric in prometheus.ServerGauges().collect()
        for sample in metric.samples
    }


def test_gauges_report_the_database():
    study = make_study()
    make_study(slug="draft", state="draft", benchmark=study.benchmark)
    now = timezone.now()
    answer_everything(study)
    slots = list(study.slots.order_by("pk"))
    study.slots.filter(pk=slots[0].pk).update(state="excluded")
    study.slots.filter(pk=slots[1].pk).update(submitted_at=now - timedelta(hours=1))
    study.slots.filter(pk=slots[2].pk).update(
        state="leased", submitted_at=None, lease_until=now
    )
    study.units.update(submitted=1)
    Report.objects.create(study=study, created_at=now - timedelta(minutes=5))
    Report.objects.create(study=study, state="failed")
    run = metric_runs.queue_run(study.benchmark, ["sharpness"])
    MetricChunk.objects.create(run=run, queue="gpu", metrics=[], state="failed")
    Worker.objects.create(kind="cpu", seen_at=now - timedelta(seconds=70))
    Worker.objects.create(kind="gpu", restart_at=now)

    found = collected()
    units = study.units.count()
    assert found["database_up",] == 1
    assert [key for key in found if key[:2] == ("slots", "draft")] == []
    assert found["slots", "trial", "submitted"] == units
    assert found["slots", "trial", "leased"] == 1
    assert found["slots", "trial", "open"] == len(slots) - units - 1
    assert found["slots", "trial", "excluded"] == 1
    assert found["submitted_last_minute",] == len(slots) - 2
    assert found["leases",] == 1
    assert found["reports", "queued"] == found["reports", "failed"] == 1
    assert found["reports", "running"] == 0
    assert found["score_chunks", "failed", "gpu"] == 1
    assert found["score_chunks", "failed", "cpu"] == 0
    assert found["oldest_job_waits_seconds",] == pytest.approx(300, abs=30)
    assert found["worker_silent_seconds", "cpu"] == pytest.approx(70, abs=30)
    assert ("worker_silent_seconds", "gpu") not in found
    assert found["database_bytes",] > 100_000
    assert found["disk_free_bytes", "DATA_DIR"] > 0


def test_gauges_report_an_unreachable_database(monkeypatch, caplog):
    def away():
        raise OperationalError("away")

    make_study()
    monkeypatch.setattr(gauges, "totals", lambda *_given, **_how: away())
    found = collected()
    assert found["database_up",] == 0
    assert {key[0] for key in found} == {"database_up", "disk_free_bytes"}
    assert "away" in caplog.text
