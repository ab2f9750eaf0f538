"""What agreement is told of: a question, or the labels of a category."""

from dataclasses import dataclass

from django.utils.translation import gettext as _

from annotate.kinds.base import Kind
from annotate.kinds.registry import kind_of
from annotate.models import Question, Study


@dataclass(frozen=True)
class Topic:
    """A question, or all boxes of one category of a checklist."""

    key: str
    questions: tuple[Question, ...]

    @property
    def kind(self) -> Kind:
        """Return the kind of its questions."""
        return kind_of(self.questions[0])

    @property
    def is_of_shots(self) -> bool:
        """Say whether it is asked of every shot by itself."""
        return self.kind.of_shots

    @property
    def title(self) -> str:
        """Return what it is called, in the reader's language."""
        first = self.questions[0]
        if "|" not in self.key:
            return first.title
        return first.category or _("Labels")


def topics(study: Study) -> list[Topic]:
    """Return the topics of a study; a checklist has too many boxes for one each."""
    found: list[Topic] = []
    by_category: dict[str, list[Question]] = {}
    for question in study.asked:
        if kind_of(question).of_shots:
            name = question.categories.get("en") or question.category
            by_category.setdefault(f"{name}|", []).append(question)
        else:
            found.append(Topic(question.key, (question,)))
    return found + [Topic(key, tuple(boxes)) for key, boxes in by_category.items()]
