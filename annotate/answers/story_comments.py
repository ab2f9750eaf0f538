"""What annotators write about whole stories, where the study asks for it.

Who loses a slot keeps what they wrote; whoever gets it does not see that.
"""

from collections.abc import Iterable
from typing import TypeVar

from django.db import transaction
from django.db.models import F, QuerySet
from django.utils import timezone

from annotate.models import Annotator, ShotComment, Slot, StoryComment
from annotate.slots.errors import BadAnswerError
from annotate.slots.locking import locked_annotator, locked_slot, refuse_unless_held

LONGEST_COMMENT = 4000
Comment = TypeVar("Comment", ShotComment, StoryComment)


def record(*, slot: Slot, annotator: Annotator, text: str) -> None:
    """Store what an annotator writes about a story; an empty text takes it back.

    What is longer than `LONGEST_COMMENT` is cut.
    """
    if not slot.study.presentation.get("comments"):
        raise BadAnswerError("This study takes no comments.")
    kept = text.strip()[:LONGEST_COMMENT]
    with transaction.atomic():
        person = locked_annotator(annotator)
        held = locked_slot(slot.pk, person.study)
        refuse_unless_held(held, person)
        own = person.story_comments.filter(slot=held)
        if not kept:
            own.delete()
        elif not own.filter(text=kept).exists():
            fields = {"text": kept, "written_at": timezone.now()}
            person.story_comments.update_or_create(slot=held, defaults=fields)


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
