"""Public links: join a study, and reuse abandoned places."""

import re
from collections.abc import Mapping
from datetime import timedelta
from functools import partial
from hashlib import sha256
from hmac import compare_digest
from typing import Any

from django.db import transaction
from django.db.models import Exists, F, OuterRef, Q, QuerySet
from django.utils import timezone
from django.utils.crypto import salted_hmac
from django.utils.translation import gettext as _

from annotate import event_log
from annotate.models import Annotator, Event, JoinLink, Slot, Study, User
from annotate.people import inviting
from annotate.people.inviting import MOST_JOINERS, InvitingError
from annotate.responses.leasing import locked_annotator

# Enough for a class that starts together behind one address.
MOST_OF_AN_ADDRESS = 40
COUNTED = timedelta(days=1)
# A place without any sign of life for so long can be given to somebody else.
KEPT = timedelta(minutes=30)

JOINED = Event.Kind.ANNOTATOR_JOINED
WAITING = (Annotator.State.INVITED, Annotator.State.ACTIVE)


def network(study_id: int, address: str) -> str:
    """Return a keyed hash of an address, which the log stores instead of it."""
    if not address:
        return ""
    return salted_hmac(f"join {study_id}", address, algorithm="sha256").hexdigest()[:32]


def has_too_many(study: Study, address: str) -> bool:
    """Say whether too many people without answers have joined from an address."""
    if not address:
        return False
    begun = Slot.objects.filter(
        annotator=OuterRef("annotator"), submitted_at__isnull=False
    )
    joined = Event.objects.filter(
        ~Exists(begun),
        study=study,
        kind=JOINED,
        at__gt=timezone.now() - COUNTED,
        details__network=network(study.pk, address),
    )
    return joined.count() >= MOST_OF_AN_ADDRESS


def has_unused_place(link: JoinLink, quiet: timedelta = KEPT) -> bool:
    """Say whether a place of a link has been unused for so long."""
    return _unused(link.study, link, quiet).exists()


def free_unused_place(study: Study, link: JoinLink | None = None) -> bool:
    """Free the place that has been unused for longest; return False if none is."""
    unused = _unused(study, link)
    for event in unused.order_by("pk"):
        person = event.annotator
        if person is None:
            continue
        locked_annotator(person)
        # The person may have begun while this waited for the lock.
        if unused.filter(pk=event.pk).exists():
            _free_place(person, event)
            return True
    return False


def _free_place(person: Annotator, event: Event) -> None:
    inviting.revoke(person)
    # A person who returns with the same platform id joins again.
    Annotator.objects.filter(pk=person.pk).update(external_id="")
    JoinLink.objects.filter(pk=event.details["link"], joined__gt=0).update(
        joined=F("joined") - 1
    )


def _unused(
    study: Study, link: JoinLink | None, quiet: timedelta = KEPT
) -> QuerySet[Event]:
    """Return the join events of people without a story or recent activity."""
    before = timezone.now() - quiet
    signs = ("last_seen_at", "instructed_at", "consented_at")
    is_quiet = Q()
    for sign in signs:
        name = f"annotator__{sign}"
        is_quiet &= Q(**{f"{name}__isnull": True}) | Q(**{f"{name}__lt": before})
    at_work = Slot.objects.filter(
        Q(submitted_at__isnull=False) | Q(state=Slot.State.LEASED),
        annotator=OuterRef("annotator"),
    )
    joined = Event.objects.filter(
        is_quiet,
        ~Exists(at_work),
        study=study,
        kind=JOINED,
        at__lt=before,
        annotator__state__in=WAITING,
    ).select_related("annotator")
    return joined if link is None else joined.filter(details__link=link.pk)


# Parameters in which platforms pass the person's id; the first one counts.
PARAMETERS = ("PROLIFIC_PID", "workerId", "rater")
KNOWN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@+-]{0,99}")
# Mechanical Turk passes this to people who preview a task.
PREVIEW = "ASSIGNMENT_ID_NOT_AVAILABLE"
# For so long the page on which somebody joined proves who they are.
PAGE_LASTS = timedelta(minutes=15)
# Later, somebody else may sit before a page that a browser restored.
PRESSED_TWICE = timedelta(minutes=1)


class JoiningError(ValueError):
    """A link that nobody can join through now; the message says why."""


def platform_id(query: Mapping[str, str]) -> str:
    """Return the id that a platform passes for a person; empty if there is none."""
    for name in PARAMETERS:
        text = query.get(name, "").strip()
        if text and not KNOWN_ID.fullmatch(text):
            raise JoiningError(
                _(
                    "The participant ID in this link is not valid (%(name)s). Please "
                    "open the link again from where you found it."
                )
                % {"name": name}
            )
        if text:
            return text
    return ""


