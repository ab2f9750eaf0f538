"""The metric of a question is the hypothesis of its report."""

import pandas as pd
import pytest
from django.core.management import call_command

from tests.annotate.reports.test_scales import BEAUTY, FAITH, answered

pytestmark = pytest.mark.django_db


def test_what_a_question_declares_is_in_the_report(tmp_path):
    study = answered(BEAUTY.replace("title", "metric: sharpness, title"), FAITH)
    call_command("report", study.slug, out=tmp_path / "out", resamples=0, images="none")
    table = pd.read_csv(tmp_path / "out/tables/hypotheses.csv")
    assert table.to_dict("records") == [{"question": "beauty", "metric": "sharpness"}]
