"""Links in and out: inviting, replacing a lost link, revoking."""

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotate import leasing, log
from annotate.models import Annotator, Event, Invitation, Slot, Study, User, new_token
from annotate.rating import locked_annotator


class InvitingError(ValueError):
    """Nobody can be invited as asked; the message says why."""


@transaction.atomic
def invite(
    study: Study, *, count: int | None = None, note: str = "", user: User | None = None
) -> list[Invitation]:
    """Create links for the next planned annotators; without count for all of them."""
    waiting = list(
        study.annotators.select_for_update(no_key=True)
        .filter(state=Annotator.State.PLANNED)
        .order_by("name")
    )
    wanted = len(waiting) if count is None else count
    if not waiting:
        raise InvitingError(
            _("Everybody who was planned is invited already; add a person.")
        )
    if not 1 <= wanted <= len(waiting):
        text = ngettext(
            "%(wanted)d invitations were asked for; %(n)d planned annotator waits.",
            "%(wanted)d invitations were asked for; %(n)d planned annotators wait.",
            len(waiting),
        )
        raise InvitingError(text % {"wanted": wanted, "n": len(waiting)})
    return [_invite(annotator, note, user) for annotator in waiting[:wanted]]


def _invite(annotator: Annotator, note: str, user: User | None) -> Invitation:
    annotator.state = Annotator.State.INVITED
    annotator.save(update_fields=["state"])
    invitation = Invitation.objects.create(
        annotator=annotator, note=note, created_by=user
    )
    _log(Event.Kind.ANNOTATOR_INVITED, annotator, user)
    return invitation


@transaction.atomic
def invite_new(study: Study, *, note: str = "", user: User | None = None) -> Invitation:
    """Add and invite a person without a plan, who takes over free slots one by one."""
    study = Study.objects.select_for_update(no_key=True).get(pk=study.pk)
    free = study.slots.filter(annotator__isnull=True, state=Slot.State.OPEN)
    if not free.exists():
        raise InvitingError(
            _("No slot is free; revoke somebody who has stopped, then add a person.")
        )
    numbers = [
        int(name[1:])
        for name in study.annotators.values_list("name", flat=True)
        if name[:1] == "A" and name[1:].isdecimal()
    ]
    name = f"A{max(numbers, default=0) + 1:02}"
    annotator = Annotator.objects.create(study=study, name=name)
    _log(Event.Kind.ANNOTATOR_ADDED, annotator, user)
    return _invite(annotator, note, user)


@transaction.atomic
def reissue(annotator: Annotator, *, user: User | None = None) -> Invitation:
    """Replace a lost link; the old one stops working, the answers stay."""
    if annotator.state == Annotator.State.REVOKED:
        raise InvitingError(
            _("%(name)s was revoked; add a new person instead.")
            % {"name": annotator.name}
        )
    invitation = annotator.invitation
    invitation.token = new_token()
    invitation.save(update_fields=["token"])
    _log(Event.Kind.LINK_REPLACED, annotator, user)
    return invitation


@transaction.atomic
def revoke(annotator: Annotator, *, user: User | None = None) -> int:
    """Close a link and free the slots that are not submitted; return how many.

    Submitted answers stay, and drafts stay with the annotator. A second time changes
    nothing.
    """
    person = locked_annotator(annotator)
    if person.state == Annotator.State.REVOKED:
        return 0
    Invitation.objects.filter(annotator=annotator, revoked_at__isnull=True).update(
        revoked_at=timezone.now()
    )
    person.state = annotator.state = Annotator.State.REVOKED
    person.save(update_fields=["state"])
    freed = leasing.free_unfinished(person)
    _log(Event.Kind.ANNOTATOR_REVOKED, annotator, user, freed_slots=freed)
    return freed


def _log(kind: str, annotator: Annotator, user: User | None, **details: object) -> None:
    log.note(kind, annotator.study_id, annotator=annotator, user=user, **details)
