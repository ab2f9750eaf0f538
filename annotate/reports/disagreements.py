"""Where a metric and people disagree most, with pictures and videos to see why."""

import csv
from dataclasses import dataclass
from pathlib import Path

from analysis.tables import restored
from annotate.models import Study
from evalcore.models import Frame, Output, Story

TABLE = "disagreement.csv"


@dataclass(frozen=True)
class ShownOutput:
    """One output of a disagreement: what is seen, and what was said of it."""

    method: str
    human: str
    score: str
    output: Output | None

    @property
    def frames(self) -> list[Frame]:
        return list(self.output.frames.all()) if self.output else []


@dataclass(frozen=True)
class Disagreement:
    """One row: a cell, or a pair of outputs of one story."""

    question: str
    metric: str
    story: str
    title: str
    metric_is_higher: bool
    is_pair: bool
    outputs: list[ShownOutput]


@dataclass(frozen=True)
class ShownMetric:
    """A question and a metric, and which of all are shown."""

    questions: list[tuple[str, str]]
    metrics: list[str]
    question: str
    metric: str


def are_named(folder: Path) -> bool:
    """Say whether a report has them; one of people alone has none."""
    return (folder / "tables" / TABLE).is_file()


def disagreements(
    study: Study, folder: Path, question: str, metric: str
) -> tuple[ShownMetric, list[Disagreement]]:
    """Return the rows of one question and metric, in the table's order."""
    rows = _rows(folder / "tables" / TABLE)
    questions = list(dict.fromkeys(row["question"] for row in rows))
    question = question if question in questions else next(iter(questions), "")
    metrics = list(
        dict.fromkeys(r["metric"] for r in rows if r["question"] == question)
    )
    metric = metric if metric in metrics else next(iter(metrics), "")
    wanted = [r for r in rows if (r["question"], r["metric"]) == (question, metric)]
    shown = _with_outputs(study, wanted)
    titles = {one.key: one.full_title for one in study.questions.all()}
    named = [(key, titles.get(key) or key) for key in questions]
    return ShownMetric(named, metrics, question, metric), shown


def _rows(path: Path) -> list[dict[str, str]]:
    if not path.is_file():
        return []
    with path.open(encoding="utf-8", newline="") as stream:
        return [
            {name: restored(value) for name, value in row.items()}
            for row in csv.DictReader(stream)
        ]


def _with_outputs(study: Study, rows: list[dict[str, str]]) -> list[Disagreement]:
    stories = {row["story"] for row in rows}
    titles = dict(
        Story.objects.filter(benchmark=study.benchmark_id, key__in=stories).values_list(
            "key", "title"
        )
    )
    outputs = {
        (output.story.key, output.method.name): output
        for output in Output.objects.filter(
            story__benchmark=study.benchmark_id,
            story__key__in=stories,
            method__name__in=study.method_names,
        )
        .select_related("story", "method", "video")
        .prefetch_related("frames")
    }

    def judged(row: dict[str, str], suffix: str, method: str) -> ShownOutput:
        return ShownOutput(
            method,
            _short(row[f"human{suffix}"]),
            _short(row[f"score{suffix}"]),
            outputs.get((row["story"], method)),
        )

    return [
        Disagreement(
            question=row["question"],
            metric=row["metric"],
            story=row["story"],
            title=titles.get(row["story"], ""),
            metric_is_higher=float(row["value"]) > 0,
            is_pair=bool(row["other_method"]),
            outputs=[
                judged(row, suffix, row[method])
                for suffix, method in (("", "method"), ("_other", "other_method"))
                if row[method]
            ],
        )
        for row in rows
    ]


def _short(value: str) -> str:
    """Return a number with the digits that tell outputs apart."""
    return f"{float(value):.3g}" if value else ""
