"""Import ratings and choices that people gave elsewhere."""

from collections import defaultdict
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from django.db import transaction
from django.utils import timezone

from analysis.tables import FLAGS, InputError, Problem
from annotate.models import Annotator, Event, Question, Slot, Study, Unit
from annotate.rating import Judgement, store_judgements
from evalcore.importing.scores import Names
from evalcore.models import Benchmark, Output

if TYPE_CHECKING:
    import pandas as pd

Row = dict


@dataclass
class Summary:
    """What an import did."""

    rows: int
    slots: int = 0

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
) -> Summary:
    """Store ratings as a closed Likert study; a second time changes nothing.

    All dimensions of one (story, method, annotator, round) become one slot with one
    answer a question. Means of raters are refused: they are no answers.

    Raises
    ------
    InputError
        With every problem; nothing was written.
    """
    rows = _rows(ratings)
    problems = _row_problems(rows, file, benchmark, create, ("method",))
    for row in rows:
        if row["rating"] != int(row["rating"]):
            expected = (
                "a whole number; means of raters are analysed by python -m analysis"
            )
            problems.append(
                Problem(file, expected, row["line"], "rating", str(row["rating"]))
            )
        if row.get("shot"):
            problems.append(
                Problem(
                    file, "no shot: answers judge whole stories", row["line"], "shot"
                )
            )
    if problems:
        raise InputError(sorted(problems, key=lambda p: p.line or 0))
    for row in rows:
        row["outputs"] = (row["method"],)
        row["question"] = row["dimension"]
        row["answer"] = int(row["rating"])
    return _import(rows, study, benchmark, file, Study.Protocol.LIKERT, create, scale)


def import_choices(
    choices: "pd.DataFrame",
    *,
    study: str,
    benchmark: Benchmark,
    file: str,
    create: bool = False,
) -> Summary:
    """Store choices as a closed pairwise study; a second time changes nothing.

    Raises
    ------
    InputError
        With every problem; nothing was written.
    """
    rows = _rows(choices)
    problems = _row_problems(rows, file, benchmark, create, ("method_a", "method_b"))
    if problems:
        raise InputError(sorted(problems, key=lambda p: p.line or 0))
    for row in rows:
        row["outputs"] = (row["method_a"], row["method_b"])
        row["question"] = row["criterion"]
        row["answer"] = row["choice"]
    return _import(rows, study, benchmark, file, Study.Protocol.PAIRWISE, create, None)


def _rows(frame: "pd.DataFrame") -> list[Row]:
    return frame.reset_index(names="line").to_dict("records")


def _row_problems(
    rows: list[Row],
    file: str,
    benchmark: Benchmark,
    create: bool,
    columns: tuple[str, ...],
) -> list[Problem]:
    names = Names(benchmark, create=create)
    problems = []
    for row in rows:
        if not row["story"]:
            expected = "a story; method-level means are analysed by python -m analysis"
            problems.append(Problem(file, expected, row["line"], "story"))
            continue
        for column in columns:
            problem = names.problem(file, row["line"], row["story"], row[column])
            if problem is not None:
                problems.append(problem)
        problems += [
            Problem(
                file, "an answer that counts; leave such rows out", row["line"], flag
            )
            for flag in FLAGS
            if row.get(flag)
        ]
    return problems


def _import(
    rows: list[Row],
    slug: str,
    benchmark: Benchmark,
    file: str,
    protocol: str,
    create: bool,
    scale: tuple[int, int] | None,
) -> Summary:
    existing = Study.objects.filter(slug=slug).first()
    if existing is not None:
        return _compare(existing, rows, file)
    with transaction.atomic():
        names = Names(benchmark, create=create)
        names.add_missing({(r["story"], m) for r in rows for m in r["outputs"]})
        importer = _Importer(rows, slug, benchmark, protocol, scale)
        slots = importer.store()
        Event.objects.create(
            study=importer.study,
            kind=Event.Kind.ANSWERS_IMPORTED,
            details={"file": file, "answers": len(rows), "slots": slots},
        )
    return Summary(len(rows), slots)


