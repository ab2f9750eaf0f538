"""Import and export of Envision's results."""

import json

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from evalcore.importing.stories import import_benchmark
from evalcore.models import Benchmark, Method, MetricRun, MetricScore, Output, Story
from tests.evalcore.formats.test_envision import sequence
from tests.evalcore.formats.test_envision import write as write_list

pytestmark = pytest.mark.django_db

NINE = {
    "semantic_consistency": 4.0,
    "factual_consistency": 5.0,
    "spatial_temporal_consistency": 3.0,
    "expressiveness": 4.0,
    "artistic_quality": 3.0,
    "authenticity": 2.0,
    "basic_properties": 4.0,
    "dynamics_interactivity": 3.0,
    "physical_reliability": 5.0,
}
# By hand: .33, .33 and .34 within a dimension, .4, .4 and .2 over the three.
# 1.32 + 1.65 + 1.02; 1.32 + .99 + .68; 1.32 + .99 + 1.70; 1.596 + 1.604 + .598
FOUR = {
    "consistency_score": 3.99,
    "aesthetic_score": 2.99,
    "physicality_score": 4.01,
    "overall_score": 3.8,
}
NAMES = {
    "semantic": 4.0,
    "factual": 5.0,
    "spatial_temporal": 3.0,
    "expressiveness": 4.0,
    "artistic_quality": 3.0,
    "authenticity": 2.0,
    "basic_properties": 4.0,
    "dynamics": 3.0,
    "physical_reliability": 5.0,
    "consistency": 3.99,
    "aesthetic": 2.99,
    "physicality": 4.01,
    "overall": 3.8,
}


def row(index=1, doubled=True, **changes):
    """Return a row as the programs write it: dynamics twice, so ten scores count."""
    scores = dict(NINE)
    if doubled:
        scores["dynamics_and_interactivity"] = 3.0
    count = len(scores)
    return {
        "index": index,
        "category": "Science",
        "process_type": "Biology",
        **scores,
        **FOUR,
        "overall_grade": "Good",
        "pass_rate_3": round(sum(v >= 3 for v in scores.values()) / count, 2),
        "pass_rate_4": round(sum(v >= 4 for v in scores.values()) / count, 2),
    } | changes


def full(index=1):
    said = sequence(index)
    steps = [{**p, "image_path": f"out/{p['step']}.png"} for p in said["prompts"]]
    individual = {**NINE, "dynamics_and_interactivity": 3.0}
    return {
        "index": index,
        "category": "Science",
        "process_type": "Biology",
        "steps": steps,
        "evaluation": "Semantic Consistency: 4\n...",
        "individual_scores": individual,
        "comprehensive_scores": {
            **individual,
            **FOUR,
            "overall_avg_simple": 3.6,
            "pass_rate_3": 0.9,
            "pass_rate_4": 0.5,
        },
    }


