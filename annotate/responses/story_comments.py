"""What annotators write about whole stories, where the study asks for it."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

from django.db.models import F, Manager, QuerySet
from django.utils import timezone

from annotate.kinds.errors import BadAnswerError
from annotate.models import ShotComment, Slot, StoryComment
from annotate.responses.writing import Held, Place, Row, sent_before

LONGEST_COMMENT = 4000
Comment = TypeVar("Comment", ShotComment, StoryComment)


@dataclass(frozen=True, kw_only=True)
class CommentRow(Row):
    """What an annotator writes about a story; an empty text takes it back."""

    text: str

    @property
    def place(self) -> Place:
        return ("comment",)

    def store(self, held: Held) -> None:
        if not held.slot.study.presentation.get("comments"):
            raise BadAnswerError("This study takes no comments.")
        own = held.person.story_comments
        keep(own, {"slot": held.open()}, self.text, self.client_key)


def keep(own: Manager[Comment], of: dict[str, Any], text: str, key: str) -> None:
    """Store a person's comment on this; the caller has the slot locked."""
    text = text.strip()[:LONGEST_COMMENT]
    before = own.filter(**of).first()
    if before and sent_before(key, [before]):
        return
    if before and not text:
        before.delete()
    elif before and before.text == text:
        own.filter(**of).update(client_key=key or before.client_key)
    elif text:
        fields = {"text": text, "written_at": timezone.now(), "client_key": key}
        own.update_or_create(**of, defaults=fields)


def of_holder(rows: QuerySet[Comment]) -> QuerySet[Comment]:
    """Return what those wrote who hold the slots, not those who lost them."""
    return rows.filter(annotator=F("slot__annotator"))


def by_slot(slots: Iterable[Slot]) -> dict[int, str]:
    """Return what those who hold the slots wrote, of each slot that has a comment."""
    written = of_holder(StoryComment.objects.filter(slot__in=slots))
    return dict(written.values_list("slot", "text"))


def on_page(slot: Slot) -> dict[str, str]:
    """Return what the page shows of it; nothing where the study takes none."""
    if not slot.study.presentation.get("comments"):
        return {}
    return {"comment": by_slot([slot]).get(slot.pk, "")}
