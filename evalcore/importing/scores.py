"""Import metric scores computed elsewhere."""

import difflib
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from django.db import transaction
from django.utils import timezone

from analysis.tables import InputError, Problem, by_line
from evalcore.models import (
    Benchmark,
    Method,
    MetricRun,
    MetricScore,
    Output,
    Shot,
    Story,
)
from evalcore.postgresql import analyze

if TYPE_CHECKING:
    import pandas as pd

LONGEST_STORY = Story._meta.get_field("key").max_length
LONGEST_METHOD = Method._meta.get_field("name").max_length
# The key of a row's line; no column of a file can have this name.
LINE = "\0line"

# metric, version, backend, method, story, shot
Key = tuple[str, str, str, str, str, str]
# One row of the table, and where it stands in the file.
Row = dict[str, Any]


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
        stories = Story.objects.filter(benchmark__slug=benchmark.slug)
        self.stories = {story.key: story for story in stories}
        self.methods = {method.name: method for method in Method.objects.all()}
        self.outputs = set(
            Output.objects.filter(story__benchmark__slug=benchmark.slug).values_list(
                "story__key", "method__name"
            )
        )

    def problems(
        self, file: str, line: int, story: str, method: str, column: str = "method"
    ) -> list[Problem]:
        """Return what is unknown, or too long, in a row."""
        found = []
        for where, name, known, longest in (
            ("story", story, self.stories, LONGEST_STORY),
            (column, method, self.methods, LONGEST_METHOD),
        ):
            if len(name) > longest:
                what = f"a name of at most {longest} letters"
                found.append(Problem(file, what, line, where, name[:40] + "..."))
            elif name and name not in known and not self.create:
                close = difflib.get_close_matches(name, known, n=1)
                hint = f"; did you mean {close[0]}?" if close else ""
                what = f"a {where.split('_')[0]} of {self.benchmark.slug}{hint}"
                what += " (--create makes new ones)"
                found.append(Problem(file, what, line, where, name))
        if found or self.create or not story or not method:
            return found
        if (story, method) not in self.outputs:
            what = f"an output of {self.benchmark.slug} (--create makes new ones)"
            return [Problem(file, what, line, column, f"{story} / {method}")]
        return []

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
        Output.objects.bulk_create(
            [
                Output(story=self.stories[story], method=self.methods[method])
                for story, method in sorted(pairs - self.outputs)
                if story
            ],
            batch_size=500,
        )


def table_rows(frame: "pd.DataFrame") -> list[Row]:
    """Return the rows of a table with their lines; empty cells are empty text."""
    records = frame.astype(object).where(frame.notna(), "").to_dict("records")
    return [
        {**row, LINE: int(line)} for line, row in zip(frame.index, records, strict=True)
    ]


def import_scores(
    scores: "pd.DataFrame",
    *,
    benchmark: Benchmark,
    file: str,
    create: bool = False,
    replace: bool = False,
    lower_is_better: frozenset[str] = frozenset(),
    metric_version: str = "",
    earlier: Sequence[Problem] = (),
) -> Summary:
    """Store a table of scores that `analysis.reading.inputs` has checked.

    Parameters
    ----------
    scores
        Index is the line in the file; columns as in `analysis.tables.SCORE_COLUMNS`.
    benchmark
        Whose stories were scored; one that is not saved yet is saved with them.
    file
        Name of the file, for messages and the record of the run.
    create
        Make stories, shots, methods and outputs that are missing.
    replace
        Overwrite values and directions that differ; otherwise they are problems.
    lower_is_better
        Metrics whose direction the table does not tell.
    metric_version
        Version of all metrics where the table has none.
    earlier
        Problems found while reading; with some, names are checked and no more.

    Raises
    ------
    InputError
        With every problem; nothing was written.
    """
    rows = table_rows(scores)
    names = Names(benchmark, create=create)
    problems = list(earlier)
    for row in rows:
        problems += names.problems(file, row[LINE], row["story"], row["method"])
    if earlier:
        raise InputError(by_line(problems))
    stored = _stored(benchmark)
    directions = {key[:3]: score.higher_is_better for key, score in stored.items()}
    for row in rows:
        row["version"] = row.get("metric_version") or metric_version
        row["shot"] = int(row["shot"]) if row.get("shot") else None
        row["higher"] = _direction(row, lower_is_better, directions)
    problems += _unknown_metrics(rows, lower_is_better, file)
    problems += _unknown_shots(rows, benchmark, file, create)
    problems += _too_long(rows, file)
    fresh, changed = [], []
    for row in rows:
        old = stored.get(_key(row))
        turned = directions.get(_key(row)[:3], row["higher"]) != row["higher"]
        if old is None:
            fresh.append(row)
        elif old.value != row["score"] or turned:
            changed.append((old, row))
        if not replace and (turned or (old and old.value != row["score"])):
            problems.append(_differs(old, row, file))
    if problems:
        raise InputError(by_line(problems))
    if fresh or changed:
        with transaction.atomic():
            if benchmark.pk is None:
                benchmark.save()
            names.add_missing({(row["story"], row["method"]) for row in fresh})
            _write(names, file, rows, fresh, changed)
            if replace:
                told = {_key(row)[:3]: row["higher"] for row in rows}
                _turn_others(benchmark, told)
    return Summary(len(rows), len(fresh), len(changed))


