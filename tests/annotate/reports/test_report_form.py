"""Options on the page of reports."""

import pandas as pd
import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse

from annotate.models import Report
from annotate.reports import building
from annotate.reports.forms import ReportForm
from evalcore.scoring import metric_runs
from tests.factories import make_study
from tests.people import answer_everything, rob

pytestmark = pytest.mark.django_db

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

FAST = {"resamples": 0, "images": "none"}


@pytest.fixture
def study():
    row = make_study()
    answer_everything(row)
    metric_runs.run(metric_runs.queue_run(row.benchmark, METRICS).pk)
    return row


def ask(study, **asked):
    """Request a report on the page, build it, and return its row."""
    url = reverse("report-create", args=[study.slug])
    answer = rob(study).post(url, ASKED | asked)
    assert answer.status_code == 302, answer.context["form"].errors
    return building.build_report(Report.objects.latest("pk").pk)


def refused(study, **asked):
    """Post invalid options, and return the errors by field."""
    url = reverse("report-create", args=[study.slug])
    answer = rob(study).post(url, ASKED | asked)
    assert answer.status_code == 422
    assert not Report.objects.exists()
    return {name: texts[0] for name, texts in answer.context["form"].errors.items()}


def table(report, name):
    return pd.read_csv(building.folder(report) / "tables" / f"{name}.csv")


@pytest.mark.slow
def test_report_covers_the_ticked_questions_and_metrics(study):
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
    content = (building.folder(report) / "report.json").read_text()
    assert "before you trust it: sharpness, shots_present." in content
    assert "--questions character --metrics sharpness,shots_present" in run["command"]
    listed = rob(study).get(reverse("report-list", args=[study.slug]))
    assert "metrics sharpness, shots_present" in listed.content.decode()


@pytest.mark.slow
def test_report_without_a_metric_is_about_people_only(study):
    declares(study, "character", "sharpness")
    report = ask(study, metrics=[])
    assert report.state == "done", report.error
    assert not (building.folder(report) / "tables" / "correlations.csv").exists()
    page = (building.folder(report) / "report.html").read_text()
    assert "Which methods do people prefer?" in page
    run = table(report, "run").set_index("key")["value"]
    assert "--metrics '' " in run["command"] + " "
    listed = rob(study).get(reverse("report-list", args=[study.slug]))
    assert "people alone" in listed.content.decode()


@pytest.mark.slow
def test_all_metrics_are_those_present_at_the_build(study):
    assert ask(study).options["metrics"] is None


REFUSED = (
    ({"questions": []}, {"questions": "Choose at least one question."}),
    ({"top": 3}, {"top": "Choose fewer than the 3 methods of the report."}),
    (
        {"top": 2, "exclude_methods": ["Cedar"]},
        {"top": "Choose fewer than the 2 methods of the report."},
    ),
    (
        {"metrics": ["sharpness", "sharpnes"]},
        {"metrics": "sharpnes is not available. Expected: sharpness."},
    ),
    (
        {"questions": ["x"]},
        {"questions": "x is not available. Expected: character, aesthetics."},
    ),
)


@pytest.mark.slow
def test_unknown_names_are_refused_with_suggestions(study):
    for asked, told in REFUSED:
        assert refused(study, **asked) == told


def test_form_requires_no_metric_before_there_are_scores():
    study = make_study()
    answer_everything(study)
    form = ReportForm({**ASKED, "metrics": []}, study=study)
    assert form.is_valid(), form.errors
    assert form.options().metrics is None


def declares(study, key, metric):
    question = study.questions.get(key=key)
    question.metric = metric
    question.save()


BOTH = """
composites:
  both:
    over: questions
    weights: {character: 3, aesthetics: 1}
"""


@pytest.mark.slow
def test_files_replace_the_declarations_of_the_study(study, tmp_path):
    """The command names copies in the folder; a later report without files has none."""
    declares(study, "character", "sharpness")
    given = {
        "hypotheses": "question,metric\naesthetics,shots_present\n",
        "composites": BOTH,
    }
    for name, suffix in (("hypotheses", "csv"), ("composites", "yaml")):
        path = tmp_path / f"{name}.{suffix}"
        path.write_text(given[name])
        given[name] = path
    out = tmp_path / "out"
    call_command("report", study.slug, out=out, **given, **FAST)
    tables = {
        name: pd.read_csv(out / "tables" / f"{name}.csv")
        for name in ("hypotheses", "method_means", "run")
    }
    declared = tables["hypotheses"][["question", "metric"]].to_numpy().tolist()
    assert declared == [["aesthetics", "shots_present"]]
    assert "both" in set(tables["method_means"]["dimension"])
    run = tables["run"].set_index("key")["value"]
    assert "sha256 of hypotheses (inputs/hypotheses.csv)" in run
    assert run["command"].endswith(
        "--hypotheses inputs/hypotheses.csv --composites inputs/composites.yaml"
    )
    assert "not by the study" in (out / "report.json").read_text()
    assert {path.name for path in (out / "inputs").iterdir()} == {
        "hypotheses.csv",
        "composites.yaml",
    }
    call_command("report", study.slug, out=out, **FAST)
    assert list((out / "inputs").iterdir()) == []


def test_command_refuses_files_by_their_lines(study, tmp_path):
    path = tmp_path / "meant.csv"
    path.write_text("question,metric\ncharacter,sharpnes\n")
    out = tmp_path / "out"
    with pytest.raises(CommandError, match=r"meant.csv:2: metric: sharpnes") as caught:
        call_command("report", study.slug, out=out, hypotheses=path, **FAST)
    assert caught.value.returncode == 2
    with pytest.raises(CommandError, match=r"gone.csv: expected a file"):
        call_command("report", study.slug, out=out, hypotheses=tmp_path / "gone.csv")
    assert not out.exists()


@pytest.mark.slow
def test_report_stored_by_an_older_version_can_be_built_again(study):
    report = Report.objects.create(
        study=study, options={"resamples": 0}, inputs={"composites": BOTH}
    )
    report = building.build_report(building.build_again(report, user=None).pk)
    assert report.state == "done", report.error
    assert "both" in set(table(report, "method_means")["dimension"])


@pytest.mark.slow
def test_number_of_best_methods_is_an_option(study):
    report = ask(study, top="2", resamples="10")
    assert report.options["top"] == 2
    assert set(table(report, "top_methods")["size"]) == {2}
    assert "--top 2" in (building.folder(report) / "tables/run.csv").read_text()
    page = rob(study).get(reverse("report-list", args=[study.slug])).context["form"]
    assert page["top"].value() == 0
