"""A minimal browser over HTTP: one persistent connection, and cookies."""

import http.client
import json
import re
import time
from urllib.parse import urlencode, urlsplit

FORM = {"Content-Type": "application/x-www-form-urlencoded"}
JSON = {"Content-Type": "application/json", "Accept": "application/json"}


class Browser:
    """A user's browser: one connection, one page after the other."""

    def __init__(self, base: str) -> None:
        self.line = http.client.HTTPConnection(urlsplit(base).netloc, timeout=60)
        self.cookies: dict[str, str] = {}
        self.opened = 0.0  # when the last answer had come

    def ask(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        headers: dict[str, str] | None = None,
    ) -> tuple[str, bytes]:
        """Return the address that an answer leads to, and what it holds."""
        sent = {"Cookie": "; ".join(f"{k}={v}" for k, v in self.cookies.items())}
        sent |= {"X-CSRFToken": self.cookies.get("csrftoken", "")} | (headers or {})
        self.line.request(method, path, body, sent)
        response = self.line.getresponse()
        content = response.read()
        self.opened = time.perf_counter()
        if response.status >= 400:
            raise RuntimeError(f"{method} {path}: {response.status} {content[:300]!r}")
        for cookie in response.headers.get_all("Set-Cookie") or []:
            if found := re.match(r"(\w+)=([^;]*)", cookie):
                self.cookies[found[1]] = found[2]
        return response.headers.get("Location", ""), content

    def submit(self, path: str, **fields: str) -> str:
        """Send a form; return the address that the answer leads to."""
        return self.ask("POST", path, urlencode(fields).encode(), FORM)[0]

    def post(
        self, path: str, value: object, headers: dict[str, str] | None = None
    ) -> dict:
        """Send JSON; return the JSON of the answer."""
        body = json.dumps(value).encode()
        _location, content = self.ask("POST", path, body, JSON | (headers or {}))
        return json.loads(content)

    def close(self) -> None:
        self.line.close()
