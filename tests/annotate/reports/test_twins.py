"""Reports on metrics that miss degraded copies."""

import re

import pandas as pd
import pytest
from django.core.management import call_command
from django.urls import reverse
from django.utils import timezone

from annotate.models import Report
from annotate.reports import building
from evalcore.models import Frame, MetricRun, MetricScore, Output, Shot, TwinScore
from evalcore.perturbations import degraded_copies
from evalcore.scoring import metric_runs
from tests.factories import make_benchmark, make_study
from tests.people import answer_everything, rob

pytestmark = pytest.mark.django_db

METRICS = ["palette_consistency", "sharpness"]


@pytest.fixture
def study():
    """Return a study of half of the methods; all outputs have degraded copies."""
    benchmark = make_benchmark(stories=6, shots=2)
    row = make_study(benchmark=benchmark)
    row.units.filter(output_a__method__name="Cedar").delete()
    answer_everything(row)
    metric_runs.run(metric_runs.queue_run(benchmark, METRICS).pk)
    for output in Output.objects.filter(story__benchmark=benchmark):
        degraded_copies.make_perturbation(output, "blurred", 1)
        degraded_copies.make_perturbation(output, "repeated_shot", 1)
    return row


def compare_twins(metrics=METRICS):
    call_command("compare_twins", "woods", metrics=",".join(metrics))


# Twins are looked for beside all of this.
LITTLE = {
    "resamples": 0,
    "questions": ["character"],
    "levels": ["story"],
    "coefficients": ["kendall"],
}


def built(study, **options):
    row = Report.objects.create(study=study, options=LITTLE | options)
    return building.build_report(row.pk)


def sanity(report):
    assert report.state == "done", report.error
    path = building.folder(report) / "tables" / "sanity.csv"
    if not path.exists():
        return {}
    rows = pd.read_csv(path).to_dict("records")
    return {(r["metric"], r["twin"]): (r["n_missed"], r["n"]) for r in rows}


@pytest.mark.slow
def test_scored_copies_are_in_the_report_with_a_warning(study):
    before = built(study)
    assert sanity(before) == {}
    compare_twins()
    after = built(study)
    found = sanity(after)
    # Twelve of the eighteen outputs with degraded copies are rated.
    assert found["sharpness", "blurred"] == (0, 12)
    assert found["palette_consistency", "repeated_shot"] == (12, 12)
    page = rob(study).get(reverse("report-page", args=[study.slug, after.pk]))
    claim = "scores copies with repeated shots better than their originals in 12 of 12"
    assert claim in page.content.decode()
    verdicts = pd.read_csv(building.folder(after) / "tables" / "verdicts.csv")
    worst = verdicts.set_index("metric")["twins"]
    assert set(worst["palette_consistency"]) == {"repeated_shot"}
    again = building.build_again(before, user=None)
    assert sanity(building.build_report(again.pk)) == {}


@pytest.mark.slow
def test_copies_are_scored_by_metrics_of_the_report_only(study):
    compare_twins([*METRICS, "colourfulness"])
    assert {metric for metric, _twin in sanity(built(study))} == {*METRICS}
    assert {m for m, _ in sanity(built(study, metrics=["sharpness"]))} == {"sharpness"}


@pytest.mark.slow
def test_another_version_of_a_metric_is_another_program(study):
    compare_twins()
    TwinScore.objects.filter(metric="sharpness").update(
        metric_version="0", identity=None
    )
    assert {m for m, _twin in sanity(built(study))} == {"palette_consistency"}
    for score in MetricScore.objects.filter(metric="sharpness"):
        score.pk, score.identity, score.metric_version = None, None, "0"
        score.save()
    compared = sanity(built(study, compare_identities=True))
    (copies,) = {m for m, _twin in compared} - {"palette_consistency"}
    assert re.fullmatch(r"sharpness \(.*\b0\b.*\)", copies)


def add_version(version, **changed):
    """Store the scores of sharpness also in another version."""
    for score in MetricScore.objects.filter(
        metric="sharpness", **changed.pop("of", {})
    ):
        score.pk, score.identity, score.metric_version = None, None, version
        for name, value in changed.items():
            setattr(score, name, value)
        score.save()


def tables(report):
    files = (building.folder(report) / "tables").iterdir()
    return {file.name: file.read_bytes() for file in files}


@pytest.mark.slow
def test_later_version_does_not_rename_scores_of_copies(study):
    compare_twins()
    first = built(study)
    names = {m for m, _twin in sanity(first)}
    assert names == {*METRICS}
    run = MetricRun.objects.get()
    run.pk, run.state, run.finished_at = None, "running", None
    run.save()
    add_version("9", run=run)
    again = building.build_again(first, user=None)
    assert tables(building.build_report(again.pk)) == tables(first)
    assert {m for m, _twin in sanity(built(study))} == names
    run.state, run.finished_at = "done", timezone.now()
    run.save()
    again = building.build_again(first, user=None)
    assert tables(building.build_report(again.pk)) == tables(first)
    told = {m for m, _twin in sanity(built(study, compare_identities=True))}
    assert len(told) == 2
    assert any(name.startswith("sharpness (") for name in told)


@pytest.mark.slow
def test_version_of_excluded_methods_does_not_rename_scores_of_copies(study):
    compare_twins()
    first, *_others = study.method_names
    add_version("9", of={"method__name": first})
    every = {"compare_identities": True}
    assert "sharpness" not in {m for m, _twin in sanity(built(study, **every))}
    found = sanity(built(study, **every, exclude_methods=[first]))
    assert found["sharpness", "blurred"] == (0, 6)


@pytest.mark.slow
def test_scores_of_copies_are_stored_once_and_deleted_with_the_copy(study, capsys):
    compare_twins()
    stored = TwinScore.objects.count()
    assert stored == 18 * 2 * 2
    compare_twins()
    assert TwinScore.objects.count() == stored
    output = Output.objects.first()
    # A copy that people have rated is kept, its scores are not.
    shown = Output.twins.filter(twin_of=output).first()
    shot = Shot.objects.create(story=output.story, number=3)
    Frame.objects.create(output=output, shot=shot, number=3)
    unit = study.units.get(output_a=output)
    study.units.filter(pk=unit.pk).update(output_a=shown)
    degraded_copies.forget_perturbations(output)
    assert list(Output.twins.filter(twin_of=output)) == [shown]
    assert TwinScore.objects.count() == stored - 4
    # Nor do they come back: its original is another one now.
    compare_twins()
    assert TwinScore.objects.count() == stored - 4
    assert "Left out 1 degraded copy" in capsys.readouterr().out
    study.units.filter(pk=unit.pk).update(output_a=output)
    assert sanity(built(study))["sharpness", "blurred"] == (0, 11)
