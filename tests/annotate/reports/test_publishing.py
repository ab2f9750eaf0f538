"""Public reports: their page without private links, their data, their end."""

import csv
import io
import json
import re
import zipfile
from datetime import timedelta

import pytest
from django.core.cache import cache
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.timezone import localtime

from annotate.models import Event, PublicReport, Report
from annotate.personal_data import erasing
from annotate.quality import exclusion
from annotate.reports import building, publishing
from annotate.tasks import sweep_reports, write_public_data
from tests.factories import make_study
from tests.people import alice, answer_everything, eve, rob

pytestmark = pytest.mark.django_db

HTML = """<!DOCTYPE html><html><head><title>T</title></head>
<body data-stories="https://study.example.org/studies/trial/outputs/?story={story}">
<main><h1>T</h1>
<p class="source stories">Click a point to open its story.</p>
<ul class="source stories"><li><a href="/studies/trial/outputs/?story=01">01</a></li>
</ul><a href="https://study.example.org/studies/trial/">study</a>
<a href="#table-run">run.csv</a></main>
<script>document.body.dataset.stories</script></body></html>"""


@pytest.fixture(autouse=True)
def quiet(monkeypatch):
    monkeypatch.setattr(write_public_data, "delay", lambda: None)
    cache.clear()


@pytest.fixture
def study():
    row = make_study()
    answer_everything(row)
    return row


@pytest.fixture
def report(study):
    row = Report.objects.create(study=study, state="done")
    write_files(row)
    return row


def write_files(row):
    folder = building.folder(row)
    (folder / "tables").mkdir(parents=True)
    (folder / "report.html").write_text(HTML)
    (folder / "tables" / "correlations.csv").write_text("metric\n")
    return folder


def page(report, name="report-publish"):
    return reverse(name, args=[report.study.slug, report.pk])


def publish(report, **given):
    answer = rob(report.study).post(page(report), given)
    assert answer.status_code == 302, answer.content.decode()
    return f"/public/{Report.objects.get(pk=report.pk).public.name}/"


def page_at(address):
    return Client().get(address).getvalue().decode()


def links(html):
    return re.findall(r'(?:href|src|action|data-stories)="([^"#]+)"', html)


