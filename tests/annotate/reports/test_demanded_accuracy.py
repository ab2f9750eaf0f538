"""VISTAR's demand of a metric is said of VISTAR's stories alone."""

import pandas as pd
import pytest
from django.core.management import call_command

from evalcore.models import Story
from tests.annotate.reports.test_scales import BEAUTY, answered

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("is_of_vistar", [True, False])
def test_accuracy_is_demanded_of_metrics_when_stories_are_of_vistar(
    is_of_vistar, tmp_path
):
    """VISTAR, section 4.2: a metric is to prefer what people do in 75 % of pairs."""
    study = answered(BEAUTY)
    if is_of_vistar:
        Story.objects.update(extra={"vistar": {"role": "one", "angle": "TR"}})
    call_command("report", study.slug, out=tmp_path, resamples=0, images="none")
    verdicts = pd.read_csv(tmp_path / "tables" / "verdicts.csv")
    half = verdicts[verdicts["statistic"] == "ppa_half"]
    assert len(half)
    assert set(half["demanded"].dropna()) == ({0.75} if is_of_vistar else set())
    page = (tmp_path / "report.html").read_text("utf-8")
    assert ("are demanded" in page) == is_of_vistar
