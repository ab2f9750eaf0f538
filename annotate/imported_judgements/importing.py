"""Import ratings and choices that people gave elsewhere."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

from django.db import transaction
from django.utils import timezone

from analysis.problems import InputError, Problem, Problems, by_line
from analysis.reading.number_text import as_number
from analysis.tables import CHOICE_COLUMNS, FLAGS, RATING_COLUMNS
from annotate import event_log
from annotate.imported_judgements.answer_rows import (
    Methods,
    SlotKey,
    as_utc,
    row_problems,
    slot_key,
    spelled_twice,
    step_problems,
    table_answers,
    two_sides,
)
from annotate.imported_judgements.checklist_rows import (
    add_missing_shots,
    box_problems,
    is_of_boxes,
    shot_number,
)
from annotate.kinds.base import Kind
from annotate.kinds.checklist.kind import TICKED
from annotate.kinds.registry import kind_of_table, kinds_of
from annotate.models import Annotator, Event, Question, Slot, Study, Unit
from annotate.models.units import as_fields
from annotate.responses.analysis_views import add_views
from annotate.responses.bulk import SlotAnswers, store_judgements
from evalcore.importing.names import Names
from evalcore.importing.score_changes import LINE, ScoreRow
from evalcore.models import Benchmark, Output

if TYPE_CHECKING:
    import pandas as pd

# Columns that come back in an export; others of the file are not kept.
KEPT = {
    *RATING_COLUMNS,
    *CHOICE_COLUMNS,
    *("round", "session", "submitted_at", "seconds", "left_method", "shot"),
}
# What fits the column of a rating on every database.
LOWEST, HIGHEST = -1000, 1000


@dataclass
class JudgementImport:
    """What an import did."""

    rows: int
    slots: int = 0
    notes: list[str] = field(default_factory=list)

    def line(self) -> str:
        """Return the summary as a sentence."""
        if not self.slots:
            return f"Nothing new: {self.rows} answers, all here already."
        return f"Imported {self.rows} answers in {self.slots} slots."


def import_ratings(
    ratings: "pd.DataFrame",
    *,
    study: str,
    benchmark: Benchmark,
    file: str,
    scale: tuple[int, int],
    create: bool = False,
    earlier: Sequence[Problem] = (),
) -> JudgementImport:
    """Store ratings as a closed study; a second time changes nothing.

    All dimensions of one (story, method, annotator, round) become one slot with one
    answer a question. Means of raters are refused: they are no answers. Ratings with
    shots are those of a checklist.

    Raises
    ------
    InputError
        With every problem, those found `earlier` included; nothing was written.
    """
    rows, odd = table_answers(ratings, file)
    names = Names(benchmark, create=create)
    problems = Problems(earlier)
    problems += odd
    of_boxes = is_of_boxes(rows)
    if of_boxes:
        scale = TICKED
        problems += box_problems(rows, names, file)
    for row in rows:
        problems += row_problems(row, names, file, ("method",), "dimension")
    problems += step_problems(rows, file)
    problems += spelled_twice(rows, file, "dimension")
    low, high = scale
    if not LOWEST <= low < high <= HIGHEST:
        what = f"a scale between {LOWEST} and {HIGHEST}"
        problems.append(Problem(file, what, value=f"{low}:{high}"))
    if problems:
        raise InputError(by_line(problems))
    for row in rows:
        row["outputs"] = (row["method"],)
        row["question"] = row["dimension"]
        row["answer"] = int(row["rating"])
    kind = kind_of_table("ratings", of_shots=of_boxes)
    return _import(rows, study, names, file, kind, scale)


def import_choices(
    choices: "pd.DataFrame",
    *,
    study: str,
    benchmark: Benchmark,
    file: str,
    create: bool = False,
    earlier: Sequence[Problem] = (),
) -> JudgementImport:
    """Store choices as a closed study of pairs; a second time changes nothing.

    Raises
    ------
    InputError
        With every problem, those found `earlier` included; nothing was written.
    """
    rows, odd = table_answers(choices, file)
    names = Names(benchmark, create=create)
    problems = Problems(earlier)
    problems += odd
    for row in rows:
        columns = ("method_a", "method_b")
        problems += row_problems(row, names, file, columns, "criterion")
        row["outputs"] = (row["method_a"], row["method_b"])
        row["question"] = row["criterion"]
        row["answer"] = row["choice"]
    problems += two_sides(rows, file)
    problems += spelled_twice(rows, file, "criterion")
    if problems:
        raise InputError(by_line(problems))
    return _import(rows, study, names, file, kind_of_table("choices"), None)


def _import(
    rows: list[ScoreRow],
    slug: str,
    names: Names,
    file: str,
    kind: Kind,
    scale: tuple[int, int] | None,
) -> JudgementImport:
    existing = Study.objects.filter(slug=slug).select_related("benchmark").first()
    if existing is not None:
        return _compare(existing, names.benchmark, rows, file)
    with transaction.atomic():
        if not names.benchmark.pk:
            names.benchmark.save()
        names.add_missing({(r["story"], m) for r in rows for m in r["outputs"]})
        if kind.of_shots:
            add_missing_shots(rows, names)
        importer = _Importer(rows, slug, names.benchmark, kind, scale)
        slots = importer.store()
        event_log.note(
            Event.Kind.ANSWERS_IMPORTED,
            importer.study.pk,
            file=file,
            answers=len(rows),
            slots=slots,
        )
    return JudgementImport(len(rows), slots, _notes(rows))


def _notes(rows: list[ScoreRow]) -> list[str]:
    """Say what of the file is not stored, or was not in it."""
    notes = []
    known = {*KEPT, *FLAGS, LINE, "outputs", "question", "answer"}
    dropped = sorted({column for row in rows for column in row if column not in known})
    if dropped:
        notes.append(f"columns not kept: {', '.join(dropped)}")
    untimed = sum(not row.get("submitted_at") for row in rows)
    if untimed:
        notes.append(
            f"{untimed} answers without submitted_at have the time of this import"
        )
    return notes


class _Importer:
    """Builds the study that the rows imply."""

    def __init__(
        self,
        rows: list[ScoreRow],
        slug: str,
        benchmark: Benchmark,
        kind: Kind,
        scale: tuple[int, int] | None,
    ) -> None:
        self.rows = rows
        self.groups: dict[SlotKey, list[ScoreRow]] = defaultdict(list)
        for row in rows:
            self.groups[slot_key(row)].append(row)
        per_unit = Counter((key[0], key[1], key[3]) for key in self.groups)
        self.study = Study.objects.create(
            slug=slug,
            title=slug,
            benchmark=benchmark,
            outputs_at_once=kind.least,
            state=Study.State.CLOSED,
            redundancy=max(per_unit.values()),
            rounds=max(int(key[3]) for key in self.groups),
        )
        add_views(self.study)
        self.kind, self.scale = kind, scale
        self.per_unit: Counter[tuple[str, Methods]] = Counter()
        for (story, outputs, _round), count in per_unit.items():
            self.per_unit[story, outputs] = max(self.per_unit[story, outputs], count)

    def store(self) -> int:
        """Write everything and return the number of slots."""
        questions = self._questions()
        annotators = self._annotators()
        units = self._units()
        slots = {}
        ordinals: Counter[tuple[str, Methods, str]] = Counter()
        positions: Counter[str] = Counter()
        for key, rows in self.groups.items():
            story, outputs, annotator, round_ = key
            ordinals[story, outputs, round_] += 1
            positions[annotator] += 1
            slots[key] = Slot(
                study=self.study,
                unit=units[story, outputs],
                round=int(round_),
                ordinal=ordinals[story, outputs, round_],
                level=ordinals[story, outputs, round_],
                annotator=annotators[annotator],
                session=int(float(rows[0].get("session") or 1)),
                position=positions[annotator],
                a_is_left=_a_is_left(rows[0], outputs),
            )
        Slot.objects.bulk_create(slots.values(), batch_size=500)
        return store_judgements(
            SlotAnswers(
                slot,
                submitted_at=_when(self.groups[key][0]),
                seconds=_seconds(self.groups[key][0]),
                **self._given(self.groups[key], questions),
            )
            for key, slot in slots.items()
        )

    def _given(
        self, rows: list[ScoreRow], questions: dict[str, Question]
    ) -> dict[str, Any]:
        """Return the answers of one slot; of a checklist, its boxes by shot."""
        if not self.kind.of_shots:
            return {"answers": {questions[r["question"]]: r["answer"] for r in rows}}
        boxes = {(shot_number(r), questions[r["question"]]): r["answer"] for r in rows}
        return {"answers": {}, "boxes": boxes}

    def _questions(self) -> dict[str, Question]:
        keys = sorted({row["question"] for row in self.rows})
        low, high = self.scale or (None, None)
        rows = [
            Question(
                study=self.study,
                key=key,
                kind=self.kind.name,
                ordinal=ordinal,
                titles={"en": key.partition("|")[0] if self.kind.of_shots else key},
                texts={},
                scale_min=low,
                scale_max=high,
            )
            for ordinal, key in enumerate(keys, start=1)
        ]
        return {q.key: q for q in Question.objects.bulk_create(rows)}

    def _annotators(self) -> dict[str, Annotator]:
        now = timezone.now()
        rows = [
            Annotator(
                study=self.study,
                name=name,
                state=Annotator.State.FINISHED,
                finished_at=now,
            )
            for name in sorted({row["annotator"] for row in self.rows})
        ]
        return {a.name: a for a in Annotator.objects.bulk_create(rows)}

    def _units(self) -> dict[tuple[str, Methods], Unit]:
        outputs = {
            (output.story.key, output.method.name): output
            for output in Output.objects.filter(
                story__benchmark=self.study.benchmark
            ).select_related("story", "method")
        }
        keys = sorted({(story, methods) for story, methods, *_rest in self.groups})
        rows = []
        for story, methods in keys:
            shown = [outputs[story, method] for method in methods]
            rows.append(
                Unit(
                    study=self.study,
                    story=shown[0].story,
                    redundancy=self.per_unit[story, methods],
                    **as_fields(shown),
                )
            )
        created = Unit.objects.bulk_create(rows, batch_size=500)
        return dict(zip(keys, created, strict=True))


def _a_is_left(row: ScoreRow, outputs: tuple[str, ...]) -> bool | None:
    """Return None where the file does not tell."""
    left = row.get("left_method", "")
    if len(outputs) == 2 and not left:
        return None
    return left in ("", outputs[0])


def _when(row: ScoreRow) -> datetime:
    text = str(row.get("submitted_at") or "")
    return as_utc(text) if text else timezone.now()


def _seconds(row: ScoreRow) -> float | None:
    text = str(row.get("seconds") or "")
    return as_number(text) if text else None


def _compare(
    study: Study, benchmark: Benchmark, rows: list[ScoreRow], file: str
) -> JudgementImport:
    """Accept a second import of the same answers; refuse any other."""
    if study.benchmark.slug != benchmark.slug:
        what = f"benchmark {study.benchmark.slug}, which study {study.slug} judges"
        raise InputError([Problem(file, what, value=benchmark.slug)])
    (model,) = {kind.model for kind in kinds_of(study)}
    answers = model.objects.filter(
        slot__study=study, slot__submitted_at__isnull=False
    ).select_related(
        "question",
        "annotator",
        "slot__unit__story",
        *study.output_paths("slot__unit__", "__method"),
    )
    stored = {
        (
            answer.slot.unit.story.key,
            answer.slot.unit.methods,
            answer.annotator.name,
            str(answer.slot.round),
            answer.question.key,
            answer.value,
            getattr(answer, "shot", 0),
        )
        for answer in answers
    }
    other = Problems(
        Problem(
            file,
            f"an answer that study {study.slug} already has; import into a new study",
            row[LINE],
            value=f"{row['story']} / {' / '.join(row['outputs'])} / {row['annotator']}",
        )
        for row in rows
        if (*slot_key(row), row["question"], row["answer"], shot_number(row))
        not in stored
    )
    if other:
        raise InputError(other)
    return JudgementImport(len(rows))