def test_report_is_public_only_after_publishing_and_not_after_withdrawing(report):
    nobody = Client()
    assert nobody.get(f"/public/{report.pk}/").status_code == 404
    address = publish(report)
    assert len(address) > 24
    shown = nobody.get(address)
    assert shown.status_code == 200
    assert shown["X-Robots-Tag"] == "noindex"
    assert shown["Cache-Control"] == "public, no-cache"
    assert not shown.cookies
    policy = shown["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "allow-popups" not in policy
    tag = {"If-None-Match": shown["ETag"]}
    unchanged = nobody.get(address, headers=tag)
    assert unchanged.status_code == 304
    assert unchanged["Content-Security-Policy"] == policy
    rob(report.study).post(page(report, "report-unpublish"))
    assert nobody.get(address).status_code == 410
    assert nobody.get(address, headers=tag).status_code == 410
    name = address.split("/")[-2]
    assert publish(report, name=name) == address
    assert nobody.get(address).status_code == 200
    kinds = report.study.events.filter(kind__startswith="report ")
    assert [*kinds.values_list("kind", flat=True)][1:] == [
        Event.Kind.REPORT_PUBLISHED,
        Event.Kind.REPORT_WITHDRAWN,
        Event.Kind.REPORT_PUBLISHED,
    ]


def test_public_page_leads_nowhere_else(report):
    shown = page_at(publish(report))
    assert links(shown) == []
    assert 'href="#table-run"' in shown
    assert "dataset.stories" in shown
    assert "trial" not in shown


@pytest.mark.slow
def test_page_of_a_real_report_leads_nowhere_else(study):
    row = Report.objects.create(study=study, options={"resamples": 10})
    row = building.build_report(row.pk)
    shown = page_at(publish(row))
    assert links(shown.partition("<script>")[0]) == []
    assert len(links((building.folder(row) / "report.html").read_text())) > 0


def test_chosen_name_is_part_of_the_address(report):
    assert publish(report, name="our-paper-2026") == "/public/our-paper-2026/"
    other = Report.objects.create(study=report.study, state="done")
    building.folder(other).mkdir(parents=True)
    (building.folder(other) / "report.html").write_text(HTML)
    for name, why in (
        ("our-paper-2026", "Another report"),
        ("Our Paper", "cannot be part"),
        ("../x", "cannot be part"),
    ):
        answer = rob(report.study).post(page(other), {"name": name})
        assert answer.status_code == 422
        assert why in answer.content.decode()


def test_only_members_publish_and_only_finished_reports(report):
    assert eve().post(page(report)).status_code == 404
    assert Client().post(page(report)).status_code == 302
    unfinished = Report.objects.create(study=report.study)
    assert rob(report.study).post(page(unfinished)).status_code == 422
    assert not hasattr(Report.objects.get(pk=unfinished.pk), "public")


def rows(address):
    answer = Client().get(f"{address}data.zip")
    assert answer.status_code == 200
    archive = zipfile.ZipFile(io.BytesIO(answer.getvalue()))
    names = set(archive.namelist())
    assert names == {"tables/correlations.csv", "ratings.csv", "scores.csv"}
    return list(csv.DictReader(io.StringIO(archive.read("ratings.csv").decode())))


def test_data_are_public_only_if_allowed(report):
    address = publish(report)
    write_public_data()
    assert Client().get(f"{address}data.zip").status_code == 404
    assert "data.zip" not in page_at(address)
    name = address.split("/")[-2]
    publish(report, name=name, with_data="1")
    PublicReport.objects.update(error="no space")
    later = Client().get(f"{address}data.zip")
    assert (later.status_code, "Retry-After" in later) == (503, True)
    write_public_data()
    assert 'href="data.zip"' in page_at(address)
    found = rows(address)
    assert len(found) == 24
    assert {row["annotator"] for row in found} == {"A01", "A02"}
    assert not found[0].keys() & {"slot", "started_at", "submitted_at", "comment"}
    archive = rob(report.study).get(page(report, "report-zip")).getvalue()
    names = zipfile.ZipFile(io.BytesIO(archive)).namelist()
    assert not any(name.startswith(building.PUBLIC) for name in names)
    publish(report, name=name)
    assert Client().get(f"{address}data.zip").status_code == 404


def test_answers_that_are_left_out_are_not_in_the_data(report):
    study = report.study
    slot = study.annotators.get(name="A01").slots.first()
    exclusion.exclude(slot, reason="too fast", author=None)
    report.as_of = Event.objects.create(study=study, kind=Event.Kind.REPORT_ASKED)
    report.save()
    address = publish(report, with_data="1")
    write_public_data()
    assert len(rows(address)) == 22


def test_withdrawn_answers_leave_page_and_data(report):
    study = report.study
    address = publish(report, with_data="1")
    write_public_data()
    assert {row["annotator"] for row in rows(address)} == {"A01", "A02"}
    tag = {"If-None-Match": Client().get(address)["ETag"]}
    erasing.withdraw(study.annotators.get(name="A02"), answers=True)
    for path in (address, f"{address}data.zip"):
        assert Client().get(path, headers=tag).status_code == 503
    write_public_data()
    again = study.reports.get(state="queued")
    assert again.public.name == address.split("/")[-2]
    assert not publishing.page_file(report).exists()
    folder = write_files(again)
    (folder / "report.html").write_text(HTML.replace("T</h1>", "again</h1>"))
    study.reports.filter(pk=again.pk).update(state="done")
    write_public_data()
    assert "again</h1>" in page_at(address)
    assert {row["annotator"] for row in rows(address)} == {"A01"}
    assert study.reports.count() == 2


def test_error_of_the_disk_is_shown_without_folders(report, monkeypatch):
    publish(report)

    def fill(_row):
        raise OSError(28, "No space left on device", "/srv/secret/page.html")

    monkeypatch.setattr(publishing, "_write", fill)
    write_public_data()
    shown = rob(report.study).get(page(report)).text
    assert "No space left on device" in shown
    assert "/srv/secret" not in shown


@pytest.mark.slow
def test_failed_update_is_shown_to_managers_who_can_build_it_again(report, monkeypatch):
    study, address = report.study, publish(report)
    erasing.withdraw(study.annotators.get(name="A02"), answers=True)
    withdrawal = Event.objects.get(kind=Event.Kind.CONSENT_WITHDRAWN)
    write_public_data()
    again = study.reports.get(state="queued")
    later = timezone.now() + timedelta(days=40)
    failed = {"state": "failed", "error": "no space", "finished_at": later}
    study.reports.filter(pk=again.pk).update(**failed)
    write_public_data()
    refused = Client().get(address)
    assert (refused.status_code, "Retry-After" in refused) == (503, False)
    removed_on = date_format(localtime(withdrawal.at), "DATE_FORMAT")
    assert removed_on in refused.content.decode()
    assert "no space" in rob(study).get(page(again)).text
    monkeypatch.setattr(sweep_reports, "delay", lambda: None)
    rob(study).post(page(again), {"again": "1"})
    new = study.reports.get(state="queued")
    assert new.public.name == address.split("/")[-2]
    study.reports.filter(pk=new.pk).update(state="done")
    write_public_data()
    assert "The page of the report is missing." in rob(study).get(page(new)).text
    write_files(new)
    write_public_data()
    new.public.refresh_from_db()
    assert (Client().get(address).status_code, new.public.error) == (200, "")


def test_withdrawal_from_further_work_leaves_the_report_as_it_is(report):
    address = publish(report)
    erasing.withdraw(report.study.annotators.get(name="A02"), answers=False)
    write_public_data()
    assert Client().get(address).status_code == 200
    assert Report.objects.count() == 1


def test_imported_names_are_warned_about(report):
    assert "as in the imported file" not in rob(report.study).get(page(report)).text
    report.study.annotators.filter(name="A02").update(name="Bob")
    assert "as in the imported file: Bob" in rob(report.study).get(page(report)).text


@pytest.mark.slow
def test_unknown_names_are_counted_as_wrong_links(report, settings):
    for number in range(60):
        status = Client().get(f"/public/guess-{number}/").status_code
    assert status == 429
    assert Client().get(publish(report)).status_code == 200


def test_publication_by_the_api(report):
    client = alice(report.study)
    address = f"/api/v1/studies/{report.study.slug}/reports/{report.pk}/public/"
    assert client.get(address).status_code == 404
    body = json.dumps({"name": "paper-one", "with_data": True})
    shown = client.put(address, body, "application/json").json()
    assert shown["address"].endswith("/public/paper-one/")
    assert (shown["with_data"], shown["has_data"]) == (True, False)
    wrong = client.put(address, json.dumps({"name": "No!"}), "application/json")
    assert wrong.status_code == 400
    kept = client.put(address, "{}", "application/json").json()
    assert kept["address"] == shown["address"]
    assert client.delete(address).status_code == 204
    assert Client().get("/public/paper-one/").status_code == 410