def write(path, rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".jsonl":
        text = "".join(json.dumps(r, ensure_ascii=False) + "\n" for r in rows)
    else:
        text = json.dumps(rows, ensure_ascii=False, indent=2)
    path.write_text(text, encoding="utf-8")
    return path


@pytest.fixture
def benchmark(tmp_path):
    """Return a benchmark with biology 1 to 3 and the method Flux, without pictures."""
    path = write_list(tmp_path / "lists", [sequence(i) for i in (1, 2, 3)])
    import_benchmark(path, slug="e")
    method = Method.objects.create(name="Flux")
    for story in Story.objects.all():
        Output.objects.create(story=story, method=method)
    return Benchmark.objects.get()


def load(path, **options):
    call_command(
        "import_scores", path, **({"benchmark": "e", "method": "Flux"} | options)
    )


def complaints(path, **options):
    with pytest.raises(CommandError) as refused:
        load(path, **options)
    assert refused.value.returncode == 2
    assert not MetricScore.objects.exists()
    return str(refused.value).splitlines()[:-1]


def stored(key="biology_0001"):
    rows = MetricScore.objects.filter(story__key=key)
    found = dict(rows.values_list("metric", "value"))
    return {name.removeprefix("envision_"): value for name, value in found.items()}


def test_folder_with_records_and_rows_is_read(tmp_path, benchmark, capsys):
    write(tmp_path / "r/scores.jsonl", [row(1), row(2)])
    write(tmp_path / "r/full.json", [full(1)])
    write(
        tmp_path / "r/analysis_report.json", {"timestamp": "2026-01-02", "analysis": {}}
    )
    load(tmp_path / "r")
    assert stored() == stored("biology_0002") == NAMES
    load(tmp_path / "r")
    assert "Nothing new" in capsys.readouterr().out
    assert MetricRun.objects.count() == 1
    details = MetricScore.objects.get(
        metric="envision_overall", story__key="biology_0001"
    ).details["envision"]
    assert details["full"]["evaluation"].startswith("Semantic")
    assert details["row"]["pass_rate_4"] == 0.5


WRONG = {
    "no json": ('{"index": 1, "overall_score": ', ":2: expected JSON"),
    "no index": (
        row(None),
        ":2: record 2: index None: expected an object with a whole",
    ),
    "twice": (
        row(1),
        ":2: record 2: index 1: expected each index once per process_type",
    ),
    "above 5": (
        row(3, authenticity=50),
        "authenticity: 50: expected a score from 0 to",
    ),
    "below 0": (row(3, overall_score=-1), "overall_score: -1: expected a score from 0"),
    "unknown": (row(9), ":2: story: biology_0009: expected a story of e"),
}


@pytest.mark.parametrize(("wrong", "what"), WRONG.values(), ids=WRONG.keys())
def test_wrong_row_is_reported_with_its_line(tmp_path, benchmark, wrong, what):
    path = write(tmp_path / "a.jsonl", [row(1)])
    text = wrong if isinstance(wrong, str) else json.dumps(wrong)
    path.write_text(path.read_text() + text)
    (problem,) = complaints(path)
    assert problem.startswith(f"{path}:2")
    assert what in problem


def test_link_to_report_is_refused(tmp_path, benchmark):
    write(tmp_path / "r/scores.jsonl", [row(1)])
    report = write(tmp_path / "elsewhere.json", {"analysis": {}})
    (tmp_path / "r/analysis_report.json").symlink_to(report)
    (problem,) = complaints(tmp_path / "r")
    link = tmp_path / "r/analysis_report.json"
    assert problem == f"{link}: expected a regular file, not a link"


# Written again ------------------------------------------------------------------------


def save(out, *more):
    call_command("export_scores", "e", out, "--format=envision", *more)
    return out / "Flux"


def read(folder):
    rows = [
        json.loads(x) for x in (folder / "scores.jsonl").read_text().split("\n") if x
    ]
    records = json.loads((folder / "full_results.json").read_text())
    return rows, records, json.loads((folder / "analysis_report.json").read_text())


def test_imported_results_are_written_back(tmp_path, benchmark):
    rows = [row(1), row(2, doubled=False), row(3, note="kept", authenticity="2")]
    write(tmp_path / "r/scores.jsonl", rows)
    write(tmp_path / "r/full_results.json", [full(1), full(2)])
    write(tmp_path / "r/analysis_report.json", {"timestamp": "2026-01-02T03:04:05"})
    load(tmp_path / "r")
    folder = save(tmp_path / "out")
    got, records, report = read(folder)
    assert got == rows
    assert records[:2] == [full(1), full(2)]
    assert report["timestamp"] == "2026-01-02T03:04:05"
    # A second import adds nothing, and a second export gives the same bytes.
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    save(tmp_path / "out")
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def computed(benchmark, key, **scores):
    """Store scores as if they had been computed here."""
    run, _ = MetricRun.objects.get_or_create(benchmark=benchmark, source="computed")
    output = Output.objects.get(story__key=key, method__name="Flux")
    for name, value in scores.items():
        MetricScore.objects.create(
            run=run,
            benchmark=benchmark,
            method=output.method,
            story=output.story,
            metric=f"envision_{name}",
            metric_version="1",
            backend="judge",
            value=value,
        )


def test_computed_scores_get_grades_and_rates(tmp_path, benchmark):
    computed(benchmark, "biology_0002", **NAMES | {"consistency": 3.987})
    rows, records, _report = read(save(tmp_path))
    # Nine scores, not ten: eight reach 3, five reach 4.
    assert rows == [
        row(2, doubled=False, pass_rate_3=round(8 / 9, 2), pass_rate_4=round(5 / 9, 2))
    ]
    (record,) = records
    assert [step["step"] for step in record["steps"]] == [1, 2, 3, 4]
    assert record["steps"][0]["prompt"] == "A seed. "
    assert record["individual_scores"] == NINE
    whole = record["comprehensive_scores"]
    assert whole["overall_grade"] == "Good"
    assert whole["aesthetic_grade"] == "Poor"
    assert whole["consistency_avg_simple"] == 4.0
    assert whole["overall_avg_simple"] == round(33 / 9, 2)
    assert whole["weight_info"]["total_weight"] == pytest.approx(1.0)


def test_report_has_means_and_ranking(tmp_path, benchmark):
    for i, overall in enumerate((4.6, 3.0, 1.0), start=1):
        computed(benchmark, f"biology_000{i}", overall=overall, consistency=overall)
    report = read(save(tmp_path))[2]
    analysis = report["analysis"]
    assert report["total_sequences"] == 3
    # By hand: mean 8.6 / 3; deviations 1.7333, .1333, -1.8667 -> 6.5067 / 2 -> 1.8037
    assert analysis["dimension_performance"] == {
        "consistency": {"mean": 2.87, "max": 4.6, "min": 1.0, "std": 1.8},
        "overall": {"mean": 2.87, "max": 4.6, "min": 1.0, "std": 1.8},
    }
    top = [
        {"index": 1, "score": 4.6},
        {"index": 2, "score": 3.0},
        {"index": 3, "score": 1.0},
    ]
    assert analysis["ranking"] == {"top_5": top, "bottom_5": top}
    summary = analysis["summary"]
    assert summary["average_overall_score"] == 2.87
    counts = [summary[f"{w}_sequences"] for w in ("excellent", "good", "fair", "poor")]
    assert counts == [1, 0, 1, 1]


def test_replaced_score_updates_dependent_values(tmp_path, benchmark):
    load(write(tmp_path / "a.jsonl", [row(1)]))
    MetricScore.objects.filter(metric="envision_dynamics").update(value=1.0)
    MetricScore.objects.filter(metric="envision_overall").update(value=2.0)
    (got,), _records, _report = read(save(tmp_path / "out"))
    assert got["dynamics_interactivity"] == got["dynamics_and_interactivity"] == 1.0
    assert (got["overall_score"], got["overall_grade"]) == (2.0, "Poor")
    assert got["pass_rate_3"] == round(7 / 9, 2)


def test_unwritable_scores_are_reported(tmp_path, benchmark):
    with pytest.raises(CommandError, match="e: expected scores of the chosen"):
        save(tmp_path)
    computed(benchmark, "biology_0001", overall=1.0)
    score = MetricScore.objects.get()
    score.pk, score.backend = None, "other"
    score.save()
    Story.objects.update(extra={})
    with pytest.raises(CommandError) as refused:
        save(tmp_path)
    text = str(refused.value)
    assert (
        "f7f483182359: 1, other: expected one identity (choose it with --ident" in text
    )
    assert "story biology_0001: expected a story from Envision's list" in text
    assert not (tmp_path / "Flux").exists()
