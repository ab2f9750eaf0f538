"""Erasing a person: the answers stay under a pseudonym that is nobody's any more."""

from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from annotate import event_log
from annotate.models import (
    Annotator,
    Event,
    Exclusion,
    Invitation,
    Study,
    User,
    mark_of,
)
from annotate.people import inviting
from annotate.people.naming import is_pseudonym, new_pseudonym
from annotate.personal_data.named import is_telling, replaced
from annotate.quality.exclusion import LONGEST_REASON
from annotate.responses.leasing import locked_annotator

Kind = Event.Kind
# What tells of people by their names in the tables.
NAMING = (Kind.SECOND_LINK, Kind.SLOTS_ASSIGNED)


class ErasingError(ValueError):
    """There is nobody to erase; the message says why."""


@dataclass(frozen=True)
class Erased:
    """What an erasure did: slots freed, comments gone; False: nothing, once more."""

    freed: int
    comments: int
    is_new: bool


@transaction.atomic
def erase(
    annotator: Annotator, *, comments: bool = False, user: User | None = None
) -> Erased:
    """Erase a person, and their free texts with `comments`."""
    if annotator.state == Annotator.State.PLANNED:
        text = _("Nobody was invited as %(name)s; there is nothing to erase.")
        raise ErasingError(text % {"name": annotator.name})
    if annotator.study.is_imported:  # whoever locks both locks the study first
        Study.objects.select_for_update(no_key=True).get(pk=annotator.study_id)
    freed = inviting.revoke(annotator, user=user)
    person = locked_annotator(annotator)
    is_new = person.erased_at is None
    if is_new:
        _forget(person)
    gone = _erase_comments(person) if comments else 0
    if is_new or gone:
        event_log.note(
            Kind.PERSON_ERASED,
            person.study_id,
            annotator=person,
            user=user,
            comments=gone,
        )
    annotator.refresh_from_db()
    return Erased(freed, gone, is_new)


def _forget(person: Annotator) -> None:
    names = [person.external_id]
    if person.study.is_imported and not is_pseudonym(person.name):
        # It came with the file, and may be the person's own.
        names.append(person.name)
        person.name = new_pseudonym(person.study)
        _rename(names[-1], person)
    person.external_id = person.completion_code = ""
    person.erased_at = timezone.now()
    person.save(update_fields=["name", "external_id", "completion_code", "erased_at"])
    invitation = Invitation.objects.filter(annotator=person).first()
    if invitation is not None:
        invitation.token, invitation.note = mark_of(invitation.token), ""
        invitation.save(update_fields=["token", "note"])
    for event in person.study.events.filter(
        annotator=person, kind=Kind.ANNOTATOR_JOINED, details__has_key="network"
    ):
        details = {k: v for k, v in event.details.items() if k != "network"}
        Event.objects.strike_out(event.pk, details)
    telling = [name for name in names if is_telling(name) and not is_pseudonym(name)]
    _strike_out(telling, person)


def _strike_out(names: list[str], person: Annotator) -> None:
    """Write the pseudonym where managers named the person in a reason."""
    if not names:
        return
    for row in Exclusion.objects.filter(slot__study=person.study_id):
        reason = replaced(row.reason, names, person.name)[:LONGEST_REASON]
        if reason != row.reason:
            Exclusion.objects.filter(pk=row.pk).update(reason=reason)
    events = person.study.events.filter(kind=Kind.SLOT_EXCLUDED)
    for event, details in events.values_list("pk", "details"):
        reason = replaced(details.get("reason", ""), names, person.name)
        if reason != details.get("reason", ""):
            Event.objects.strike_out(event, details | {"reason": reason})


def _rename(before: str, person: Annotator) -> None:
    """Let the log call somebody of an imported table by the pseudonym."""
    events = person.study.events.filter(kind__in=NAMING)
    for event, details in events.values_list("pk", "details"):
        renamed = _renamed(details, before, person.name)
        if renamed != details:
            Event.objects.strike_out(event, renamed)


def _renamed(value: Any, before: str, after: str) -> Any:
    if isinstance(value, dict):
        return {
            after if key == before else key: _renamed(one, before, after)
            for key, one in value.items()
        }
    return after if value == before else value


def comments_of(person: Annotator) -> int:
    """Return how many comments somebody wrote, reasons of skipping among them."""
    said = person.skips.exclude(comment="")
    return person.story_comments.count() + person.shot_comments.count() + said.count()


def _erase_comments(person: Annotator) -> int:
    """Erase what somebody wrote freely; that they skipped a story stays."""
    stories, _rows = person.story_comments.all().delete()
    shots, _rows = person.shot_comments.all().delete()
    skips = person.skips.exclude(comment="").update(comment="")
    return stories + shots + skips