def find_joined(study: Study, external_id: str) -> Annotator | None:
    """Return the annotator who joined the study with this id."""
    joined = study.events.filter(
        kind=Event.Kind.ANNOTATOR_JOINED, annotator__isnull=False
    )
    if not external_id:
        return None
    return study.annotators.filter(
        external_id=external_id,
        pk__in=joined.values("annotator"),
        invitation__isnull=False,
    ).first()


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
def join(
    link: JoinLink,
    *,
    external_id: str = "",
    language: str = "",
    page: str = "",
    address: str = "",
) -> Annotator:
    """Return the annotator of this person, created if they are new."""
    study = Study.objects.select_for_update(no_key=True).get(pk=link.study_id)
    person = (
        find_joined(study, external_id) if external_id else _just_joined(link, page)
    )
    if person is not None:
        return person
    if external_id and study.annotators.filter(external_id=external_id).exists():
        raise JoiningError(
            _("You were invited with a personal link. Please use that one.")
        )
    link = JoinLink.objects.select_related("study").get(pk=link.pk)
    language = link.language or language
    find = partial(
        inviting.find_place,
        study,
        language=language if study.languages else "",
        external_id=external_id,
        cap=link.cap,
    )
    if study.languages and language not in study.languages:
        raise JoiningError(_("Please choose a language."))
    if reason := obstacle(link):
        raise JoiningError(reason)
    if has_too_many(study, address):
        raise JoiningError(
            _(
                "Many people from your network have joined without submitting a story. "
                "Please try again later, or ask for a personal link."
            )
        )
    if link.is_full and not free_unused_place(study, link):
        raise JoiningError(obstacle(link))
    place = find()
    if place is None and free_unused_place(study):
        place = find()
    if place is None:
        raise JoiningError(
            _(
                "All stories are taken at the moment. Some may become available: "
                "please try again later."
            )
        )
    JoinLink.objects.filter(pk=link.pk).update(joined=F("joined") + 1)
    inviting.send(place, link.note)
    event_log.note(
        Event.Kind.ANNOTATOR_JOINED,
        study.pk,
        annotator=place,
        link=link.pk,
        page=_digest(page),
        network=network(study.pk, address),
    )
    return place


def _just_joined(link: JoinLink, page: str) -> Annotator | None:
    """Return the annotator who joined on the same page just now (a double click)."""
    if not page:
        return None
    event = Event.objects.filter(
        study=link.study_id,
        kind=Event.Kind.ANNOTATOR_JOINED,
        annotator__invitation__isnull=False,
        at__gt=timezone.now() - PRESSED_TWICE,
        details__link=link.pk,
        details__page=_digest(page),
    ).first()
    return event.annotator if event else None


def joined_on(person: Annotator, page: str) -> bool:
    """Say whether somebody recently joined on the page with this random text."""
    joined = Event.objects.filter(
        kind=Event.Kind.ANNOTATOR_JOINED,
        annotator=person,
        at__gt=timezone.now() - PAGE_LASTS,
    ).first()
    return joined is not None and compare_digest(
        joined.details.get("page", ""), _digest(page)
    )


def _digest(page: str) -> str:
    return sha256(page.encode()).hexdigest()


@transaction.atomic
def make_link(
    study: Study,
    *,
    most: int,
    language: str = "",
    cap: int | None = None,
    any_device: bool = False,
    note: str = "",
    user: User | None = None,
) -> JoinLink:
    """Create a public link for at most `most` people."""
    if not 1 <= most <= MOST_JOINERS:
        raise InvitingError(
            _("Enter a number of places from 1 to %(most)d.") % {"most": MOST_JOINERS}
        )
    inviting.check_cap(cap)
    if language and language not in study.languages:
        raise InvitingError(_("This study is not offered in that language."))
    terms: dict[str, Any] = {
        "most": most,
        "language": language,
        "cap": cap,
        "any_device": any_device,
    }
    link = JoinLink.objects.create(study=study, note=note, created_by=user, **terms)
    event_log.note(
        Event.Kind.JOIN_LINK_MADE, study.pk, user=user, link=link.pk, **terms
    )
    return link


@transaction.atomic
def trust_ids(link: JoinLink, *, any_device: bool, user: User | None = None) -> None:
    """Let people continue by their id on any device, or only where they joined."""
    if (
        JoinLink.objects.filter(pk=link.pk)
        .exclude(any_device=any_device)
        .update(any_device=any_device)
    ):
        event_log.note(
            Event.Kind.STUDY_EDITED,
            link.study_id,
            user=user,
            link=link.pk,
            any_device=any_device,
        )


@transaction.atomic
def close_link(link: JoinLink, *, user: User | None = None) -> bool:
    """Close a public link; return whether it was open."""
    closed = JoinLink.objects.filter(pk=link.pk, closed_at__isnull=True).update(
        closed_at=timezone.now()
    )
    if closed:
        event_log.note(
            Event.Kind.JOIN_LINK_CLOSED, link.study_id, user=user, link=link.pk
        )
    return bool(closed)
