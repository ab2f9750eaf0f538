"""Values that are computed again: what is asked, replaced, kept and continued."""

import itertools
from dataclasses import replace

import pytest

from evalcore.metrics import registry
from evalcore.metrics.base import Value
from evalcore.models import (
    MetricAbsence,
    MetricRun,
    MetricScore,
    Output,
)
from evalcore.scoring import chunks, metric_runs
from evalcore.scoring.asked_again import RECORD, replaced_by
from evalcore.scoring.chunks import ScoringError
from tests.evalcore.metrics.llm_judge.serving import answers
from tests.factories import make_benchmark

pytestmark = pytest.mark.django_db
METRIC = "pa_scene@plumbline-1-plain"
VERSION = registry.load(METRIC).info.full_version


@pytest.fixture
def benchmark():
    """Return two outputs of two shots each."""
    return make_benchmark(stories=2, shots=2, methods=("Alder",))


def scored(benchmark, *metrics, **options):
    return metric_runs.run(
        metric_runs.queue_run(benchmark, metrics or [METRIC], **options).pk
    )


def values(**columns):
    return sorted(MetricScore.objects.filter(**columns).values_list("value", flat=True))


def test_answers_are_asked_again_and_replace_the_old_ones(judge, benchmark):
    scored(benchmark)
    judge.then = answers("Score: 1")
    run = scored(benchmark, again="all")
    assert (run.state, run.total, run.done) == ("done", 2, 2)
    assert values() == [1, 1, 1, 1]
    assert len(judge.asked) == 8
    record = [dict(zip(RECORD, row, strict=True)) for row in replaced_by(run)]
    assert sorted((row["method"], row["story"], row["shot"]) for row in record) == [
        ("Alder", story, shot) for story in ("01", "02") for shot in (1, 2)
    ]
    assert {(row["profile"], row["judge"], row["value"]) for row in record} == {
        ("plumbline-1-plain", "test-judge", 3.0)
    }
    MetricScore.objects.all().delete()
    scored(benchmark)
    assert values() == [1, 1, 1, 1], "the new answers are the stored ones"
    assert len(judge.asked) == 8


def test_old_value_stays_when_the_new_answer_cannot_be_used(judge, benchmark):
    scored(benchmark)
    judge.then = answers("What a lovely picture!")
    run = scored(benchmark, again="all")
    assert run.state == "failed"
    assert values() == [3, 3, 3, 3]
    judge.then = answers("Score: 2")
    run = scored(benchmark, again="undefined")
    assert (run.state, run.total) == ("done", 2), "what failed is tried again"
    assert values() == [2, 2, 2, 2]
    assert scored(benchmark, again="undefined").total == 0


def test_only_undefined_values_or_chosen_outputs_are_asked(judge, benchmark):
    run = scored(benchmark)
    score = MetricScore.objects.get(story__key="02", shot__number=1)
    place = {"run": run, "benchmark": benchmark, "method": score.method}
    key = {"metric": "pa_scene", "identity": score.identity}
    MetricAbsence.objects.create(
        **place, **key, backend="test-judge", story=score.story, shot=score.shot
    )
    score.delete()
    run = scored(benchmark, again="undefined")
    assert run.total == 1
    assert len(judge.asked) == 4, "usable answers are taken from the store"
    assert not MetricAbsence.objects.exists()
    assert values() == [3, 3, 3, 3]
    judge.then = answers("Score: 0")
    assert scored(benchmark, again="all", outputs=["Alder/02"]).total == 1
    assert values(story__key="01") == [3, 3]
    assert values(story__key="02") == [0, 0]
    with pytest.raises(ScoringError, match="“Oak/02”: write METHOD/STORY, such as"):
        scored(benchmark, again="all", outputs=["Oak/02"])


@pytest.mark.parametrize("is_stopped", [False, True])
def test_killed_run_loses_no_value_and_the_same_request_continues(
    judge, benchmark, monkeypatch, is_stopped
):
    monkeypatch.setattr(chunks, "STORED_TOGETHER", 1)
    scored(benchmark)
    judge.then = answers("Score: 1")

    class KilledError(BaseException):
        pass

    def killed(done, _total):
        if done == 1:
            raise KilledError

    run = metric_runs.queue_run(benchmark, [METRIC], again="all")
    metric_runs.plan(run)
    with pytest.raises(KilledError):
        metric_runs.work(progress=killed)
    assert values() == [1, 1, 3, 3]
    if is_stopped:
        metric_runs.stop(MetricRun.objects.filter(pk=run.pk))
    asked = len(judge.asked)
    again = scored(benchmark, again="all")
    assert (again.options["since"], again.total) == (run.pk, 1)
    assert values() == [1, 1, 1, 1]
    assert len(judge.asked) == asked, "its answers are used"
    assert scored(benchmark, again="all").total == 2, "a complete run is not continued"


def test_two_equal_requests_at_once_ask_once(judge, benchmark):
    scored(benchmark)
    judge.then = answers("Score: 1")
    first, second = (
        metric_runs.queue_run(benchmark, [METRIC], again="all") for _ in range(2)
    )
    runs = [metric_runs.run(one.pk) for one in (first, second)]
    assert [run.total for run in runs] == [2, 0]
    assert values() == [1, 1, 1, 1]
    assert len(judge.asked) == 8


def test_repetition_stands_beside_the_first_values(judge, benchmark):
    scored(benchmark)
    judge.then = answers("Score: 1")
    run = scored(benchmark, repeat=2)
    assert run.total == 2
    assert values(metric_version=VERSION) == [3, 3, 3, 3]
    assert values(metric_version=f"{VERSION} repeat 2") == [1, 1, 1, 1]
    assert {one.body["seed"] for one in judge.asked} == {42, 2042}
    assert scored(benchmark, repeat=2).total == 0
    with pytest.raises(ScoringError, match="sharpness: no judge is asked"):
        scored(benchmark, "sharpness", repeat=2)


def test_learned_features_are_computed_again(benchmark, monkeypatch):
    scored(benchmark, "sharpness")
    encoder = type(registry.load("sharpness")).encoder
    numbers = itertools.count(100)
    monkeypatch.setattr(encoder, "formula", lambda picture: float(next(numbers)))
    scored(benchmark, "sharpness", again="all")
    assert values() == [100, 101, 102, 103]


def test_imported_values_are_not_replaced(benchmark):
    imported = MetricRun.objects.create(benchmark=benchmark, source="imported")
    info = registry.load("shots_present").info
    output = Output.objects.first()
    MetricScore.objects.create(
        run=imported,
        benchmark=benchmark,
        method=output.method,
        story=output.story,
        metric=info.name,
        metric_version=info.full_version,
        backend=info.backend,
        value=7,
    )
    scored(benchmark, "shots_present")
    assert scored(benchmark, "shots_present", again="all").total == 1
    assert values() == [1, 7]


def test_values_of_methods_are_replaced(benchmark, monkeypatch):
    class Whole:
        info = replace(registry.load("shots_present").info, scores="run")

        def missing(self):
            return ""

        def score(self, run):
            yield from ()
            return [Value(next(numbers))]

    numbers = itertools.count(1.0)
    metric, load = Whole(), registry.load
    monkeypatch.setattr(
        registry, "load", lambda name: metric if name == "whole" else load(name)
    )
    scored(benchmark, "whole")
    run = scored(benchmark, "whole", again="all")
    assert values() == [2]
    assert replaced_by(run)[0][:3] == ["Alder", None, None]
    with pytest.raises(ScoringError, match="one value per method"):
        scored(benchmark, "whole", outputs=["Alder/01"])
