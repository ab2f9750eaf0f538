"""One attempt to deliver a message: signed, to a checked address, in limited time."""

import asyncio
import hmac
import ssl
import time
from base64 import b64decode, b64encode
from functools import cache

import httpx2

from annotate.webhooks.addresses import Address, Target, target

# Of one attempt: looking up, connecting, sending and the beginning of the reply.
DEADLINE = 10.0
CONNECT_SECONDS = 4.0
AGENT = "Plumbline-Webhooks/1"


class NotSentError(Exception):
    """No reply came; the text says why."""


def signature(secret: str, message: str, timestamp: int, body: bytes) -> str:
    """Return the signature of a message, as Standard Webhooks defines it."""
    key = b64decode(secret.removeprefix("whsec_"))
    signed = f"{message}.{timestamp}.".encode() + body
    return f"v1,{b64encode(hmac.digest(key, signed, 'sha256')).decode()}"


def post(address: str, secret: str, message: str, body: str) -> int:
    """Send a message and return the status of the reply, whose body is not read.

    Raises AddressError and NotSentError.
    """
    end = time.monotonic() + DEADLINE
    to = target(address)
    timestamp, content = int(time.time()), body.encode()
    headers = {
        "Host": to.url.netloc.decode(),
        "User-Agent": AGENT,
        "Content-Type": "application/json",
        "webhook-id": message,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": signature(secret, message, timestamp, content),
    }
    try:
        return asyncio.run(_post(to, headers, content, end))
    except (TimeoutError, httpx2.TimeoutException) as error:
        raise NotSentError(f"no reply within {DEADLINE:.0f} seconds") from error
    except httpx2.HTTPError as error:
        raise NotSentError(str(error) or type(error).__name__) from error


async def _post(to: Target, headers: dict[str, str], content: bytes, end: float) -> int:
    limits = httpx2.Timeout(DEADLINE, connect=CONNECT_SECONDS)
    async with (
        asyncio.timeout(end - time.monotonic()),
        httpx2.AsyncClient(
            timeout=limits, verify=_certificates(), trust_env=False
        ) as client,
    ):
        *others, last = to.places
        for place in others:
            try:
                return await _post_to(client, to, place, headers, content)
            except (httpx2.ConnectError, httpx2.ConnectTimeout):
                continue
        return await _post_to(client, to, last, headers, content)


async def _post_to(
    client: httpx2.AsyncClient,
    to: Target,
    place: Address,
    headers: dict[str, str],
    content: bytes,
) -> int:
    """Connect to an IP address; the certificate is that of the host."""
    request = client.build_request(
        "POST",
        to.url.copy_with(host=str(place)),
        headers=headers,
        content=content,
        extensions={"sni_hostname": to.url.raw_host.decode()},
    )
    response = await client.send(request, stream=True, follow_redirects=False)
    await response.aclose()
    return response.status_code


@cache
def _certificates() -> ssl.SSLContext:
    return httpx2.create_ssl_context()
