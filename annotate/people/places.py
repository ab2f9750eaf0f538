"""Places of public links: given up, given to others, and taken again."""

from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Exists, F, OuterRef, Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from annotate import event_log
from annotate.models import (
    Annotator,
    Event,
    Invitation,
    JoinLink,
    Slot,
    Study,
    User,
)
from annotate.people import inviting
from annotate.people.inviting import InvitingError
from annotate.people.outcomes import platform_of
from annotate.responses import giving_back
from annotate.responses.leasing import locked_annotator

MOST_JOINERS = 100_000
# Without any sign of life for so long, a place can be given to somebody else.
KEPT = timedelta(minutes=30)
# Platforms reserve a place for about ten minutes, then send somebody else.
KEPT_UNBEGUN = timedelta(minutes=10)
# So many people who were away are locked at most, to free one or two places.
MOST_LOCKED = 20

State = Annotator.State
WAITING = (State.INVITED, State.ACTIVE)
SIGNS = ("last_seen_at", "instructed_at", "consented_at")


class JoiningError(ValueError):
    """A link that nobody can join through now; the message says why."""


def has_unused_place(link: JoinLink, quiet: timedelta | None = None) -> bool:
    """Say whether a place of a link has been unused for so long."""
    return _unused(link.study, quiet).filter(place=link).exists()


def lock_unused(study: Study, link: JoinLink | None = None) -> list[Annotator]:
    """Lock the people whose places can be freed, and return those still away.

    All are locked before the first place is freed, as nothing may be locked after it.
    """
    away = _unused(study).order_by("pk").values_list("pk", flat=True)
    pks = [*away.filter(place=link)[:MOST_LOCKED]] if link else []
    pks += away.exclude(pk__in=pks)[:MOST_LOCKED]
    _lock(pks)
    # Somebody may have begun while this waited for the locks.
    return list(_unused(study).filter(pk__in=pks).order_by("pk"))


def _lock(people: list[int]) -> None:
    rows = Annotator.objects.filter(pk__in=people).order_by("pk")
    list(rows.select_for_update(no_key=True).values_list("pk"))


def free_one(unused: list[Annotator], link: JoinLink | None = None) -> bool:
    """Free the first place of locked people, at this link if given."""
    for person in unused:
        if link is None or person.place_id == link.pk:
            unused.remove(person)
            _give_up(person)
            return True
    return False


def _give_up(person: Annotator) -> None:
    """Free the place and the work of a locked person, who may come back."""
    if person.state == State.PAUSED:  # a manager decides about them
        giving_back.free_unfinished(person)
        inviting.release_place(person)
        return
    inviting.revoke(person)
    Annotator.objects.filter(pk=person.pk).update(left_at=timezone.now())


def _unused(study: Study, quiet: timedelta | None = None) -> QuerySet[Annotator]:
    """Return people with a place, but without a sign of life for so long.

    On a platform that sends somebody else for everyone who left, work that was begun
    does not keep a place.
    """
    now, refills = timezone.now(), platform_of(study).refills_places
    people = study.annotators.filter(place__isnull=False).select_related("study")
    own = Slot.objects.filter(annotator=OuterRef("pk"))
    unbegun = people.filter(
        ~Exists(own.filter(submitted_at__isnull=False)),
        ~Exists(own.filter(state=Slot.State.LEASED)),
        state__in=WAITING,
    )
    usual = KEPT_UNBEGUN if refills else KEPT
    away = unbegun.filter(_is_quiet(now - (usual if quiet is None else quiet)))
    if not refills:
        return away
    since = now - (KEPT if quiet is None else quiet)
    gone = people.filter(
        _is_quiet(since),
        ~Exists(own.filter(submitted_at__gte=since)),
        state__in=(*WAITING, State.PAUSED),
    )
    return people.filter(Q(pk__in=away.values("pk")) | Q(pk__in=gone.values("pk")))


def _is_quiet(before: datetime) -> Q:
    quiet = Q(invitation__created_at__lt=before)
    for sign in SIGNS:
        quiet &= Q(**{f"{sign}__isnull": True}) | Q(**{f"{sign}__lt": before})
    return quiet


# Declining and coming back


