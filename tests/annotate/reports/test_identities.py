"""Reports of studies whose scores were made in several ways."""

from dataclasses import replace
from datetime import UTC, datetime

import pandas as pd
import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.urls import reverse

from annotate.models import Report
from annotate.reports import building, study_scores
from annotate.reports.forms import ReportForm
from evalcore.metrics.identity import Identity
from evalcore.models import MetricScore
from evalcore.scoring import identities, metric_runs
from tests.factories import make_study
from tests.people import alice, answer_everything

pytestmark = pytest.mark.django_db
OLD = Identity("sharpness", "2", weights="0badcafe", precision="fp32")
NEW = Identity("sharpness", "2", weights="0badcafe", precision="bf16")
REPEATED = replace(NEW, settings="repeat=2")


@pytest.fixture
def study():
    """Return an answered study with sharpness in fp32, later in bf16."""
    study = make_study()
    answer_everything(study)
    metric_runs.run(metric_runs.queue_run(study.benchmark, ["sharpness"]).pk)
    for identity, day in ((OLD, 1), (NEW, 2)):
        key = identities.store(identity)
        at = datetime(2026, 3, day, tzinfo=UTC)
        for score in MetricScore.objects.filter(identity__precision=""):
            score.pk, score.identity_id, score.computed_at = None, key, at
            score.value *= day
            score.save()
    MetricScore.objects.filter(identity__precision="").delete()
    return study


def build(study, **options):
    options = {"resamples": 0, "levels": ["pooled"], **options}
    report = Report.objects.create(study=study, options=options)
    report = building.build_report(report.pk)
    assert report.state == "done", report.error
    folder = building.folder(report)
    return folder, (folder / "report.html").read_text(encoding="utf-8")


def metrics(folder):
    return set(pd.read_csv(folder / "tables" / "correlations.csv")["metric"])


@pytest.mark.slow
def test_report_uses_the_newest_complete_identity_and_names_others(study):
    folder, page = build(study)
    assert metrics(folder) == {"sharpness"}
    told = f"scores of one identity are used, {NEW.key} (2, weights 0badcafe, bf16; 6"
    assert told in page
    assert f"left out: {OLD.key} (2, weights 0badcafe, fp32; 6 outputs)" in page
    MetricScore.objects.filter(identity__key=NEW.key, story__key="01").delete()
    first, _other = study_scores.identities_of(study)["sharpness"]
    assert first.identity == OLD


@pytest.mark.slow
def test_report_uses_the_chosen_identity_or_compares(study):
    form = ReportForm({}, study=study)
    (field,) = form.identities
    assert [key for key, _words in field.field.choices] == [NEW.key, OLD.key]
    sent = {"resamples": 0, "confidence": 0.9, "seed": 0, "epsilon": "0"}
    sent |= {"questions": form.fields["questions"].names, "metrics": ["sharpness"]}
    sent |= {"levels": ["pooled"], "coefficients": ["kendall"]}
    form = ReportForm(sent | {"identity-0": OLD.key}, study=study)
    assert form.is_valid(), form.errors
    assert form.options().identity == {"sharpness": OLD.key}
    page = build(study, identity={"sharpness": OLD.key})[1]
    assert f"are used, {OLD.key}" in page
    assert f"--identity sharpness={OLD.key}" in page
    folder, page = build(study, compare_identities=True)
    assert len(metrics(folder)) == 2
    assert "scores of one identity are used" not in page
    form = ReportForm(sent | {"compare_identities": "on"}, study=study)
    assert form.is_valid()
    assert (form.options().compare_identities, form.options().identity) == (True, {})


def test_unknown_identity_is_refused_with_the_known_ones(study, tmp_path):
    arguments = {"out": tmp_path, "identity": {"sharpness": "ffff"}}
    with pytest.raises(CommandError, match=f"ffff: expected {NEW.key} or {OLD.key}"):
        call_command("report", study.slug, **arguments)


@pytest.mark.slow
def test_page_lists_what_made_the_scores(study):
    client = alice(study)
    page = client.get(reverse("study-scoring", args=[study.slug])).content.decode()
    rows = [row for row in page.split("<tr>") if "weights 0badcafe" in row]
    old, new = sorted(rows, key=lambda row: "bf16" in row)
    assert "used by reports" in new
    assert "used by reports" not in old
    assert OLD.key in old
    page = client.get(reverse("report-list", args=[study.slug])).content.decode()
    assert "Scores made in several ways" in page
    assert f"bf16 · 6 outputs · 2026-03-02 · {NEW.key}" in page


def test_repetition_is_not_the_usual_identity_though_it_is_newer(study):
    key = identities.store(REPEATED)
    for score in MetricScore.objects.filter(identity__precision="bf16"):
        score.pk, score.identity_id = None, key
        score.computed_at = datetime(2026, 3, 9, tzinfo=UTC)
        score.save()
    (those,) = study_scores.identities_of(study).values()
    assert [one.identity for one in those] == [NEW, OLD, REPEATED]
