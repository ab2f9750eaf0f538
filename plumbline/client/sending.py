"""Requests to a server: retries, idempotency keys, refusals and pages of lists."""

import hashlib
import time
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import httpx2

# Statuses of a server that is restarting, busy, or asks for patience.
PASSING = (429, 502, 503, 504)
LONGEST_WAIT = 60.0


class PlumblineError(Exception):
    """A request that did not succeed."""


class UnreachableError(PlumblineError):
    """No answer, although the request was repeated."""


class RefusedError(PlumblineError):
    """A request that the server refused.

    Attributes
    ----------
    status : int
        The HTTP status.
    document : dict
        The problem document (RFC 9457) as the server sent it.
    """

    def __init__(self, status: int, document: Mapping[str, Any]) -> None:
        self.status = status
        self.document = dict(document)
        problems = [str(one["text"]) for one in self.problems]
        told = "; ".join(problems) or str(document.get("detail", ""))
        super().__init__(f"{status} {document.get('title', '')}: {told}")

    @property
    def problems(self) -> list[dict[str, Any]]:
        """Return every problem of the input, each with its ``text`` and place."""
        return list(self.document.get("problems", []))


class NotAllowedError(RefusedError):
    """No valid token, or one that does not allow this (401, 403)."""


class NotFoundError(RefusedError):
    """No such object, or none that the token may see (404)."""


class ConflictError(RefusedError):
    """Not possible now, or any more (409, 410); ``next`` says what a session does."""

    @property
    def next(self) -> str:
        """Return what an annotator has to do first; empty elsewhere."""
        return str(self.document.get("next", ""))


class InvalidError(RefusedError):
    """Input with problems; nothing was stored (400, 413, 415, 422)."""


KINDS: dict[int, type[RefusedError]] = {
    400: InvalidError,
    401: NotAllowedError,
    403: NotAllowedError,
    404: NotFoundError,
    409: ConflictError,
    410: ConflictError,
    413: InvalidError,
    415: InvalidError,
    422: InvalidError,
}


class Connection:
    """Requests with one authorization, repeated when the server is away.

    Parameters
    ----------
    address : str
        The server's address, such as ``https://ratings.example.org``.
    authorization : str
        The value of the ``Authorization`` header; empty for none.
    language : str
        The language of messages.
    timeout : float
        Seconds to wait for one answer.
    tries : int
        How often a request is sent at most.
    has_keys : bool
        Whether a repeated POST needs a key, so that it is carried out once.
    transport : httpx2.BaseTransport, optional
        What sends requests, for tests and proxies.
    """

    def __init__(
        self,
        address: str,
        authorization: str,
        *,
        language: str = "en",
        timeout: float = 60.0,
        tries: int = 5,
        has_keys: bool = True,
        transport: httpx2.BaseTransport | None = None,
    ) -> None:
        headers = {"Accept": "application/json", "Accept-Language": language}
        if authorization:
            headers["Authorization"] = authorization
        self.tries, self.has_keys = tries, has_keys
        self._http = httpx2.Client(
            base_url=address.rstrip("/"),
            headers=headers,
            timeout=timeout,
            transport=transport,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def send(
        self,
        method: str,
        path: str,
        *,
        json: object = None,
        content: bytes | None = None,
        params: Mapping[str, Any] | None = None,
    ) -> httpx2.Response:
        """Send a request; repeat it, with the same key, while the server is away.

        Raises
        ------
        RefusedError
            The server refused the request.
        UnreachableError
            There was no answer.
        """
        headers = {}
        if self.has_keys and method == "POST":
            headers["Idempotency-Key"] = str(uuid.uuid4())
        if content is not None:
            headers["Content-Type"] = "application/octet-stream"
        for left in reversed(range(self.tries)):
            wait = min(2.0 ** (self.tries - left - 1) / 2, LONGEST_WAIT)
            try:
                response = self._http.request(
                    method,
                    path,
                    json=json,
                    content=content,
                    params=params,
                    headers=headers,
                )
            except httpx2.TransportError as error:
                if not left:
                    text = f"{method} {self._http.base_url}{path}: {error!r}"
                    raise UnreachableError(text) from error
            else:
                if response.status_code not in PASSING or not left:
                    break
                asked = response.headers.get("Retry-After", "")
                wait = float(asked) if asked.isdecimal() else wait
                if wait > LONGEST_WAIT:
                    break
            time.sleep(wait)
        _raise_refusal(response)
        return response

    def save(self, path: str, place: Path, *, sha256: str) -> None:
        """Store a file of the server whole, or not at all.

        Raises
        ------
        PlumblineError
            The server refused it, or the file arrived damaged.
        """
        draft, digest = place.with_name(f"{place.name}.part"), hashlib.sha256()
        try:
            with self._http.stream("GET", path) as response, draft.open("wb") as file:
                if not response.is_success:
                    response.read()
                _raise_refusal(response)
                for block in response.iter_bytes():
                    digest.update(block)
                    file.write(block)
            if digest.hexdigest() != sha256:
                raise PlumblineError(f"{place.name} arrived damaged. Fetch it again.")
            draft.replace(place)
        except httpx2.TransportError as error:
            raise UnreachableError(f"GET {path}: {error!r}") from error
        finally:
            draft.unlink(missing_ok=True)

    def get(self, path: str, **params: Any) -> Any:
        """Return the JSON of an address."""
        return self.send("GET", path, params=params).json()

    def post(self, path: str, **body: Any) -> Any:
        """Post JSON; return the reply's."""
        response = self.send("POST", path, json=body)
        return response.json() if response.content else None

    def pages(self, path: str, **params: Any) -> Iterator[dict[str, Any]]:
        """Yield the rows of a list, page by page."""
        found = self.get(path, **params)
        yield from found["results"]
        while following := found.get("next"):
            # A proxy may have changed scheme and host.
            found = self.get(httpx2.URL(following).raw_path.decode())
            yield from found["results"]


def _raise_refusal(response: httpx2.Response) -> None:
    if not response.is_success:
        kind = KINDS.get(response.status_code, RefusedError)
        raise kind(response.status_code, _document(response))


def _document(response: httpx2.Response) -> dict[str, Any]:
    """Return the problem document of a refusal, made up if there is none."""
    try:
        found = response.json()
    except ValueError:
        found = None
    if isinstance(found, dict):
        return found
    return {"title": response.reason_phrase, "detail": response.text[:500]}
