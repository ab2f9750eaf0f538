"""Store imported scores."""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from django.utils import timezone

from evalcore.database.postgresql import analyze
from evalcore.importing.names import Names
from evalcore.importing.score_changes import LINE, RUN, Changes, ScoreRow, key_of
from evalcore.models import (
    Benchmark,
    MetricAbsence,
    MetricRun,
    MetricScore,
    Output,
    Shot,
    most_letters,
)

MOST_LETTERS = most_letters(MetricRun, "file_name")


def write(
    names: Names,
    rows: Sequence[ScoreRow],
    changes: Changes,
    options: Mapping[str, Mapping[str, Any]],
    posted_to: str,
) -> None:
    """Store what changes, with a run for each file that changes anything."""
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
            "metric": row["metric"],
            "metric_version": row["metric_version"],
            "backend": row.get("backend", ""),
        }

    MetricScore.objects.bulk_create(
        [
            MetricScore(
                **place(row),
                higher_is_better=row["higher"],
                value=row["score"],
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
        if old.value == row["score"] and "details" not in row:
            turned.append(old)
        else:  # what led to another value is no longer true
            old.value, old.details = row["score"], row.get("details")
            others.append(old)
    for rows, fields in ((turned, ()), (others, ("value", "details"))):
        MetricScore.everything.bulk_update(
            rows, ["higher_is_better", "run", *fields], batch_size=500
        )


def _run(
    benchmark: Benchmark,
    name: str,
    rows: list[ScoreRow],
    options: Mapping[str, Any],
    posted_to: str,
) -> MetricRun:
    now = timezone.now()
    content = repr([(row[LINE], *key_of(row), row["score"]) for row in rows])
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
    """Return the shots that rows name, creating those that are missing."""
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
    benchmark: Benchmark, directions: dict[tuple[str, str, str], bool], posted_to: str
) -> None:
    """Give the metric's other rows the direction that the file has."""
    for (metric, version, backend), higher in directions.items():
        MetricScore.everything.filter(
            benchmark=benchmark,
            posted_to=posted_to,
            metric=metric,
            metric_version=version,
            backend=backend,
        ).exclude(higher_is_better=higher).update(higher_is_better=higher)
