"""Runs that ask a judge: costs are counted on the run, and answers are kept."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from decimal import Decimal

import pytest
from django.db import connection
from django.utils import timezone

from evalcore.metrics.base import FatalError
from evalcore.metrics.llm_judge.settings import BudgetExceededError, read_settings
from evalcore.models import (
    Benchmark,
    MetricAbsence,
    MetricChunk,
    MetricRun,
    MetricScore,
)
from evalcore.scoring import judge_budget, metric_runs, planning, turns
from evalcore.scoring.judge_budget import Account
from tests.evalcore.metrics.llm_judge.serving import answers, fails
from tests.evalcore.scoring.conftest import USAGE
from tests.factories import METHODS, make_benchmark

pytestmark = pytest.mark.django_db


def scored(benchmark, *names):
    return metric_runs.run(metric_runs.queue_run(benchmark, names).pk)


def test_spent_budget_ends_run_and_larger_budget_continues(judge, monkeypatch):
    benchmark = make_benchmark(stories=2, shots=2)
    monkeypatch.setenv("JUDGE_BUDGET", "0.025")
    run = scored(benchmark, "pa_scene")
    assert run.state == "failed"
    assert "budget of $0.025 is used up" in run.error
    assert "raise JUDGE_BUDGET" in run.error
    assert 0 < run.dollars <= 0.025
    asked = len(judge.asked)
    assert 0 < asked < 12
    monkeypatch.setenv("JUDGE_BUDGET", "1")
    run = scored(benchmark, "pa_scene")
    assert (run.state, MetricScore.objects.count()) == ("done", 12)
    assert len(judge.asked) == 12, "nothing is asked twice"


def test_answer_without_score_is_a_failure_that_the_next_run_repairs(judge):
    judge.then = answers("What a lovely picture!", usage=USAGE)
    benchmark = make_benchmark(stories=1, shots=1, methods=("Alder",))
    run = scored(benchmark, "pa_scene@plumbline-1-plain")
    assert (run.state, len(judge.asked)) == ("failed", 3)
    assert "What a lovely picture!" in run.error
    assert not MetricAbsence.objects.exists()
    judge.then = answers("Score: 4", usage=USAGE)
    run = scored(benchmark, "pa_scene@plumbline-1-plain")
    assert (run.state, run.total) == ("done", 1)
    assert MetricScore.objects.get().value == 4


def test_judge_without_answer_leaves_no_absence(judge):
    judge.then = fails(400, "busy")
    benchmark = make_benchmark(stories=1, shots=1, methods=("Alder",))
    run = scored(benchmark, "pa_scene")
    assert "status 400, 'busy'" in run.error
    assert not MetricScore.objects.exists()
    assert not MetricAbsence.objects.exists()
    judge.then = answers("Score: 3", usage=USAGE)
    scored(benchmark, "pa_scene")
    assert MetricScore.objects.get().value == 3


def test_budget_of_run_is_spent_by_one_worker_at_a_time(judge, monkeypatch):
    monkeypatch.setattr(planning, "CHUNK", 1)
    benchmark = make_benchmark(stories=2, shots=1, methods=("Alder",))
    run = metric_runs.queue_run(benchmark, ["pa_scene"])
    metric_runs.plan(run)
    assert MetricChunk.objects.count() == 2
    mine = turns.take(["judge"], None)
    assert mine is not None
    assert turns.take(["judge"], None) is None
    MetricChunk.objects.filter(pk=mine.pk).update(state="done")
    assert turns.take(["judge"], None) is not None


# A budget over all runs

# Their pictures differ, so no answers are stored for them.
OTHERS = ("Dogwood", "Elm", "Fir")


def test_runs_together_do_not_exceed_total_budget(judge, monkeypatch):
    monkeypatch.setenv("JUDGE_BUDGET_TOTAL", "0.03")
    first = scored(make_benchmark(stories=1, shots=2), "pa_scene")
    assert (first.state, first.dollars) == ("done", pytest.approx(0.012))
    asked = len(judge.asked)
    fields = make_benchmark(slug="fields", stories=1, shots=3, methods=OTHERS)
    second = scored(fields, "pa_scene")
    assert second.state == "failed"
    assert "JUDGE_BUDGET_TOTAL" in second.error
    assert first.dollars + second.dollars <= 0.03
    monkeypatch.setenv("JUDGE_BUDGET_TOTAL", "1")
    more = scored(second.benchmark, "pa_scene")
    assert more.state == "done"
    assert len(judge.asked) - asked == 9, "nothing is asked twice"
    assert sum(MetricRun.objects.values_list("reserved", flat=True)) == 0


def account(monkeypatch, total="1"):
    monkeypatch.setenv("JUDGE_BUDGET_TOTAL", total)
    run = metric_runs.queue_run(Benchmark.objects.get(), ["pa_scene"])
    return Account(run.pk, read_settings())


def test_run_waits_for_reservation_of_another_run(judge, monkeypatch):
    make_benchmark(stories=1, shots=1, pictures=False)
    one, other = account(monkeypatch), account(monkeypatch)
    assert one.take(Decimal("0.1"), Decimal("0.7")) == Decimal("0.7")
    waited = []

    def meanwhile(_seconds):
        waited.append(1)
        one._note(Decimal("0.2"))
        one.put_back()

    monkeypatch.setattr(judge_budget.time, "sleep", meanwhile)
    assert other.take(Decimal("0.1"), Decimal("0.9")) == Decimal("0.8")
    assert waited == [1]
    other.put_back()
    one.take(Decimal("0.1"), Decimal("0.8"))
    one._note(Decimal("0.8"))
    one.put_back()
    with pytest.raises(BudgetExceededError, match=r"budget of \$1 over all runs"):
        other.take(Decimal("0.001"), Decimal("0.001"))


def test_reserved_payment_is_counted_once(
    judge, monkeypatch, django_assert_num_queries
):
    """Paying turns a reservation into spending: one query sees it as either."""
    make_benchmark(stories=1, shots=1, pictures=False)
    one, other = account(monkeypatch), account(monkeypatch)
    one.take(Decimal("0.5"), Decimal("0.5"))
    one._note(Decimal("0.2"))
    other.take(Decimal("0.1"), Decimal("0.1"))
    with django_assert_num_queries(1):
        assert judge_budget.totals() == (Decimal("0.2"), Decimal("0.4"))
    with django_assert_num_queries(1):
        beside = judge_budget.totals(beside=one._key)
    assert beside == (Decimal("0.2"), Decimal("0.1"))


def test_reservation_of_dead_worker_expires_after_an_hour(judge, monkeypatch):
    make_benchmark(stories=1, shots=1, pictures=False)
    dead, other = account(monkeypatch), account(monkeypatch)
    dead.take(Decimal(1), Decimal(1))
    MetricRun.objects.filter(reserved__gt=0).update(
        reserved_at=timezone.now() - judge_budget.FORGOTTEN - timedelta(minutes=1)
    )
    assert other.take(Decimal("0.5"), Decimal(1)) == 1


def test_waiting_run_can_be_stopped(judge, monkeypatch):
    make_benchmark(stories=1, shots=1, pictures=False)
    one, other = account(monkeypatch), account(monkeypatch)
    one.take(Decimal(1), Decimal(1))
    monkeypatch.setattr(
        judge_budget.time, "sleep", lambda _s: metric_runs.stop(MetricRun.objects.all())
    )
    with pytest.raises(FatalError, match="stopped while it waited"):
        other.take(Decimal("0.5"), Decimal(1))


@pytest.mark.django_db(transaction=True)
def test_parallel_runs_do_not_both_spend_the_rest(judge, monkeypatch):
    """Either run alone would stay below the budget; the rest is enough for one."""
    monkeypatch.setenv("JUDGE_BUDGET_TOTAL", "0.05")
    monkeypatch.setattr(judge_budget, "LOOK_AGAIN_SECONDS", 0.05)
    runs = [
        metric_runs.queue_run(
            make_benchmark(slug=slug, stories=5, shots=1, methods=names), ["pa_scene"]
        )
        for slug, names in (("woods", METHODS), ("fields", OTHERS))
    ]

    def compute(run):
        try:
            return metric_runs.run(run.pk)
        finally:
            connection.close()

    with ThreadPoolExecutor(2) as pool:
        ended = list(pool.map(compute, runs))
    assert "failed" in {run.state for run in ended}
    paid = sum(run.dollars for run in ended)
    assert paid == pytest.approx(len(judge.asked) * 0.002)
    assert 0.03 < paid <= 0.05
