"""What finished reports say: how two differ, and where a metric and people disagree."""

import csv
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from analysis.report.comparison import ReportComparison, VerdictChange, compared
from analysis.tables import restored
from annotate.models import Report, Study
from annotate.reports import building
from annotate.reports.forms import report_language
from evalcore.models import Frame, Output, Story

VERDICTS = {
    "agrees": gettext_lazy("agrees"),
    "does not": gettext_lazy("does not agree"),
    "cannot be told": gettext_lazy("cannot be told"),
}


@dataclass(frozen=True)
class ShownVerdict:
    """A verdict in one report, in words."""

    value: str = ""
    interval: str = ""
    verdict: str = ""


@dataclass(frozen=True)
class ShownChange:
    """One row of the page."""

    question: str
    metric: str
    statistic: str
    before: ShownVerdict
    after: ShownVerdict


@dataclass(frozen=True)
class ShownComparison:
    """What the page shows: verdicts that changed, of one only, and leading others."""

    comparison: ReportComparison
    changed: list[ShownChange]
    single: list[ShownChange]
    unchanged: list[ShownChange]


def comparison(study: Study, before: Report, after: Report) -> ShownComparison:
    """Return what differs between two finished reports of a study."""
    from analysis.report.language import language  # loads pandas

    found = compared(_read(before), _read(after))
    titles = {one.key: one.full_title for one in study.questions.all()}
    changed = [one for one in found.verdicts if one.is_changed]
    single = [one for one in found.verdicts if one.is_single]
    both = [one for one in found.verdicts if not one.is_single]
    unchanged = [one for one in both if one.leads and not one.is_changed]
    with language(report_language()):
        return ShownComparison(
            found,
            [_shown(one, titles) for one in changed],
            [_shown(one, titles) for one in single],
            [_shown(one, titles) for one in unchanged],
        )


def _read(report: Report) -> dict[str, Any]:
    text = (building.folder(report) / "report.json").read_text(encoding="utf-8")
    content: dict[str, Any] = json.loads(text)
    return content


def _shown(change: VerdictChange, titles: Mapping[str, str]) -> ShownChange:
    from analysis.report.verdict_grid import way_title  # loads pandas

    return ShownChange(
        titles.get(change.question) or change.question,
        change.metric,
        way_title((change.statistic, change.level, change.source), several=True),
        _in_words(change.before, change.statistic),
        _in_words(change.after, change.statistic),
    )


def _in_words(row: Mapping[str, Any] | None, statistic: str) -> ShownVerdict:
    if row is None:
        return ShownVerdict(verdict=_("not in this report"))
    from analysis.report.verdict_grid import SHARES

    is_share = statistic in SHARES
    value, low, high = (_number(row[key], is_share) for key in ("value", "low", "high"))
    interval = f"[{low}, {high}]" if low and high else ""
    return ShownVerdict(
        f"{value} %" if is_share and value else value,
        interval,
        str(VERDICTS.get(row["verdict"], row["verdict"])),
    )


def _number(value: float | None, is_share: bool) -> str:
    if value is None:
        return ""
    text = f"{100 * value:.0f}" if is_share else f"{value:.2f}"
    return text.replace("-", "\N{MINUS SIGN}")


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
