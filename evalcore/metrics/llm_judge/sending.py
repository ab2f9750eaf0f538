"""One request to a judge's server, with limits on time and reply size."""

import ssl
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import httpx2

from evalcore.metrics.llm_judge.settings import JudgeSettings

LONGEST_CONNECT = 15.0
MOST_BYTES = 1 << 20
# Servers without keys get a placeholder such as `none`, which is no secret and may
# occur in answers.
SHORTEST_KEY = 12


@dataclass(frozen=True)
class Response:
    """A server's response, with the key removed from it."""

    status: int
    body: bytes
    kind: str = ""
    retry_after: str | None = None
    location: str = ""


class NoResponseError(Exception):
    """No whole reply arrived; `sent` says whether it may be billed nevertheless."""

    def __init__(self, reason: str, *, sent: bool) -> None:
        super().__init__(reason)
        self.sent = sent


@cache
def _certificates() -> ssl.SSLContext:
    return httpx2.create_ssl_context()


class Sender:
    """Connections to the judge's server; used as a context manager.

    Only that server receives the key: redirects are not followed.
    """

    def __init__(self, settings: JudgeSettings, now: Callable[[], float]) -> None:
        self._settings = settings
        self._now = now
        headers = {"Content-Type": "application/json"}
        if settings.key:
            headers["Authorization"] = f"Bearer {settings.key}"
        longest = min(LONGEST_CONNECT, settings.timeout)
        self._client = httpx2.Client(
            headers=headers,
            timeout=httpx2.Timeout(settings.timeout, connect=longest, pool=None),
            limits=httpx2.Limits(max_connections=settings.concurrency),
            verify=_certificates(),
            follow_redirects=False,
            # A server on this machine is not reached through a proxy.
            trust_env=not settings.is_local,
        )

    def __enter__(self) -> "Sender":
        self._client.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self._client.close()

    def post(self, body: bytes, deadline: float) -> Response:
        """Send a question and read the whole reply, before the deadline."""
        try:
            with self._client.stream(
                "POST", self._settings.url, content=body
            ) as response:
                data = self._read(response, deadline)
        except (httpx2.ConnectError, httpx2.ConnectTimeout) as error:
            raise NoResponseError(self._words(error), sent=False) from error
        except httpx2.RequestError as error:
            raise NoResponseError(self._words(error), sent=True) from error
        headers = {
            name.lower(): self._without_key(value.encode()).decode()
            for name, value in response.headers.items()
        }
        return Response(
            response.status_code,
            self._without_key(data),
            headers.get("content-type", ""),
            headers.get("retry-after"),
            headers.get("location", ""),
        )

    def _read(self, response: httpx2.Response, deadline: float) -> bytes:
        data = bytearray()
        for block in response.iter_bytes():
            data += block
            if len(data) > MOST_BYTES:
                reason = f"its reply is longer than {MOST_BYTES} bytes"
                raise NoResponseError(reason, sent=True)
            if self._now() > deadline:
                raise NoResponseError("its reply came too slowly", sent=True)
        return bytes(data)

    def _words(self, error: httpx2.RequestError) -> str:
        if isinstance(error, httpx2.ConnectTimeout):
            return "it could not be reached in time"
        if isinstance(error, httpx2.TimeoutException):
            return f"it did not reply within {self._settings.timeout:g} seconds"
        return self._without_key(str(error).encode()).decode() or type(error).__name__

    def _without_key(self, data: bytes) -> bytes:
        """Return a server's response without the key, in case it repeats it."""
        key = self._settings.key
        if len(key) < SHORTEST_KEY:
            return data
        for spelling in {key, key.replace("/", "\\/")}:
            data = data.replace(spelling.encode(), b"[key]")
        return data
