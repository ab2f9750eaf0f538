"""Visits of a public link: what a platform passes, and who comes from where."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from annotate import event_log
from annotate.models import Annotator, Event, JoinLink, Study, User, Visit
from annotate.people.outcomes import platform_of
from annotate.people.places import JoiningError
from annotate.people.platforms import LIKE_AN_ID, Platform, problem_of_address

KNOWN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@+-]{0,99}")
# Mechanical Turk passes this to people who preview a task.
PREVIEW = "ASSIGNMENT_ID_NOT_AVAILABLE"
# More names in one link, or requests of one person, are no mistakes.
MOST_NAMES, MOST_REQUESTS = 5, 5
# Prolific's attempts have names of 24 letters; a short one may have been typed.
SHORTEST_SECRET = 16


@dataclass(frozen=True)
class Arrival:
    """Person and attempt in the address of a visit."""

    external_id: str = ""
    session: str = ""
    platform_study: str = ""
    unknown: tuple[str, ...] = ()
    is_preview: bool = False
    submit_to: str = ""


def arrival(study: Study, query: Mapping[str, str]) -> Arrival:
    """Return what a platform passes with the study's link."""
    platform = platform_of(study)
    external_id = ""
    is_preview = query.get("assignmentId") == PREVIEW
    for name in platform.ids:
        external_id = external_id or _value(query, name)
    known = {*platform.ids, *platform.parameters, platform.submit_to}
    return Arrival(
        external_id,
        "" if is_preview else _value(query, platform.session),
        _value(query, platform.study),
        tuple(one for one in query if one not in known and LIKE_AN_ID.fullmatch(one)),
        is_preview,
        "" if is_preview else _server(platform, query),
    )


def _server(platform: Platform, query: Mapping[str, str]) -> str:
    """Return the platform's server that takes the code at the end."""
    server = query.get(platform.submit_to, "").strip() if platform.submit_to else ""
    if server and problem_of_address(platform, server):
        raise JoiningError(
            _(
                "This link would send your code to %(server)s, which is not "
                "%(platform)s. Please open the task again on %(platform)s."
            )
            % {"server": server[:100], "platform": platform.title}
        )
    return f"https://{urlsplit(server).hostname}" if server else ""


def _value(query: Mapping[str, str], name: str) -> str:
    text = query.get(name, "").strip() if name else ""
    if text and not KNOWN_ID.fullmatch(text):
        raise JoiningError(
            _(
                "The participant ID in this link is not valid (%(name)s). Please "
                "open the link again from where you found it."
            )
            % {"name": name}
        )
    return text


def note_unknown(link: JoinLink, came: Arrival) -> None:
    """Keep the names of parameters that look like an id, for the manager."""
    if came.external_id:
        return
    new = [one for one in came.unknown if one not in link.unknown_parameters]
    if new and len(link.unknown_parameters) < MOST_NAMES:
        names = [*link.unknown_parameters, *new][:MOST_NAMES]
        JoinLink.objects.filter(pk=link.pk).update(unknown_parameters=names)


def is_known(person: Annotator, browser: str, session: str) -> bool:
    """Say whether a person came before in this browser, or in the same attempt.

    Only the platform and the person know the name of an attempt, unless it is short.
    """
    admitted = person.visits.filter(admitted_at__isnull=False)
    in_browser = admitted.filter(browser=browser)
    return in_browser.exists() or (
        len(session) >= SHORTEST_SECRET and admitted.filter(session=session).exists()
    )


def record(person: Annotator, browser: str, came: Arrival) -> None:
    """Record the visit of a person who may go on."""
    visit, _is_new = Visit.objects.get_or_create(
        annotator=person,
        browser=browser,
        session=came.session,
        defaults={
            "admitted_at": timezone.now(),
            "platform_study": came.platform_study,
            "submit_to": came.submit_to,
        },
    )
    if visit.admitted_at is None:
        visit.admitted_at = timezone.now()
        visit.save(update_fields=["admitted_at"])


def last_joined(study: Study, browser: str) -> Annotator | None:
    """Return who joined last in a browser that never got the answer."""
    visits = Visit.objects.filter(
        annotator__study=study,
        annotator__invitation__revoked_at__isnull=True,
        browser=browser,
        admitted_at__isnull=False,
    ).select_related("annotator__invitation")
    visit = visits.order_by("pk").last()
    return visit.annotator if visit else None


def asked(person: Annotator, browser: str) -> str:
    """Return the code of this browser's request to come back; empty without one."""
    waiting = person.visits.filter(browser=browser, admitted_at__isnull=True)
    return waiting.values_list("code", flat=True).first() or ""


def ask(person: Annotator, browser: str, came: Arrival) -> str:
    """Ask a manager to let this browser in; return the code that names the request."""
    if code := asked(person, browser):
        return code
    if person.visits.filter(admitted_at__isnull=True).count() >= MOST_REQUESTS:
        raise JoiningError(
            _("Too many requests are waiting. Please write to the study's manager.")
        )
    visit = Visit.objects.create(
        annotator=person,
        browser=browser,
        session=came.session,
        platform_study=came.platform_study,
        submit_to=came.submit_to,
    )
    return visit.code


def requests(study: Study) -> list[Visit]:
    """Return the requests to come back that wait for a manager, oldest first."""
    waiting = Visit.objects.filter(
        annotator__study=study,
        admitted_at__isnull=True,
        annotator__erased_at__isnull=True,
    )
    return list(waiting.select_related("annotator").order_by("pk"))


@transaction.atomic
def admit(visit: Visit, *, user: User | None = None) -> bool:
    """Let one browser in as a person; return whether it was waiting."""
    admitted = Visit.objects.filter(pk=visit.pk, admitted_at__isnull=True).update(
        admitted_at=timezone.now(), admitted_by=user
    )
    if admitted:
        person = visit.annotator
        event_log.note(
            Event.Kind.WAY_BACK_GIVEN,
            person.study_id,
            annotator=person,
            user=user,
            visit=visit.pk,
        )
    return bool(admitted)
