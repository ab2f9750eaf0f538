"""Import metric scores computed elsewhere."""

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypedDict, Unpack, cast

from django.db import transaction
from django.utils.translation import gettext as _

from analysis.problems import InputError, Problem, Problems
from analysis.reading.texts import UNTOLD, higher_by_name, known_name
from analysis.tables import IDENTITY_COLUMNS
from evalcore.formats.story_scripts import ForeignScores
from evalcore.importing.names import Names
from evalcore.importing.score_writing import (
    FILE,
    IDENTITY,
    LINE,
    RUN,
    Changes,
    ScoreRow,
    StoredScores,
    key_of,
    name_identities,
    turn_others,
    write,
)
from evalcore.metrics import registry
from evalcore.metrics.identity import Identity
from evalcore.models import (
    Benchmark,
    MetricScore,
    Output,
    ScoreIdentity,
    Shot,
    most_letters,
)

if TYPE_CHECKING:
    import pandas as pd


NO_FILES: Mapping[str, Identity] = MappingProxyType({})


@dataclass
class ScoreImport:
    """Counts of imported scores, and the directions assumed."""

    rows: int
    created: int = 0
    replaced: int = 0
    # metrics assumed higher-is-better, for lack of other information
    guessed: Sequence[str] = ()
    # metrics assumed lower-is-better, from their names alone
    turned: Sequence[str] = ()

    def line(self) -> str:
        if not self.created and not self.replaced:
            return f"Nothing new: {self.rows} scores, all stored already."
        return (
            f"Imported {self.rows} scores "
            f"({self.created} new, {self.replaced} replaced)."
        )


def table_rows(frame: "pd.DataFrame") -> list[ScoreRow]:
    """Return the rows of a table with their lines; empty cells become empty text."""
    filled = frame.astype(object).where(frame.notna(), "")
    records = cast("list[ScoreRow]", filled.to_dict("records"))
    return [
        {**row, LINE: int(line)} for line, row in zip(frame.index, records, strict=True)
    ]


class ScoreOptions(TypedDict, total=False):
    """Options of an import of scores."""

    create: bool
    replace: bool
    lower_is_better: frozenset[str]
    # Identities from the file beside it, with the hashes of weights.
    files: Mapping[str, Identity]
    posted_to: str
    check_only: bool  # store nothing
    also: Callable[[], object]  # called at the end of the transaction


def import_scores(
    scores: "pd.DataFrame",
    *,
    benchmark: Benchmark,
    file: str,
    metric_version: str = "",
    earlier: Sequence[Problem] = (),
    **options: Unpack[ScoreOptions],
) -> ScoreImport:
    """Store a table of scores that `analysis.reading.inputs` has checked."""
    columns = {"story", "method", "shot", "metric", "score", "higher_is_better"}
    columns |= {*IDENTITY_COLUMNS, "computed_at", LINE}
    rows = [
        {name: value for name, value in row.items() if name in columns}
        for row in table_rows(scores)
    ]
    for row in () if earlier else rows:  # An invalid shot is not a number.
        row["metric_version"] = row.get("metric_version") or metric_version
        row["shot"] = int(row["shot"]) if row.get("shot") else None
    return import_rows(
        rows,
        benchmark=benchmark,
        file=file,
        earlier=earlier,
        untold=scores.attrs.get(UNTOLD, ()),
        **options,
    )


def import_rows(
    rows: Sequence[ScoreRow],
    *,
    benchmark: Benchmark,
    file: str,
    create: bool = False,
    replace: bool = False,
    lower_is_better: frozenset[str] = frozenset(),
    files: Mapping[str, Identity] = NO_FILES,
    earlier: Sequence[Problem] = (),
    of_runs: Mapping[str, Mapping[str, Any]] | None = None,
    once: bool = False,
    posted_to: str = "",
    untold: Collection[str] = (),
    check_only: bool = False,
    also: Callable[[], object] = bool,
) -> ScoreImport:
    """Store rows of scores, and further details of their runs."""
    names = Names(benchmark, create=create)
    problems = Problems(earlier)
    for row in rows:
        row.setdefault(FILE, file)
        row.setdefault(RUN, file)
    reported = set()
    for row in rows:
        for problem in names.problems(
            row[FILE], row[LINE], row["story"], row["method"]
        ):
            said = problem.column, problem.value
            if not once or said not in reported:
                problems.append(problem)
            reported.add(said)
    if earlier:
        raise InputError(_in_order(problems))
    problems += name_identities(rows, files)
    problems += _times(rows)
    details = any("details" in row for row in rows)
    stored = StoredScores(benchmark, details=details, posted_to=posted_to)
    guessed, turned = set(), set()
    for row in rows:
        higher = _direction(row, lower_is_better, stored.directions, untold)
        if higher is None:
            # Metrics of ours without a telling name are higher-is-better.
            higher = higher_by_name(row["metric"])
            if higher is None and known_name(row["metric"]) in registry.METRICS:
                higher = True
            guessed |= {row["metric"]} if higher is None else set()
            turned |= {row["metric"]} if higher is False else set()
        row["higher"] = higher is not False
    problems += _unknown_metrics(rows, lower_is_better, file)
    known_rows = [row for row in rows if not row["story"] or names.knows(row["story"])]
    problems += _unknown_shots(known_rows, benchmark, create)
    problems += _too_long(rows)
    problems += _doubled(rows)
    changes = Changes()
    for row in rows:
        against = changes.note(row, stored)
        if against is not None and not replace:
            problems.append(against)
    if problems:
        raise InputError(_in_order(problems))
    made = [*changes.fresh, *changes.absent]
    if not check_only:
        with transaction.atomic():
            if not benchmark.pk:
                benchmark.save()
            if changes:
                names.add_missing({(row["story"], row["method"]) for row in made})
                write(names, rows, changes, of_runs or {}, posted_to)
                if replace:
                    directions = {key_of(row)[0]: row["higher"] for row in rows}
                    turn_others(benchmark, directions, posted_to)
            also()
    return ScoreImport(
        len(rows), len(made), changes.replaced, sorted(guessed), sorted(turned)
    )


