"""Addresses that webhooks may be sent to."""

import socket
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from ipaddress import (
    IPv4Address,
    IPv4Network,
    IPv6Address,
    IPv6Network,
    ip_address,
)

import httpx2
from django.conf import settings
from django.utils.translation import gettext as _

LOOKUP_SECONDS = 5.0
# Unicast addresses of the internet; inside this prefix some are IPv4 in disguise.
UNICAST = IPv6Network("2000::/3")
NAT64 = IPv6Network("64:ff9b::/96")
HTTPS = 443
# Below are the ports of mail and remote shells, which no receiver needs.
FIRST_FREE_PORT = 1024

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network


class AddressError(ValueError):
    """No message may be sent to an address; the text says why."""


@dataclass(frozen=True)
class Target:
    """A checked address, and where its host is."""

    url: httpx2.URL
    places: tuple[Address, ...]


def target(address: str) -> Target:
    """Look up the host of an address; raise AddressError unless it may be used.

    Connections go to the addresses returned, so that a second look-up cannot lead
    elsewhere.
    """
    url = _parsed(address)
    port = url.port or (HTTPS if url.scheme == "https" else 80)
    places = tuple(dict.fromkeys(_look_up(url.raw_host.decode(), port)))
    if all(_is_allowed(place) for place in places):
        return Target(url, places)
    if not all(_is_allowed(place) or is_public(place) for place in places):
        raise AddressError(
            _(
                "%(host)s is an address of a private network. Use a public one, or ask "
                "the server's administrator to add the network to WEBHOOK_ALLOW."
            )
            % {"host": url.host}
        )
    if url.scheme != "https":
        raise AddressError(_("Use an address that begins with https://."))
    if port != HTTPS and port < FIRST_FREE_PORT:
        raise AddressError(
            _("Port %(port)d is not allowed: use 443, or one from %(first)d.")
            % {"port": port, "first": FIRST_FREE_PORT}
        )
    return Target(url, places)


def _parsed(address: str) -> httpx2.URL:
    try:
        url = httpx2.URL(address)
    except httpx2.InvalidURL:
        url = httpx2.URL()
    if url.scheme not in ("https", "http") or not url.host:
        raise AddressError(
            _("Write a whole address, such as https://lab.example.org/hook.")
        )
    if url.userinfo or url.fragment:
        raise AddressError(_("The address must not contain a password or a #."))
    if not 0 < (url.port or HTTPS) < 2**16:
        raise AddressError(_("Ports are numbers from 1 to 65535."))
    return url


def _look_up(host: str, port: int) -> list[Address]:
    """Return the addresses of a host; a slow look-up is abandoned."""
    pool = ThreadPoolExecutor(1)
    asked = pool.submit(socket.getaddrinfo, host, port, type=socket.SOCK_STREAM)
    pool.shutdown(wait=False)
    try:
        found = asked.result(LOOKUP_SECONDS)
    except (OSError, UnicodeError, TimeoutError) as error:
        raise AddressError(
            _("The host %(host)s was not found.") % {"host": host}
        ) from error
    return [ip_address(place[0]) for *_rest, place in found]


def _is_allowed(place: Address) -> bool:
    """Say whether an address is in a network that the server's settings allow."""
    inner = _ipv4_inside(place) or place
    return any(inner in network for network in settings.WEBHOOK_ALLOW)


def is_public(place: Address) -> bool:
    """Say whether an address is one of the internet.

    >>> is_public(ip_address("93.184.215.14"))
    True
    >>> is_public(ip_address("64:ff9b::a9fe:a9fe"))  # 169.254.169.254
    False
    """
    if inner := _ipv4_inside(place):
        return is_public(inner)
    if isinstance(place, IPv6Address):
        return place in UNICAST and place.is_global
    return place.is_global and not place.is_multicast


def _ipv4_inside(place: Address) -> IPv4Address | None:
    """Return the IPv4 address to which an IPv6 address leads."""
    if isinstance(place, IPv4Address):
        return None
    if place in NAT64:
        return IPv4Address(place.packed[-4:])
    return place.ipv4_mapped or place.sixtofour
