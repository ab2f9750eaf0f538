"""Which kinds of questions there are, and which a study has."""

from typing import Annotated

from pydantic import Field

from annotate.kinds.base import Kind
from annotate.kinds.checklist.kind import ChecklistKind, Label
from annotate.kinds.choice.kind import ChoiceKind, ChoiceQuestion
from annotate.kinds.likert.kind import LikertKind, LikertQuestion
from annotate.kinds.ranking.kind import RankingKind, RankingQuestion
from annotate.models import Answer, Question, Study

KINDS: dict[str, Kind] = {
    kind.name: kind
    for kind in (LikertKind(), ChoiceKind(), ChecklistKind(), RankingKind())
}
# A question of a study file; its kind says what else it may have.
AnyQuestion = Annotated[
    LikertQuestion | ChoiceQuestion | Label | RankingQuestion,
    Field(discriminator="kind"),
]


def kind_of(question: Question) -> Kind:
    return KINDS[question.kind]


def kinds_of(study: Study) -> list[Kind]:
    """Return the kinds of a study's questions, each once."""
    names = dict.fromkeys(question.kind for question in study.asked)
    return [KINDS[name] for name in names]


def asks_of_shots(study: Study) -> bool:
    return any(kind.of_shots for kind in kinds_of(study))


def tables_of(study: Study) -> dict[type[Answer], list[Kind]]:
    """Return the tables that hold a study's answers, with the kinds in each."""
    found: dict[type[Answer], list[Kind]] = {}
    for kind in kinds_of(study):
        found.setdefault(kind.model, []).append(kind)
    return found


def answer_tables(study: Study) -> list[str]:
    """Return the names of the tables of a study's answers, as researchers get them."""
    return list(dict.fromkeys(kind.table for kind in kinds_of(study)))
