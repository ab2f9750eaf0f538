"""Storing of imported scores."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from django.db.models import QuerySet
from django.utils import timezone

from analysis.problems import Problem
from evalcore.database.postgresql import analyze
from evalcore.importing.names import Names
from evalcore.metrics.identity import PARTS, Identity, from_label
from evalcore.models import (
    Benchmark,
    MetricAbsence,
    MetricRun,
    MetricScore,
    Output,
    Shot,
    most_letters,
)
from evalcore.scoring.identities import Identities, columns_of, store

# Row keys that no column can have: line, file for problems, and the file or folder of
# the run.
LINE, FILE, RUN = "\0line", "\0file", "\0run"
# What made a row's score, as an Identity.
IDENTITY = "\0identity"

# identity as asked, method, story, shot
ScoreKey = tuple[str, str, str, str]
# One row of the table with its place in the file. A row without a score has a reason; a
# row may have details.
ScoreRow = dict[str, Any]


def key_of(row: ScoreRow) -> ScoreKey:
    return (
        row[IDENTITY].asked,
        row["method"],
        row["story"],
        "" if row["shot"] is None else str(row["shot"]),
    )


def name_identities(
    rows: Sequence[ScoreRow], files: Mapping[str, Identity]
) -> list[Problem]:
    """Add to each row what made its score; return problems.

    A row that names only a version and a backend has the identity that values stored
    before identities have.
    """
    problems, known = [], {**files}
    by_texts: dict[tuple[str, ...], Identity] = {}
    for row in rows:
        texts = (row["metric"], *(row.get(name) or "" for name in PARTS))
        if texts not in by_texts:
            found = _identity(texts)
            by_texts[texts] = known.setdefault(found.key, found)
        row[IDENTITY] = by_texts[texts]
        key, told = row[IDENTITY].key, row.get("identity")
        if told and told != key:
            what = f"{key}, which follows from the other columns, or nothing"
            problems.append(Problem(row[FILE], what, row[LINE], "identity", told))
    return problems


def _identity(texts: tuple[str, ...]) -> Identity:
    told: dict[str, Any] = dict(zip(("metric", *PARTS), texts, strict=True))
    found = Identity(**told)
    if replace(found, metric_version="", backend="") != Identity(found.metric):
        return found
    return from_label(found.metric, found.metric_version, found.backend)


class StoredScores:
    """Values, absences and directions stored for a benchmark.

    For scores posted to a study, `scores` are the study's own and `below` those of the
    benchmark, which it falls back on; the benchmark's rows stay as they are.
    """

    def __init__(
        self, benchmark: Benchmark, *, details: bool, posted_to: str = ""
    ) -> None:
        known = Identities()

        def found_in(rows: QuerySet[Any], *left: str) -> dict[ScoreKey, Any]:
            rows = rows.filter(benchmark__slug=benchmark.slug)
            rows = rows.select_related("method", "story", "shot")
            return {
                (
                    known.of_row(row).asked,
                    row.method.name,
                    row.story.key if row.story else "",
                    str(row.shot.number) if row.shot else "",
                ): row
                for row in rows.defer(*left, "story__extra", "shot__text")
            }

        left = () if details else ("details",)
        own = MetricScore.everything.filter(posted_to=posted_to)
        self.scores = found_in(own, *left)
        self.below = found_in(MetricScore.objects.all(), *left) if posted_to else {}
        self.absences = {} if posted_to else found_in(MetricAbsence.objects.all())
        # The study's direction takes precedence over the benchmark's.
        self.directions = {
            key[0]: row.higher_is_better
            for rows in (self.below, self.scores)
            for key, row in rows.items()
        }


class Changes:
    """Changes that an import would make."""

    def __init__(self) -> None:
        self.fresh: list[ScoreRow] = []
        self.above: list[
            ScoreRow
        ] = []  # the study's own values, where the benchmark has others
        self.absent: list[ScoreRow] = []
        self.changed: list[tuple[MetricScore, ScoreRow]] = []
        self.gone: list[MetricScore | MetricAbsence] = []

    def __bool__(self) -> bool:
        return bool(self.fresh or self.above or self.absent or self.changed)

    @property
    def replaced(self) -> int:
        """Return how many stored values change or become undefined."""
        gone = sum(isinstance(row, MetricScore) for row in self.gone)
        return len(self.changed) + len(self.above) + gone

    def note(self, row: ScoreRow, stored: StoredScores) -> Problem | None:
        """Record a row's change; return the problem that forbids it, if any."""
        key = key_of(row)
        old, absence = stored.scores.get(key), stored.absences.get(key)
        below = stored.below.get(key) if old is None else None
        known = stored.directions.get(key[0], row["higher"])
        turned = row["score"] is not None and known != row["higher"]
        if row["score"] is None:
            if old is not None:
                self.gone.append(old)
            if old is not None or absence is None:
                self.absent.append(row)
        elif below is not None:
            if _is_other(below, row) or turned:
                self.above.append(row)
        elif old is None:
            self.fresh.append(row)
            if absence is not None:
                self.gone.append(absence)
        elif _is_other(old, row) or turned:
            self.changed.append((old, row))
        before = old or below
        is_other = before is not None and _is_other(before, row)
        return _differs(before, row) if turned or is_other else None


def _is_other(old: MetricScore, row: ScoreRow) -> bool:
    return old.value != row["score"] or other_details(old, row)


