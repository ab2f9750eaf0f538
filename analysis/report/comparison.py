"""What differs between two reports: what was read and asked, and the verdicts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

# What a row claims; it is of one metric, question and statistic.
CLAIMED = ("verdict", "role")
KEY = ("question", "source", "level", "statistic", "metric")
# These differ between any two reports and say nothing of what they show.
WITHOUT_MEANING = ("date", "command")
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
        """Say whether both reports have it, and another thing may be claimed."""
        if self.before is None or self.after is None:
            return False
        return any(self.before[key] != self.after[key] for key in CLAIMED)

    @property
    def is_single(self) -> bool:
        """Say whether only one of the reports has it."""
        return self.before is None or self.after is None


@dataclass(frozen=True)
class ReportComparison:
    """Two reports side by side.

    Attributes
    ----------
    run
        What they were made of and how, where it differs: key, before, after.
    verdicts
        Every verdict of either; changed ones first, then those of one report only.
    notes
        Remarks that only the one has, or only the other.
    """

    run: tuple[tuple[str, str, str], ...]
    verdicts: tuple[VerdictChange, ...]
    notes: tuple[tuple[str, ...], tuple[str, ...]]

    @property
    def n_changed(self) -> int:
        """How many verdicts changed."""
        return sum(one.is_changed for one in self.verdicts)


def compared(before: Mapping[str, Any], after: Mapping[str, Any]) -> ReportComparison:
    """Return what differs between two reports.

    Parameters
    ----------
    before, after
        Their ``report.json``.
    """
    runs = [
        {str(row["key"]): str(row["value"]) for row in _rows(one, "run")}
        for one in (before, after)
    ]
    changed = tuple(
        (key, runs[0].get(key, ""), runs[1].get(key, ""))
        for key in dict.fromkeys((*runs[0], *runs[1]))
        if key not in WITHOUT_MEANING and runs[0].get(key) != runs[1].get(key)
    )
    notes = [list(one.get("notes", ())) for one in (before, after)]
    return ReportComparison(
        changed,
        tuple(_verdicts(_rows(before, "verdicts"), _rows(after, "verdicts"))),
        (
            tuple(note for note in notes[0] if note not in notes[1]),
            tuple(note for note in notes[1] if note not in notes[0]),
        ),
    )


def _rows(report: Mapping[str, Any], table: str) -> Sequence[Row]:
    rows: Sequence[Row] = report.get("tables", {}).get(table, ())
    return rows


def _verdicts(before: Sequence[Row], after: Sequence[Row]) -> list[VerdictChange]:
    one, other = (
        {
            tuple(row[key] for key in KEY): row
            for row in rows
            if row["role"] != "baseline"
        }
        for rows in (before, after)
    )
    found = []
    for key in dict.fromkeys((*one, *other)):
        question, source, level, statistic, metric = key
        old, new = one.get(key), other.get(key)
        leads = any(bool(row and row["leads"]) for row in (old, new))
        found.append(
            VerdictChange(question, metric, statistic, level, source, leads, old, new)
        )
    return sorted(
        found,
        key=lambda x: (
            not x.is_changed,
            not x.is_single,
            not x.leads,
            x.question,
            x.metric,
        ),
    )
