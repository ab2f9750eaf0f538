"""The migration that names the wording of judges' scores truly."""

from importlib import import_module

import pytest
from django.apps import apps

from evalcore.metrics import registry
from evalcore.models import MetricAbsence, MetricRun, MetricScore
from tests.factories import make_benchmark

RENAMED = {
    ("pa_scene", "2 vsb-code-2026.02"): "2 plumbline-1",
    ("pa_scene", "2 vsb-paper"): "2 plumbline-1-plain",
    ("aesthetic", "1 vsb-paper"): "1 vsb-paper",
    ("cids_self", "1 vsb-code-2026.02"): "1 vsb-code-2026.02",
    ("envision_overall", "1 envision-paper-k3"): "1 plumbline-1-k3",
    ("envision_overall", "2 envision-code-05be960"): "2 plumbline-1-code",
    ("oneig_text", "1 oneig-judge-grid-2x2"): "1 plumbline-1-grid-2x2",
    ("oneig_text", "1 rapidocr"): "1 rapidocr",
    ("oneig_alignment", "1"): "1 plumbline-1",
    ("oneig_alignment", "1 grid-2x2"): "1 plumbline-1-grid-2x2",
}


@pytest.mark.django_db
def test_computed_scores_are_renamed_and_imported_ones_kept():
    benchmark = make_benchmark(stories=1, shots=1)
    story = benchmark.stories.first()
    output = story.outputs.first()
    names = ["pa_scene@vsb-paper", "aesthetic@vsb-paper", "pa_scene"]
    for source in ("computed", "imported"):
        run = MetricRun.objects.create(
            benchmark=benchmark, source=source, metrics=names
        )
        for metric, version in RENAMED:
            facts = {
                "run": run,
                "benchmark": benchmark,
                "method": output.method,
                "story": story,
                "metric": metric,
                "metric_version": version,
                "backend": source,
            }
            MetricScore.objects.create(value=1, **facts)
        MetricAbsence.objects.create(reason="none", **facts)
    migration = import_module("evalcore.migrations.0002_prompts")
    migration.rename_profiles(apps, None)
    for (metric, old), new in RENAMED.items():
        kept = MetricScore.objects.filter(metric=metric, backend="imported")
        assert kept.filter(metric_version=old).count() == 1
        rows = MetricScore.objects.filter(metric=metric, backend="computed")
        assert rows.filter(metric_version=new).count() == 1
    assert MetricAbsence.objects.filter(metric_version=new).count() == 1
    run.refresh_from_db()
    assert run.metrics == [
        "pa_scene@plumbline-1-plain",
        "aesthetic@vsb-paper",
        "pa_scene",
    ]
    for name in run.metrics:
        assert registry.load(name)
