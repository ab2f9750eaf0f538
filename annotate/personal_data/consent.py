"""Withdrawing consent: no more work, or no use of what was answered either."""

from dataclasses import dataclass

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from annotate import event_log
from annotate.models import Annotator, Event, Study, User
from annotate.people import inviting
from annotate.quality import exclusion
from annotate.responses.leasing import locked_annotator


class ConsentError(ValueError):
    """There is no consent to withdraw; the message says why."""


@dataclass(frozen=True)
class Withdrawn:
    """What a withdrawal did: slots freed, and slots left out of every analysis."""

    freed: int
    left_out: int


@transaction.atomic
def withdraw(
    annotator: Annotator, *, answers: bool, user: User | None = None
) -> Withdrawn:
    """Ask somebody for nothing more; with `answers`, use none of theirs."""
    if annotator.state == Annotator.State.PLANNED:
        text = _("Nobody was invited as %(name)s; there is no consent to withdraw.")
        raise ConsentError(text % {"name": annotator.name})
    if answers:  # nobody chooses views meanwhile
        Study.objects.select_for_update(no_key=True).get(pk=annotator.study_id)
    person = locked_annotator(annotator)
    is_new = person.withdrawn_at is None or (answers and not person.answers_withdrawn)
    person.withdrawn_at = person.withdrawn_at or timezone.now()
    person.answers_withdrawn = person.answers_withdrawn or answers
    person.save(update_fields=["withdrawn_at", "answers_withdrawn"])
    left_out = 0
    if is_new and answers:
        left_out = exclusion.withdraw_answers(person, author=user)
    freed = inviting.revoke(person, user=user)  # locks slots: units are locked by now
    if is_new:
        event_log.note(
            Event.Kind.CONSENT_WITHDRAWN,
            person.study_id,
            annotator=person,
            user=user,
            left_out=left_out,
        )
    annotator.refresh_from_db()
    return Withdrawn(freed, left_out)
