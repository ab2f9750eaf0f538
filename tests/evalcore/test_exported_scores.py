"""Export of scores as ViStoryBench's result folders."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from evalcore.formats.json_files import parts
from evalcore.models import (
    MetricAbsence,
    MetricRun,
    MetricScore,
    Output,
    Story,
)
from tests.evalcore.formats.test_vistorybench_results import load
from tests.evalcore.vistorybench_folder import (
    STAMP,
    change,
    contents,
    item,
    mean_of,
    write_run,
)
from tests.factories import make_benchmark

pytestmark = [pytest.mark.django_db, pytest.mark.postgresql]


@pytest.fixture
def benchmark():
    """Return stories 01 and 02 of three shots each."""
    return make_benchmark(pictures=False, methods=["UNO"])


def save(out, **options):
    slug = options.pop("benchmark", "woods")
    arguments = [
        f"--{name.replace('_', '-')}={value}" for name, value in options.items()
    ]
    call_command("export_scores", slug, out, "--format=vistorybench", *arguments)
    return out


def files(root: Path):
    found = (path for path in root.rglob("*") if path.is_file())
    return {str(path.relative_to(root)): path.read_bytes() for path in found}


def computed(benchmark, method="UNO", **details):
    """Store scores as if they had been computed here."""
    ended = datetime(2026, 3, 4, 5, 6, 7, 8, tzinfo=UTC)
    run = MetricRun.objects.create(
        benchmark=benchmark, source="computed", state="done", finished_at=ended
    )
    story = Story.objects.get(benchmark=benchmark, key="01")
    output = Output.objects.get(story=story, method__name=method)
    place = {
        "run": run,
        "benchmark": benchmark,
        "method": output.method,
        "metric_version": "1 vsb-paper",
        "backend": "dino",
    }
    for metric, value in (
        ("cids_self", 0.75),
        ("csd_cross", 0.1 + 0.2),
        ("sharpness", 9.0),
    ):
        MetricScore.objects.create(**place, story=story, metric=metric, value=value)
    lower = {"higher_is_better": False, **details}
    MetricScore.objects.create(
        **place, story=story, metric="odd.one", value=3.0, **lower
    )
    MetricScore.objects.create(**place, metric="inception_score", value=8.5)
    for shot in story.shots.all():
        MetricScore.objects.create(
            **place, story=story, shot=shot, metric="csd_cross", value=shot.number / 7
        )
    MetricAbsence.objects.create(
        **place, story=story, metric="copy_paste", reason="no character found"
    )
    shot = story.shots.first()
    MetricAbsence.objects.create(
        **place, story=story, shot=shot, metric="occm", reason="?"
    )
    return output


# There and back -----------------------------------------------------------------------


def test_foreign_folder_is_exported_with_every_number(tmp_path, benchmark):
    write_run(tmp_path / "in")
    load(tmp_path / "in")
    save(tmp_path / "out")
    was, now = contents(tmp_path / "in"), contents(tmp_path / "out")
    assert now == was
    numbers = [part for _depth, part in parts(was) if isinstance(part, float | int)]
    assert len(numbers) > 150  # the folder is no empty shell


def test_folder_counting_from_0_is_exported_unchanged(tmp_path, benchmark):
    write_run(tmp_path / "in", shots=(0, 1, 2))
    load(tmp_path / "in")
    assert contents(save(tmp_path / "out")) == contents(tmp_path / "in")


def test_unusual_folder_is_exported_unchanged(tmp_path, benchmark):
    folder = write_run(tmp_path / "in")
    path = folder / "metrics/csd/story_results.json"
    text = path.read_text().replace('"self_csd": 0.5,', '"self_csd": Infinity,')
    path.write_text(text.replace('"self_csd": 0.625', '"self_csd": "0.6250"'))
    change(
        path, lambda data: data["01"]["metrics"].update(cross_csd="null", extra=[1.5])
    )
    change(
        folder / "metrics/aesthetic/story_results.json",
        lambda data: data["01"].update(
            status="failed", error="out of memory", code=137
        ),
    )
    change(
        folder / "metrics/diversity/scores.json",
        lambda data: data.update(
            metrics={"inception_score": None, "inception_score_std": 2}
        ),
    )
    change(folder / "summary.json", lambda data: data.update(note=1.25))
    lines = [
        item("csd", "cross_csd", "01", 1, 0.77),  # again
        item("csd", "cross_csd", "01", 1, 0.78) | {"status": "failed"},
        item("csd", "cross_csd", "02", 2, None, extras={"n": 3}),
        item("other", "thing", "02", 2, 0.125),
    ]
    with (folder / "metrics/csd/items.jsonl").open("a") as file:
        file.write("".join(json.dumps(line) + "\n" for line in lines))
    load(tmp_path / "in")
    assert contents(save(tmp_path / "out")) == contents(tmp_path / "in")


def test_export_is_stable_after_import(tmp_path, benchmark):
    write_run(tmp_path / "in", "UNO", "base", "ch")
    load(tmp_path / "in")
    computed(benchmark)
    first = save(tmp_path / "first")
    make_benchmark(slug="twin", pictures=False, methods=["UNO"])
    # Export one of the two runs, since here both belong to one method.
    for stamp in (STAMP, "20260304_050607"):
        load(first, benchmark="twin", timestamp=stamp)
    second = save(tmp_path / "second", benchmark="twin")
    assert files(second) == files(first)
    assert len(files(first)) > 20


def test_computed_scores_survive_export_and_import(tmp_path, benchmark):
    computed(benchmark)
    fields = (
        "metric",
        "metric_version",
        "backend",
        "higher_is_better",
        "value",
        "story__key",
        "shot__number",
        "method__name",
    )
    save(tmp_path)
    load(tmp_path)
    assert MetricRun.objects.count() == 1  # nothing was new
    make_benchmark(slug="twin", pictures=False, methods=["UNO"])
    load(tmp_path, benchmark="twin")

    def rows(table, slug, *names):
        found = table.objects.filter(benchmark__slug=slug).order_by(*names)
        return list(found.values_list(*names))

    assert rows(MetricScore, "twin", *fields) == rows(MetricScore, "woods", *fields)
    absent = ("metric", "metric_version", "story__key", "shot__number", "reason")
    assert rows(MetricAbsence, "twin", *absent) == rows(MetricAbsence, "woods", *absent)


# Fields for the benchmark's own programs --------------------------------------------


def test_summary_has_fields_of_the_programs(tmp_path, benchmark):
    output = computed(benchmark)
    Output.objects.filter(pk=output.pk).update(mode="ref", language="zh")
    story = Story.objects.get(benchmark=benchmark, key="02")
    score = MetricScore.objects.get(metric="cids_self")
    score.pk, score.story, score.value = None, story, 0.5
    score.save()
    folder = save(tmp_path) / "UNO/ref/ch/20260304_050607"
    summary = json.loads((folder / "summary.json").read_text())
    run = {
        "method": "UNO",
        "mode": "ref",
        "language": "ch",
        "dataset": "ViStory",
        "timestamp": "20260304_050607",
    }
    assert summary["run"] == run
    metrics = summary["metrics"]
    assert metrics["cids"]["metrics"] == {"cids_self_mean": 0.625}
    assert metrics["csd"]["metrics"] == {"cross_csd": 0.1 + 0.2}
    assert metrics["diversity"]["metrics"] == {"inception_score": 8.5}
    assert metrics["sharpness"]["metrics"] == {"sharpness": 9.0}
    records = json.loads((folder / "metrics/cids/story_results.json").read_text())
    # As the programs aggregate: numbers of every story count, null does not.
    plain = [
        {k: v for k, v in r["metrics"].items() if isinstance(v, int | float)}
        for r in records.values()
    ]
    assert mean_of(plain) == metrics["cids"]["metrics"]
    assert records["01"]["status"] == "complete"
    assert records["01"]["metrics"]["copy_paste_score"] is None
    assert records["01"]["reasons"] == {"copy_paste_score": "no character found"}
    lines = (folder / "metrics/csd/items.jsonl").read_text().splitlines()
    assert json.loads(lines[1]) == item("csd", "cross_csd", "01", 2, 2 / 7)
    manifest = json.loads((folder / "manifest.json").read_text())
    assert manifest["metrics"]["cids"]["02"] == {
        "status": "complete",
        "version": None,
        "outputs_hash": None,
        "last_updated": "2026-03-04T05:06:07Z",
    }


def test_replaced_score_takes_precedence_over_imported_one(tmp_path, benchmark):
    folder = write_run(tmp_path / "in")
    load(tmp_path / "in")
    for metric, value in (("csd_self", 0.25), ("pa_scene", 4.0)):
        MetricScore.objects.filter(metric=metric, story__key="01").update(value=value)
    MetricScore.objects.filter(metric="inception_score").update(value=9.5)
    shot = MetricScore.objects.filter(
        metric="pa_action", shot__number=2, story__key="01"
    )
    shot.update(value=1.0)
    out = save(tmp_path / "out") / folder.relative_to(tmp_path / "in")
    records = json.loads((out / "metrics/csd/story_results.json").read_text())
    assert records["01"]["metrics"] == {"self_csd": 0.25, "cross_csd": 0.1 + 0.2}
    assert records["01"]["shot_details"][0]["score"] == 0.31
    summary = json.loads((out / "summary.json").read_text())["metrics"]
    assert summary["csd"]["metrics"]["self_csd"] == (0.25 + 0.625) / 2
    assert summary["diversity"]["metrics"]["inception_score"] == 9.5
    cids = json.loads((out / "metrics/cids/story_results.json").read_text())
    assert cids["01"]["detailed_scores"]["2"]["single_character_action"] == 1.0
    assert cids["01"]["detailed_scores"]["1"]["single_character_action"] == 3
    scene = [
        json.loads(line)
        for line in (out / "metrics/prompt_align/items.jsonl").read_text().splitlines()
    ]
    values = {r["value"] for r in scene if r["metric"]["submetric"] == "scene"}
    assert values == {3, 4.0}


# Choices and refusals -----------------------------------------------------------------


def refused(out, **options):
    with pytest.raises(CommandError) as caught:
        save(out, **options)
    assert caught.value.returncode == 2
    assert not out.exists()
    return str(caught.value)


def test_method_without_valid_folder_name_is_reported(tmp_path, benchmark):
    output = computed(benchmark)
    output.method.name = "a/b"
    output.method.save()
    assert "method a/b: expected a method and a mode that are" in refused(
        tmp_path / "out"
    )


def test_export_writes_nothing_when_it_would_overwrite(tmp_path, benchmark):
    computed(benchmark)
    save(tmp_path)
    MetricScore.objects.filter(metric="sharpness").update(value=1.0)
    before = files(tmp_path)
    with pytest.raises(CommandError, match="no different file at this path"):
        save(tmp_path)
    assert files(tmp_path) == before
    call_command(
        "export_scores", "woods", tmp_path, "--format=vistorybench", "--replace"
    )
    path = next(tmp_path.rglob("sharpness/story_results.json"))
    assert json.loads(path.read_text())["01"]["metrics"] == {"sharpness": 1.0}


def test_imported_results_keep_their_timestamp(tmp_path, benchmark):
    write_run(tmp_path / "in", mode="default")
    load(tmp_path / "in")
    computed(benchmark)
    text = refused(tmp_path / "out", timestamp=STAMP)
    assert f"UNO/default/en/{STAMP}: expected another --timestamp" in text
    with pytest.raises(CommandError, match="write YYYYMMDD_HHMMSS"):
        save(tmp_path / "out", timestamp="now")
