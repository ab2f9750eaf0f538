"""What an import of scores would change, against what is stored."""

from typing import Any

from analysis.tables import Problem
from evalcore.models import Benchmark, MetricAbsence, MetricScore

# Keys of a row that no column of a file can have: its line, the file that problems
# name, and the file or folder whose run it belongs to.
LINE, FILE, RUN = "\0line", "\0file", "\0run"

# metric, version, backend, method, story, shot
Key = tuple[str, str, str, str, str, str]
# One row of the table, and where it stands in the file. A row without a score has a
# reason; a row may have details.
Row = dict[str, Any]


def key_of(row: Row) -> Key:
    return (
        row["metric"], row["metric_version"], row.get("backend", ""), row["method"],
        row["story"], "" if row["shot"] is None else str(row["shot"]),
    )  # fmt: skip


class Stored:
    """What the database has of a benchmark: values, absences, directions."""

    def __init__(self, benchmark: Benchmark, *, details: bool) -> None:
        def found_in(table: type, *left: str) -> dict[Key, Any]:
            rows = table.objects.filter(benchmark__slug=benchmark.slug)
            rows = rows.select_related("method", "story", "shot")
            return {
                (
                    row.metric,
                    row.metric_version,
                    row.backend,
                    row.method.name,
                    row.story.key if row.story else "",
                    str(row.shot.number) if row.shot else "",
                ): row
                for row in rows.defer(*left, "story__extra", "shot__text")
            }

        self.scores = found_in(MetricScore, *(() if details else ("details",)))
        self.absences = found_in(MetricAbsence)
        self.directions = {k[:3]: s.higher_is_better for k, s in self.scores.items()}


class Changes:
    """What an import would change."""

    def __init__(self) -> None:
        self.fresh: list[Row] = []
        self.absent: list[Row] = []
        self.changed: list[tuple[MetricScore, Row]] = []
        self.gone: list[MetricScore | MetricAbsence] = []

    def __bool__(self) -> bool:
        return bool(self.fresh or self.absent or self.changed)

    @property
    def replaced(self) -> int:
        """Return how many stored values are replaced, by others or by none."""
        return len(self.changed) + sum(isinstance(g, MetricScore) for g in self.gone)

    def note(self, row: Row, stored: Stored) -> Problem | None:
        """Note what a row changes, and return what speaks against it."""
        key = key_of(row)
        old, absence = stored.scores.get(key), stored.absences.get(key)
        known = stored.directions.get(key[:3], row["higher"])
        turned = row["score"] is not None and known != row["higher"]
        if row["score"] is None:
            if old is not None:
                self.gone.append(old)
            if old is not None or absence is None:
                self.absent.append(row)
        elif old is None:
            self.fresh.append(row)
            if absence is not None:
                self.gone.append(absence)
        elif old.value != row["score"] or turned or other_details(old, row):
            self.changed.append((old, row))
        is_other = old is not None and (
            old.value != row["score"] or other_details(old, row)
        )
        return _differs(old, row) if turned or is_other else None


def other_details(old: MetricScore, row: Row) -> bool:
    return "details" in row and old.details != row["details"]


def _differs(old: MetricScore | None, row: Row) -> Problem:
    where = row[FILE], row[LINE]
    if old is not None and old.value != row["score"]:
        expected = f"the stored value {old.value!r} (--replace overwrites it)"
        found = repr(row["score"]) if row["score"] is not None else row["reason"]
        return Problem(where[0], expected, where[1], "score", found)
    if old is not None and other_details(old, row):
        expected = "the stored details (option replace overwrites them)"
        named = f"{row['metric']} of {row['method']} / {row['story']}"
        return Problem(where[0], expected, where[1], "details", named)
    value, stored = ("true", "false") if row["higher"] else ("false", "true")
    expected = f"{stored} as stored before (--replace overwrites it)"
    return Problem(where[0], expected, where[1], "higher_is_better", value)
