"""The three tables from the database, equal to those from files."""

import csv
import io
import itertools
import re

import pandas as pd
import pytest
from django.core.management import call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from analysis.__main__ import main
from annotate.assignment import choosing
from annotate.models import Annotator, Rating, Study
from annotate.quality import exclusion
from annotate.reports import score_tables, study_tables
from annotate.responses import leasing
from annotate.responses.bulk import SlotAnswers, store_judgements
from evalcore.models import MetricScore
from evalcore.scoring import metric_runs
from tests import answering
from tests.factories import METHODS, make_benchmark, make_study
from tests.people import alice, answer_everything

pytestmark = pytest.mark.django_db


@pytest.mark.postgresql
def test_answers_frame_has_every_rating():
    study = make_study()
    answer_everything(study, 3)
    frame = study_tables.answers_frame(study, "ratings")
    assert len(frame) == 12 * 2
    assert set(frame["method"]) == {"Alder", "Birch", "Cedar"}
    assert set(frame["dimension"]) == {"character", "aesthetics"}
    assert (frame["rating"] == 3).all()
    assert study_tables.scales(study) == {"character": (0, 4), "aesthetics": (0, 4)}


def test_drafts_and_old_revisions_stay_out():
    study = make_study(consented=True)
    ann = study.annotators.get(name="A01")
    slot = leasing.take(choosing.next_slot(ann), ann)
    question = study.questions.first()
    answering.record_answer(slot=slot, annotator=ann, question=question, value=1)
    assert list(study_tables.answer_rows(study, "ratings")) == []
    for q in study.questions.all():
        answering.record_answer(slot=slot, annotator=ann, question=q, value=4)
    answering.submit(slot=slot, annotator=ann)
    assert [row["rating"] for row in study_tables.answer_rows(study, "ratings")] == [
        4,
        4,
    ]


@pytest.mark.skipif(connection.vendor != "sqlite", reason="the plan is SQLite's")
def test_answers_are_looked_up_by_slot():
    """By annotator, a million answers would be read once for each slot."""
    study = make_study()
    with CaptureQueriesContext(connection) as asked:
        list(study_tables.answer_rows(study, "ratings"))
    (query,) = [one["sql"] for one in asked if 'FROM "annotate_rating"' in one["sql"]]
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN QUERY PLAN {query}")
        (plan,) = [row[-1] for row in cursor if "annotate_rating " in row[-1]]
    assert "(slot_id=?)" in plan


def test_excluded_answers_are_marked():
    study = make_study()
    answer_everything(study)
    exclusion.exclude(study.slots.first(), reason="asleep", author=None)
    assert study_tables.answers_frame(study, "ratings")["excluded"].sum() == 2


def test_surplus_answers_are_marked_excluded():
    study = make_study()
    answer_everything(study)
    answered = study.slots.select_related("annotator", "unit")
    slot = answered.first()
    exclusion_row = exclusion.exclude(slot, reason="asleep", author=None)
    replacement = study.slots.get(unit=slot.unit, state="open")
    other = Annotator.objects.create(study=study, name="A03", state="invited")
    replacement.annotator = other
    replacement.save()
    answer_everything(study, 1)
    exclusion.undo(exclusion_row, author=None)
    replacement.refresh_from_db()
    assert replacement.ordinal is None
    marked = {
        row["slot"]
        for row in study_tables.answer_rows(study, "ratings")
        if row["excluded"]
    }
    assert marked == {replacement.code}


def test_choices_name_the_left_method():
    study = make_study(kind="choice")
    answer_everything(study, "a")
    for row in study_tables.answer_rows(study, "choices"):
        assert row["method_a"] < row["method_b"]
        assert row["left_method"] in (row["method_a"], row["method_b"])
    left = {
        row["slot"]: row["left_method"]
        for row in study_tables.answer_rows(study, "choices")
    }
    slots = study.slots.select_related(
        "unit__output_a__method", "unit__output_b__method"
    )
    assert {slot.a_is_left for slot in slots} == {True, False}
    for slot in slots:
        side = slot.unit.output_a if slot.a_is_left else slot.unit.output_b
        assert left[slot.code] == side.method.name


def test_versions_of_a_metric_are_separate():
    study = make_study()
    metric_runs.run(metric_runs.queue_run(study.benchmark, ["shots_present"]).pk)
    MetricScore.objects.update(metric_version="0", identity=None, value=0.1)
    metric_runs.run(metric_runs.queue_run(study.benchmark, ["shots_present"]).pk)
    frame = score_tables.scores_frame(study)
    assert list(frame.groupby("metric_version")["score"].max()) == [0.1, 1.0]


