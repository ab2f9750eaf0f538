"""A method that comes after the end: the page, the follow-up study, and its report."""

import csv
import html
import re

import pytest
from django.urls import reverse
from django.utils import timezone

from analysis.options import AlignOptions
from annotate.audit_log import as_of_event
from annotate.audit_log.verifying import problems
from annotate.models import Study
from annotate.people import inviting
from annotate.reports import downloads
from annotate.reports.writing import write_study_report
from annotate.responses.bulk import SlotAnswers, store_judgements
from annotate.studies import drafting, lifecycle
from annotate.studies.study_file import read_definition
from tests.annotate.studies.test_extending import planned_study
from tests.people import alice, rob

pytestmark = pytest.mark.django_db

WORTH = {"Alder": 1, "Birch": 2, "Cedar": 3}


def rate(study, drift=0):
    """Answer everything: what a method is worth, people's severity, and drift."""
    (question,) = study.questions.all()
    pairwise = question.kind == "choice"
    inviting.invite(study)
    people = {
        pk: i for i, pk in enumerate(study.annotators.values_list("pk", flat=True))
    }
    rows = []
    for slot in study.slots.select_related("unit__story").order_by("pk"):
        story, who = int(slot.unit.story.key), people[slot.annotator_id]
        worth = WORTH[slot.unit.methods[0]] + story % 2 - who % 2 + drift
        value = (
            ("a", "b", "tie")[(story + who) % 3] if pairwise else min(max(worth, 0), 4)
        )
        rows.append(SlotAnswers(slot, {question: value}, timezone.now(), 30.0))
    store_judgements(rows)


def closed_study(kind="likert", **kw):
    study = planned_study(kind, **kw)
    rate(study)
    lifecycle.close(study)
    return study


def address(study):
    return reverse("study-late-entry", args=[study.slug])


def text_of(response) -> str:
    page = html.unescape(response.content.decode())
    return " ".join(re.sub(r"<[^>]+>", " ", page).split())


@pytest.mark.slow
def test_late_method_is_set_up_rated_and_placed(tmp_path):
    study = closed_study()
    before = downloads.sha256(
        study, "ratings", view="main", as_of=as_of_event.now(study)
    )
    client = alice(study)
    settings = client.get(reverse("study-settings", args=["small"]))
    assert "Add a method late" in text_of(settings)
    page = text_of(client.get(address(study)))
    # Four items of the first study, two of Cedar, two ratings each of half a minute.
    assert "Cedar has outputs of 2 of 2 stories" in page
    assert re.search(r"Extra error 4 suggested 12 6 \+\d+ %", page), page
    checked = client.post(
        address(study), {"method": "Cedar", "linking": "3", "do": "check"}
    )
    assert "3 10 5 +" in text_of(checked)
    assert not Study.objects.filter(slug="small-2").exists()
    made = client.post(
        address(study), {"method": "Cedar", "annotators": "3", "do": "create"}
    )
    assert made.url == reverse("study-detail", args=["small-2"])
    later = Study.objects.get(slug="small-2")
    assert (later.continues, later.state, later.redundancy) == (study, "draft", 2)
    assert later.consent == study.consent
    methods = sorted(unit.methods[0] for unit in later.units.all())
    assert methods == ["Alder", "Alder", "Birch", "Birch", "Cedar", "Cedar"]
    assert later.annotators.count() == 3
    assert "Late methods: Small: Cedar" in text_of(
        client.get(settings.wsgi_request.path)
    )

    lifecycle.launch(later)
    rate(Study.objects.get(pk=later.pk), drift=1)
    assert problems(later) == []
    assert problems(study) == []
    study.refresh_from_db()
    assert study.state == "closed"
    assert (
        downloads.sha256(study, "ratings", view="main", as_of=as_of_event.now(study))
        == before
    )
    moment = as_of_event.now(later)
    out = tmp_path / "report"
    page = write_study_report(
        Study.objects.get(pk=later.pk),
        moment=moment,
        options=AlignOptions(resamples=20),
        out=out,
    )
    with (out / "tables" / "late_methods.csv").open() as file:
        (row,) = csv.DictReader(file)
    assert (row["method"], row["n_linking"]) == ("Cedar", "4")
    moved = float(row["unlinked"]) - float(row["value"])
    with (out / "tables" / "late_drift.csv").open() as file:
        drift = next(csv.DictReader(file))
    assert moved == pytest.approx(float(drift["value"]))
    assert moved == pytest.approx(1, abs=0.5)
    assert "on the scale of the first study" in page.read_text()
    assert "small: ratings.csv" in (out / "tables" / "run.csv").read_text()


@pytest.mark.slow
def test_late_method_is_compared_with_older_ones_side_by_side(tmp_path):
    study = closed_study("choice", methods=["Alder", "Birch"])
    made = alice(study).post(address(study), {"method": "Cedar", "do": "create"})
    assert made.status_code == 302, text_of(made)
    later = Study.objects.get(slug="small-2")
    pairs = sorted(" ".join(unit.methods) for unit in later.units.all())
    assert pairs == ["Alder Birch"] * 2 + ["Alder Cedar", "Birch Cedar"]
    lifecycle.launch(later)
    rate(Study.objects.get(pk=later.pk))
    out = tmp_path / "report"
    write_study_report(
        Study.objects.get(pk=later.pk),
        moment=as_of_event.now(later),
        options=AlignOptions(resamples=20),
        out=out,
    )
    with (out / "tables" / "late_differences.csv").open() as file:
        assert {row["other"] for row in csv.DictReader(file)} == {"Alder", "Birch"}


@pytest.mark.slow
def test_edited_and_copied_follow_ups_keep_their_first_study():
    study = closed_study()
    client = alice(study)
    client.post(address(study), {"method": "Cedar", "do": "create"})
    later = Study.objects.get(slug="small-2")
    read = read_definition(later.definition, file="x", name="small")
    assert read.late_entry.method == "Cedar"
    edited = drafting.replace(later, drafting.setup_of(later), study.members.get().user)
    assert (edited.continues, edited.units.count()) == (study, 6)
    form = client.get(reverse("study-edit", args=["small-2"])).content.decode()
    assert 'name="late_entry"' in form
    again = client.get(address(edited), follow=True)
    assert "This study continues small. Add the method there." in text_of(again)


@pytest.mark.slow
def test_impossible_follow_ups_are_refused(subtests):
    study = closed_study()
    for sent, told in [
        ({"method": "Dogwood"}, "Dogwood has no outputs of these stories"),
        ({"method": "Cedar", "linking": "5"}, "linking items from 1 to 4"),
        ({"method": "Cedar", "linking": "x"}, "linking items from 1 to 4"),
        ({"method": "Cedar", "annotators": "0"}, "number of annotators from 1"),
    ]:
        with subtests.test(told):
            refused = alice(study).post(address(study), sent | {"do": "create"})
            assert refused.status_code == 422
            assert told in text_of(refused)
            assert Study.objects.count() == 1


def test_only_managers_of_closed_studies_add_late_methods():
    study = planned_study()
    page = alice(study).get(address(study), follow=True)
    assert "This study is not closed" in text_of(page)
    lifecycle.close(study)
    page = text_of(alice(study).post(address(study), {"method": "Cedar"}))
    assert "no answers to link to" in page
    assert rob(study).get(address(study)).status_code == 403
