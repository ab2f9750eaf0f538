"""What agreement is told of: a question, or the labels of a category."""

from dataclasses import dataclass

from django.utils.translation import gettext as _

from annotate.models import Question, Study


@dataclass(frozen=True)
class Topic:
    """A question, or all boxes of one category of a checklist."""

    key: str
    questions: tuple[Question, ...]

    @property
    def title(self) -> str:
        """Return what it is called, in the reader's language."""
        first = self.questions[0]
        if "|" not in self.key:
            return first.title
        return first.category or _("Labels")


def topics(study: Study) -> list[Topic]:
    """Return the topics of a study; a checklist has too many boxes for one each."""
    questions = list(study.questions.all())
    if not study.is_checklist:
        return [Topic(question.key, (question,)) for question in questions]
    by_category: dict[str, list[Question]] = {}
    for question in questions:
        name = question.categories.get("en") or question.category
        by_category.setdefault(f"{name}|", []).append(question)
    return [Topic(key, tuple(boxes)) for key, boxes in by_category.items()]