@pytest.mark.postgresql
@pytest.mark.slow
def test_versions_in_one_file_give_the_same_tables_from_database_and_file(tmp_path):
    """Version 2 covers one story only."""
    study = make_study(benchmark=make_benchmark(stories=3))
    answer_everything(study, 2)
    for number, rating in enumerate(Rating.objects.order_by("pk")):
        Rating.objects.filter(pk=rating.pk).update(value=number % 5)
    scores = ["story,method,metric,score,metric_version"]
    for s, m in itertools.product(range(1, 4), range(3)):
        scores.append(f"0{s},{METHODS[m]},k,{(s * 7 + m * 5) % 4},1")
    scores += [f"02,{name},k,{m},2" for m, name in enumerate(METHODS)]
    (tmp_path / "scores.csv").write_text("\n".join(scores) + "\n")
    call_command("import_scores", tmp_path / "scores.csv", benchmark="woods")
    call_command("export_study", study.slug, out=tmp_path / "export")
    call_command(
        "report",
        study.slug,
        out=tmp_path / "database",
        resamples=10,
        levels=("method", "story"),
        coefficients=("kendall",),
        compare_identities=True,
        images="none",
    )
    status = main(
        [
            "align",
            "--ratings",
            str(tmp_path / "export/ratings.csv"),
            "--scores",
            str(tmp_path / "export/scores.csv"),
            "--compare-identities",
            "--scale",
            "0:4",
            "--resamples",
            "10",
            "--levels",
            "method,story",
            "--coefficients",
            "kendall",
            "--out",
            str(tmp_path / "files"),
            "--images",
            "none",
        ]
    )
    assert status == 0
    table = (tmp_path / "files/tables/correlations.csv").read_bytes()
    assert len(set(re.findall(rb"k \([^)]*\)", table))) == 2
    assert table == (tmp_path / "database/tables/correlations.csv").read_bytes()


@pytest.mark.postgresql
def test_scores_of_any_size_survive_the_database(tmp_path):
    study = make_study(benchmark=make_benchmark(stories=3))
    sizes = ("1e-318", "4.9406564584124654e-324", "-2.5e-310", "1e300", "1e-170")
    rows = [f"0{i % 3 + 1},{METHODS[i // 3]},k,{x}" for i, x in enumerate(sizes)]
    path = tmp_path / "scores.csv"
    path.write_text("\n".join(["story,method,metric,score", *rows]) + "\n")
    call_command("import_scores", path, benchmark="woods")
    expected = sorted(map(float, sizes))
    assert sorted(score_tables.scores_frame(study)["score"]) == expected
    call_command("export_study", study.slug, out=tmp_path / "export")
    with (tmp_path / "export/scores.csv").open(newline="") as file:
        written = [float(row["score"]) for row in csv.DictReader(file)]
    assert sorted(written) == expected


def downloaded(study, name, path):
    """Save a study's table as a browser would; return its rows without slot codes."""
    response = alice(study).get(reverse(f"study-{name}-csv", args=[study.slug]))
    path.write_bytes(response.getvalue())
    rows = csv.DictReader(io.StringIO(path.read_text()))
    return sorted(tuple((k, row[k]) for k in row if k != "slot") for row in rows)


@pytest.mark.postgresql
@pytest.mark.parametrize(
    ("kind", "name", "values"),
    [("likert", "ratings", range(5)), ("choice", "choices", ("a", "b", "tie"))],
)
def test_download_reads_back_as_the_same_rows(kind, name, values, tmp_path):
    methods = ("=cmd", "'=cmd", 'Birch, "the\n2nd"')
    benchmark = make_benchmark(methods=methods, pictures=False)
    study = make_study(kind=kind, benchmark=benchmark)
    study.annotators.filter(name="A01").update(name="-A01")
    value = itertools.cycle(values)
    questions = list(study.questions.all())
    now = timezone.now().replace(microsecond=0)
    store_judgements(
        SlotAnswers(slot, {q: next(value) for q in questions}, now, float(i))
        for i, slot in enumerate(study.slots.all(), start=1)
    )
    path = tmp_path / f"{name}.csv"
    first = downloaded(study, name, path)
    call_command("import_judgements", study="again", benchmark="woods", **{name: path})
    assert downloaded(Study.objects.get(slug="again"), name, path) == first
    assert len(first) == 24


