"""Import of ratings, choices and rankings that were collected elsewhere."""

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from django.db import transaction
from django.utils import timezone

from analysis.problems import InputError, Problem, Problems, by_line
from analysis.reading.texts import as_number
from analysis.tables import CHOICE_COLUMNS, FLAGS, RANKING_COLUMNS, RATING_COLUMNS
from annotate import event_log
from annotate.imported_judgements.answer_rows import (
    Methods,
    SlotKey,
    as_utc,
    length_problems,
    row_problems,
    scale_problems,
    side_problems,
    slot_key,
    spelling_problems,
    step_problems,
    table_answers,
    whole_rankings,
)
from annotate.kinds.base import Kind
from annotate.kinds.registry import kind_of_table, kinds_of
from annotate.models import Annotator, Event, Question, Slot, Study, Unit
from annotate.models.units import as_fields
from annotate.responses.analysis_views import add_views
from annotate.responses.bulk import SlotAnswers, store_judgements
from evalcore.importing.names import Names
from evalcore.importing.score_writing import LINE, ScoreRow
from evalcore.models import Benchmark, Output

if TYPE_CHECKING:
    import pandas as pd

# Columns that an export returns; others of the file are not stored.
STORED_COLUMNS = {
    *RATING_COLUMNS,
    *CHOICE_COLUMNS,
    *RANKING_COLUMNS,
    *("round", "session", "submitted_at", "seconds", "left_method"),
}
Rows = list[ScoreRow]
# Title and text of questions, by key.
Texts = Mapping[str, tuple[str, str]]
Scale = tuple[int | None, int | None]


@dataclass
class JudgementImport:
    """Numbers and notes of an import."""

    rows: int
    slots: int = 0
    notes: list[str] = field(default_factory=list)

    def line(self) -> str:
        """Return a summary as a sentence."""
        if not self.slots:
            return f"Nothing new: all {self.rows} answers are stored already."
        return f"Imported {self.rows} answers."


def import_answers(
    table: "pd.DataFrame",
    kind: str,
    *,
    study: str,
    benchmark: Benchmark,
    file: str,
    scale: Scale = (None, None),
    create: bool = False,
    texts: Texts = MappingProxyType({}),
    earlier: Sequence[Problem] = (),
    check_only: bool = False,
    also: Callable[[Study], object] = bool,
) -> JudgementImport:
    """Store a table as a closed study; importing it again changes nothing.

    All answers of an annotator to the same outputs in one round become one slot. Mean
    ratings and answers about shots are refused.

    Parameters
    ----------
    table
        The checked table.
    kind
        `ratings`, `choices` or `rankings`.
    scale
        Lowest and highest rating.
    texts
        Titles and texts of questions by key.
    earlier
        Problems that were found before.
    check_only
        Store nothing.
    also
        Called with a new study at the end of the transaction.

    Raises
    ------
    InputError
        The table has problems, or there were `earlier` ones; nothing is written.
    """
    given, problems = table_answers(table, file)
    names = Names(benchmark, create=create)
    problems += earlier
    methods = ("method_a", "method_b") if kind == "choices" else ("method",)
    question = "dimension" if kind == "ratings" else "criterion"
    for row in given:
        problems += row_problems(row, names, file, methods, question)
        row["outputs"] = tuple(row[column] for column in methods)
        row["question"] = row[question]
    problems += spelling_problems(given, file, question)
    if kind == "ratings":
        problems += step_problems(given, file)
        problems += scale_problems(scale, file)
    elif kind == "choices":
        problems += side_problems(given, file)
    else:
        problems += length_problems(given, file)
    if problems:
        raise InputError(by_line(problems))
    rows = whole_rankings(given) if kind == "rankings" else given
    for row in given:
        if kind != "rankings":
            row["answer"] = row["choice"] if kind == "choices" else int(row["rating"])
    if check_only:
        return JudgementImport(len(rows), len(set(map(slot_key, rows))), _notes(rows))
    return _import(rows, study, names, file, kind_of_table(kind), also, texts, scale)


def _import(
    rows: Rows,
    slug: str,
    names: Names,
    file: str,
    kind: Kind,
    also: Callable[[Study], object],
    texts: Texts,
    scale: Scale,
) -> JudgementImport:
    existing = Study.objects.filter(slug=slug).select_related("benchmark").first()
    if existing is not None:
        return _compare(existing, names.benchmark, rows, file)
    with transaction.atomic():
        if not names.benchmark.pk:
            names.benchmark.save()
        names.add_missing({(r["story"], m) for r in rows for m in r["outputs"]})
        groups: dict[SlotKey, Rows] = defaultdict(list)
        for row in rows:
            groups[slot_key(row)].append(row)
        study = _study(slug, names.benchmark, kind, groups)
        questions = _questions(study, kind, rows, texts, scale)
        slots = _store(study, groups, questions)
        event_log.note(
            Event.Kind.ANSWERS_IMPORTED,
            study.pk,
            file=file,
            answers=len(rows),
            slots=slots,
        )
        also(study)
    return JudgementImport(len(rows), slots, _notes(rows))


def _notes(rows: Rows) -> list[str]:
    """Return notes on columns that are not stored and times that are missing."""
    notes = []
    known = {*STORED_COLUMNS, *FLAGS, LINE, "outputs", "question", "answer"}
    dropped = sorted({column for row in rows for column in row if column not in known})
    if dropped:
        notes.append(f"columns not stored: {', '.join(dropped)}")
    untimed = sum(not row.get("submitted_at") for row in rows)
    if untimed:
        notes.append(
            f"{untimed} answers have no submitted_at and get the time of this import"
        )
    return notes


