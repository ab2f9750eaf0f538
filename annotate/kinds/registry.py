"""Registry of the kinds of questions.

Each folder here with a `kind.py` is a kind; its `KIND` is registered by name.
"""

from collections.abc import Iterable, Iterator
from functools import reduce
from importlib import import_module
from operator import or_
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from django.db.models import F, QuerySet
from pydantic import Field

from annotate.kinds.base import Kind
from annotate.kinds.question import QuestionDefinition
from annotate.models import Answer, Purpose, Question, Slot, Study


def _all_kinds() -> Iterator[Kind]:
    for path in Path(__file__).parent.glob("*/kind.py"):
        yield import_module(f"annotate.kinds.{path.parent.name}.kind").KIND


KINDS: dict[str, Kind] = {
    kind.name: kind for kind in sorted(_all_kinds(), key=lambda kind: kind.place)
}
# A question of a study file, with the fields of its kind.
if TYPE_CHECKING:
    AnyQuestion = QuestionDefinition
else:
    AnyQuestion = Annotated[
        reduce(or_, [kind.definition for kind in KINDS.values()]),
        Field(discriminator="kind"),
    ]


def kind_of(question: Question) -> Kind:
    return KINDS[question.kind]


def counted_answers(*questions: Question) -> QuerySet[Any]:
    """Return the answers that count to questions with the same kind, unordered."""
    answers: QuerySet[Any] = kind_of(questions[0]).model.objects.filter(
        question__in=questions,
        is_current=True,
        annotator=F("slot__annotator"),
        slot__state=Slot.State.SUBMITTED,
        slot__ordinal__isnull=False,
        slot__purpose=Purpose.REAL,
    )
    return answers.order_by()


def is_required(question: Question) -> bool:
    """Return whether a unit cannot be submitted without an answer to a question."""
    return not kind_of(question).is_optional or bool(question.anchors.get("required"))


def kind_of_table(table: str) -> Kind:
    """Return the kind whose answers about whole outputs a table holds."""
    kinds = (kind for kind in KINDS.values() if table in kind.tables)
    return next(kind for kind in kinds if not kind.of_shots)


def kinds_named(names: Iterable[str]) -> list[Kind]:
    """Return the kinds without duplicates, counted kinds first."""
    kinds = [KINDS[name] for name in dict.fromkeys(names)]
    return sorted(kinds, key=lambda kind: not kind.is_counted)


def kinds_of(study: Study) -> list[Kind]:
    return kinds_named(question.kind for question in study.asked)


def counted(questions: Iterable[Question]) -> list[Question]:
    """Return the questions whose answers reports, agreement and checks use."""
    return [question for question in questions if kind_of(question).is_counted]


def asks_of_shots(study: Study) -> bool:
    return any(kind.of_shots for kind in kinds_of(study))


def tables_of(study: Study) -> dict[type[Answer], list[Kind]]:
    """Return the tables that hold a study's answers, with the kinds in each."""
    tables: dict[type[Answer], list[Kind]] = {}
    for kind in kinds_of(study):
        tables.setdefault(kind.model, []).append(kind)
    return tables


def whole_tables(study: Study) -> dict[type[Answer], list[str]]:
    """Return the tables of answers to whole units, with the names of their kinds."""
    tables = {
        model: [kind.name for kind in kinds if not kind.of_shots]
        for model, kinds in tables_of(study).items()
    }
    return {model: names for model, names in tables.items() if names}


def answer_tables(study: Study, *, only_counted: bool = False) -> list[str]:
    """Return the names of a study's exported answer tables."""
    kinds = kinds_of(study)
    used = [kind for kind in kinds if kind.is_counted or not only_counted]
    return list(dict.fromkeys(table for kind in used for table in kind.tables))


def drafted_pairs(study: Study) -> set[int]:
    """Return the slots of pairs that have answers, whose sides must not change."""
    if study.outputs_at_once != 2:
        return set()
    return {
        slot
        for model in tables_of(study)
        for slot in model.objects.filter(slot__study=study).values_list(
            "slot", flat=True
        )
    }
