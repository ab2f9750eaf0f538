"""Exported tables, read by the programs that they are for."""

import json

import pandas as pd
import pyarrow.parquet
import pytest
from django.core.management import CommandError, call_command
from frictionless import Package, validate

from analysis.reading.inputs import read_ratings, read_scores
from annotate.kinds.registry import KINDS
from annotate.models import Choice, Slot, Unit
from annotate.reports.export_folder import write_export
from annotate.reports.layouts import ExportError
from annotate.reports.table_schema import table_schema
from evalcore.scoring import metric_runs
from tests.cases import slow
from tests.factories import make_study
from tests.people import answer_everything

pytestmark = pytest.mark.django_db

OTHERS = [kind for kind in KINDS if kind not in ("likert", "checklist")]
ANSWERS = {"choice": "b", "ranking": "bca", "text": "=1+2", "marks": "nothing"}


def answered(kind="likert", **kw):
    study = make_study(kind=kind, **kw)
    if kind == "text":
        study.questions.update(anchors={"longest": 9, "required": True})
    if kind == "marks":
        study.questions.filter(kind="likert").delete()
    answer_everything(study, ANSWERS.get(kind, 1))
    return study


def scored(study):
    metric_runs.run(metric_runs.queue_run(study.benchmark, ["sharpness"]).pk)
    return study


@pytest.mark.parametrize("form", ["csv", *slow("jsonl")])
@pytest.mark.parametrize("kind", ["likert", "checklist", *slow(*OTHERS)])
def test_package_is_valid_for_frictionless(kind, form, tmp_path):
    """Frictionless checks every cell of CSV; of JSON lines it needs an extra."""
    study = scored(answered(kind, presentation={"shot_comments": True}))
    write_export(study, tmp_path, form=form)
    package = Package(str(tmp_path / "datapackage.json"))
    for resource in package.resources:
        names = [field.name for field in resource.schema.fields]
        text = (tmp_path / resource.path).read_text("utf-8")
        if form == "csv":
            assert text.splitlines()[0].split(",") == names
        elif text:
            assert list(json.loads(text.splitlines()[0])) == names
    if form == "csv":
        report = validate(str(tmp_path / "datapackage.json"))
        assert report.valid, report.flatten(["type", "message"])
        story = package.get_resource("scores").read_rows()[0]["story"]
        assert story == "01"


def test_parquet_has_types_units_and_categories(tmp_path):
    study = scored(answered())
    write_export(study, tmp_path, form="parquet")
    frame = pd.read_parquet(tmp_path / "ratings.parquet")
    assert set(frame["story"]) == {"01", "02"}
    assert frame["dimension"].dtype == "category"
    assert frame["rating"].dtype == "int64"
    assert frame["excluded"].dtype == bool
    assert str(frame["submitted_at"].dt.tz) == "UTC"
    schema = pyarrow.parquet.read_schema(tmp_path / "ratings.parquet")
    assert schema.field("seconds").metadata[b"unit"] == b"s"
    titles = json.loads(schema.field("dimension").metadata[b"categories"])
    assert titles[0] == {"value": "character", "label": "Character"}
    assert json.loads(schema.metadata[b"table_schema"]) == table_schema(
        study, "ratings"
    )
    scores = pd.read_parquet(tmp_path / "scores.parquet")
    assert set(scores["story"]) == {"01", "02"}


def test_all_formats_have_the_same_cells(tmp_path):
    study = answered()
    for form in ("csv", "parquet", "jsonl"):
        write_export(study, tmp_path, table="ratings", form=form)
    types = {"story": str, "slot": str}
    read = [
        pd.read_csv(tmp_path / "ratings.csv", dtype=types),
        pd.read_json(tmp_path / "ratings.jsonl", lines=True, dtype=types),
        pd.read_parquet(tmp_path / "ratings.parquet"),
    ]
    plain = [one.drop(columns=["started_at", "submitted_at"]) for one in read]
    lists = [one.astype(object).values.tolist() for one in plain]
    assert lists[0] == lists[1] == lists[2]


def test_csv_begins_with_byte_order_mark_on_request(tmp_path):
    study = answered()
    call_command("export_study", study.slug, out=tmp_path, table="ratings", bom=True)
    assert (tmp_path / "ratings.csv").read_bytes().startswith(b"\xef\xbb\xbfstory,")
    assert validate(str(tmp_path / "datapackage.json")).valid