def test_export_is_complete(tmp_path):
    study = make_study()
    answer_everything(study)
    call_command("export_study", study.slug, out=tmp_path / "out")
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert names == {
        "ratings.csv",
        "scores.csv",
        "score_identities.json",
        "datapackage.json",
        "in_sight.csv",
        "study.json",
    }


@pytest.mark.postgresql
@pytest.mark.slow
@pytest.mark.shared
def test_database_and_files_give_byte_identical_tables(shared, tmp_path):
    """Real ratings of forty stories of dsg survive import and export."""
    data = tmp_path / "dsg"
    data.mkdir()
    for name in ("ratings.csv", "scores.csv"):
        rows = pd.read_csv(shared / "data/dsg" / name, dtype=str)
        stories = sorted(rows["story"].unique())[:40]
        rows[rows["story"].isin(stories)].to_csv(data / name, index=False)
    call_command(
        "import_judgements",
        ratings=data / "ratings.csv",
        scale=(1, 5),
        benchmark="dsg",
        study="dsg",
        create=True,
    )
    call_command("import_scores", data / "scores.csv", benchmark="dsg")
    call_command(
        "report", "dsg", out=tmp_path / "database", resamples=20, images="none"
    )
    status = main(
        [
            "align",
            "--ratings",
            str(data / "ratings.csv"),
            "--scores",
            str(data / "scores.csv"),
            "--scale",
            "1:5",
            "--resamples",
            "20",
            "--out",
            str(tmp_path / "files"),
            "--images",
            "none",
        ]
    )
    assert status == 0
    files = sorted(p.name for p in (tmp_path / "files/tables").glob("*.csv"))
    assert {"correlations.csv", "disagreement.csv", "variance.csv"} <= set(files)
    for name in files:
        # A file does not have the people who were invited.
        if name not in ("run.csv", "sample_flow.csv"):
            one = (tmp_path / "files/tables" / name).read_bytes()
            assert one == (tmp_path / "database/tables" / name).read_bytes(), name


def test_ratings_of_a_checklist_name_their_shot():
    from annotate.responses import writing
    from tests import answering

    study = make_study(kind="checklist", consented=True)
    answer_everything(study, 1)
    frame = study_tables.answers_frame(study, "ratings")
    assert len(frame) == 12 * 3 * 6
    assert sorted(frame["shot"].astype(int).unique()) == [1, 2, 3]
    assert set(study_tables.scales(study).values()) == {(0, 1)}
    other = make_study(slug="other", benchmark=study.benchmark)
    assert "shot" not in study_tables.header(other, "ratings")
    # A change in one shot leaves the others as they were, then and now.
    from annotate.audit_log import as_of_event

    then = as_of_event.now(study)
    slot = study.slots.filter(annotator__name="A01").order_by("-position").first()
    slot.started_at = timezone.now()
    slot.save()
    ticked = set(study.questions.values_list("key", flat=True)) - {"pan|text"}
    changed = answering.record_shot(
        slot=slot, annotator=slot.annotator, shot=2, ticked=ticked, looked=True
    )
    assert changed == 1
    assert writing.shots_left(slot, slot.annotator) == []
    now = list(study_tables.answer_rows(study, "ratings"))
    (changed,) = (row for row in now if row["rating"] == 0)
    assert (changed["shot"], changed["dimension"]) == (2, "pan|text")
    after = as_of_event.moment(study, as_of_event.mark(study, None).pk)
    assert list(study_tables.answer_rows(study, "ratings", as_of=after)) == now
    before = list(study_tables.answer_rows(study, "ratings", as_of=then))
    assert len(before) == len(now)
    assert all(row["rating"] == 1 for row in before)


@pytest.mark.parametrize("rated", [{"story__key": "01"}, {}])
def test_scores_of_outputs_that_nobody_rates_stay_out(rated):
    """A study of a part of the benchmark, and one whose methods differ in stories."""
    study = make_study(benchmark=make_benchmark(stories=3))
    metric_runs.run(metric_runs.queue_run(study.benchmark, ["sharpness"]).pk)
    units = study.units.filter(**rated)
    if not rated:
        units = units.exclude(story__key="02", output_a__method__name="Cedar")
    kept = set(units.values_list("story__key", "output_a__method__name"))
    study.slots.exclude(unit__in=units).delete()
    study.units.exclude(pk__in=units).delete()
    assert len(kept) == (3 if rated else 8)
    found = {(row["story"], row["method"]) for row in score_tables.score_rows(study)}
    assert found == kept
