"""The address with which links begin: BASE_URL, or what a manager entered."""

import re
from collections.abc import Callable
from urllib.parse import urlsplit

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.http.request import split_domain_port, validate_host
from django.utils.translation import gettext as _

from annotate.models import ServerAddress
from evalcore.models.columns import most_letters
from evalcore.serving.environment import ADDRESS, LOCAL_HOSTS

LONGEST = most_letters(ServerAddress, "address")


class AddressError(ValueError):
    """Not an address that links can begin with; the message says why."""


def server_address() -> str:
    """Return the server's address without a slash at its end; empty if unknown."""
    if settings.BASE_URL:
        return str(settings.BASE_URL)
    return ServerAddress.objects.values_list("address", flat=True).first() or ""


def links_begin_with(request: HttpRequest) -> str:
    """Return the beginning of links: the server's address, else the one in use."""
    return server_address() or request.build_absolute_uri("/").rstrip("/")


def is_local(address: str) -> bool:
    """Say whether an address works on this machine only."""
    host = urlsplit(address).hostname or ""
    return f"[{host}]" in LOCAL_HOSTS or host in LOCAL_HOSTS or host.startswith("127.")


def warning(address: str) -> str:
    """Return the sentence about links that work on this machine only."""
    text = _("Links begin with %(base)s and work on this machine only.")
    return text % {"base": address}


def checked(address: str) -> str:
    """Return an address as it is stored, or raise an error.

    A host without a scheme is reached by HTTPS.
    """
    address = address.strip().rstrip("/")
    if address and "://" not in address:
        address = f"https://{address}"
    if address and (
        len(address) > LONGEST or not re.fullmatch(ADDRESS.pattern, address, re.ASCII)
    ):
        raise AddressError(
            _(
                "“%(address)s” is not an address. Write scheme and host without a "
                "path, as in https://study.example.org or http://192.168.1.20:8000."
            )
            % {"address": address[:100]}
        )
    return address


def save(address: str) -> None:
    """Store the server's address; an empty one removes it."""
    if address := checked(address):
        ServerAddress.objects.update_or_create(pk=1, defaults={"address": address})
    else:
        ServerAddress.objects.all().delete()


def accept_own_address(
    get_response: Callable[[HttpRequest], HttpResponse],
) -> Callable[[HttpRequest], HttpResponse]:
    """Accept requests to the address that a manager entered, as to BASE_URL.

    Only requests to an unknown host look it up, once in each process. If the address
    has HTTPS, a tunnel or proxy has ended it, and forms come from an HTTPS page.
    """
    of_https: set[str] = set()

    def middleware(request: HttpRequest) -> HttpResponse:
        host, _port = split_domain_port(request.META.get("HTTP_HOST", ""))
        if host and not validate_host(host, settings.ALLOWED_HOSTS):
            address = urlsplit(server_address())
            if address.hostname == host.strip("[]"):
                settings.ALLOWED_HOSTS = [*settings.ALLOWED_HOSTS, host]
                of_https.update([host] if address.scheme == "https" else [])
        if host in of_https:
            request.META["wsgi.url_scheme"] = "https"
        return get_response(request)

    return middleware
