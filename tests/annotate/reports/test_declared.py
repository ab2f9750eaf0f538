"""Declarations of a study in its report: metrics, composites, thresholds."""

import pandas as pd
import pytest
from django.core.management import call_command

from evalcore.models import Story
from tests.annotate.reports.test_scales import BEAUTY, FAITH, answered

pytestmark = pytest.mark.django_db


@pytest.mark.slow
def test_declared_metric_is_in_the_report(tmp_path):
    study = answered(BEAUTY.replace("title", "metric: sharpness, title"), FAITH)
    call_command("report", study.slug, out=tmp_path / "out", resamples=0, images="none")
    table = pd.read_csv(tmp_path / "out/tables/hypotheses.csv")
    assert table[["question", "metric"]].values.tolist() == [["beauty", "sharpness"]]


BOTH = "both: {over: questions, weights: {beauty: 3, faith: 1}}"
ARTIST = "artist: {over: metrics, weights: {sharpness: 1, hwpq@SF: 1}}"


@pytest.mark.slow
def test_study_reports_its_composites(tmp_path):
    study = answered(
        BEAUTY.replace("title", "metric: sharpness, title"),
        f"{FAITH}\ncomposites: {{{BOTH}, {ARTIST}}}",
    )
    call_command("report", study.slug, out=tmp_path / "out", resamples=0, images="none")
    means = pd.read_csv(tmp_path / "out/tables/method_means.csv")
    mean = means.pivot(index="method", columns="dimension", values="mean")
    expected = (3 * mean["beauty"] + mean["faith"]) / 4
    assert mean["both"].to_dict() == pytest.approx(expected.to_dict())
    verdicts = pd.read_csv(tmp_path / "out/tables/verdicts.csv")
    assert set(verdicts.query("question == 'both'")["metric"]) >= {"sharpness"}
    page = (tmp_path / "out/report.html").read_text()
    assert "since not exactly one metric was declared for faith" in page
    assert "artist: 12 of 12 outputs lack some of its parts" in page


@pytest.mark.slow
def test_composites_of_metrics_are_left_out_without_metrics(tmp_path):
    study = answered(
        BEAUTY.replace("title", "metric: sharpness, title"),
        f"{FAITH}\ncomposites: {{{BOTH}, {ARTIST.replace(', hwpq@SF: 1', '')}}}",
    )
    given = {"resamples": 0, "images": "none", "metrics": ()}
    call_command("report", study.slug, out=tmp_path / "out", **given)
    means = pd.read_csv(tmp_path / "out/tables/method_means.csv")
    assert "both" in set(means["dimension"])
    assert not (tmp_path / "out/tables/verdicts.csv").exists()
    page = (tmp_path / "out/report.html").read_text()
    assert "Composites left out, since the report has no metrics: artist." in page


@pytest.mark.slow
@pytest.mark.parametrize("is_of_vistar", [True, False])
def test_accuracy_is_demanded_when_stories_are_of_vistar(is_of_vistar, tmp_path):
    """VISTAR, section 4.2, requires agreement with people in 75 % of pairs."""
    study = answered(BEAUTY)
    if is_of_vistar:
        Story.objects.update(extra={"vistar": {"role": "one", "angle": "TR"}})
    call_command("report", study.slug, out=tmp_path, resamples=0, images="none")
    verdicts = pd.read_csv(tmp_path / "tables" / "verdicts.csv")
    half = verdicts[verdicts["statistic"] == "ppa_half"]
    assert len(half)
    assert set(half["demanded"].dropna()) == ({0.75} if is_of_vistar else set())
    page = (tmp_path / "report.html").read_text("utf-8")
    assert ("line is the threshold" in page) == is_of_vistar
