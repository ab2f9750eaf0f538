"""Reports on the server: built, shown, downloaded, and hidden from outsiders."""

import html
import io
import os
import re
import shlex
import subprocess
import sys
import zipfile
from itertools import product

import pandas as pd
import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.urls import reverse
from django.utils import timezone, translation

from analysis.commands import alignment
from analysis.options import AlignOptions, OptionError
from analysis.report.page import address
from annotate.models import Report
from annotate.reports import building, writing
from annotate.reports.forms import ReportForm
from evalcore.models import MetricScore
from evalcore.scoring import metric_runs
from tests.factories import make_benchmark, make_study
from tests.people import answer_everything, rob

pytestmark = pytest.mark.django_db
SLOW = pytest.mark.slow


@pytest.fixture
def study():
    row = make_study()
    answer_everything(row)
    metric_runs.run(
        metric_runs.queue_run(row.benchmark, ["sharpness", "shots_present"]).pk
    )
    return row


@pytest.fixture
def report(study):
    """Return a report that says it is done, with the files that tests request."""
    row = Report.objects.create(study=study, state="done", options={"resamples": 10})
    folder = building.folder(row)
    (folder / "tables").mkdir(parents=True)
    for name in ("report.html", "report.json", "tables/correlations.csv"):
        (folder / name).write_text("written by a test")
    return row


def built(study):
    little = {"resamples": 10, "levels": ["story"], "coefficients": ["kendall"]}
    row = Report.objects.create(study=study, options=little)
    return building.build_report(row.pk)


