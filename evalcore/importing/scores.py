"""Import metric scores computed elsewhere."""

import difflib
import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.db import transaction
from django.utils import timezone

from analysis.tables import InputError, Problem
from evalcore.models import (
    Benchmark,
    Method,
    MetricRun,
    MetricScore,
    Output,
    Shot,
    Story,
)

if TYPE_CHECKING:
    import pandas as pd

Key = tuple[
    str, str, str, str, str, str
]  # metric, version, backend, method, story, shot


@dataclass
class Summary:
    """What an import did."""

    rows: int
    created: int = 0
    replaced: int = 0

    def line(self) -> str:
        """Return the summary as a sentence."""
        if not self.created and not self.replaced:
            return f"Nothing new: {self.rows} scores, all here already."
        return (
            f"Imported {self.rows} scores "
            f"({self.created} new, {self.replaced} replaced)."
        )


class Names:
    """Rows of a benchmark by the names that tables use; unknown ones are problems."""

    def __init__(self, benchmark: Benchmark, *, create: bool) -> None:
        self.benchmark = benchmark
        self.create = create
        self.stories = {s.key: s for s in benchmark.stories.all()}
        self.methods = {m.name: m for m in Method.objects.all()}

    def problem(self, file: str, line: int, story: str, method: str) -> Problem | None:
        """Return what is unknown in a row, if anything; nothing is when creating."""
        if self.create:
            return None
        for column, name, known in (
            ("story", story, self.stories),
            ("method", method, self.methods),
        ):
            if name and name not in known:
                close = difflib.get_close_matches(name, known, n=1)
                hint = f"; did you mean {close[0]}?" if close else ""
                where = self.benchmark.slug
                what = f"a {column} of {where}{hint} (--create makes new ones)"
                return Problem(file, what, line, column, name)
        return None

    def add_missing(self, pairs: set[tuple[str, str]]) -> None:
        """Create the stories, methods and outputs (without media) that are missing."""
        for story in sorted({story for story, _method in pairs if story}):
            if story not in self.stories:
                self.stories[story] = Story.objects.create(
                    benchmark=self.benchmark, key=story
                )
        for method in sorted({method for _story, method in pairs}):
            if method not in self.methods:
                self.methods[method] = Method.objects.create(name=method)
        known = set(
            Output.objects.filter(story__benchmark=self.benchmark).values_list(
                "story__key", "method__name"
            )
        )
        Output.objects.bulk_create(
            [
                Output(story=self.stories[story], method=self.methods[method])
                for story, method in sorted(pairs - known)
                if story
            ],
            batch_size=500,
        )


def import_scores(
    scores: "pd.DataFrame",
    *,
    benchmark: Benchmark,
    file: str,
    create: bool = False,
    replace: bool = False,
    lower_is_better: frozenset[str] = frozenset(),
    metric_version: str = "",
) -> Summary:
    """Store a table of scores that `analysis.inputs` has checked.

    Parameters
    ----------
    scores
        Index is the line in the file; columns as in `analysis.tables.SCORE_COLUMNS`.
    benchmark
        Whose stories were scored.
    file
        Name of the file, for messages and the record of the run.
    create
        Make stories, methods and outputs that are missing.
    replace
        Overwrite values that differ; otherwise they are problems.
    lower_is_better
        Metrics whose direction the table does not tell.
    metric_version
        Version of all metrics where the table has none.

    Raises
    ------
    InputError
        With every problem; nothing was written.
    """
    rows = scores.reset_index(names="line").fillna("").to_dict("records")
    names = Names(benchmark, create=create)
    problems = [
        problem
        for row in rows
        if (problem := names.problem(file, row["line"], row["story"], row["method"]))
    ]
    stored = _stored(benchmark)
    known_shots = set(
        Shot.objects.filter(story__benchmark=benchmark).values_list(
            "story__key", "number"
        )
    )
    fresh, changed = [], []
    for row in rows:
        row["version"] = row.get("metric_version") or metric_version
        row["higher"] = row.get("higher_is_better", True) is not False
        row["higher"] &= row["metric"] not in lower_is_better
        shot = str(row.get("shot", ""))
        if shot and not (shot.isdigit() and (row["story"], int(shot)) in known_shots):
            problems.append(
                Problem(
                    file, "the number of a shot of the story", row["line"], "shot", shot
                )
            )
        old = stored.get(_key(row))
        if old is None:
            fresh.append(row)
        elif old[1] != row["score"]:
            changed.append((old[0], row))
            if not replace:
                expected = f"the stored value {old[1]!r} (--replace overwrites it)"
                problems.append(
                    Problem(file, expected, row["line"], "score", repr(row["score"]))
                )
    if problems:
        raise InputError(sorted(problems, key=lambda p: p.line or 0))
    summary = Summary(len(rows), len(fresh), len(changed))
    if fresh or changed:
        with transaction.atomic():
            names.add_missing({(row["story"], row["method"]) for row in fresh})
            _write(benchmark, names, file, rows, fresh, changed)
    return summary


def _key(row: dict) -> Key:
    return (
        row["metric"], row["version"], row.get("backend", ""), row["method"],
        row["story"], str(row.get("shot", "")),
    )  # fmt: skip


def _stored(benchmark: Benchmark) -> dict[Key, tuple[int, float]]:
    rows = MetricScore.objects.filter(benchmark=benchmark).values_list(
        "metric", "metric_version", "backend", "method__name", "story__key",
        "shot__number", "pk", "value",
    )  # fmt: skip
    return {
        (metric, version, backend, method, story or "", str(shot or "")): (pk, value)
        for metric, version, backend, method, story, shot, pk, value in rows
    }


def _write(
    benchmark: Benchmark,
    names: Names,
    file: str,
    rows: list[dict],
    fresh: list[dict],
    changed: list[tuple[int, dict]],
) -> None:
    now = timezone.now()
    content = repr([(row["line"], *_key(row), row["score"]) for row in rows])
    run = MetricRun.objects.create(
        benchmark=benchmark,
        source=MetricRun.Source.IMPORTED,
        metrics=sorted({row["metric"] for row in rows}),
        state=MetricRun.State.DONE,
        total=len(rows),
        done=len(rows),
        started_at=now,
        finished_at=now,
        file_name=file,
        file_sha256=hashlib.sha256(content.encode()).hexdigest(),
    )
    shots = {
        (key, number): pk
        for key, number, pk in Shot.objects.filter(
            story__benchmark=benchmark
        ).values_list("story__key", "number", "pk")
    }
    MetricScore.objects.bulk_create(
        [
            MetricScore(
                run=run,
                benchmark=benchmark,
                method=names.methods[row["method"]],
                story=names.stories[row["story"]] if row["story"] else None,
                shot_id=shots[row["story"], int(row["shot"])]
                if row.get("shot")
                else None,
                metric=row["metric"],
                metric_version=row["version"],
                backend=row.get("backend", ""),
                higher_is_better=row["higher"],
                value=row["score"],
            )
            for row in fresh
        ],
        batch_size=500,
    )
    for pk, row in changed:
        MetricScore.objects.filter(pk=pk).update(value=row["score"], run=run)
