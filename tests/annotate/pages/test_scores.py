"""The page of scores: what is requested, how far it is, and how it is stopped."""

import re

import pytest
from django.urls import reverse

from evalcore.metrics import registry
from evalcore.metrics.checking import never_checked
from evalcore.models import Method, MetricAbsence, MetricRun, MetricScore
from evalcore.scoring import metric_runs, planning, turns
from tests.factories import make_study
from tests.people import alice

pytestmark = pytest.mark.django_db
BASELINES = ["colourfulness", "palette_consistency", "sharpness", "shots_present"]


@pytest.fixture
def study(monkeypatch, tmp_path):
    monkeypatch.setenv("EVALCORE_WEIGHTS_DIR", str(tmp_path))
    return make_study()


def page(client, study, part=""):
    url = reverse("study-scoring", args=[study.slug])
    return client.get(url, {"part": part} if part else {})


def compute(study, **sent):
    url = reverse("study-score", args=[study.slug])
    return alice(study).post(url, sent, follow=True).content.decode()


def test_baselines_go_with_whatever_is_chosen_and_alone_if_nothing_is(study):
    compute(study)
    assert MetricRun.objects.first().metrics == BASELINES
    compute(study, metric=["csd_self"], **{"profile-csd_self": "vsb-paper"})
    assert "csd_self@vsb-paper" in MetricRun.objects.first().metrics
    shown = page(alice(study), study).content.decode()
    assert ", ".join(BASELINES) in shown
    assert 'value="sharpness"' not in shown


def test_metric_of_true_outputs_is_refused_without_them(study):
    shown = compute(study, metric=["fvd"])
    assert "fvd: name the method that holds the true outputs" in shown
    assert not MetricRun.objects.exists()


@pytest.mark.slow
def test_run_says_what_its_waiting_chunks_lack_here(study):
    run = metric_runs.queue_run(study.benchmark, ["csd_self", "sharpness"])
    metric_runs.plan(run)
    metric_runs.work(only_ready=True)
    answer = page(alice(study), study, "runs")
    (notice,) = re.findall('<p class="notice small">(.*?)</p>', answer.content.decode())
    assert "csd/csd_vit-large.pth" in notice
    assert "sharpness" not in notice
    (link,) = re.findall(r"#(lack-[\w-]*csd[\w-]*)", notice)
    metrics = alice(study).get(reverse("metric-list")).content.decode()
    assert f'id="{link}"' in metrics


def test_running_chunk_is_not_shown_as_waiting(study, monkeypatch):
    """A worker elsewhere has one chunk of the queue; the other waits its turn."""
    monkeypatch.setattr(planning, "CHUNK", 1)
    metric_runs.plan(metric_runs.queue_run(study.benchmark, ["csd_self"]))
    assert turns.take(["gpu"], None)
    answer = page(alice(study), study, "runs").content.decode()
    assert "Waiting for a worker" not in answer


@pytest.mark.slow
def test_profile_with_an_ending_is_typed_and_a_wrong_one_refused(study):
    name = "oneig_alignment"
    shown = page(alice(study), study).content.decode()
    assert f'name="profile-{name}" list=' in shown
    compute(study, metric=[name], **{f"profile-{name}": "grid-2x2"})
    assert f"{name}@grid-2x2" in MetricRun.objects.get().metrics
    shown = compute(study, metric=[name], **{f"profile-{name}": "grid-2"})
    assert "has no profile &#x27;grid-2&#x27;" in shown
    assert MetricRun.objects.count() == 1


@pytest.mark.slow
def test_page_asks_until_the_last_run_has_ended(study):
    run = metric_runs.queue_run(study.benchmark, ["sharpness"])
    client = alice(study)
    assert page(client, study, "runs").status_code == 200
    assert 'hx-trigger="every 2s"' in page(client, study).content.decode()
    metric_runs.run(run.pk)
    assert page(client, study, "scores").status_code == 286
    ended = page(client, study, "runs")
    assert (ended.status_code, ended["HX-Trigger"]) == (286, "scored")
    assert "hx-trigger" not in page(client, study).content.decode()
    assert "<code>sharpness</code>" in page(client, study, "scores").content.decode()


@pytest.mark.slow
def test_manager_stops_a_run(study):
    run = metric_runs.queue_run(study.benchmark, ["sharpness"])
    url = reverse("scoring-stop", args=[study.slug, run.pk])
    assert url in page(alice(study), study).content.decode()
    shown = alice(study).post(url, follow=True).content.decode()
    assert "Stopped. Computed scores stay." in shown
    run.refresh_from_db()
    assert run.state == "stopped"
    assert url not in page(alice(study), study).content.decode()


def test_backends_stand_apart(study):
    run = metric_runs.queue_run(study.benchmark, ["sharpness"])
    story, method = study.benchmark.stories.first(), Method.objects.first()
    for backend, reason in (("A-14", "no face"), ("B-16", "too dark")):
        place = {
            "run": run,
            "benchmark": study.benchmark,
            "method": method,
            "metric": "cids",
            "metric_version": "7",
            "backend": backend,
        }
        MetricScore.objects.create(**place, story=story, value=1)
        other = study.benchmark.stories.last()
        MetricAbsence.objects.create(**place, story=other, reason=reason)
    shown = page(alice(study), study).content.decode()
    scores, absences = shown.split("Missing values")
    for backend, reason in (("A-14", "no face"), ("B-16", "too dark")):
        assert backend in scores
        (row,) = [row for row in absences.split("<tr>") if reason in row]
        assert backend in row
        assert "(1)" in row


@pytest.mark.slow
def test_missing_weights_come_with_a_script(study):
    study_page = page(alice(study), study).content.decode()
    metrics = alice(study).get(reverse("metric-list")).content.decode()
    for shown in (study_page, metrics):
        (script,) = re.findall(r'data-copy="(#!/bin/sh[^"]*)"', shown)
        assert "sha256sum --check" in script
        assert "fetch csd/csd_vit-large.pth " in script
    assert "Values come from VISTAR&#x27;s authors: " in metrics
    assert metrics.count("Never checked with real weights.") == len(never_checked())


def test_every_computable_metric_can_be_chosen(study):
    shown = page(alice(study), study).content.decode()
    chosen = set(re.findall('name="metric" value="([^"]*)"', shown))
    assert chosen == set(registry.names()) - set(BASELINES) - {
        name
        for name in registry.names()
        if registry.load(name).info.family == "baseline" or registry.import_only(name)
    }
