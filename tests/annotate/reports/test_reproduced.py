"""Reports of the same view and moment have the same tables."""

import csv
import io
from datetime import timedelta
from random import Random

import pandas as pd
import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse
from django.utils import timezone

from analysis.tables import restored
from annotate.assignment import choosing
from annotate.audit_log import as_of_event
from annotate.models import Annotator, Event, Rating, Report
from annotate.quality import exclusion
from annotate.reports import building, downloads, study_tables
from annotate.responses import analysis_views, leasing
from evalcore.scoring import metric_runs
from tests import answering
from tests.factories import make_benchmark, make_study
from tests.people import alice, answer_everything, eve, rob

pytestmark = pytest.mark.django_db

VALUES = {"likert": (1, 2, 4), "choice": ("left", "right", "tie")}


def open_study(kind="likert"):
    """Return a study of three people; the first two have answered some slots."""
    study = make_study(
        kind=kind,
        benchmark=make_benchmark(stories=3),
        annotators=3,
        consented=True,
        session_size=20,
    )
    metric_runs.run(
        metric_runs.queue_run(study.benchmark, ["sharpness", "shots_present"]).pk
    )
    for name, count in (("A01", 9), ("A02", 6)):
        answer(study, name, count)
    return study


def answer(study, name, count):
    person = study.annotators.get(name=name)
    for i in range(count):
        slot = leasing.take(choosing.next_slot(person), person)
        for q in study.questions.all():
            value = Random(f"{name} {i} {q.ordinal}").choice(VALUES[q.kind])
            answering.record_answer(
                slot=slot, annotator=person, question=q, value=value
            )
        answering.submit(slot=slot, annotator=person)


def change_answers(study, name):
    """Give another answer to the last slot, which is allowed within the session."""
    person = study.annotators.get(name=name)
    slot = person.slots.filter(state="submitted").latest("submitted_at")
    for q in study.questions.all():
        values = VALUES[q.kind]
        for value in values:
            answering.record_answer(
                slot=slot, annotator=person, question=q, value=value
            )
        for value in reversed(values):
            answering.record_answer(
                slot=slot, annotator=person, question=q, value=value
            )


def much_happens(study, undone):
    """Add answers, changes, exclusions, one undone, new views and scores."""
    answer(study, "A03", 4)
    change_answers(study, "A01")
    exclusion.undo(undone, author=None)
    person = study.annotators.get(name="A02")
    exclusion.exclude_annotator(person, reason="a bot", author=None)
    analysis_views.add_view(study, key="late", title="Late", author=None)
    free = study.slots.filter(state="open", annotator=None).first()
    free.annotator = Annotator.objects.create(
        study=study, name="A09", state="active", is_simulated=True
    )
    free.save()
    answer_everything(study, "tie" if study.is_side_by_side else 0)
    metric_runs.run(metric_runs.queue_run(study.benchmark, ["palette_consistency"]).pk)
    study.annotators.filter(name="A01").update(language="zh")
    study.redundancy = 4
    study.save()


def tables_of(path):
    return {file.name: file.read_bytes() for file in (path / "tables").iterdir()}


# Enough of a report to differ, in less time.
LITTLE = {"levels": ("story",), "coefficients": ("kendall",)}


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "resamples"), [("likert", 10), ("choice", 0)])
def test_report_is_built_again_with_identical_tables(kind, resamples, tmp_path):
    study = open_study(kind)
    slots = study.slots.filter(state="submitted").order_by("pk")
    undone = exclusion.exclude(slots[0], reason="asleep", author=None)
    exclusion.exclude(slots[3], reason="slipped", author=None)
    change_answers(study, "A02")
    options = LITTLE | {"resamples": resamples}
    report = Report.objects.create(study=study, options=options)
    built = building.build_report(report.pk)
    assert built.state == "done", built.error
    first = tables_of(building.folder(built))

    much_happens(study, undone)

    again = building.build_again(report, user=None)
    assert building.build_report(again.pk).state == "done"
    assert tables_of(building.folder(again)) == first
    asked = LITTLE | {"resamples": resamples, "images": "none"}
    then = asked | {"as_of": report.as_of_id, "out": tmp_path / "again"}
    call_command("report", study.slug, **then)
    assert tables_of(tmp_path / "again") == first
    call_command("report", study.slug, **asked, out=tmp_path / "now")
    now = tables_of(tmp_path / "now")
    assert any(
        now.get(name) != text for name, text in first.items() if name != "run.csv"
    )
    call_command("report", study.slug, view="everything", **then)
    assert tables_of(tmp_path / "again") != first


@pytest.mark.slow
def test_report_uses_the_answers_of_its_moment():
    """The answer may have changed after the last event before the report."""
    study = open_study()
    change_answers(study, "A01")
    last = study.annotators.get(name="A01").slots.latest("submitted_at")
    then = as_of_event.now(study)
    wanted = list(
        Rating.objects.filter(slot=last, is_current=True)
        .order_by("question__ordinal")
        .values_list("value", flat=True)
    )
    Rating.objects.filter(slot=last, is_current=True).update(is_current=False)
    for old in Rating.objects.filter(slot=last).order_by("question", "-revision"):
        if not Rating.objects.filter(
            slot=last, question=old.question, is_current=True
        ).exists():
            Rating.objects.create(
                slot=last,
                question=old.question,
                annotator=old.annotator,
                value=0,
                scale_min=0,
                scale_max=4,
                revision=old.revision + 1,
            )
    rows = [
        r
        for r in study_tables.answer_rows(study, "ratings", as_of=then)
        if r["slot"] == last.code
    ]
    assert [row["rating"] for row in rows] == wanted
    rows = [
        r for r in study_tables.answer_rows(study, "ratings") if r["slot"] == last.code
    ]
    assert [row["rating"] for row in rows] == [0, 0]


