"""One request to a judge's server, by the `openai` client within limits of its own."""

import ssl
import time
from collections.abc import Mapping
from contextlib import closing
from functools import cache
from typing import Any

import httpx2
from openai import APIConnectionError, OpenAI

from evalcore.metrics.llm_judge.settings import JudgeSettings

LONGEST_CONNECT = 15.0
MOST_BYTES = 1 << 20
# Servers without keys get a placeholder such as `none`, which is no secret and may
# occur in answers.
SHORTEST_KEY = 12
# Nothing else is sent, whatever OPENAI_* variables this machine has.
SENT = {
    "host",
    "accept",
    "accept-encoding",
    "connection",
    "content-type",
    "content-length",
    "user-agent",
}
# Headers that describe a body as it was sent, not as it was read.
OF_TRANSFER = {"content-encoding", "content-length", "transfer-encoding"}


class NoResponseError(Exception):
    """No whole reply arrived; `sent` says whether it may be billed nevertheless."""

    def __init__(self, reason: str, *, sent: bool) -> None:
        super().__init__(reason)
        self.sent = sent


class Sender:
    """Connections to the judge's server; used as a context manager."""

    def __init__(self, settings: JudgeSettings) -> None:
        self._timeout = settings.timeout
        self._http = _BoundedClient(settings)
        self._client = OpenAI(
            base_url=settings.base_url,
            api_key=settings.key or "none",
            max_retries=0,
            http_client=self._http,
        )

    def __enter__(self) -> "Sender":
        return self

    def __exit__(self, *error: object) -> None:
        self._client.close()

    def post(self, body: Mapping[str, Any]) -> httpx2.Response:
        """Send a question and return the whole reply, without the key.

        Raises openai.APIStatusError if the server refuses, and NoResponseError.
        """
        rest = dict(body)
        try:
            reply = self._client.chat.completions.with_raw_response.create(
                model=rest.pop("model"), messages=rest.pop("messages"), extra_body=rest
            )
        except APIConnectionError as error:
            cause = error.__cause__
            unsent = isinstance(cause, httpx2.ConnectError | httpx2.ConnectTimeout)
            raise NoResponseError(self._words(cause), sent=not unsent) from error
        response: httpx2.Response = reply.http_response
        return response

    def _words(self, error: BaseException | None) -> str:
        if isinstance(error, httpx2.ConnectTimeout):
            return "it could not be reached in time"
        if isinstance(error, httpx2.TimeoutException):
            return f"it did not reply within {self._timeout:g} seconds"
        said = self._http.without_key(str(error).encode()).decode()
        return said or type(error).__name__


@cache
def _certificates() -> ssl.SSLContext:
    return httpx2.create_ssl_context()


class _BoundedClient(httpx2.Client):
    """HTTP client with limits on the time and size of whole replies.

    Only the judge's server receives the key: redirects are not followed.
    """

    def __init__(self, settings: JudgeSettings) -> None:
        self._key = settings.key
        self._longest = settings.timeout
        connect = min(LONGEST_CONNECT, settings.timeout)
        super().__init__(
            timeout=httpx2.Timeout(settings.timeout, connect=connect, pool=None),
            limits=httpx2.Limits(max_connections=settings.concurrency),
            verify=_certificates(),
            follow_redirects=False,
            # A server on this machine is not reached through a proxy.
            trust_env=not settings.is_local,
        )

    def send(self, request: httpx2.Request, **_how: Any) -> httpx2.Response:
        """Send a request, and read the whole reply."""
        own = {name: v for name, v in request.headers.items() if name.lower() in SENT}
        if self._key:
            own["Authorization"] = f"Bearer {self._key}"
        sent = httpx2.Request(
            request.method,
            request.url,
            headers=own,
            content=request.content,
            extensions=request.extensions,
        )
        end = time.monotonic() + self._longest
        with closing(super().send(sent, stream=True)) as response:
            data = _read(response, end)
        headers = {
            name: self.without_key(value.encode()).decode("ascii", "replace")
            for name, value in response.headers.items()
            if name.lower() not in OF_TRANSFER
        }
        return httpx2.Response(
            response.status_code,
            headers=headers,
            content=self.without_key(data),
            request=request,
        )

    def without_key(self, data: bytes) -> bytes:
        """Return a server's response without the key, in case it repeats it."""
        if len(self._key) < SHORTEST_KEY:
            return data
        for spelling in {self._key, self._key.replace("/", "\\/")}:
            data = data.replace(spelling.encode(), b"[key]")
        return data


def _read(response: httpx2.Response, end: float) -> bytes:
    data = bytearray()
    for block in response.iter_bytes():
        data += block
        if len(data) > MOST_BYTES:
            raise httpx2.ReadError(f"its reply is longer than {MOST_BYTES} bytes")
        if time.monotonic() > end:
            raise httpx2.ReadTimeout("its reply came too slowly")
    return bytes(data)
