"""Reports on the server: built, shown, downloaded, and hidden from Eve."""

import io
import zipfile

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.urls import reverse

from analysis.web import building
from analysis.web.models import Report
from analysis.web.urls import urlpatterns
from evalcore import scoring
from tests.factories import make_study
from tests.people import alice, answer_everything, eve, rob

pytestmark = pytest.mark.django_db


@pytest.fixture
def study():
    row = make_study()
    answer_everything(row)
    scoring.run(scoring.queue_run(row.benchmark, ["sharpness", "shots_present"]).pk)
    return row


@pytest.fixture
def report(study):
    row = Report.objects.create(study=study, options={"resamples": 10})
    return building.build_report(row.pk)


def test_it_works(study, report):
    assert report.state == "done", report.error
    client = rob(study)
    page = client.get(reverse("report-page", args=[study.slug, report.pk]))
    assert page.status_code == 200
    assert b"What can be claimed" in page.content
    policy = page["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "sandbox allow-scripts" in policy
    listed = client.get(reverse("report-list", args=[study.slug])).content.decode()
    assert reverse("report-page", args=[study.slug, report.pk]) in listed


def test_files_and_archive(study, report):
    client = rob(study)
    url = reverse("report-file", args=[study.slug, report.pk, "correlations.csv"])
    assert b"dimension,metric,level" in client.get(url).getvalue()
    archive = client.get(reverse("report-zip", args=[study.slug, report.pk]))
    names = zipfile.ZipFile(io.BytesIO(archive.getvalue())).namelist()
    assert {"report.html", "report.json", "tables/run.csv"} <= set(names)


@pytest.mark.parametrize(
    "name", ["..%2f..%2fplumbline.sqlite3", "nothing.csv", "report.html"]
)
def test_only_the_reports_own_files_have_a_name(study, report, name):
    base = reverse("report-file", args=[study.slug, report.pk, "x"])
    assert rob(study).get(base[:-1] + name).status_code == 404


def test_asking_for_a_report_queues_it(study):
    url = reverse("report-create", args=[study.slug])
    rob(study).post(url, {"resamples": "50", "exclude": ["Alder", "nobody"]})
    row = Report.objects.get()
    assert row.options["exclude_methods"] == ["Alder"]
    assert row.options["resamples"] == 50
    assert row.created_by.username == "rob"
    assert building.build_report(row.pk).state == "done"
    text = (building.folder(row) / "tables/method_means.csv").read_text()
    assert "Alder" not in text


def test_a_report_without_answers_fails_with_the_reason():
    row = Report.objects.create(study=make_study())
    assert "Nobody has submitted" in building.build_report(row.pk).error
    with pytest.raises(CommandError, match="Nobody has submitted"):
        call_command("report", "trial", out="unused")


def test_a_report_without_scores_fails_with_the_reason():
    study = make_study()
    answer_everything(study)
    row = Report.objects.create(study=study)
    assert "No metric has a score" in building.build_report(row.pk).error


@pytest.mark.parametrize("name", [p.name for p in urlpatterns if p.name != "api-table"])
def test_eve_finds_nothing(study, report, name):
    extra = {
        "report-page": [report.pk],
        "report-zip": [report.pk],
        "report-file": [report.pk, "report.json"],
    }.get(name, [])
    client = eve()
    send = client.post if name == "report-create" else client.get
    assert send(reverse(name, args=[study.slug, *extra])).status_code == 404


def test_a_report_of_another_study_is_not_found(study, report):
    from tests.factories import make_benchmark

    other = make_study(slug="other", benchmark=make_benchmark(slug="b2"))
    client = alice(other)
    url = reverse("report-page", args=[other.slug, report.pk])
    assert client.get(url).status_code == 404
