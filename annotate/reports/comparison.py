"""Two reports of a study side by side: what was asked, and what changed."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from analysis.report.comparison import ReportComparison, VerdictChange, compared
from annotate.models import Report, Study
from annotate.reports import building
from annotate.reports.languages import report_language

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
