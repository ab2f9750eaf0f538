"""What a researcher chooses on the page of reports is what the report covers."""

import io
import shlex
import zipfile

import pandas as pd
import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command
from django.urls import reverse

from annotate.models import Report
from annotate.reports import building
from annotate.reports.forms import ReportForm
from evalcore.models import MetricScore
from evalcore.scoring import metric_runs
from tests.annotate.reports.test_scales import BEAUTY, FAITH, answered
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
    content = (building.folder(report) / "report.json").read_text()
    assert "before it is believed: sharpness, shots_present." in content
    assert "--questions character --metrics sharpness,shots_present" in run["command"]
    listed = rob(study).get(reverse("report-list", args=[study.slug]))
    assert "metrics sharpness, shots_present" in listed.content.decode()
    assert "where they disagree" in listed.content.decode()
    address = reverse("report-page", args=[study.slug, report.pk])
    assert b"where they disagree" in rob(study).get(address).content


def test_without_a_metric_it_is_a_report_of_people_alone(study):
    declares(study, "character", "sharpness")
    report = ask(study, metrics=[])
    assert report.state == "done", report.error
    assert not (building.folder(report) / "tables" / "correlations.csv").exists()
    page = (building.folder(report) / "report.html").read_text()
    assert "What do people say of the methods?" in page
    run = table(report, "run").set_index("key")["value"]
    assert "--metrics '' " in run["command"] + " "
    listed = rob(study).get(reverse("report-list", args=[study.slug]))
    assert "people alone" in listed.content.decode()
    assert "where they disagree" not in listed.content.decode()
    address = reverse("report-page", args=[study.slug, report.pk])
    assert b"where they disagree" not in rob(study).get(address).content


@pytest.mark.slow
def test_all_of_them_are_whatever_there_is_when_it_is_built(study):
    assert ask(study).options["metrics"] is None


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ({"questions": []}, {"questions": "Choose at least one question."}),
        ({"top": 3}, {"top": "Choose fewer than the 3 methods of the report."}),
        (
            {"top": 2, "exclude_methods": ["Cedar"]},
            {"top": "Choose fewer than the 2 methods of the report."},
        ),
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


def declares(study, key, metric):
    question = study.questions.get(key=key)
    question.metric = metric
    question.save()


def hypotheses(report):
    path = building.folder(report) / "tables" / "hypotheses.csv"
    return [tuple(row) for row in pd.read_csv(path).to_numpy()] if path.exists() else []


@pytest.mark.parametrize(
    ("asked", "expected", "stored"),
    [
        ({"declared_character": "sharpness"}, [("character", "sharpness")], False),
        (
            {"declared_character": "shots_present", "declared_aesthetics": "sharpness"},
            [("character", "shots_present"), ("aesthetics", "sharpness")],
            True,
        ),
        ({}, [], True),
    ],
)
def test_what_is_declared_for_a_report_stands_instead_of_the_study(
    study, asked, expected, stored
):
    declares(study, "character", "sharpness")
    report = ask(study, **asked)
    assert report.state == "done", report.error
    assert hypotheses(report) == expected
    assert ("hypotheses" in report.inputs) == stored
    content = (building.folder(report) / "report.json").read_text()
    told = "Metrics were declared for this report, not by the study: "
    assert (told in content) == stored
    keys = set(table(report, "run")["key"])
    assert ("sha256 of hypotheses of the study" in keys) != stored
    assert ("sha256 of hypotheses (inputs/hypotheses.csv)" in keys) == stored
    page = rob(study).get(reverse("report-list", args=[study.slug])).content.decode()
    assert ("hypotheses of its own" in page) == stored


def test_what_the_study_declares_without_scores_does_not_hold_other_changes_up(study):
    declares(study, "character", "sharpness")
    declares(study, "aesthetics", "csd_self")
    changed = {"declared_character": "shots_present", "declared_aesthetics": "csd_self"}
    report = ask(study, **changed)
    assert report.state == "done", report.error
    assert hypotheses(report) == [("character", "shots_present")]


def test_what_is_declared_is_no_formula_in_a_spreadsheet(study):
    MetricScore.objects.filter(metric="sharpness").update(metric="=1+1")
    metrics = ["=1+1", *METRICS[2:]]
    report = ask(study, metrics=metrics, declared_character="=1+1")
    assert report.state == "done", report.error
    assert report.inputs["hypotheses"] == "question,metric\ncharacter,'=1+1\n"
    assert hypotheses(report) == [("character", "'=1+1")]


def test_a_definition_that_no_longer_reads_leaves_the_page_of_reports(study):
    study.definition = "name: x\nunknown_key: 1\n"
    study.save()
    answer = rob(study).get(reverse("report-list", args=[study.slug]))
    assert answer.status_code == 200
    assert "unknown_key" in answer.content.decode()


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        (
            {"metrics": ["shots_present"], "declared_character": "sharpness"},
            {
                "declared_character": "sharpness is not among the metrics ticked: "
                "tick it, or choose another one."
            },
        ),
        (
            {"questions": ["character"], "declared_aesthetics": "sharpness"},
            {
                "declared_aesthetics": "Aesthetics is not ticked among the questions: "
                "tick it, too."
            },
        ),
        (
            {"declared_character": "sharpnes"},
            {"declared_character": "There is no sharpnes here. Expected: sharpness."},
        ),
    ],
)
def test_a_hypothesis_about_what_is_not_covered_is_refused(study, asked, told):
    declares(study, "character", "sharpness")
    assert refused(study, **{"declared_character": "sharpness"} | asked) == told


BOTH = """
composites:
  both:
    over: questions
    weights: {character: 3, aesthetics: 1}
  crisp:
    over: metrics
    weights: [sharpness, shots_present]
"""


