"""What a researcher chooses on the page of reports is what the report covers."""

import pandas as pd
import pytest
from django.urls import reverse

from annotate.models import Report
from annotate.reports import building
from annotate.reports.forms import ReportForm
from evalcore.scoring import metric_runs
from tests.factories import make_study
from tests.people import answer_everything, rob

pytestmark = [pytest.mark.django_db, pytest.mark.once]

METRICS = ["palette_consistency", "sharpness", "shots_present"]
ASKED = {
    "questions": ["character", "aesthetics"],
    "metrics": METRICS,
    "resamples": "0",
    "confidence": "0.95",
    "seed": "0",
    "epsilon": "heldout",
    "levels": ["method", "pooled"],
    "coefficients": ["kendall"],
}


@pytest.fixture
def study():
    row = make_study()
    answer_everything(row)
    metric_runs.run(metric_runs.queue_run(row.benchmark, METRICS).pk)
    return row


def ask(study, **asked):
    """Ask for a report on the page, and return its row, built."""
    url = reverse("report-create", args=[study.slug])
    answer = rob(study).post(url, ASKED | asked)
    assert answer.status_code == 302, answer.context["form"].errors
    return building.build_report(Report.objects.latest("pk").pk)


def refused(study, **asked):
    """Ask for what is refused, and return what is told by the field's name."""
    url = reverse("report-create", args=[study.slug])
    answer = rob(study).post(url, ASKED | asked)
    assert answer.status_code == 422
    assert not Report.objects.exists()
    return {name: texts[0] for name, texts in answer.context["form"].errors.items()}


def table(report, name):
    return pd.read_csv(building.folder(report) / "tables" / f"{name}.csv")


def test_the_form_offers_what_the_study_has(study):
    form = ReportForm(study=study)
    assert [name for name, _label in form["metrics"].field.choices] == METRICS
    assert form["questions"].field.choices == [
        ("character", "Character"),
        ("aesthetics", "Aesthetics"),
    ]
    page = rob(study).get(reverse("report-list", args=[study.slug])).content.decode()
    assert "Which of 2 questions and 3 metrics" in page


def test_a_report_covers_the_questions_and_metrics_that_were_ticked(study):
    report = ask(study, questions=["character"], metrics=["sharpness", "shots_present"])
    assert report.state == "done", report.error
    rows = table(report, "correlations")
    assert set(rows["dimension"]) == {"character"}
    assert set(rows["metric"]) == {"sharpness", "shots_present"}
    run = table(report, "run").set_index("key")["value"]
    assert (run["questions"], run["metrics"]) == (
        "character",
        "sharpness, shots_present",
    )
    assert "--questions character --metrics sharpness,shots_present" in run["command"]
    listed = rob(study).get(reverse("report-list", args=[study.slug]))
    assert "metrics sharpness, shots_present" in listed.content.decode()


def test_all_of_them_are_whatever_there_is_when_it_is_built(study):
    assert ask(study).options["metrics"] is None


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ({"questions": []}, {"questions": "Choose at least one question."}),
        ({"metrics": []}, {"metrics": "Choose at least one metric."}),
        (
            {"metrics": ["sharpness", "sharpnes"]},
            {"metrics": "There is no sharpnes here. Expected: sharpness."},
        ),
        (
            {"questions": ["x"]},
            {"questions": "There is no x here. Expected: character, aesthetics."},
        ),
    ],
)
def test_names_that_are_not_there_are_told_beside_those_that_are(study, asked, told):
    assert refused(study, **asked) == told


def test_before_there_are_scores_no_metric_is_asked_for():
    study = make_study()
    answer_everything(study)
    form = ReportForm({**ASKED, "metrics": []}, study=study)
    assert form.is_valid(), form.errors
    assert form.options().metrics is None
