"""Invite annotators, name them, and remove them from a study."""

from collections.abc import Mapping

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotate import event_log
from annotate.assignment import reassignment
from annotate.models import (
    Annotator,
    Event,
    Invitation,
    JoinLink,
    Purpose,
    Slot,
    Study,
    User,
    new_token,
)
from annotate.responses import giving_back
from annotate.responses.leasing import locked_annotator

MOST_JOINERS = 100_000  # by one public link


def name_people(
    study: Study, people: Mapping[str, int], **fields: object
) -> list[Annotator]:
    """Add annotators of each language; their numbers continue those of the study."""
    first = _next_number(study)
    languages = [name for name, count in people.items() for _i in range(count)]
    width = max(2, len(str(first + len(languages) - 1)))
    return Annotator.objects.bulk_create(
        Annotator(study=study, name=f"A{number:0{width}}", language=language, **fields)
        for number, language in enumerate(languages, start=first)
    )


def new_pseudonym(study: Study) -> str:
    """Return an unused pseudonym. Call with the study locked."""
    return f"A{_next_number(study):02}"


def is_pseudonym(name: str) -> bool:
    """Say whether a name has the form of our pseudonyms, unlike imported names."""
    return name[:1] == "A" and name[1:].isdecimal()


def _next_number(study: Study) -> int:
    names = study.annotators.values_list("name", flat=True)
    return max((int(name[1:]) for name in names if is_pseudonym(name)), default=0) + 1


MOST_SLOTS = 100_000


class InvitingError(ValueError):
    """Invalid request to invite people; the message says why."""


class NobodyWaitsError(InvitingError):
    """No planned annotator is left to invite; other people can still be added."""


@transaction.atomic
def invite(
    study: Study, *, count: int | None = None, note: str = "", user: User | None = None
) -> list[Invitation]:
    """Create links for the next `count` planned annotators, or for all of them."""
    # The lock keeps people from joining by a public link meanwhile.
    study = Study.objects.select_for_update(no_key=True).get(pk=study.pk)
    waiting = list(planned(study))
    wanted = len(waiting) if count is None else count
    if not waiting:
        raise NobodyWaitsError(
            _(
                "This study has no planned annotators: people join by a link, or are "
                "added."
            )
            if study.is_open
            else _(
                "Everybody who was planned is already invited. Add a person instead."
            )
        )
    if not 1 <= wanted <= len(waiting):
        text = ngettext(
            "You asked for %(wanted)d invitations, but %(n)d planned annotator is "
            "waiting.",
            "You asked for %(wanted)d invitations, but %(n)d planned annotators are "
            "waiting.",
            len(waiting),
        )
        raise InvitingError(text % {"wanted": wanted, "n": len(waiting)})
    return [send(annotator, note, user) for annotator in waiting[:wanted]]


def planned(study: Study) -> QuerySet[Annotator]:
    """Return the planned annotators without an invitation, locked, by name."""
    waiting = study.annotators.filter(state=Annotator.State.PLANNED)
    return waiting.select_for_update(no_key=True).order_by("name")


def send(annotator: Annotator, note: str = "", user: User | None = None) -> Invitation:
    """Give an annotator a link; free the slots planned beyond their own cap."""
    annotator.state = Annotator.State.INVITED
    annotator.save(update_fields=["state", "external_id", "language", "cap"])
    if annotator.cap is not None:
        event_log.list_slots(annotator.study, _beyond(annotator), user=user)
    invitation = Invitation.objects.create(
        annotator=annotator, note=note, created_by=user
    )
    _log(Event.Kind.ANNOTATOR_INVITED, annotator, user)
    return invitation


@transaction.atomic
def invite_new(
    study: Study, *, language: str = "", note: str = "", user: User | None = None
) -> Invitation:
    """Add and invite a person without a plan, who takes free slots."""
    study = Study.objects.select_for_update(no_key=True).get(pk=study.pk)
    if study.languages and language not in study.languages:
        raise InvitingError(_("Please choose a language for the new person."))
    if not free_slots(study, language).exists():
        raise InvitingError(
            _(
                "No ratings are available. Remove somebody who has stopped, then add a "
                "person."
            )
        )
    return send(add_person(study, language=language, user=user), note, user)


def free_slots(study: Study, language: str | None = None) -> QuerySet[Slot]:
    """Return the free slots, or those for a language."""
    free = study.slots.filter(
        annotator__isnull=True, state=Slot.State.OPEN, ordinal__isnull=False
    )
    if language is None or not study.languages:
        return free
    return free.filter(language__in=("", language))