class _Importer:
    """Builds the study that the rows imply."""

    def __init__(
        self,
        rows: list[Row],
        slug: str,
        benchmark: Benchmark,
        protocol: str,
        scale: tuple[int, int] | None,
    ) -> None:
        self.rows = rows
        self.groups: dict[tuple, list[Row]] = defaultdict(list)
        for row in rows:
            self.groups[_slot_key(row)].append(row)
        per_unit: dict[tuple, int] = defaultdict(int)
        for story, outputs, _annotator, round_ in self.groups:
            per_unit[story, outputs, round_] += 1
        self.study = Study.objects.create(
            slug=slug,
            title=slug,
            benchmark=benchmark,
            protocol=protocol,
            state=Study.State.CLOSED,
            redundancy=max(per_unit.values()),
            rounds=max(int(key[3]) for key in self.groups),
        )
        self.scale = scale

    def store(self) -> int:
        """Write everything and return the number of slots."""
        questions = self._questions()
        annotators = self._annotators()
        units = self._units()
        slots = {}
        ordinals: dict[tuple, int] = defaultdict(int)
        positions: dict[str, int] = defaultdict(int)
        for key, rows in self.groups.items():
            story, outputs, annotator, round_ = key
            ordinals[story, outputs, round_] += 1
            positions[annotator] += 1
            slots[key] = Slot(
                study=self.study,
                unit=units[story, outputs],
                round=int(round_),
                ordinal=ordinals[story, outputs, round_],
                annotator=annotators[annotator],
                session=1,
                position=positions[annotator],
                a_is_left=rows[0].get("left_method", "") in ("", outputs[0]),
            )
        Slot.objects.bulk_create(slots.values(), batch_size=500)
        return store_judgements(
            Judgement(
                slot,
                {questions[r["question"]]: r["answer"] for r in self.groups[key]},
                _when(self.groups[key][0]),
                _seconds(self.groups[key][0]),
            )
            for key, slot in slots.items()
        )

    def _questions(self) -> dict[str, Question]:
        keys = sorted({row["question"] for row in self.rows})
        low, high = self.scale or (None, None)
        rows = [
            Question(
                study=self.study,
                key=key,
                ordinal=ordinal,
                titles={"en": key},
                texts={},
                scale_min=low,
                scale_max=high,
            )
            for ordinal, key in enumerate(keys, start=1)
        ]
        return {q.key: q for q in Question.objects.bulk_create(rows)}

    def _annotators(self) -> dict[str, Annotator]:
        names = sorted({row["annotator"] for row in self.rows})
        now = timezone.now()
        rows = [
            Annotator(
                study=self.study,
                name=name,
                state=Annotator.State.FINISHED,
                finished_at=now,
            )
            for name in names
        ]
        return {a.name: a for a in Annotator.objects.bulk_create(rows)}

    def _units(self) -> dict[tuple, Unit]:
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
                    output_a=shown[0],
                    output_b=shown[1] if len(shown) > 1 else None,
                )
            )
        created = Unit.objects.bulk_create(rows, batch_size=500)
        return dict(zip(keys, created, strict=True))


def _slot_key(row: Row) -> tuple:
    return row["story"], row["outputs"], row["annotator"], row.get("round") or "1"


def _when(row: Row) -> datetime:
    text = str(row.get("submitted_at") or "")
    try:
        when = datetime.fromisoformat(text)
    except ValueError:
        return timezone.now()
    return when if when.tzinfo else when.replace(tzinfo=UTC)


def _seconds(row: Row) -> float | None:
    try:
        return float(row.get("seconds") or "")
    except ValueError:
        return None


def _compare(study: Study, rows: list[Row], file: str) -> Summary:
    """Accept a second import of the same answers; refuse any other."""
    model = "choices" if study.is_pairwise else "ratings"
    stored = set()
    for slot in (
        study.slots.filter(submitted_at__isnull=False)
        .select_related(
            "annotator",
            "unit__story",
            "unit__output_a__method",
            "unit__output_b__method",
        )
        .prefetch_related(f"{model}__question")
    ):
        methods = [slot.unit.output_a.method.name]
        if slot.unit.output_b is not None:
            methods.append(slot.unit.output_b.method.name)
        for answer in getattr(slot, model).all():
            stored.add(
                (slot.unit.story.key, tuple(methods), slot.annotator.name,
                 str(slot.round), answer.question.key, answer.value)
            )  # fmt: skip
    other = [
        Problem(
            file,
            f"an answer that study {study.slug} already has; import into a new study",
            row["line"],
            value=f"{row['story']} / {' / '.join(row['outputs'])} / {row['annotator']}",
        )
        for row in rows
        if (*_slot_key(row), row["question"], row["answer"]) not in stored
    ]
    if other:
        raise InputError(other)
    return Summary(len(rows))
