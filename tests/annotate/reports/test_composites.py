"""The composites of a study's file are in its report."""

import pandas as pd
import pytest
from django.core.management import call_command

from tests.annotate.reports.test_scales import BEAUTY, FAITH, answered

pytestmark = pytest.mark.django_db

BOTH = "both: {over: questions, weights: {beauty: 3, faith: 1}}"
ARTIST = "artist: {over: metrics, weights: {sharpness: 1, hwpq@SF: 1}}"


def test_a_study_reports_its_composites(tmp_path):
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
    assert "since not exactly one was declared for faith" in page
    assert "artist: 12 of 12 outputs lack some of its parts" in page


def test_of_people_alone_composites_over_metrics_are_left_out(tmp_path):
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
    assert "Left out with all metrics: composites artist." in page