@transaction.atomic
def decline(annotator: Annotator) -> bool:
    """Record that somebody does not agree, and free their place and work."""
    person = locked_annotator(annotator)
    if person.consented_at is not None or person.state not in WAITING:
        return False
    inviting.revoke(person)
    Annotator.objects.filter(pk=person.pk).update(declined_at=timezone.now())
    event_log.note(Event.Kind.CONSENT_REFUSED, person.study_id, annotator=person)
    annotator.refresh_from_db()
    return True


def may_come_back(person: Annotator) -> bool:
    """Say whether somebody left or declined, without being removed by anybody."""
    has_gone = person.left_at is not None or person.declined_at is not None
    is_out = person.withdrawn_at is not None or person.erased_at is not None
    return person.state == State.REVOKED and has_gone and not is_out


def obstacle(link: JoinLink) -> str:
    """Return why nobody can join by a link now; empty if they can."""
    if link.closed_at is not None:
        return _("This link is closed. Nobody else can join with it.")
    if link.study.state == Study.State.CLOSED:
        return _("The study is closed. No more answers are collected.")
    if link.study.state != Study.State.OPEN:
        return _(
            "The study is not taking answers at the moment. Please come back later."
        )
    if link.study.adaptive.get("stopped"):
        return _("Enough people are already taking part. Thank you for your interest.")
    if link.is_full and not has_unused_place(link):
        return (
            _(
                "All places are taken at the moment. Some may become available: please "
                "try again in half an hour."
            )
            if has_unused_place(link, timedelta(0))
            else _(
                "Enough people are already taking part. Thank you for your interest."
            )
        )
    return ""


@transaction.atomic
def come_back(annotator: Annotator) -> None:
    """Give a place to somebody who left or declined, if one is free."""
    study = Study.objects.select_for_update(no_key=True).get(pk=annotator.study_id)
    link = _link_of(annotator)
    unused = lock_unused(study, link)
    person = locked_annotator(annotator)
    if not may_come_back(person):
        return
    if link is not None and (reason := obstacle(link)):
        raise JoiningError(reason)
    if link is not None and link.is_full and not free_one(unused, link):
        raise JoiningError(obstacle(link))
    language = person.language if study.languages else None
    is_free = inviting.free_slots(study, language).exists
    if study.state != Study.State.OPEN or not (is_free() or free_one(unused)):
        raise JoiningError(
            _(
                "All stories are taken at the moment. Some may become available: "
                "please try again later."
            )
        )
    back = State.ACTIVE if person.consented_at else State.INVITED
    Annotator.objects.filter(pk=person.pk).update(
        state=back,
        place=link,
        left_at=None,
        declined_at=None,
        last_seen_at=timezone.now(),
    )
    Invitation.objects.filter(annotator=person).update(revoked_at=None)
    event_log.note(Event.Kind.ANNOTATOR_RESUMED, study.pk, annotator=person)
    if link is not None:
        JoinLink.objects.filter(pk=link.pk).update(joined=F("joined") + 1)
    annotator.refresh_from_db()


def _link_of(person: Annotator) -> JoinLink | None:
    """Return the public link that a person joined with, if any."""
    joined = Event.objects.filter(
        study=person.study_id, kind=Event.Kind.ANNOTATOR_JOINED, annotator=person
    )
    pk = joined.values_list("details__link", flat=True).last() or 0
    return JoinLink.objects.select_related("study").filter(pk=pk).first()


@transaction.atomic
def set_places(link: JoinLink, most: int, *, user: User | None = None) -> None:
    """Change the number of places of a link, which keeps its address."""
    row = JoinLink.objects.select_for_update(no_key=True).get(pk=link.pk)
    least = max(1, row.joined)
    if not least <= most <= MOST_JOINERS:
        text = _("Enter a number of places from %(least)d to %(most)d.")
        raise InvitingError(text % {"least": least, "most": MOST_JOINERS})
    before, row.most = row.most, most
    if before != most:
        row.save(update_fields=["most"])
        event_log.note(
            Event.Kind.STUDY_EDITED,
            row.study_id,
            user=user,
            link=row.pk,
            places={"before": before, "after": most},
        )