def test_report_is_built_and_served(study):
    report = built(study)
    assert report.state == "done", report.error
    client = rob(study)
    page = client.get(reverse("report-page", args=[study.slug, report.pk]))
    assert page.status_code == 200
    assert b"Which metrics are better than chance?" in page.content
    policy = page["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "sandbox allow-scripts" in policy
    assert "unsafe-inline" not in policy.replace("style-src-attr 'unsafe-inline'", "")
    listed = client.get(reverse("report-list", args=[study.slug])).content.decode()
    assert reverse("report-page", args=[study.slug, report.pk]) in listed
    url = reverse("report-file", args=[study.slug, report.pk, "correlations.csv"])
    assert b"dimension,metric,level" in client.get(url).getvalue()
    archive = client.get(reverse("report-zip", args=[study.slug, report.pk]))
    names = zipfile.ZipFile(io.BytesIO(archive.getvalue())).namelist()
    assert {"report.html", "report.json", "tables/run.csv"} <= set(names)
    # Other accounts of the machine cannot read unpublished results.
    assert building.folder(report).stat().st_mode & 0o777 == 0o700


@pytest.mark.slow
def test_click_on_an_output_leads_to_its_page(study, settings):
    report = built(study)
    client = rob(study)
    url = reverse("report-page", args=[study.slug, report.pk])
    page = client.get(url).content.decode()
    (link,) = re.findall(r'data-stories="([^"]*)"', page)
    method = study.method_names[0]
    story = study.units.values_list("story__key", flat=True)[0]
    shown = client.get(address(html.unescape(link), story, method)).context["shown"]
    assert (shown.output.story.key, shown.output.method.name) == (story, method)
    settings.BASE_URL = "https://study.example.org"
    again = building.build_again(report, user=report.created_by)
    text = (
        building.folder(building.build_report(again.pk)) / "report.html"
    ).read_text()
    assert f'data-stories="https://study.example.org{link}"' in text


@pytest.mark.slow
def test_baselines_and_proxies_have_a_remark(study):
    for score in MetricScore.objects.filter(metric="sharpness"):
        for name in ("mobilenet_self", "csd_self"):
            score.pk, score.identity, score.metric = None, None, name
            score.save()
    row = built(study)
    client = rob(study)
    page = client.get(reverse("report-page", args=[study.slug, row.pk]))
    page = page.content.decode()
    assert "before you trust it: sharpness, shots_present." in page
    assert "whose weights are missing: mobilenet_self." in page


def test_only_files_of_the_report_are_served(study, report, subtests):
    base = reverse("report-file", args=[study.slug, report.pk, "x"])
    for name in ("..%2f..%2fplumbline.sqlite3", "nothing.csv", "report.html"):
        with subtests.test(name):
            assert rob(study).get(base[:-1] + name).status_code == 404


ASKED = {
    "questions": ["character", "aesthetics"],
    "metrics": ["sharpness", "shots_present"],
    "resamples": "50",
    "resample": "stories",
    "confidence": "0.9",
    "seed": "7",
    "epsilon": "0",
    "levels": ["method", "pooled"],
    "coefficients": ["kendall"],
    "exclude_methods": ["Alder"],
}


@pytest.mark.slow
def test_new_report_is_queued(study):
    rob(study).post(reverse("report-create", args=[study.slug]), ASKED)
    row = Report.objects.get()
    assert row.created_by.username == "rob"
    assert building.build_report(row.pk).state == "done"
    tables = building.folder(row) / "tables"
    assert "Alder" not in (tables / "method_means.csv").read_text()
    correlations = pd.read_csv(tables / "correlations.csv")
    assert set(correlations["level"]) == {"method", "pooled"}
    assert set(correlations["coefficient"]) == {"kendall"}
    run = pd.read_csv(tables / "run.csv", index_col="key")["value"]
    asked = ["resamples", "resample", "confidence", "seed", "epsilon", "scale"]
    assert list(run[asked]) == ["50", "stories", "0.9", "7", "0", "0:4"]


@pytest.mark.slow
def test_command_in_a_report_writes_the_same_report(study, tmp_path):
    form = ReportForm(ASKED, study=study)
    assert form.is_valid(), form.errors
    row = Report.objects.create(study=study, options=writing.as_stored(form.options()))
    built = building.folder(building.build_report(row.pk))
    run = pd.read_csv(built / "tables" / "run.csv", index_col="key")["value"]
    words = shlex.split(run["command"])
    assert words[0] == "plumbline"
    out = tmp_path / "again"
    call_command(*[str(out) if word == "DIR" else word for word in words[1:]])
    for path in (built / "tables").iterdir():
        assert path.read_bytes() == (out / "tables" / path.name).read_bytes()


INVALID = (
    ("resamples", "10001"),
    ("resamples", ""),
    ("resample", "rows"),
    ("confidence", "nan"),
    ("seed", "-1"),
    ("seed", "9" * 5000),
    ("levels", []),
    ("levels", ["system"]),
    ("exclude_methods", ["nobody"]),
    ("questions", []),
    ("questions", ["charcter"]),
    ("metrics", ["sharpnes"]),
)


def test_invalid_option_is_refused_beside_its_field(study):
    for field, value in INVALID:
        assert list(ReportForm(ASKED | {field: value}, study=study).errors) == [field]
    url = reverse("report-create", args=[study.slug])
    response = rob(study).post(url, ASKED | {field: value})
    assert response.status_code == 422
    assert list(response.context["form"].errors) == [field]
    assert not Report.objects.exists()


def test_list_polls_until_all_reports_are_finished(study):
    client = rob(study)
    url = reverse("report-list", args=[study.slug])
    row = Report.objects.create(study=study, state="running", step="a: means")
    answer = client.get(url, headers={"HX-Request": "true"})
    assert answer.status_code == 200
    assert b"a: means" in answer.content
    Report.objects.filter(pk=row.pk).update(state="done")
    assert client.get(url, headers={"HX-Request": "true"}).status_code == 286


def test_report_of_another_worker_is_not_built(study, subtests):
    for state in ["running", "done", "failed"]:
        with subtests.test(state):
            row = Report.objects.create(
                study=study,
                state=state,
                heartbeat_at=timezone.now(),
                step="a: means",
                options={"resamples": 10},
            )
            found = building.build_report(row.pk)
            assert (found.state, found.step, found.finished_at) == (
                state,
                "a: means",
                None,
            )
            assert not building.folder(row).exists()


def test_only_a_finished_report_can_be_opened(study, report, subtests):
    client = rob(study)
    names = {"report-page": [], "report-zip": [], "report-file": ["report.json"]}
    states = {"done": 200, "queued": 404, "running": 404, "failed": 404}
    for (name, extra), (state, status) in product(names.items(), states.items()):
        Report.objects.filter(pk=report.pk).update(state=state)
        with subtests.test(f"{name} {state}"):
            url = reverse(name, args=[study.slug, report.pk, *extra])
            assert client.get(url).status_code == status


@pytest.mark.slow
def test_bad_date_is_refused_before_the_statistics():
    program = """
import django
django.setup()
from annotate.reports import writing
writing._newest = lambda study, moment: 0.0
writing.write_study_report(None, moment=None, options=None, out=None)
"""
    ended = subprocess.run(
        [sys.executable, "-c", program],
        env=os.environ
        | {
            "DJANGO_SETTINGS_MODULE": "evalcore.settings",
            "SOURCE_DATE_EPOCH": "yesterday",
        },
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    last = ended.stderr.splitlines()[-1]
    assert last.endswith("'yesterday': expected whole seconds since 1970")


def test_step_counts_as_a_heartbeat(study, monkeypatch):
    row = Report.objects.create(study=study, options={"resamples": 10})
    long_ago = timezone.now() - 2 * Report.SILENT
    waiting = []

    def slow(*args, **kwargs):
        Report.objects.update(heartbeat_at=long_ago)
        assert building.waiting_reports() == [row.pk]
        kwargs["progress"]("a: means")
        waiting.append(building.waiting_reports())
        raise OptionError("enough")

    monkeypatch.setattr(alignment, "align", slow)
    assert building.build_report(row.pk).error == "enough"
    assert waiting == [[]]


def test_report_without_answers_fails_with_the_reason():
    row = Report.objects.create(study=make_study())
    assert "no submitted answers yet" in building.build_report(row.pk).error
    with pytest.raises(CommandError, match="no submitted answers yet"):
        call_command("report", "trial", out="unused")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "value", "heard"),
    [
        pytest.param(
            "checklist",
            1,
            "Share of the requested content that is shown: 100 %",
            marks=SLOW,
        ),
        ("likert", 3, "no method is first alone"),
        pytest.param(
            "choice",
            "a",
            "against the others on average, counting ties as half",
            marks=SLOW,
        ),
    ],
)
def test_study_without_metrics_has_a_report_on_people(tmp_path, kind, value, heard):
    study = make_study(kind=kind)
    answer_everything(study, value)
    row = building.build_report(Report.objects.create(study=study).pk)
    assert row.state == "done", row.error
    page = rob(study).get(reverse("report-page", args=[study.slug, row.pk]))
    text = page.content.decode()
    assert "Which methods do people prefer?" in text
    assert heard in text
    assert "Which metrics are better than chance?" not in text
    # The command of the page makes the same again.
    call_command(
        "report", "trial", out=tmp_path / "out", as_of=row.as_of_id, images="none"
    )
    tables = building.folder(row) / "tables"
    for path in sorted(tables.glob("*.csv")):
        if path.name != "run.csv":
            again = tmp_path / "out/tables" / path.name
            assert again.read_text() == path.read_text(), path.name