def test_empty_table_keeps_its_columns(tmp_path):
    write_export(make_study(), tmp_path, form="parquet")
    frame = pd.read_parquet(tmp_path / "ratings.parquet")
    assert len(frame) == 0
    assert "rating" in frame


@pytest.mark.parametrize("kind", ["likert", "ranking", *slow("choice", "checklist")])
def test_wide_table_is_the_pivot_of_the_long_one(kind, tmp_path):
    """The pivot is that of pandas."""
    study = answered(kind)
    first = study.questions.first()
    if kind == "likert":
        slot = study.slots.first()
        slot.ratings.filter(question=first).update(value=4)
    table, key, value = {
        "choice": ("choices", "criterion", "choice"),
        "ranking": ("rankings", "criterion", "rank"),
    }.get(kind, ("ratings", "dimension", "rating"))
    write_export(study, tmp_path, table=table)
    write_export(study, tmp_path, table=table, layout="wide")
    long = pd.read_csv(tmp_path / f"{table}.csv", dtype=str, keep_default_na=False)
    wide = pd.read_csv(tmp_path / f"{table}_wide.csv", dtype=str, keep_default_na=False)
    kept = [name for name in long if name not in (key, value)]
    pivot = long.pivot(index=kept, columns=key, values=value).reset_index()
    pivot = pivot[list(wide)].sort_values(list(wide), ignore_index=True)
    wide = wide.sort_values(list(wide), ignore_index=True)
    pd.testing.assert_frame_equal(wide, pivot, check_names=False)


@pytest.mark.slow
def test_wide_ratings_with_scores_are_read_by_analysis(tmp_path):
    study = scored(answered())
    write_export(study, tmp_path, layout="wide", with_scores=True)
    wide = pd.read_csv(tmp_path / "ratings_wide.csv", dtype={"story": str})
    scores = pd.read_csv(tmp_path / "scores_wide.csv", dtype={"story": str})
    means = scores.groupby(["story", "method"])["sharpness"].mean()
    for row in wide.itertuples():
        assert row.score_sharpness == pytest.approx(means[row.story, row.method])
    ratings = read_ratings(tmp_path / "ratings_wide.csv", wide=True)
    assert {"character", "aesthetics"} < {*ratings["dimension"]}
    again = read_scores(tmp_path / "scores_wide.csv", wide=True)
    assert set(again["metric"]) == {"sharpness"}


def test_arena_names_the_winner_by_side(tmp_path):
    study = answered("choice")
    Choice.objects.filter(slot__annotator__name="A02").update(value="both_bad")
    write_export(study, tmp_path, layout="arena", form="jsonl")
    write_export(study, tmp_path, table="choices")
    rows = pd.read_json(
        tmp_path / "arena.jsonl", lines=True, dtype={"question_id": str}
    )
    long = pd.read_csv(tmp_path / "choices.csv", dtype={"story": str})
    assert (rows["model_a"] == long["left_method"]).all()
    of_b = rows[rows["judge"] == "A01"]
    winners = [row[row["winner"]] for _at, row in of_b.iterrows()]
    assert winners == list(long[long["annotator"] == "A01"]["method_b"])
    assert set(rows[rows["judge"] == "A02"]["winner"]) == {"tie (bothbad)"}
    assert set(rows["question_id"]) == {"01", "02"}
    assert rows["tstamp"].min() > 1.7e9


@pytest.mark.slow
def test_crowd_kit_aggregates_ratings(tmp_path):
    study = answered(annotators=3)
    one = study.slots.filter(annotator__name="A03").first()
    one.ratings.update(value=0)
    write_export(study, tmp_path, layout="crowd-kit")
    rows = pd.read_csv(tmp_path / "crowd_kit_ratings.csv")
    from crowdkit.aggregation import MajorityVote  # takes seconds to load

    labels = MajorityVote().fit_predict(rows)
    assert len(labels) == 6 * 2  # outputs and questions
    assert set(labels) == {1}
    assert "character/01/Alder" in labels


