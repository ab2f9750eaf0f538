"""Differences of two finished reports of a study, in words."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from analysis.report.comparison import ReportComparison, VerdictChange, compared
from annotate.models import Report, Study
from annotate.reports import building
from annotate.reports.forms import report_language

VERDICTS = {
    "above chance": gettext_lazy("better than chance"),
    "below chance": gettext_lazy("worse than chance"),
    "cannot be told": gettext_lazy("not distinguishable from chance"),
}


Row = dict[str, Any]


@dataclass(frozen=True)
class ShownComparison:
    """A comparison: changed verdicts, those of one report, and other leading ones."""

    comparison: ReportComparison
    changed: list[Row]
    single: list[Row]
    unchanged: list[Row]


def comparison(study: Study, before: Report, after: Report) -> ShownComparison:
    """Return what differs between two finished reports of a study."""
    from analysis.report.language import language  # loads pandas

    found = compared(_read(before), _read(after))
    titles = {one.key: one.full_title for one in study.questions.all()}
    with language(report_language()):
        rows = [(one, _shown(one, titles)) for one in found.verdicts]
    return ShownComparison(
        found,
        [row for one, row in rows if one.is_changed],
        [row for one, row in rows if one.is_single],
        [
            row
            for one, row in rows
            if one.leads and not (one.is_single or one.is_changed)
        ],
    )


def _read(report: Report) -> dict[str, Any]:
    text = (building.folder(report) / "report.json").read_text(encoding="utf-8")
    content: dict[str, Any] = json.loads(text)
    return content


def _shown(change: VerdictChange, titles: Mapping[str, str]) -> Row:
    """Return one row of the page."""
    from analysis.report.verdict_grid import way_title

    return {
        "question": titles.get(change.question) or change.question,
        "metric": change.metric,
        "statistic": way_title(
            (change.statistic, change.level, change.source), several=True
        ),
        "before": _in_words(change.before, change.statistic),
        "after": _in_words(change.after, change.statistic),
    }


def _in_words(row: Mapping[str, Any] | None, statistic: str) -> dict[str, str]:
    """Return a verdict in one report, in words."""
    if row is None:
        return {"verdict": _("not in this report")}
    from analysis.report.verdict_grid import SHARES

    is_share = statistic in SHARES
    value, low, high = (_number(row[key], is_share) for key in ("value", "low", "high"))
    return {
        "value": f"{value} %" if is_share and value else value,
        "interval": f"[{low}, {high}]" if low and high else "",
        "verdict": str(VERDICTS.get(row["verdict"], row["verdict"])),
    }


def _number(value: float | None, is_share: bool) -> str:
    if value is None:
        return ""
    text = f"{100 * value:.0f}" if is_share else f"{value:.2f}"
    return text.replace("-", "\N{MINUS SIGN}")
