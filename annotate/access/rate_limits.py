"""Limits on wrong passwords, tokens and links.

Passwords are counted by account and address together, so that a person who guesses
locks out nobody else. Wider limits, of an account and of an address, stop guesses from
many addresses or at many accounts; an address from which the account was used before is
free of them. A link or token that is right always works: whole labs share one address.
"""

from copy import copy
from datetime import datetime, timedelta
from ipaddress import IPv6Address, ip_address, ip_network
from math import ceil

from axes.handlers.database import AxesDatabaseHandler
from axes.handlers.proxy import AxesProxyHandler
from axes.models import AccessAttempt, AccessLog
from django.conf import settings
from django.contrib.auth.models import AbstractBaseUser
from django.contrib.auth.signals import user_logged_in
from django.db.models import F, Max, QuerySet, Sum
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext as _

# Wrong passwords for one account, or from one address; settings have the limit of both
# together, and how long a count lasts.
MOST_PASSWORDS = 50
MOST_LINKS = 50
# Time for which an address counts as known for an account.
REMEMBERED_DAYS = 90
# Name of the rows that count wrong links and tokens: account names have no blanks.
LINKS = "links and tokens"
NOWHERE = "0.0.0.0"


def client_address(request: HttpRequest) -> str:
    """Return the client's address: the peer's, or the one from trusted proxies."""
    named = request.META.get("HTTP_X_FORWARDED_FOR", "").split(",")
    proxies = settings.TRUSTED_PROXIES
    forwarded = named[-min(proxies, len(named))] if proxies else ""
    return _read(forwarded) or _read(request.META.get("REMOTE_ADDR", "")) or NOWHERE


def _read(text: str) -> str:
    """Return a normalised address; empty if the text is not an address."""
    try:
        found = ip_address(text.strip())
    except ValueError:
        return ""
    if not isinstance(found, IPv6Address):
        return str(found)
    if found.ipv4_mapped:
        return str(found.ipv4_mapped)
    return str(ip_network((int(found), 64), strict=False).network_address)


def username(request: HttpRequest, credentials: dict[str, str] | None) -> str:
    """Return the submitted account name, cut to its maximum length."""
    given = credentials or request.POST
    return (given.get("username") or "")[:150]


class AxesRequest(HttpRequest):
    """A request as django-axes passes it."""

    axes_ip_address: str


class Guard(AxesDatabaseHandler):
    """Counts wrong passwords, given at either page of a login or to the API."""

    def get_failures(
        self, request: AxesRequest, credentials: dict[str, str] | None = None
    ) -> int:
        """Return the number of wrong passwords of a login if it exceeds a limit."""
        return max((n for n, _last in self._too_many(request, credentials)), default=0)

    def seconds_left(
        self, request: AxesRequest, credentials: dict[str, str] | None
    ) -> int:
        """Return the seconds until a login is possible again."""
        found = self._too_many(request, credentials)
        return max((_seconds_after(last) for _n, last in found), default=1)

    def _too_many(
        self, request: AxesRequest, credentials: dict[str, str] | None
    ) -> list[tuple[int, datetime]]:
        """Return the counts that reach their limits, each with its last time."""
        who = {"username": username(request, credentials)}
        where = {"ip_address": request.axes_ip_address}
        limits = [(_recent(**who, **where), settings.AXES_FAILURE_LIMIT)]
        if not AccessLog.objects.filter(**who, **where).exists():
            limits += [
                (_recent(**who), MOST_PASSWORDS),
                (_recent(**where).exclude(username=LINKS), MOST_PASSWORDS),
            ]
        found = []
        for rows, most in limits:
            counted = rows.aggregate(
                n=Sum("failures_since_start", default=0), last=Max("attempt_time")
            )
            if counted["n"] >= most:
                found.append((counted["n"], counted["last"]))
        return found

    def user_logged_in(self, *args: object, **kwargs: object) -> None:
        """Reset the count after a correct password; forget old addresses."""
        super().user_logged_in(*args, **kwargs)
        self.reset_logs(age_days=REMEMBERED_DAYS)


def forget_old() -> None:
    """Delete expired counts of wrong passwords and links, and old addresses."""
    now = timezone.now()
    counted = now - settings.AXES_COOLOFF_TIME
    AccessAttempt.objects.filter(attempt_time__lte=counted).delete()
    remembered = now - timedelta(days=REMEMBERED_DAYS)
    AccessLog.objects.filter(attempt_time__lte=remembered).delete()


def _recent(**fields: str) -> QuerySet[AccessAttempt]:
    since = timezone.now() - settings.AXES_COOLOFF_TIME
    rows: QuerySet[AccessAttempt] = AccessAttempt.objects.filter(
        attempt_time__gt=since, **fields
    )
    return rows


def _seconds_after(last: datetime) -> int:
    left = last + settings.AXES_COOLOFF_TIME - timezone.now()
    return max(1, ceil(left.total_seconds()))


def login_refused(
    request: HttpRequest, _response: HttpResponse, credentials: dict[str, str] | None
) -> HttpResponse:
    """Return the response for too many wrong passwords."""
    return _refusal(request, seconds_for_login(request, credentials), of_links=False)


def seconds_for_login(request: HttpRequest, credentials: dict[str, str] | None) -> int:
    """Return the seconds until a refused login may be tried again."""
    guard = AxesProxyHandler.get_implementation()
    seconds: int = guard.seconds_left(request, credentials)
    return seconds


def note_token_given(request: HttpRequest, user: AbstractBaseUser) -> None:
    """Reset the failures of an account after a correct password."""
    asked = copy(request)
    del asked.session
    user_logged_in.send(sender=type(user), request=asked, user=user)


def note_wrong(request: HttpRequest) -> int:
    """Count a wrong link or token; return the seconds of the resulting block."""
    where = {"username": LINKS, "ip_address": client_address(request), "user_agent": ""}
    full = _recent(**where).filter(failures_since_start__gte=MOST_LINKS).first()
    if full is not None:
        return _seconds_after(full.attempt_time)
    now = timezone.now()
    old = AccessAttempt.objects.filter(
        attempt_time__lte=now - settings.AXES_COOLOFF_TIME
    )
    old.filter(username=LINKS).delete()
    one_more = {
        "failures_since_start": F("failures_since_start") + 1,
        "attempt_time": now,
    }
    AccessAttempt.objects.update_or_create(
        **where, defaults=one_more, create_defaults={"failures_since_start": 1}
    )
    return 0


def refuse_link(request: HttpRequest) -> HttpResponse:
    """Return the response to an unknown link: not found, or too many attempts."""
    if seconds := note_wrong(request):
        return _refusal(request, seconds, of_links=True)
    raise Http404


def _refusal(request: HttpRequest, seconds: int, *, of_links: bool) -> HttpResponse:
    if "application/json" in request.headers.get("Accept", ""):
        text = _("Too many attempts. Please try again later.")
        response: HttpResponse = JsonResponse({"error": text}, status=429)
    else:
        context = {"minutes": ceil(seconds / 60), "of_links": of_links}
        response = render(request, "429.html", context, status=429)
    response["Retry-After"] = str(seconds)
    return response