def test_answers_with_times_after_the_log_are_included():
    """Imported answers keep the times of their file."""
    study = make_study()
    answer_everything(study)
    tomorrow = timezone.now() + timedelta(days=1)
    Rating.objects.update(created_at=tomorrow)
    assert (
        len(
            list(
                study_tables.answer_rows(study, "ratings", as_of=as_of_event.now(study))
            )
        )
        == 24
    )


def test_views_hide_separate_answers():
    study = make_study()
    answer_everything(study)
    loose = analysis_views.add_view(study, key="loose", title="Loose", author=None)
    first, second = study.slots.all()[:2]
    exclusion.exclude(first, reason="x", author=None)
    exclusion.exclude(second, reason="x", author=None, views=[])
    then = as_of_event.now(study)
    for as_of in (None, then):
        found = {
            key: {
                row["slot"]
                for row in study_tables.answer_rows(
                    study, "ratings", view=key, as_of=as_of
                )
                if row["excluded"]
            }
            for key in ("main", "everything", loose.key)
        }
        assert found == {
            "main": {first.code, second.code},
            "everything": set(),
            "loose": {first.code},
        }


def test_downloads_name_their_view_and_moment():
    study = make_study()
    answer_everything(study)
    first, last = study.slots.first(), study.slots.last()
    row = exclusion.exclude(first, reason="x", author=None)
    then = as_of_event.now(study)
    exclusion.undo(row, author=None)
    exclusion.exclude(last, reason="x", author=None)
    client = rob(study)
    url = reverse("study-ratings-csv", args=[study.slug])

    def excluded(**query):
        text = client.get(url, query).getvalue().decode()
        rows = csv.DictReader(io.StringIO(text))
        return {restored(row["slot"]) for row in rows if row["excluded"] == "true"}

    assert excluded() == excluded(view="main") == {last.code}
    assert excluded(view="everything") == set()
    assert excluded(as_of=then.event) == {first.code}
    api = reverse("api-table", args=[study.slug, "ratings"])
    query = {"view": "everything", "as_of": then.event}
    assert client.get(api, query).getvalue() == client.get(url, query).getvalue()
    other = as_of_event.mark(make_study(slug="other", benchmark=study.benchmark))
    for bad in (
        {"view": "nobody"},
        {"as_of": "x"},
        {"as_of": other.pk},
        {"as_of": "9" * 400},
    ):
        assert client.get(url, bad).status_code == 404
        assert client.get(api, bad).status_code in (400, 404)
    assert eve().get(url, {"view": "everything"}).status_code == 404


@pytest.mark.slow
def test_report_names_its_view_and_moment(tmp_path):
    study = open_study()
    row = Report.objects.create(
        study=study,
        view=study.analysis_views.get(key="everything"),
        options={"resamples": 0},
    )
    built = building.build_report(row.pk)
    folder = building.folder(built)
    run = pd.read_csv(folder / "tables" / "run.csv", index_col="key")["value"]
    assert run["view"] == "everything"
    assert run["as of"].startswith(f"event {row.as_of_id}, 20")
    words = f"--view everything --as-of {row.as_of_id}"
    assert words in run["command"]
    moment = as_of_event.moment(study, row.as_of_id)
    digest = downloads.sha256(study, "ratings", view="everything", as_of=moment)
    assert run["sha256 of ratings.csv"] == digest
    assert "through the filter everything" in (folder / "report.html").read_text()
    client = rob(study)
    for name, args in (("report-list", []), ("report-page", [row.pk])):
        page = client.get(reverse(name, args=[study.slug, *args])).content.decode()
        assert f"as of event {row.as_of_id}, 20" in page


def test_building_again_uses_the_same_view(study_with_view):
    study = study_with_view
    client = alice(study)
    page = client.get(reverse("report-list", args=[study.slug])).content.decode()
    assert '<option value="main" selected>' in page
    asked = {
        "view": "loose",
        "questions": ["character", "aesthetics"],
        "resamples": "5",
        "confidence": "0.9",
        "seed": "7",
        "epsilon": "0",
        "levels": ["method"],
        "coefficients": ["kendall"],
    }
    url = reverse("report-create", args=[study.slug])
    assert client.post(url, asked | {"view": "nobody"}).status_code == 422
    client.post(url, asked)
    first = Report.objects.get()
    assert (first.view.key, first.as_of.kind) == ("loose", "report asked for")
    client.post(reverse("report-again", args=[study.slug, first.pk]))
    second = Report.objects.exclude(pk=first.pk).get()
    same = ("view_id", "as_of_id", "options", "study_id")
    assert [getattr(first, name) for name in same] == [
        getattr(second, name) for name in same
    ]
    assert second.created_by.username == "alice"
    assert Event.objects.filter(kind="report asked for").count() == 1


@pytest.fixture
def study_with_view():
    study = make_study()
    answer_everything(study)
    analysis_views.add_view(study, key="loose", title="Loose", author=None)
    return study


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"view": "nobody"}, "expected one of main, everything"),
        ({"as_of": 0}, "Event 0"),
    ],
)
def test_command_refuses_unknown_views_and_events(tmp_path, options, text):
    study = make_study()
    answer_everything(study)
    with pytest.raises(CommandError, match=text) as caught:
        call_command("report", study.slug, out=tmp_path / "out", **options)
    assert caught.value.returncode == 2
    assert not (tmp_path / "out").exists()