def other_details(old: MetricScore, row: ScoreRow) -> bool:
    return "details" in row and old.details != row["details"]


def _differs(old: MetricScore | None, row: ScoreRow) -> Problem:
    where = row[FILE], row[LINE]
    if old is not None and old.value != row["score"]:
        expected = f"the stored value {old.value!r} (option replace overwrites it)"
        found = repr(row["score"]) if row["score"] is not None else row["reason"]
        return Problem(where[0], expected, where[1], "score", found)
    if old is not None and other_details(old, row):
        expected = "the stored details (option replace overwrites them)"
        named = f"{row['metric']} of {row['method']} / {row['story']}"
        return Problem(where[0], expected, where[1], "details", named)
    value, stored = ("true", "false") if row["higher"] else ("false", "true")
    expected = f"{stored} as stored before (option replace overwrites it)"
    return Problem(where[0], expected, where[1], "higher_is_better", value)


MOST_LETTERS = most_letters(MetricRun, "file_name")


def write(
    names: Names,
    rows: Sequence[ScoreRow],
    changes: Changes,
    options: Mapping[str, Mapping[str, Any]],
    posted_to: str,
) -> None:
    """Store the changes, with one run for each file that changes anything."""
    for old in changes.gone:
        old.delete()
    fresh = [*changes.fresh, *changes.above]
    made = [*fresh, *changes.absent]
    files = dict.fromkeys(
        row[RUN] for row in [*made, *(row for _old, row in changes.changed)]
    )
    runs = {
        name: _run(
            names.benchmark,
            name,
            [row for row in rows if row[RUN] == name],
            options.get(name, {}),
            posted_to,
        )
        for name in files
    }
    made_by = {row[IDENTITY].asked: row[IDENTITY] for row in rows}
    keys = {asked: store(identity) for asked, identity in made_by.items()}
    shots = _shots(
        names, {(r["story"], r["shot"]) for r in made if r["shot"] is not None}
    )

    def place(row: ScoreRow) -> dict[str, Any]:
        return {
            "run": runs[row[RUN]],
            "benchmark": names.benchmark,
            "method": names.methods[row["method"]],
            "story": names.stories[row["story"]] if row["story"] else None,
            "shot": shots.get((row["story"], row["shot"])),
            "identity_id": keys[row[IDENTITY].asked],
            **columns_of(row[IDENTITY]),
        }

    MetricScore.objects.bulk_create(
        [
            MetricScore(
                **place(row),
                higher_is_better=row["higher"],
                value=row["score"],
                computed_at=row.get("computed_at") or None,
                details=row.get("details"),
                posted_to=posted_to,
            )
            for row in fresh
        ],
        batch_size=500,
    )
    MetricAbsence.objects.bulk_create(
        [MetricAbsence(**place(row), reason=row["reason"]) for row in changes.absent],
        batch_size=500,
    )
    _update(changes, runs)
    analyze(Output, MetricScore)


def _update(changes: Changes, runs: Mapping[str, MetricRun]) -> None:
    turned, others = [], []
    for old, row in changes.changed:
        old.higher_is_better, old.run = row["higher"], runs[row[RUN]]
        old.computed_at = row.get("computed_at") or None
        old.judge_version = row[IDENTITY].judge_version
        if old.value == row["score"] and "details" not in row:
            turned.append(old)
        else:  # Details of the old value no longer apply.
            old.value, old.details = row["score"], row.get("details")
            others.append(old)
    for rows, fields in ((turned, ()), (others, ("value", "details"))):
        MetricScore.everything.bulk_update(
            rows,
            ["higher_is_better", "run", "computed_at", "judge_version", *fields],
            batch_size=500,
        )


def _run(
    benchmark: Benchmark,
    name: str,
    rows: list[ScoreRow],
    options: Mapping[str, Any],
    posted_to: str,
) -> MetricRun:
    now = timezone.now()
    content = repr(
        [(row[LINE], row["metric"], *key_of(row), row["score"]) for row in rows]
    )
    return MetricRun.objects.create(
        benchmark=benchmark,
        source=MetricRun.Source.IMPORTED,
        metrics=sorted({row["metric"] for row in rows}),
        state=MetricRun.State.DONE,
        total=len(rows),
        done=len(rows),
        started_at=now,
        finished_at=now,
        options=dict(options),
        file_name=name[-MOST_LETTERS:],
        posted_to=posted_to,
        file_sha256=hashlib.sha256(content.encode()).hexdigest(),
    )


def _shots(names: Names, wanted: set[tuple[str, int]]) -> dict[tuple[str, int], Shot]:
    """Return the shots that rows name, creating missing ones."""
    found = {
        (shot.story.key, shot.number): shot
        for shot in Shot.objects.filter(story__benchmark=names.benchmark)
        .select_related("story")
        .defer("text", "story__extra")
    }
    for key, number in sorted(wanted - set(found)):
        found[key, number] = Shot.objects.create(
            story=names.stories[key], number=number
        )
    return found


def turn_others(
    benchmark: Benchmark, directions: dict[str, bool], posted_to: str
) -> None:
    """Give the metric's other rows the direction from the file."""
    for asked, higher in directions.items():
        MetricScore.everything.filter(
            benchmark=benchmark, posted_to=posted_to, identity__key=asked
        ).exclude(higher_is_better=higher).update(higher_is_better=higher)
