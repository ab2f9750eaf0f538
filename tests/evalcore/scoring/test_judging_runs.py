"""Runs that ask a judge: its money is counted on the run, its answers are kept."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from decimal import Decimal

import pytest
from django.db import connection
from django.utils import timezone

from evalcore.metrics import registry
from evalcore.metrics.base import FatalError
from evalcore.metrics.llm_judge.settings import BudgetExceededError, read_settings
from evalcore.models import (
    Benchmark,
    MetricAbsence,
    MetricChunk,
    MetricRun,
    MetricScore,
)
from evalcore.scoring import judge_budget, metric_runs
from evalcore.scoring.judge_budget import Account
from tests.evalcore.metrics.llm_judge.serving import answers, fails, serving
from tests.factories import METHODS, make_benchmark

pytestmark = pytest.mark.django_db
# What the server says each question took: 1,000 tokens in and 100 out.
USAGE = {"prompt_tokens": 1000, "completion_tokens": 100}


@pytest.fixture
def judge(monkeypatch):
    """A judge that gives every picture a 3, at 1 and 10 dollars a million tokens."""
    with serving() as server:
        server.then = answers("The wood is there.\nScore: 3", usage=USAGE)
        for name, value in {
            "JUDGE_BASE_URL": server.base_url,
            "JUDGE_NAME": "test-judge",
            "JUDGE_PRICE_IN": "1",
            "JUDGE_PRICE_OUT": "10",
            "JUDGE_BUDGET": "1",
            "JUDGE_CONCURRENCY": "2",
        }.items():
            monkeypatch.setenv(name, value)
        registry.load.cache_clear()
        yield server
    registry.load.cache_clear()


def scored(benchmark, *names):
    return metric_runs.run(metric_runs.queue_run(benchmark, names).pk)


def test_spent_budget_ends_the_run_and_a_larger_one_goes_on(judge, monkeypatch):
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


def test_prose_is_an_absence_with_a_reason_never_a_0(judge):
    judge.then = answers("What a lovely picture!", usage=USAGE)
    benchmark = make_benchmark(stories=1, shots=1, methods=("Alder",))
    run = scored(benchmark, "pa_scene@vsb-paper")
    assert run.state == "done"
    assert not MetricScore.objects.exists()
    absence = MetricAbsence.objects.get()
    assert "score" in absence.reason.lower()
    assert "What a lovely picture!" in str(absence.details["refused"])


def test_judge_that_does_not_answer_leaves_nothing_that_stays(judge):
    judge.then = fails(400, "busy")
    benchmark = make_benchmark(stories=1, shots=1, methods=("Alder",))
    run = scored(benchmark, "pa_scene")
    assert "status 400, 'busy'" in run.error
    assert not MetricScore.objects.exists()
    assert not MetricAbsence.objects.exists()
    judge.then = answers("Score: 3", usage=USAGE)
    scored(benchmark, "pa_scene")
    assert MetricScore.objects.get().value == 3


def test_one_worker_at_a_time_spends_the_budget_of_a_run(judge, monkeypatch):
    monkeypatch.setattr(metric_runs, "CHUNK", 1)
    benchmark = make_benchmark(stories=2, shots=1, methods=("Alder",))
    run = metric_runs.queue_run(benchmark, ["pa_scene"])
    metric_runs.plan(run)
    assert MetricChunk.objects.count() == 2
    mine = metric_runs._take(["judge"], None)
    assert mine is not None
    assert metric_runs._take(["judge"], None) is None
    MetricChunk.objects.filter(pk=mine.pk).update(state="done")
    assert metric_runs._take(["judge"], None) is not None


# A budget over all runs

# Their pictures are others, about which nothing was asked before.
OTHERS = ("Dogwood", "Elm", "Fir")


def test_all_runs_together_spend_no_more_than_their_budget(judge, monkeypatch):
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


def test_what_one_run_has_set_aside_another_waits_for(judge, monkeypatch):
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


def test_payment_is_counted_once_when_it_was_set_aside(
    judge, monkeypatch, django_assert_num_queries
):
    """From what was set aside it becomes spent: one query sees it as either."""
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


def test_what_a_dead_worker_had_set_aside_is_free_after_an_hour(judge, monkeypatch):
    make_benchmark(stories=1, shots=1, pictures=False)
    dead, other = account(monkeypatch), account(monkeypatch)
    dead.take(Decimal(1), Decimal(1))
    MetricRun.objects.filter(reserved__gt=0).update(
        reserved_at=timezone.now() - judge_budget.FORGOTTEN - timedelta(minutes=1)
    )
    assert other.take(Decimal("0.5"), Decimal(1)) == 1


def test_who_waits_for_money_can_be_stopped(judge, monkeypatch):
    make_benchmark(stories=1, shots=1, pictures=False)
    one, other = account(monkeypatch), account(monkeypatch)
    one.take(Decimal(1), Decimal(1))
    monkeypatch.setattr(
        judge_budget.time, "sleep", lambda _s: metric_runs.stop(MetricRun.objects.all())
    )
    with pytest.raises(FatalError, match="stopped while it waited"):
        other.take(Decimal("0.5"), Decimal(1))


@pytest.mark.django_db(transaction=True)
def test_two_runs_at_the_same_time_do_not_both_spend_the_rest(judge, monkeypatch):
    """Either alone would stay below the budget; what is left is enough for one."""
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
