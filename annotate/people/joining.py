"""Public links: make and close them, and join a study by one."""

from datetime import timedelta
from functools import partial
from typing import Any

from django.db import transaction
from django.db.models import Exists, F, OuterRef
from django.utils import timezone
from django.utils.crypto import salted_hmac
from django.utils.translation import gettext as _

from annotate import event_log
from annotate.models import Annotator, Event, JoinLink, Slot, Study, User
from annotate.models.tokens import digest
from annotate.people import inviting
from annotate.people.inviting import InvitingError
from annotate.people.places import (
    MOST_JOINERS,
    JoiningError,
    free_one,
    lock_unused,
    obstacle,
)
from annotate.people.visits import Arrival, record

# Enough for a class that starts together behind one address.
MOST_OF_AN_ADDRESS = 40
COUNTED = timedelta(days=1)
# Later, somebody else may sit before a page that a browser restored.
PRESSED_TWICE = timedelta(minutes=1)

JOINED = Event.Kind.ANNOTATOR_JOINED
NOTHING_PASSED = Arrival()


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


@transaction.atomic
def join(
    link: JoinLink,
    came: Arrival = NOTHING_PASSED,
    *,
    browser: str = "",
    language: str = "",
    page: str = "",
    address: str = "",
) -> Annotator:
    """Return the annotator of this person, created if they are new."""
    external_id = came.external_id
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
    unused = lock_unused(study, link) if link.is_full else None
    if unused is not None and not free_one(unused, link):
        raise JoiningError(obstacle(link))
    place = find()
    if place is None and free_one(lock_unused(study) if unused is None else unused):
        place = find()
    if place is None:
        raise JoiningError(
            _(
                "All stories are taken at the moment. Some may become available: "
                "please try again later."
            )
        )
    inviting.send(place, link.note)
    Annotator.objects.filter(pk=place.pk).update(place=link)
    JoinLink.objects.filter(pk=link.pk).update(joined=F("joined") + 1)
    record(place, browser, came)
    event_log.note(
        Event.Kind.ANNOTATOR_JOINED,
        study.pk,
        annotator=place,
        link=link.pk,
        page=digest(page),
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
        details__page=digest(page),
    ).first()
    return event.annotator if event else None


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
