"""Stopping a run while a worker stores, without a deadlock."""

import threading
from concurrent.futures import ThreadPoolExecutor
from time import sleep

import pytest
from django.db import connection

from evalcore.models import MetricRun
from evalcore.scoring import metric_runs, score_rows, turns
from tests.factories import make_benchmark

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.postgresql]


def run(work):
    try:
        return work()
    finally:
        connection.close()


@pytest.mark.skipif(connection.vendor != "postgresql", reason="locks rows")
def test_run_is_stopped_while_its_worker_stores(monkeypatch):
    asked = metric_runs.queue_run(make_benchmark(), ["shots_present"])
    metric_runs.plan(asked)
    storing, store = threading.Event(), score_rows.store

    def slowly(*arguments):
        storing.set()
        sleep(1)
        store(*arguments)

    def stop():
        assert storing.wait(60)
        return metric_runs.stop(MetricRun.objects.all())

    monkeypatch.setattr(score_rows, "store", slowly)
    with ThreadPoolExecutor(2) as pool:
        working = pool.submit(run, metric_runs.work)
        assert pool.submit(run, stop).result() == 1
        assert working.result() is False
    asked.refresh_from_db()
    assert (asked.state, asked.done, asked.scores.count()) == ("stopped", 6, 6)


def test_chunk_stopped_while_being_taken_is_not_computed(monkeypatch):
    asked = metric_runs.queue_run(make_benchmark(), ["shots_present"])
    metric_runs.plan(asked)
    taken = turns._taken

    def stopped_at_once(*arguments):
        assert taken(*arguments)
        return metric_runs.stop(MetricRun.objects.all())

    monkeypatch.setattr(turns, "_taken", stopped_at_once)
    assert not metric_runs.work()
    asked.refresh_from_db()
    assert (asked.state, asked.done, asked.scores.count()) == ("stopped", 0, 0)
    assert asked.chunks.get().state == "stopped"