def _study(
    slug: str, benchmark: Benchmark, kind: Kind, groups: dict[SlotKey, Rows]
) -> Study:
    per_unit = Counter((key[0], key[1], key[3]) for key in groups)
    study = Study.objects.create(
        slug=slug,
        title=slug,
        benchmark=benchmark,
        outputs_at_once=max(len(outputs) for _story, outputs, *_rest in groups),
        state=Study.State.CLOSED,
        redundancy=max(per_unit.values()),
        rounds=max(int(key[3]) for key in groups),
    )
    add_views(study)
    return study


def _questions(
    study: Study,
    kind: Kind,
    rows: Rows,
    texts: Texts,
    scale: Scale,
) -> dict[str, Question]:
    low, high = scale
    keys = sorted({row["question"] for row in rows})
    worded = {key: texts.get(key, (key, "")) for key in keys}
    made = Question.objects.bulk_create(
        Question(
            study=study,
            key=key,
            kind=kind.name,
            ordinal=ordinal,
            titles={"en": worded[key][0]},
            texts={"en": worded[key][1]} if worded[key][1] else {},
            scale_min=low,
            scale_max=high,
        )
        for ordinal, key in enumerate(keys, start=1)
    )
    return {question.key: question for question in made}


def _store(
    study: Study, groups: dict[SlotKey, Rows], questions: dict[str, Question]
) -> int:
    """Write annotators, units, slots and answers; return the number of slots."""
    annotators = _annotators(study, groups)
    units = _units(study, groups)
    slots = {}
    ordinals: Counter[tuple[str, Methods, str]] = Counter()
    positions: Counter[str] = Counter()
    for key, rows in groups.items():
        story, outputs, annotator, round_ = key
        ordinals[story, outputs, round_] += 1
        positions[annotator] += 1
        slots[key] = Slot(
            study=study,
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
            {questions[row["question"]]: row["answer"] for row in groups[key]},
            submitted_at=_when(groups[key][0]),
            seconds=_seconds(groups[key][0]),
        )
        for key, slot in slots.items()
    )


def _annotators(study: Study, groups: dict[SlotKey, Rows]) -> dict[str, Annotator]:
    now, state = timezone.now(), Annotator.State.FINISHED
    made = Annotator.objects.bulk_create(
        Annotator(study=study, name=name, state=state, finished_at=now)
        for name in sorted({key[2] for key in groups})
    )
    return {annotator.name: annotator for annotator in made}


def _units(
    study: Study, groups: dict[SlotKey, Rows]
) -> dict[tuple[str, Methods], Unit]:
    rows = Output.objects.filter(story__benchmark=study.benchmark)
    outputs = {
        (output.story.key, output.method.name): output
        for output in rows.select_related("story", "method")
    }
    in_rounds = Counter((key[0], key[1], key[3]) for key in groups)
    most: Counter[tuple[str, Methods]] = Counter()
    for (story, methods, _round), number in in_rounds.items():
        most[story, methods] = max(most[story, methods], number)
    units = {}
    for (story, methods), number in sorted(most.items()):
        own = [outputs[story, method] for method in methods]
        units[story, methods] = Unit(
            study=study, story=own[0].story, redundancy=number, **as_fields(own)
        )
    Unit.objects.bulk_create(units.values(), batch_size=500)
    return units


def _a_is_left(row: ScoreRow, outputs: Methods) -> bool | None:
    """Return whether method A was on the left; None if the file does not say."""
    left = row.get("left_method", "")
    if len(outputs) > 1 and not left:
        return None
    return left in ("", outputs[0])


def _when(row: ScoreRow) -> datetime:
    text = str(row.get("submitted_at") or "")
    return as_utc(text) if text else timezone.now()


def _seconds(row: ScoreRow) -> float | None:
    text = str(row.get("seconds") or "")
    return as_number(text) if text else None


def _compare(
    study: Study, benchmark: Benchmark, rows: Rows, file: str
) -> JudgementImport:
    """Accept the same answers again; refuse any others."""
    if study.benchmark.slug != benchmark.slug:
        expected = f"benchmark {study.benchmark.slug}, which study {study.slug} uses"
        raise InputError([Problem(file, expected, value=benchmark.slug)])
    stored: set[tuple[Any, ...]] = set()
    paths = study.output_paths("slot__unit__", "__method")
    for kind in kinds_of(study):
        answers = kind.model.objects.filter(
            slot__study=study, slot__submitted_at__isnull=False
        )
        related = ("question", "annotator", "slot__unit__story", *paths)
        stored |= {
            (
                answer.slot.unit.story.key,
                answer.slot.unit.methods,
                answer.annotator.name,
                str(answer.slot.round),
                answer.question.key,
                answer.value,
            )
            for answer in answers.select_related(*related)
        }
    other = Problems(
        Problem(
            file,
            f"an answer that study {study.slug} has; import others into a new study",
            row[LINE],
            value=f"{row['story']} / {' / '.join(row['outputs'])} / {row['annotator']}",
        )
        for row in rows
        if (*slot_key(row), row["question"], row["answer"]) not in stored
    )
    if other:
        raise InputError(other)
    return JudgementImport(len(rows))
