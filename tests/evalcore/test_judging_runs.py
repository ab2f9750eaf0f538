"""Runs that ask a judge: its money is counted on the run, its answers are kept."""

import pytest
from django.core.management import call_command

from evalcore import scoring
from evalcore.metrics import registry
from evalcore.models import MetricAbsence, MetricChunk, MetricScore
from tests.evalcore.metrics.judging.serving import answers, fails, serving
from tests.factories import make_benchmark

pytestmark = pytest.mark.django_db
# What the server says each question took: 1,000 tokens in and 100 out.
USAGE = {"prompt_tokens": 1000, "completion_tokens": 100}


@pytest.fixture
def judge(monkeypatch):
    """A judge that gives every picture a 3, at 1 and 10 dollars a million tokens."""
    with serving() as server:
        server.then = answers("The wood is there.\nScore: 3", usage=USAGE)
        for name, value in {
            "JUDGE_BASE_URL": server.base_url, "JUDGE_NAME": "test-judge",
            "JUDGE_PRICE_IN": "1", "JUDGE_PRICE_OUT": "10", "JUDGE_BUDGET": "1",
            "JUDGE_CONCURRENCY": "2",
        }.items():  # fmt: skip
            monkeypatch.setenv(name, value)
        registry.load.cache_clear()
        yield server
    registry.load.cache_clear()


def scored(benchmark, *names):
    return scoring.run(scoring.queue_run(benchmark, names).pk)


def test_values_answers_and_money_are_stored(judge):
    benchmark = make_benchmark(stories=1, shots=2)
    run = scored(benchmark, "pa_scene")
    assert (run.state, run.error) == ("done", "")
    assert len(judge.asked) == 6
    assert run.dollars == pytest.approx(6 * (1000 * 1 + 100 * 10) / 1e6)
    assert set(MetricScore.objects.values_list("value", flat=True)) == {3.0}
    row = MetricScore.objects.first()
    assert row.backend == "test-judge"
    assert "The wood is there." in str(row.details)
    assert MetricChunk.objects.get().queue == "judge"


def test_the_command_says_what_a_thousand_outputs_cost(judge, capsys):
    benchmark = make_benchmark(stories=1, shots=2)
    call_command(
        "score", benchmark.slug, "--metrics", "pa_scene", "--without-baselines"
    )
    # Six questions of 0.002 dollars each, about three outputs.
    said = capsys.readouterr().out
    assert "0.01 dollars paid to the judge: 4.00 for a thousand outputs." in said


def test_asking_again_costs_nothing(judge):
    benchmark = make_benchmark(stories=1, shots=2)
    scored(benchmark, "pa_scene")
    MetricScore.objects.all().delete()
    run = scored(benchmark, "pa_scene")
    assert (run.state, run.dollars, len(judge.asked)) == ("done", 0, 6)
    assert MetricScore.objects.count() == 6


def test_a_spent_budget_ends_the_run_and_a_larger_one_goes_on(judge, monkeypatch):
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


def test_a_judge_that_does_not_answer_leaves_nothing_that_stays(judge):
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
    monkeypatch.setattr(scoring, "CHUNK", 1)
    benchmark = make_benchmark(stories=2, shots=1, methods=("Alder",))
    run = scoring.queue_run(benchmark, ["pa_scene"])
    scoring.plan(run)
    assert MetricChunk.objects.count() == 2
    mine = scoring._take(["judge"], None)
    assert mine is not None
    assert scoring._take(["judge"], None) is None
    MetricChunk.objects.filter(pk=mine.pk).update(state="done")
    assert scoring._take(["judge"], None) is not None