def _key(row: Row) -> Key:
    return (
        row["metric"], row["version"], row.get("backend", ""), row["method"],
        row["story"], "" if row["shot"] is None else str(row["shot"]),
    )  # fmt: skip


def _stored(benchmark: Benchmark) -> dict[Key, MetricScore]:
    scores = MetricScore.objects.filter(benchmark__slug=benchmark.slug).select_related(
        "method", "story", "shot"
    )
    return {
        (
            s.metric, s.metric_version, s.backend, s.method.name,
            s.story.key if s.story else "", str(s.shot.number) if s.shot else "",
        ): s
        for s in scores
    }  # fmt: skip


def _unknown_metrics(
    rows: list[Row], lower_is_better: frozenset[str], file: str
) -> list[Problem]:
    known = sorted({row["metric"] for row in rows})
    return [
        Problem(file, f"for --lower-is-better a metric of the file: {', '.join(known)}",
                1, value=name)
        for name in sorted(lower_is_better - set(known))
    ]  # fmt: skip


def _unknown_shots(
    rows: list[Row], benchmark: Benchmark, file: str, create: bool
) -> list[Problem]:
    known = set(
        Shot.objects.filter(story__benchmark__slug=benchmark.slug).values_list(
            "story__key", "number"
        )
    )
    # One shot more would be missing in every output, after people have judged it.
    drawn = set(
        Output.objects.filter(
            story__benchmark__slug=benchmark.slug, frames__isnull=False
        ).values_list("story__key", flat=True)
    )
    return [
        Problem(
            file,
            "the number of a shot of the story"
            + " (--create makes new ones)" * (row["story"] not in drawn),
            row[LINE],
            "shot",
            str(row["shot"]),
        )
        for row in rows
        if row["shot"] is not None
        and (row["story"], row["shot"]) not in known
        and not (
            create and row["story"] and row["story"] not in drawn and row["shot"] > 0
        )
    ]


def _too_long(rows: list[Row], file: str) -> list[Problem]:
    problems = []
    for column in ("metric", "metric_version", "backend"):
        longest = MetricScore._meta.get_field(column).max_length
        for row in rows:
            value = row.get(column) or ""
            if len(value) > longest:
                what = f"a name of at most {longest} letters"
                problems.append(
                    Problem(file, what, row[LINE], column, value[:40] + "...")
                )
    return problems


def _direction(
    row: Row,
    lower_is_better: frozenset[str],
    stored: dict[tuple[str, str, str], bool],
) -> bool:
    """Return the direction that is told, else the stored one, else higher."""
    if row["metric"] in lower_is_better:
        return False
    if "higher_is_better" in row:
        return row["higher_is_better"] is not False
    return stored.get(_key(row)[:3], True)


def _differs(old: MetricScore | None, row: Row, file: str) -> Problem:
    if old is not None and old.value != row["score"]:
        expected = f"the stored value {old.value!r} (option replace overwrites it)"
        return Problem(file, expected, row[LINE], "score", repr(row["score"]))
    value, stored = ("true", "false") if row["higher"] else ("false", "true")
    expected = f"{stored} as stored before (option replace overwrites it)"
    return Problem(file, expected, row[LINE], "higher_is_better", value)


def _write(
    names: Names,
    file: str,
    rows: list[Row],
    fresh: list[Row],
    changed: list[tuple[MetricScore, Row]],
) -> None:
    now = timezone.now()
    content = repr([(row[LINE], *_key(row), row["score"]) for row in rows])
    run = MetricRun.objects.create(
        benchmark=names.benchmark,
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
    shots = _shots(
        names, {(r["story"], r["shot"]) for r in fresh if r["shot"] is not None}
    )
    MetricScore.objects.bulk_create(
        [
            MetricScore(
                run=run,
                benchmark=names.benchmark,
                method=names.methods[row["method"]],
                story=names.stories[row["story"]] if row["story"] else None,
                shot=shots.get((row["story"], row["shot"])),
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
    for old, row in changed:
        old.value, old.higher_is_better, old.run = row["score"], row["higher"], run
    MetricScore.objects.bulk_update(
        [old for old, _row in changed],
        ["value", "higher_is_better", "run"],
        batch_size=500,
    )
    analyze(Output, MetricScore)


def _shots(names: Names, wanted: set[tuple[str, int]]) -> dict[tuple[str, int], Shot]:
    """Return the shots that rows name, creating those that are missing."""
    found = {
        (shot.story.key, shot.number): shot
        for shot in Shot.objects.filter(
            story__benchmark=names.benchmark
        ).select_related("story")
    }
    for key, number in sorted(wanted - set(found)):
        found[key, number] = Shot.objects.create(
            story=names.stories[key], number=number
        )
    return found


def _turn_others(
    benchmark: Benchmark, directions: dict[tuple[str, str, str], bool]
) -> None:
    """Give the metric's other rows the direction that the file has."""
    for (metric, version, backend), higher in directions.items():
        MetricScore.objects.filter(
            benchmark=benchmark,
            metric=metric,
            metric_version=version,
            backend=backend,
        ).exclude(higher_is_better=higher).update(higher_is_better=higher)