@pytest.mark.slow
def test_crowd_kit_ranks_methods(tmp_path):
    """All prefer the second method in alphabetical order; ties are left out."""
    study = answered("choice")
    tie = study.slots.first()
    tie.choices.update(value="tie")
    notes = []
    write_export(study, tmp_path, layout="crowd-kit", form="parquet", note=notes.append)
    rows = pd.read_parquet(tmp_path / "crowd_kit_choices.parquet").astype(str)
    from crowdkit.aggregation import BradleyTerry  # takes seconds to load

    scores = BradleyTerry(n_iter=50).fit_predict(rows)
    assert list(scores.sort_values().index) == ["Alder", "Birch", "Cedar"]
    assert len(rows) == 6 * 2 * 2 - 2
    assert notes == [
        "Ties are left out, since crowd-kit has no label for them: 2 of 24 answers."
    ]


def test_control_answers_stay_out_of_other_programs_tables(tmp_path):
    study = answered()
    Unit.objects.filter(pk=study.units.first().pk).update(purpose="gold")
    gold = Slot.objects.filter(unit=study.units.first())
    gold.update(purpose="gold", ordinal=None)
    write_export(study, tmp_path, layout="crowd-kit")
    rows = pd.read_csv(tmp_path / "crowd_kit_ratings.csv")
    assert len(rows) == 5 * 2 * 2
    write_export(study, tmp_path, table="ratings")
    assert validate(str(tmp_path / "datapackage.json")).valid
    assert "Alder [gold]" in (tmp_path / "ratings.csv").read_text()


def test_vistorybench_table_has_means_of_stories(tmp_path):
    study = scored(answered())
    study.slots.filter(unit__story__key="01").first().ratings.update(value=3)
    write_export(study, tmp_path, layout="vistorybench")
    write_export(study, tmp_path, table="ratings")
    table = pd.read_csv(tmp_path / "user_study.csv", index_col="method")
    long = pd.read_csv(tmp_path / "ratings.csv")
    items = long.groupby(["method", "dimension", "story"])["rating"].mean()
    means = items.groupby(["method", "dimension"]).mean()
    for (method, dimension), mean in means.items():
        assert table.loc[method, dimension] == pytest.approx(mean)
    metrics = pd.read_csv(tmp_path / "metrics.csv", index_col="method")
    assert list(metrics.index) == ["Alder", "Birch", "Cedar"]
    assert metrics["sharpness"].notna().all()


@pytest.mark.slow
def test_image_folder_is_loaded_by_datasets(tmp_path, monkeypatch):
    monkeypatch.setenv("HF_HOME", str(tmp_path / "cache"))
    from datasets import config, load_dataset

    monkeypatch.setattr(config, "HF_DATASETS_OFFLINE", True)
    study = answered()
    folder = tmp_path / "out"
    write_export(study, folder, layout="huggingface")
    cache = str(tmp_path / "cache")
    pictures = str(folder / "outputs")
    rows = load_dataset(
        "imagefolder", data_dir=pictures, split="train", cache_dir=cache
    )
    by_config = load_dataset(str(folder), split="train", cache_dir=cache)
    table = str(folder / "data/ratings.parquet")
    ratings = load_dataset("parquet", data_files=table, split="train", cache_dir=cache)
    assert len(rows) == len(by_config) == 6
    assert rows[0]["story"] == "01"
    assert rows[0]["ratings"] == {"aesthetics": 1.0, "character": 1.0}
    assert [picture.size for picture in rows[0]["images"]] == [(96, 64)] * 3
    assert rows[0]["texts"][0] == "A wood, part 1\nFox walks 1"
    assert len(ratings) == 6 * 2 * 2
    assert ratings[0]["story"] == "01"


def test_layout_without_tables_writes_nothing(tmp_path):
    study = answered()
    with pytest.raises(ExportError, match="no answers that layout arena takes"):
        write_export(study, tmp_path / "out", layout="arena")
    with pytest.raises(CommandError, match="Expected: ratings, scores, in_sight"):
        call_command("export_study", study.slug, out=tmp_path / "out", table="choices")
    assert not (tmp_path / "out").exists()


def test_wide_table_refuses_a_question_called_as_a_column(tmp_path):
    study = answered()
    study.questions.filter(key="character").update(key="round")
    with pytest.raises(ExportError, match="ratings has a column round already"):
        write_export(study, tmp_path / "out", layout="wide")
    assert not (tmp_path / "out").exists()
