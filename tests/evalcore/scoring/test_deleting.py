"""Deleted values and runs: what goes, and the record that stays."""

from importlib import import_module

import pytest
from django.apps import apps
from django.core.management import call_command
from django.core.management.base import CommandError

from annotate.models import Event
from evalcore.models import (
    Benchmark,
    MetricAbsence,
    MetricChunk,
    MetricRun,
    MetricScore,
)
from evalcore.scoring import metric_runs
from evalcore.scoring.deleting import values_of, values_of_run
from tests.evalcore.metrics.llm_judge.serving import answers
from tests.factories import make_benchmark, make_study

pytestmark = pytest.mark.django_db


def scored(benchmark, *metrics, **options):
    return metric_runs.run(metric_runs.queue_run(benchmark, metrics, **options).pk)


def test_profile_goes_alone_and_its_run_is_marked_when_empty(judge):
    benchmark = make_benchmark(stories=1, shots=1)
    scored(make_benchmark(slug="fields", methods=("Dogwood",)), "pa_scene")
    first = scored(benchmark, "pa_scene", "pa_scene@plumbline-1-plain")
    assert values_of(benchmark, "pa_scene").scores.count() == 6
    with pytest.raises(CommandError, match="has no values here"):
        call_command("score", "woods", delete="pa_scene@plumbline-9", yes=True)
    call_command("score", "woods", delete="pa_scene@plumbline-1-plain", yes=True)
    assert values_of(benchmark, "pa_scene").scores.count() == 3
    first.refresh_from_db()
    assert first.state == "done"
    call_command("score", "woods", delete="pa_scene", yes=True)
    assert MetricScore.objects.filter(benchmark=benchmark).count() == 0
    first.refresh_from_db()
    assert first.state == "deleted"
    what = [(one["what"], one["values"]) for one in first.options["deleted"]]
    assert what == [("pa_scene@plumbline-1-plain", 3), ("pa_scene", 3)]
    assert MetricScore.objects.filter(benchmark__slug="fields").exists()


def test_command_says_what_goes_and_deletes_only_with_yes(capsys):
    study = make_study()
    study.questions.update(metric="palette_consistency")
    run = scored(study.benchmark, "palette_consistency", "sharpness")
    number = values_of_run(run).scores.count()
    call_command("score", study.slug, delete_run=run.pk)
    said = capsys.readouterr().out
    assert (
        f"would delete {number} values and 0 undefined values of run {run.pk}" in said
    )
    assert f"Studies that use them: {study.slug}." in said
    assert MetricScore.objects.count() == number
    call_command("score", study.slug, delete_run=run.pk, yes=True)
    assert not MetricScore.objects.exists()
    event = study.events.get(kind=Event.Kind.SCORES_CHANGED)
    assert event.details["values"] == number
    with pytest.raises(CommandError, match="has no run 999"):
        call_command("score", study.slug, delete_run=999)


def test_deletion_is_refused_while_a_run_computes():
    benchmark = make_benchmark()
    scored(benchmark, "sharpness")
    metric_runs.queue_run(benchmark, ["shots_present"])
    with pytest.raises(CommandError, match="score --stop"):
        call_command("score", "woods", delete="sharpness", yes=True)
    assert MetricScore.objects.exists()


def test_migrated_absence_of_unusable_answer_is_asked_again(judge):
    """Also where other shots of the output have values; true absences stay."""
    benchmark = make_benchmark(stories=2, shots=2, methods=("Alder",))
    run = scored(benchmark, "pa_scene")
    for story, shots in (("01", (1, 2)), ("02", (2,))):
        for score in MetricScore.objects.filter(
            story__key=story, shot__number__in=shots
        ):
            place = {
                name: getattr(score, name)
                for name in ("benchmark", "method", "story", "shot", "run", "metric")
            }
            MetricAbsence.objects.create(
                **place,
                metric_version=score.metric_version,
                backend=score.backend,
                reason="the judge gave no usable answer in 10 attempts; the last: 'Hm'",
            )
            score.delete()
    absence = MetricAbsence.objects.filter(shot__number=1).get()
    MetricAbsence.objects.create(
        run=run,
        benchmark=benchmark,
        method=absence.method,
        metric="pa_action",
        reason="the story names no characters",
    )
    migration = import_module("evalcore.migrations.0004_again")
    migration.turn_unusable_answers_into_failures(apps, None)
    assert MetricAbsence.objects.get().metric == "pa_action"
    assert [row[0] for row in MetricChunk.objects.get().failures] == [
        "Alder / 01",
        "Alder / 02",
    ]
    judge.then = answers("Score: 2")
    assert scored(benchmark, "pa_scene").total == 1
    assert scored(benchmark, "pa_scene", again="undefined").total == 1
    assert MetricScore.objects.filter(metric="pa_scene").count() == 4


def test_command_asks_again_and_counts_what_it_replaced(judge, capsys):
    benchmark = make_benchmark(stories=1, shots=2, methods=("Alder",))
    scored(benchmark, "pa_scene")
    with pytest.raises(CommandError, match="Name the metrics"):
        call_command("score", "woods", again=True)
    call_command("score", "woods", metrics="pa_scene", again=True, outputs="Alder/01")
    said = capsys.readouterr().out
    assert "1 tasks were to do again; 2 values computed, 2 old values replaced" in said
    judge.then = answers("Hm.")
    with pytest.raises(CommandError, match="keep their old value"):
        call_command("score", "woods", metrics="pa_scene", again=True)
    assert Benchmark.objects.get().metric_scores.count() == 2
    assert MetricRun.objects.count() == 3
