"""Join a study by a public link; places that nobody uses."""

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
from annotate.people.inviting import InvitingError
from annotate.responses.leasing import locked_annotator

# A class that begins at once behind one address, and a few who come late.
MOST_OF_AN_ADDRESS = 40
COUNTED = timedelta(days=1)
# Somebody who has joined may read and think for so long before the place is given on.
KEPT = timedelta(minutes=30)

JOINED = Event.Kind.ANNOTATOR_JOINED
WAITING = (Annotator.State.INVITED, Annotator.State.ACTIVE)


def network(study_id: int, address: str) -> str:
    """Return what the log keeps of an address: it tells only that two are equal."""
    if not address:
        return ""
    return salted_hmac(f"join {study_id}", address, algorithm="sha256").hexdigest()[:32]


def has_too_many(study: Study, address: str) -> bool:
    """Say whether too many joined from an address who have submitted nothing."""
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


def is_any(link: JoinLink, quiet: timedelta = KEPT) -> bool:
    """Say whether a place of a link was not used for so long."""
    return _unused(link.study, link, quiet).exists()


def free(study: Study, link: JoinLink | None = None) -> bool:
    """Free the place that was unused for longest, and say whether there is one."""
    unused = _unused(study, link)
    for event in unused.order_by("pk"):
        person = event.annotator
        if person is None:
            continue
        locked_annotator(person)
        # Whoever began while this waited for the lock keeps the place.
        if unused.filter(pk=event.pk).exists():
            _give_on(person, event)
            return True
    return False


def _give_on(person: Annotator, event: Event) -> None:
    inviting.revoke(person)
    # Who comes again under the id of a platform joins anew.
    Annotator.objects.filter(pk=person.pk).update(external_id="")
    JoinLink.objects.filter(pk=event.details["link"], joined__gt=0).update(
        joined=F("joined") - 1
    )


def _unused(
    study: Study, link: JoinLink | None, quiet: timedelta = KEPT
) -> QuerySet[Event]:
    """Return how those joined who have no story, and gave no sign of life since."""
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


# What platforms call the person; the first one that is given counts.
PARAMETERS = ("PROLIFIC_PID", "workerId", "rater")
KNOWN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@+-]{0,99}")
# Mechanical Turk shows a task to people who have not accepted it.
PREVIEW = "ASSIGNMENT_ID_NOT_AVAILABLE"
MOST_JOINERS = 100_000
# So long the page on which somebody joined counts as the device's own.
PAGE_LASTS = timedelta(minutes=15)
# Later, a page that a browser restores may be before somebody else.
PRESSED_TWICE = timedelta(minutes=1)


class JoiningError(ValueError):
    """Nobody can join by this link now; the message says why, for the annotator."""


def given_id(query: Mapping[str, str]) -> str:
    """Return who a platform says this is; empty if it does not say."""
    for name in PARAMETERS:
        text = query.get(name, "").strip()
        if text and not KNOWN_ID.fullmatch(text):
            raise JoiningError(
                _("The link names you in a way that cannot be read (%(name)s).")
                % {"name": name}
            )
        if text:
            return text
    return ""


def known(study: Study, external_id: str) -> Annotator | None:
    """Return who joined the study under this id before."""
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
    """Return why nobody can join by a link now, for the annotator; or nothing."""
    if link.closed_at is not None:
        return _("This link is closed; nobody else can join by it.")
    if link.study.state == Study.State.CLOSED:
        return _("The study is closed. It takes no more answers.")
    if link.study.state != Study.State.OPEN:
        return _("The study does not take answers at the moment. Please come back.")
    if link.study.adaptive.get("stopped"):
        return _("Enough people take part already. Thank you for your interest.")
    if link.is_full and not is_any(link):
        return (
            _(
                "All places are taken at the moment. Some may become free again: "
                "please try again in half an hour."
            )
            if is_any(link, timedelta(0))
            else _("Enough people take part already. Thank you for your interest.")
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
    """Make an annotator with an own link, or return the one that they are."""
    study = Study.objects.select_for_update(no_key=True).get(pk=link.study_id)
    person = known(study, external_id) if external_id else _just_joined(link, page)
    if person is not None:
        return person
    if external_id and study.annotators.filter(external_id=external_id).exists():
        raise JoiningError(
            _("You were invited with a link of your own; please use that one.")
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
        raise JoiningError(_("Please choose the language in which you take part."))
    if reason := obstacle(link):
        raise JoiningError(reason)
    if has_too_many(study, address):
        raise JoiningError(
            _(
                "Many people have joined from your network and not submitted a story "
                "yet. Please try again later, or ask for a link of your own."
            )
        )
    if link.is_full and not free(study, link):
        raise JoiningError(obstacle(link))
    place = find()
    if place is None and free(study):
        place = find()
    if place is None:
        raise JoiningError(
            _(
                "All stories are with somebody at the moment. Some may become free "
                "again: please try later."
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
    """Return who joined on the same page a moment ago: its button was pressed twice."""
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
    """Say whether somebody joined on the page with this random text, a while ago."""
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
    """Open a link by which so many people may join."""
    if not 1 <= most <= MOST_JOINERS:
        raise InvitingError(
            _("Say how many people may join: 1 to %(most)d.") % {"most": MOST_JOINERS}
        )
    inviting.check_cap(cap)
    if language and language not in study.languages:
        raise InvitingError(_("This study has no such language."))
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
    """Let people go on by their id on any device, or only where they joined."""
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
    """Let nobody else join by a link; who has joined goes on. Say if it was open."""
    closed = JoinLink.objects.filter(pk=link.pk, closed_at__isnull=True).update(
        closed_at=timezone.now()
    )
    if closed:
        event_log.note(
            Event.Kind.JOIN_LINK_CLOSED, link.study_id, user=user, link=link.pk
        )
    return bool(closed)
