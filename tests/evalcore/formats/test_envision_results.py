"""Results of Envision's programs are read."""

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
    """A row as the programs write it: dynamics twice, so ten scores are counted."""
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
    """Sequences 1 to 3 of biology, and the method Flux without pictures."""
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


def test_a_folder_with_both(tmp_path, benchmark, capsys):
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
    "twice": (row(1), ":2: record 2: index 1: expected an index once a process_type"),
    "above 5": (
        row(3, authenticity=50),
        "authenticity: 50: expected a score from 0 to",
    ),
    "below 0": (row(3, overall_score=-1), "overall_score: -1: expected a score from 0"),
    "unknown": (row(9), ":2: story: biology_0009: expected a story of e"),
}


@pytest.mark.parametrize(("wrong", "what"), WRONG.values(), ids=WRONG.keys())
def test_every_mistake_is_named_with_its_line(tmp_path, benchmark, wrong, what):
    path = write(tmp_path / "a.jsonl", [row(1)])
    text = wrong if isinstance(wrong, str) else json.dumps(wrong)
    path.write_text(path.read_text() + text)
    (problem,) = complaints(path)
    assert problem.startswith(f"{path}:2")
    assert what in problem


# Written again ------------------------------------------------------------------------