@pytest.mark.parametrize("as_file", [False, True])
def test_composites_of_a_report(study, as_file):
    given = {"composites": BOTH}
    if as_file:
        file = SimpleUploadedFile("mine.yaml", BOTH.encode("utf-8-sig"))
        given = {"composites_file": file}
    report = ask(study, **given)
    assert report.state == "done", report.error
    assert report.inputs == {"composites": BOTH}
    means = table(report, "method_means").pivot(
        index="method", columns="dimension", values="mean"
    )
    expected = (3 * means["character"] + means["aesthetics"]) / 4
    assert means["both"].to_dict() == pytest.approx(expected.to_dict())
    assert "crisp" in set(table(report, "correlations")["metric"])
    kept = building.folder(report) / "inputs" / "composites.yaml"
    assert kept.read_text() == BOTH
    archive = rob(study).get(reverse("report-zip", args=[study.slug, report.pk]))
    names = zipfile.ZipFile(io.BytesIO(archive.getvalue())).namelist()
    assert "inputs/composites.yaml" in names


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            BOTH.replace("[sharpness", "[sharpnes"),
            "mine.yaml:8: crisp: sharpnes: expected one of palette_consistency, "
            "sharpness, shots_present (nearest: sharpness)",
        ),
        (BOTH.replace("3", "-3"), "mine.yaml:5: both: character: -3: expected a"),
        ("composites: [", "mine.yaml:1: expected YAML or JSON"),
        ("x: 1", "mine.yaml:1: expected the key composites"),
        (
            BOTH.replace("character: 3", "character@myth: 3"),
            "mine.yaml:5: both: character@myth: expected no tag",
        ),
    ],
)
def test_refused_composites_are_told_by_their_line_and_stay_in_the_form(
    study, text, told
):
    url = reverse("report-create", args=[study.slug])
    file = SimpleUploadedFile("mine.yaml", text.encode())
    answer = rob(study).post(url, ASKED | {"composites_file": file})
    assert answer.status_code == 422
    assert answer.context["form"].errors["composites"][0].startswith(told)
    assert answer.context["form"]["composites"].value() == text
    assert told.split(":")[1] in answer.content.decode()
    assert not Report.objects.exists()


@pytest.mark.slow
def test_composites_that_a_study_has_stay_its_own_until_they_are_changed():
    study = answered(
        BEAUTY, f"{FAITH}\ncomposites: {{all: {{over: questions, weights: [beauty]}}}}"
    )
    form = ReportForm(study=study)
    text = form["composites"].initial
    given = ASKED | {"questions": ["beauty", "faith"], "metrics": ["sharpness"]}
    form = ReportForm(given | {"composites": text}, study=study)
    assert form.is_valid(), form.errors
    assert form.inputs() == {}
    form = ReportForm(given | {"composites": ""}, study=study)
    assert form.is_valid(), form.errors
    assert form.inputs() == {"composites": ""}
    report = ask(study, **given)
    assert "all" not in set(table(report, "method_means")["dimension"])


@pytest.mark.slow
def test_the_command_writes_the_report_of_given_files_again(
    study, tmp_path, monkeypatch
):
    report = ask(study, composites=BOTH, declared_character="sharpness")
    words = shlex.split(table(report, "run").set_index("key")["value"]["command"])
    files = "--hypotheses inputs/hypotheses.csv --composites inputs/composites.yaml"
    assert words[-4:] == files.split()
    monkeypatch.chdir(building.folder(report))
    out = tmp_path / "again"
    given = [str(out) if word == "DIR" else word for word in words[2:]]
    call_command(*given, "--images", "none")
    for folder in ("tables", "inputs"):
        for path in (building.folder(report) / folder).iterdir():
            assert path.read_bytes() == (out / folder / path.name).read_bytes()


def test_the_command_refuses_files_by_their_lines(study, tmp_path):
    path = tmp_path / "meant.csv"
    path.write_text("question,metric\ncharacter,sharpnes\n")
    out = tmp_path / "out"
    with pytest.raises(CommandError, match=r"meant.csv:2: metric: sharpnes") as caught:
        call_command("report", study.slug, out=out, hypotheses=path, **FAST)
    assert caught.value.returncode == 2
    with pytest.raises(CommandError, match=r"gone.csv: expected a file"):
        call_command("report", study.slug, out=out, hypotheses=tmp_path / "gone.csv")
    with pytest.raises(CommandError, match=r"--hypotheses: not an option of subset"):
        call_command("report", study.slug, out=out, kind="subset", hypotheses=path)
    assert not out.exists()


@pytest.mark.slow
def test_files_that_an_older_report_was_given_leave_its_folder(study, tmp_path):
    path, out = tmp_path / "meant.csv", tmp_path / "out"
    path.write_text("question,metric\ncharacter,sharpness\n")
    call_command("report", study.slug, out=out, hypotheses=path, **FAST)
    assert [kept.name for kept in (out / "inputs").iterdir()] == ["hypotheses.csv"]
    call_command("report", study.slug, out=out, **FAST)
    assert list((out / "inputs").iterdir()) == []


def test_building_again_takes_the_same_files(study):
    report = ask(study, composites=BOTH)
    again = building.build_again(report, user=None)
    assert again.inputs == report.inputs


def test_the_best_so_many_methods_are_asked_for(study):
    report = ask(study, top="2", resamples="10")
    assert report.options["top"] == 2
    assert set(table(report, "top_methods")["size"]) == {2}
    assert "--top 2" in (building.folder(report) / "tables/run.csv").read_text()
    page = rob(study).get(reverse("report-list", args=[study.slug])).context["form"]
    assert page["top"].value() == 0