def test_default_form_has_the_options_of_the_command(study):
    form = ReportForm(study=study)
    initial = {name: field.initial for name, field in form.fields.items()}
    untouched = {name: value for name, value in initial.items() if value is not None}
    given = ReportForm(untouched, study=study)
    assert given.is_valid(), given.errors
    assert given.options() == AlignOptions()


def tagged_benchmark():
    benchmark = make_benchmark(stories=4)
    for story in benchmark.stories.all():
        story.tags = {"genre": "myth" if story.key < "03" else "farce", "pages": 3}
        story.save()
    return benchmark


@pytest.fixture
def tagged():
    benchmark = tagged_benchmark()
    row = make_study(benchmark=benchmark)
    answer_everything(row)
    metric_runs.run(metric_runs.queue_run(benchmark, ["sharpness", "shots_present"]).pk)
    return row


def tags_of(report):
    path = building.folder(building.build_report(report.pk)) / "tables/strata.csv"
    return set(pd.read_csv(path)["tag"]) if path.is_file() else set()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("asked", "tags"),
    [
        (["genre", "pages"], {"genre"}),
        pytest.param(["pages"], set(), marks=SLOW),
        pytest.param([], set(), marks=SLOW),
    ],
)
def test_report_is_split_by_the_chosen_tags(tagged, asked, tags):
    form = ReportForm(ASKED | {"split_by": asked}, study=tagged)
    assert form.is_valid(), form.errors
    stored = writing.as_stored(form.options())
    row = Report.objects.create(study=tagged, options=stored)
    assert tags_of(row) == tags
    told = [text for text in row.choices_made if text.startswith("split-by")]
    assert told == {2: [], 1: ["split-by pages"], 0: ["split-by none"]}[len(asked)]


@pytest.mark.slow
def test_report_is_in_the_language_of_the_requester(study):
    """Another language can be chosen, and the command has the same language."""
    question = study.questions.first()
    question.titles = {"en": "Look", "zh": "外观"}
    question.save()
    for here, chosen in (("en", "en"), ("zh-hans", "zh-Hans")):
        with translation.override(here):
            form = ReportForm(study=study)
            assert form["language"].initial == chosen
    form = ReportForm(ASKED | {"language": "zh-Hans"}, study=study)
    assert form.is_valid(), form.errors
    row = Report.objects.create(study=study, options=writing.as_stored(form.options()))
    assert "language zh-Hans" in row.choices_made
    built = building.folder(building.build_report(row.pk))
    page = (built / "report.html").read_text()
    assert '<html lang="zh-Hans">' in page
    assert "外观：" in page
    assert "清晰度" in page
    run = pd.read_csv(built / "tables" / "run.csv", index_col="key")["value"]
    assert "--language zh-Hans" in run["command"]
    assert "language" in ReportForm(ASKED | {"language": "de"}, study=study).errors