def add_person(
    study: Study,
    *,
    language: str = "",
    external_id: str = "",
    cap: int | None = None,
    user: User | None = None,
) -> Annotator:
    """Add a person without a plan. Call with the study locked."""
    (annotator,) = name_people(study, {language: 1}, external_id=external_id, cap=cap)
    _log(Event.Kind.ANNOTATOR_ADDED, annotator, user)
    return annotator


def find_place(
    study: Study,
    *,
    language: str = "",
    external_id: str = "",
    cap: int | None = None,
    user: User | None = None,
) -> Annotator | None:
    """Return a planned annotator to invite, or a new one if slots are free."""
    waiting = planned(study)
    if study.languages:
        waiting = waiting.filter(language=language)
    annotator = waiting.first()
    if annotator is None:
        if not free_slots(study, language).exists():
            return None
        return add_person(
            study, language=language, external_id=external_id, cap=cap, user=user
        )
    annotator.external_id = external_id
    annotator.cap = cap
    return annotator


@transaction.atomic
def reissue(annotator: Annotator, *, user: User | None = None) -> Invitation:
    """Replace a link; the old one stops working, the answers stay."""
    if annotator.state == Annotator.State.REVOKED:
        raise InvitingError(
            _("%(name)s was removed from the study. Add a new person instead.")
            % {"name": annotator.name}
        )
    invitation = annotator.invitation
    invitation.token = new_token()
    invitation.save(update_fields=["token"])
    _log(Event.Kind.LINK_REPLACED, annotator, user)
    return invitation


@transaction.atomic
def revoke(annotator: Annotator, *, user: User | None = None) -> int:
    """Revoke a link, free the unfinished slots and return their number."""
    person = locked_annotator(annotator)
    if person.state == Annotator.State.REVOKED:
        return 0
    Invitation.objects.filter(annotator=annotator, revoked_at__isnull=True).update(
        revoked_at=timezone.now()
    )
    person.state = annotator.state = Annotator.State.REVOKED
    person.save(update_fields=["state"])
    freed = giving_back.free_unfinished(person)
    _log(Event.Kind.ANNOTATOR_REVOKED, annotator, user, freed_slots=freed)
    return freed


@transaction.atomic
def set_cap(annotator: Annotator, cap: int | None, *, user: User | None = None) -> int:
    """Change how many slots a person may fill; return how many become free."""
    check_cap(cap)
    person = locked_annotator(annotator)
    before, person.cap = person.cap, cap
    annotator.cap = cap
    person.save(update_fields=["cap"])
    freed = _beyond(person)
    event_log.list_slots(person.study, freed, user=user)
    _log(
        Event.Kind.STUDY_EDITED,
        person,
        user,
        cap={"before": before, "after": cap},
        freed_slots=len(freed),
    )
    return len(freed)


@transaction.atomic
def add_places(link: JoinLink, more: int, *, user: User | None = None) -> int:
    """Let more people join by a public link; return how many can join in all."""
    locked = JoinLink.objects.select_for_update(no_key=True).get(pk=link.pk)
    if more < 1 or locked.most + more > MOST_JOINERS:
        text = _("Enter a number of places from 1 to %(most)d.")
        raise InvitingError(text % {"most": MOST_JOINERS - locked.most})
    locked.most = link.most = locked.most + more
    locked.save(update_fields=["most"])
    event_log.note(
        Event.Kind.STUDY_EDITED,
        locked.study_id,
        user=user,
        link=locked.pk,
        most=locked.most,
    )
    return locked.most


def check_cap(cap: int | None) -> None:
    if cap is not None and not 1 <= cap <= MOST_SLOTS:
        raise InvitingError(
            _("Enter a limit from 1 to %(most)d, or leave it empty.")
            % {"most": MOST_SLOTS}
        )


def _beyond(person: Annotator) -> list[Slot]:
    """Free the last unbegun slots beyond the cap, and return them."""
    cap = person.most_slots
    if cap is None:
        return []
    held = person.slots.filter(purpose=Purpose.REAL).exclude(state=Slot.State.EXCLUDED)
    unbegun = reassignment.unbegun(person.study).filter(annotator=person)
    last = unbegun.select_for_update(no_key=True).order_by("-position")
    return reassignment.take_back(last[: max(0, held.count() - cap)])


def _log(
    kind: Event.Kind, annotator: Annotator, user: User | None, **details: object
) -> None:
    event_log.note(kind, annotator.study_id, annotator=annotator, user=user, **details)
