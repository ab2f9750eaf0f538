"""Alerts about people who hold ratings, or have a link, and do not work."""

from collections.abc import Iterable, Iterator
from datetime import datetime

from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotate.coverage.alert_lines import Alert, first, link, press, when
from annotate.coverage.completion import Waiting
from annotate.coverage.shares import Share
from annotate.models import Annotator, Study
from annotate.people.presence import NOT_BEGUN


def absent(study: Study, waits: Waiting, left: int, base: str) -> Iterator[Alert]:
    """Yield the people who hold ratings and cannot or do not work on them."""
    missed = [
        holder
        for holder in waits.holders
        if holder.presence.is_missed or (_is_stopped(holder) and waits.slots >= left)
    ]
    stopped = [holder for holder in missed if _is_stopped(holder)]
    away = [holder for holder in missed if not _is_stopped(holder)]
    for kind, holders in (("left", stopped), ("away", away)):
        if holders:
            yield _waiting_for(study, kind, holders, left, base)


def _is_stopped(holder: Share) -> bool:
    return holder.presence.person.state in Annotator.STOPPED


def _waiting_for(
    study: Study, kind: str, holders: list[Share], left: int, base: str
) -> Alert:
    slots = sum(holder.held for holder in holders)
    if kind == "left":
        text = ngettext(
            "%(n)d of the %(left)d remaining ratings is blocked: it belongs to people "
            "who may not continue.",
            "%(n)d of the %(left)d remaining ratings are blocked: they belong to "
            "people who may not continue.",
            slots,
        )
        todo = _("Release them, or resume these people.")
        label = _("Release the ratings")
    else:
        text = ngettext(
            "%(people)d person has been away for long and holds %(n)d of the "
            "%(left)d remaining ratings.",
            "%(people)d people have been away for long and hold %(n)d of the "
            "%(left)d remaining ratings.",
            len(holders),
        )
        todo = _("Remind them, or give their work to others.")
        label = _("Give work to others")
    names = [("annotator", holder.name) for holder in holders]
    return Alert(
        kind,
        95 if slots >= left else 65,
        text % {"n": slots, "left": left, "people": len(holders)},
        todo,
        since=min(holder.presence.since for holder in holders),
        buttons=(
            press(label, study, "study-redistribute", fields=names),
            link(_("Choose people"), study, "study-redistribute", away="1"),
        ),
        notes=first(map(_held_since, holders)),
        copy=reminder(study, [h.presence.person for h in holders], base)
        if kind == "away"
        else "",
    )


def reminder(study: Study, people: Iterable[Annotator], base: str) -> str:
    """Return a text to send, with each person's link; empty without an address."""
    links = [
        f"{person.name}: {base}{reverse('rate-entry', args=[invitation.token])}"
        for person in people
        if (invitation := getattr(person, "invitation", None)) is not None
        if invitation.revoked_at is None
    ]
    if not (base and links):
        return ""
    hello = _(
        "Hello, some of your stories in “%(title)s” are still waiting. Your answers so "
        "far are saved. Please open your link to continue. Thank you!"
    )
    return "\n\n".join([hello % {"title": study.title}, "\n".join(links)])


def _held_since(holder: Share) -> str:
    """Return how many slots somebody holds, and when they were last seen."""
    presence, person = holder.presence, holder.presence.person
    if presence.has_begun and person.state in Annotator.STOPPED:
        text = _("%(name)s: %(n)d (%(state)s; last seen %(at)s)")
    elif presence.has_begun:
        text = _("%(name)s: %(n)d (last seen %(at)s)")
    elif person.state == Annotator.State.PLANNED:
        text = _("%(name)s: %(n)d (not invited)")
    else:
        text = _("%(name)s: %(n)d (invited %(at)s, not started)")
    return text % {
        "name": person.name,
        "n": holder.held,
        "at": when(presence.since),
        "state": person.get_state_display(),
    }


def not_begun(
    study: Study, waits: Waiting, now: datetime, base: str
) -> Iterator[Alert]:
    """Yield an alert about people invited some days ago who have not started."""
    waiting = study.annotators.filter(
        state=Annotator.State.INVITED, invitation__created_at__lt=now - NOT_BEGUN
    ).exclude(pk__in=[holder.presence.person.pk for holder in waits.holders])
    people = list(waiting.select_related("invitation"))
    if not people:
        return
    text = ngettext(
        "%(n)d person was invited more than %(days)d days ago and has not "
        "started: %(names)s.",
        "%(n)d people were invited more than %(days)d days ago and have not "
        "started: %(names)s.",
        len(people),
    )
    names = ", ".join(first(person.name for person in people))
    values = {"n": len(people), "days": NOT_BEGUN.days, "names": names}
    yield Alert(
        "not begun",
        40,
        text % values,
        _("Send them their link again, or remove them so that others can take over."),
        buttons=(link(_("People and pay"), study, "annotator-list"),),
        copy=reminder(study, people, base),
    )
