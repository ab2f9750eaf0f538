"""Withdraw consent, and erase people on request or after the retention period."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from annotate import event_log
from annotate.kinds.registry import KINDS
from annotate.models import (
    Annotator,
    Event,
    Exclusion,
    Invitation,
    Payment,
    Study,
    User,
    mark_of,
)
from annotate.people import inviting
from annotate.people.inviting import is_pseudonym, new_pseudonym
from annotate.personal_data.record import is_telling, replaced
from annotate.quality import exclusion
from annotate.quality.exclusion import LONGEST_REASON
from annotate.responses.leasing import locked_annotator


class ConsentError(ValueError):
    """There is no consent to withdraw; the message says why."""


@dataclass(frozen=True)
class Withdrawn:
    """Result of a withdrawal: slots freed, and slots left out of every analysis."""

    freed: int
    left_out: int


@transaction.atomic
def withdraw(
    annotator: Annotator, *, answers: bool, user: User | None = None
) -> Withdrawn:
    """End an annotator's participation; with `answers`, also exclude all answers."""
    if annotator.state == Annotator.State.PLANNED:
        text = _("%(name)s was never invited, so there is no consent to withdraw.")
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
    freed = inviting.revoke(person, user=user)  # locks slots: units are locked already
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


Kind = Event.Kind
# Rows that identify people by their names in the tables.
NAMING = (Kind.SECOND_LINK, Kind.SLOTS_ASSIGNED)


class ErasingError(ValueError):
    """There is nobody to erase; the message says why."""


@dataclass(frozen=True)
class Erased:
    """Result of an erasure: slots freed, comments erased; false if done before."""

    freed: int
    comments: int
    is_new: bool


@transaction.atomic
def erase(
    annotator: Annotator, *, comments: bool = False, user: User | None = None
) -> Erased:
    """Erase a person, and their free texts with `comments`."""
    if annotator.state == Annotator.State.PLANNED:
        text = _("%(name)s was never invited, so there is nothing to erase.")
        raise ErasingError(text % {"name": annotator.name})
    if annotator.study.is_imported:  # the study is locked first
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
        person.study.exports.all().delete()  # their files hold the name
    person.external_id = person.completion_code = ""
    person.erased_at = timezone.now()
    person.save(update_fields=["name", "external_id", "completion_code", "erased_at"])
    person.visits.all().delete()
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
    """Replace the person's name in managers' reasons by the pseudonym."""
    if not names:
        return
    for row in Exclusion.objects.filter(slot__study=person.study_id):
        reason = replaced(row.reason, names, person.name)[:LONGEST_REASON]
        if reason != row.reason:
            Exclusion.objects.filter(pk=row.pk).update(reason=reason)
    for payment in Payment.objects.filter(annotator__study=person.study_id):
        reason = replaced(payment.reason, names, person.name)[:LONGEST_REASON]
        if reason != payment.reason:
            Payment.objects.filter(pk=payment.pk).update(reason=reason)
    events = person.study.events.filter(
        kind__in=(Kind.SLOT_EXCLUDED, Kind.PAYMENT_DECIDED)
    )
    for event, details in events.values_list("pk", "details"):
        reason = replaced(details.get("reason", ""), names, person.name)
        if reason != details.get("reason", ""):
            Event.objects.strike_out(event, details | {"reason": reason})


def _rename(before: str, person: Annotator) -> None:
    """Rename an imported annotator to the pseudonym in the log."""
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
    """Return the number of an annotator's texts, reasons for skipping included."""
    comments = person.story_comments.count() + person.shot_comments.count()
    return comments + sum(rows.count() for rows, _column in _texts(person))


def _texts(person: Annotator) -> list[tuple[QuerySet[Any], str]]:
    """Return the rows that stay when their texts are erased, and the columns."""
    models = {kind.model for kind in KINDS.values() if kind.is_free_text}
    answers = [(model.objects.filter(annotator=person), "value") for model in models]
    found = [(person.skips.all(), "comment"), *answers]
    return [(rows.exclude(**{column: ""}), column) for rows, column in found]


def _erase_comments(person: Annotator) -> int:
    """Erase an annotator's free texts; skips and answers stay."""
    stories, _rows = person.story_comments.all().delete()
    shots, _rows = person.shot_comments.all().delete()
    texts = sum(rows.update(**{column: ""}) for rows, column in _texts(person))
    person.study.exports.all().delete()  # their files hold the texts; a sweep follows
    return stories + shots + texts


def due_at(study: Study) -> datetime | None:
    """Return the date on which the annotators' personal data are erased, if any."""
    if study.is_imported or not settings.RETENTION_DAYS:
        return None
    if study.state != Study.State.CLOSED:
        return None
    ends = study.events.filter(kind=Event.Kind.STUDY_CLOSED).order_by("-id")
    closed = ends.values_list("at", flat=True).first()
    return closed + timedelta(days=settings.RETENTION_DAYS) if closed else None


def kept(study: Study) -> QuerySet[Annotator]:
    """Return the annotators with stored personal data, by name."""
    people = study.annotators.filter(erased_at__isnull=True)
    return people.exclude(state=Annotator.State.PLANNED).order_by("name")


def plans() -> Iterator[tuple[Study, datetime, list[Annotator]]]:
    """Yield each study with data to be erased, the date, and the annotators."""
    for study in Study.objects.filter(state=Study.State.CLOSED).order_by("slug"):
        at, people = due_at(study), list(kept(study))
        if at is not None and people:
            yield study, at, people


def erase_due() -> int:
    """Erase annotators whose retention has ended; return how many."""
    now, erased, failed = timezone.now(), 0, []
    for study, at, people in plans():
        for person in people if at <= now else ():
            try:
                erase(person)
            except Exception as error:  # noqa: BLE001 - raised when the others are gone
                error.add_note(
                    f"{person.name} of {study.slug} is due, but could not be erased."
                )
                failed.append(error)
            else:
                erased += 1
    if failed:
        raise ExceptionGroup(f"Not erased: {len(failed)}", failed)
    return erased
