"""Differences between two reports: inputs, options, verdicts and remarks."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

# The claim of a row, and the columns that identify the row.
CLAIMED = ("verdict", "role")
KEY = ("question", "source", "level", "statistic", "metric")
# These differ between any two reports and do not affect the results.
WITHOUT_MEANING = ("date", "command")
# Verdicts as reports of earlier versions name them.
EARLIER = {"agrees": "above chance", "does not": "below chance"}
Row = Mapping[str, Any]


@dataclass(frozen=True)
class VerdictChange:
    """A verdict in two reports; None where a report has no such row."""

    question: str
    metric: str
    statistic: str
    level: str
    source: str
    leads: bool
    before: Row | None
    after: Row | None

    @property
    def is_changed(self) -> bool:
        """Tell whether both reports have the verdict, with different claims."""
        if self.before is None or self.after is None:
            return False
        return any(self.before[key] != self.after[key] for key in CLAIMED)

    @property
    def is_single(self) -> bool:
        """Tell whether only one of the reports has the verdict."""
        return self.before is None or self.after is None


@dataclass(frozen=True)
class ReportComparison:
    """Two reports side by side.

    `run` has the inputs and options that differ: key, before, after. Changed verdicts
    come first, then those of one report only. `notes` are the remarks that only the
    first report has, and those that only the second has.
    """

    run: tuple[tuple[str, str, str], ...]
    verdicts: tuple[VerdictChange, ...]
    notes: tuple[tuple[str, ...], tuple[str, ...]]

    @property
    def n_changed(self) -> int:
        """The number of verdicts that changed."""
        return sum(one.is_changed for one in self.verdicts)


def compared(before: Mapping[str, Any], after: Mapping[str, Any]) -> ReportComparison:
    """Compare two reports by the content of their ``report.json``."""
    runs = [
        {row["key"]: row["value"] for row in _rows(x, "run")} for x in (before, after)
    ]
    rows = [
        (key, *(str(run.get(key, "")) for run in runs)) for key in runs[0] | runs[1]
    ]
    old, new = (list(one.get("notes", ())) for one in (before, after))
    return ReportComparison(
        tuple(
            row for row in rows if row[0] not in WITHOUT_MEANING and row[1] != row[2]
        ),
        tuple(_verdicts(_rows(before, "verdicts"), _rows(after, "verdicts"))),
        (
            tuple(note for note in old if note not in new),
            tuple(note for note in new if note not in old),
        ),
    )


def _rows(report: Mapping[str, Any], table: str) -> Sequence[Row]:
    rows: Sequence[Row] = report.get("tables", {}).get(table, ())
    return [
        {**row, "verdict": EARLIER.get(row["verdict"], row["verdict"])}
        if "verdict" in row
        else row
        for row in rows
    ]


def _verdicts(before: Sequence[Row], after: Sequence[Row]) -> list[VerdictChange]:
    one, other = (
        {tuple(row[x] for x in KEY): row for row in rows if row["role"] != "baseline"}
        for rows in (before, after)
    )
    changes = []
    for key in one | other:
        question, source, level, statistic, metric = key
        old, new = one.get(key), other.get(key)
        leads = any(bool(row and row["leads"]) for row in (old, new))
        changes.append(
            VerdictChange(question, metric, statistic, level, source, leads, old, new)
        )
    return sorted(
        changes,
        key=lambda x: (
            not x.is_changed,
            not x.is_single,
            not x.leads,
            x.question,
            x.metric,
        ),
    )
