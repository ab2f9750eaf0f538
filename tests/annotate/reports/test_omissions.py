"""Remarks on scores that a report leaves out, also before it is built."""

import pytest
from django.urls import reverse
from django.utils import timezone

from annotate.models import Report
from annotate.reports import building, study_scores
from evalcore.models import Method, MetricAbsence, MetricRun, MetricScore, Output
from evalcore.scoring import metric_runs, planning, score_rows, turns
from tests.factories import make_study
from tests.people import alice, answer_everything

pytestmark = pytest.mark.django_db
LITTLE = {"resamples": 0, "levels": ["pooled"], "coefficients": ["kendall"]}

WORDS = "their computation was not finished"


@pytest.fixture
def study(monkeypatch):
    """Return an answered study with scores of one metric, and another in progress."""
    monkeypatch.setattr(planning, "CHUNK", 2)
    study = make_study()
    answer_everything(study)
    metric_runs.run(metric_runs.queue_run(study.benchmark, ["shots_present"]).pk)
    return study


def half_done(study, *metrics):
    """Compute one chunk of several, as a worker does."""
    run = metric_runs.queue_run(study.benchmark, metrics)
    metric_runs.plan(run)
    chunk = turns.take(["cpu"], run.pk)
    metric_runs._work_on(chunk, None, None)
    assert run.scores.exists()
    run.refresh_from_db()
    assert run.state == "running"
    return run


def build(study, **asked):
    report = Report.objects.create(study=study, options=LITTLE, **asked)
    return building.build_report(report.pk)


def page_of(report):
    assert report.state == "done", report.error
    return (building.folder(report) / "report.html").read_text(encoding="utf-8")


@pytest.mark.slow
def test_report_names_the_metrics_that_are_being_computed(study):
    """Their rows exist, but the report must not use them."""
    run = half_done(study, "shots_present", "sharpness", "colourfulness")
    first = build(study)
    page = page_of(first)
    assert WORDS in page
    assert "colourfulness, sharpness. Build another report when it is." in page
    metric_runs.run(run.pk)
    again = building.build_report(building.build_again(first, user=None).pk)
    assert page_of(again) == page
    later = page_of(build(study))
    assert WORDS not in later
    assert "sharpness" in later


@pytest.mark.slow
def test_scores_stored_after_the_moment_are_named(study):
    first = build(study)
    assert "stored after the moment" not in page_of(first)
    metric_runs.run(metric_runs.queue_run(study.benchmark, ["sharpness"]).pk)
    again = building.build_report(building.build_again(first, user=None).pk)
    assert "stored after the moment of this report: scores of sharpness" in page_of(
        again
    )


@pytest.mark.slow
def test_outputs_without_a_value_are_counted_with_their_reasons(study):
    run = metric_runs.run(metric_runs.queue_run(study.benchmark, ["sharpness"]).pk)
    rows = MetricScore.objects.filter(metric="sharpness", story__key="01")
    place = rows.values(
        "benchmark", "method", "story", "metric", "metric_version", "backend"
    ).filter(method__name="Alder")[0]
    MetricAbsence.objects.create(
        run=run,
        reason="nothing was seen",
        **{
            name + "_id" * (name in ("benchmark", "method", "story")): value
            for name, value in place.items()
        },
    )
    rows.exclude(method__name="Cedar").delete()
    page = page_of(build(study))
    assert (
        "Metric sharpness: 2 outputs of 6 left out, without a value: "
        "nothing was seen (1); not computed, or failed (1)." in page
    )
    assert "Metric shots_present" not in page


@pytest.mark.slow
def test_version_without_scores_is_named_separately(study):
    run = metric_runs.run(metric_runs.queue_run(study.benchmark, ["sharpness"]).pk)
    for output in Output.objects.all():
        MetricAbsence.objects.create(
            run=run,
            benchmark=study.benchmark,
            method=output.method,
            story=output.story,
            metric="sharpness",
            metric_version="next",
            reason="nothing was seen",
        )
    own = MetricScore.objects.filter(metric="sharpness")
    own.filter(story__key="01", method__name="Alder").delete()
    page = page_of(build(study))
    told = "6 outputs of 6 left out, without a value: nothing was seen (6)."
    assert f"Metric sharpness (next): {told}" in page
    # As the tables call the only version that they have.
    assert "Metric sharpness: 1 output of 6 left out" in page


@pytest.mark.slow
def test_page_names_the_missing_scores_in_advance(study):
    client = alice(study)
    address = reverse("report-list", args=[study.slug])
    assert 'id="missing"' not in client.get(address).content.decode()
    half_done(study, "shots_present", "sharpness")
    page = client.get(address).content.decode()
    assert "A report built now would lack scores of sharpness." in page


def test_true_outputs_need_no_score_against_themselves(study):
    benchmark, options = study.benchmark, {"truth": "Cedar"}
    (wanted,) = score_rows.metrics_of(["fid"], options)
    run = {"benchmark": benchmark, "source": "computed", "metrics": ["fid"]}
    done = MetricRun.objects.create(
        **run, options=options, state="done", finished_at=timezone.now()
    )
    MetricRun.objects.create(**run, options=options, state="running")
    info = wanted.metric.info
    for method in Method.objects.exclude(name="Cedar"):
        assert study_scores.missing_now(study) == ["fid"]
        MetricScore.objects.create(
            run=done,
            benchmark=benchmark,
            method=method,
            metric=info.name,
            metric_version=wanted.version,
            backend=info.backend,
            value=1.0,
        )
    assert study_scores.missing_now(study) == []