def import_foreign_scores(
    found: ForeignScores, *, benchmark: Benchmark, **options: Unpack[ScoreOptions]
) -> ScoreImport:
    """Store scores from other programs."""
    rows: list[ScoreRow] = [
        {
            "story": score.story,
            "method": score.method,
            "shot": score.shot,
            "metric": score.metric,
            "score": score.value,
            "reason": score.reason,
            "metric_version": score.version,
            "backend": score.backend,
            **score.made_by,
            "higher_is_better": score.higher,
            "details": score.details,
            LINE: score.line,
            FILE: score.file,
            RUN: score.run,
        }
        for score in found.scores
    ]
    return import_rows(
        rows,
        benchmark=benchmark,
        file="",
        of_runs=found.options,
        once=True,
        **options,
    )


def _in_order(problems: Problems[Problem]) -> Problems[Problem]:
    problems.sort(key=lambda problem: (problem.file, problem.line or 0))
    return problems


def _times(rows: Sequence[ScoreRow]) -> Problems[Problem]:
    """Turn the rows' times of computation into times; return problems."""
    problems: Problems[Problem] = Problems()
    for row in rows:
        told = row.get("computed_at")
        try:
            at = datetime.fromisoformat(told) if told else None
        except ValueError:
            what = "a time in ISO 8601, such as 2026-03-04T05:06:07+00:00"
            problems.append(
                Problem(row[FILE], what, row[LINE], "computed_at", str(told))
            )
        else:
            row["computed_at"] = (
                at if at is None or at.tzinfo else at.replace(tzinfo=UTC)
            )
    return problems


def _unknown_metrics(
    rows: Sequence[ScoreRow], lower_is_better: frozenset[str], file: str
) -> list[Problem]:
    known = sorted({row["metric"] for row in rows})
    return [
        Problem(
            file,
            f"for --lower-is-better a metric of the file: {', '.join(known)}",
            1,
            value=name,
        )
        for name in sorted(lower_is_better - set(known))
    ]


def _unknown_shots(
    rows: Sequence[ScoreRow], benchmark: Benchmark, create: bool
) -> Problems[Problem]:
    known = set(
        Shot.objects.filter(story__benchmark__slug=benchmark.slug).values_list(
            "story__key", "number"
        )
    )
    # A new shot would count as missing in outputs that people have already judged.
    drawn = set(
        Output.objects.filter(
            story__benchmark__slug=benchmark.slug, frames__isnull=False
        ).values_list("story__key", flat=True)
    )
    return Problems(
        Problem(
            row[FILE],
            _("the number of a shot of the story")
            + _(" (--create adds new ones)") * (row["story"] not in drawn),
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
    )


def _too_long(rows: Sequence[ScoreRow]) -> Problems[Problem]:
    problems: Problems[Problem] = Problems()
    for column in ("metric", *IDENTITY_COLUMNS):
        if column in ("settings", "identity"):
            continue  # of any length, and checked
        table = MetricScore if column == "judge_version" else ScoreIdentity
        longest = most_letters(table, column)
        for row in rows:
            value = row.get(column) or ""
            if len(value) > longest:
                what = _("a name of at most %(most)d letters") % {"most": longest}
                problems.append(
                    Problem(row[FILE], what, row[LINE], column, value[:40] + "...")
                )
    return problems


def _doubled(rows: Sequence[ScoreRow]) -> Problems[Problem]:
    """Return a problem for each score that occurs twice, perhaps in two folders."""
    counts = Counter(map(key_of, rows))
    problems: Problems[Problem] = Problems()
    for row in rows:
        if counts[key_of(row)] > 1:
            what = _("one score of a metric for a method, story and shot")
            named = " / ".join(filter(None, (row["metric"], *key_of(row)[1:])))
            problems.append(Problem(row[FILE], what, row[LINE], value=named))
    return problems


def _direction(
    row: ScoreRow,
    lower_is_better: frozenset[str],
    stored: dict[str, bool],
    untold: Collection[str],
) -> bool | None:
    """Return whether higher is better; None if only the metric's name may decide.

    The option comes first, then the row, then the stored direction.
    """
    if row["metric"] in lower_is_better:
        return False
    if row["metric"] not in untold and "higher_is_better" in row:
        return row["higher_is_better"] is not False
    return stored.get(row[IDENTITY].asked)
