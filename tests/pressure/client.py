"""One annotator at work over HTTP, as a process of its own that may be killed.

    python -m tests.pressure.client PORT TOKEN FILE

Takes slot after slot and submits it. What the server acknowledged is on disk, in FILE,
before the next request. Ends when the server says that nothing is left, or that the
link is no longer valid. Uses the standard library only, to be small and quick to start.
"""

import http.client
import json
import os
import random
import sys
import time

PATIENCE = 0.2  # seconds until asking again
# Some think so long that somebody else has the slot by then.
THOUGHTS = (0.0, 0.02, 0.05, 0.1, 0.8)


class Browser:
    """Sends requests until the server answers; whoever serves may die meanwhile."""

    def __init__(self, port: int, token: str) -> None:
        self.port = port
        self.headers = {
            "Authorization": f"Invitation {token}",
            "Content-Type": "application/json",
        }
        self.line: http.client.HTTPConnection | None = None

    def post(self, path: str, body: dict) -> tuple[int, dict]:
        """Return status and body of the first answer that arrives."""
        while True:
            try:
                if self.line is None:
                    self.line = http.client.HTTPConnection(
                        "127.0.0.1", self.port, timeout=30
                    )
                self.line.request("POST", path, json.dumps(body), self.headers)
                response = self.line.getresponse()
                content = response.read()
                return response.status, json.loads(content) if content else {}
            except (OSError, http.client.HTTPException):
                self.line = None
                time.sleep(PATIENCE)


def work(browser: Browser, path: str) -> int:
    """Judge what the server hands out; return the last status."""
    with open(path, "a", encoding="ascii") as acknowledged:
        while True:
            status, slot = browser.post("/api/v1/slot/", {})
            if status == 409:
                time.sleep(PATIENCE)
            elif status != 200:
                return status
            else:
                _judge(browser, slot["code"], acknowledged)


def _judge(browser: Browser, code: str, acknowledged) -> None:
    time.sleep(random.choice(THOUGHTS))
    value = random.randint(0, 4)
    status, submitted = browser.post(
        f"/api/v1/slot/{code}/", {"answers": {"quality": value}, "seconds": 1.5}
    )
    if status == 200:
        acknowledged.write(f"{submitted['code']} {value}\n")
        acknowledged.flush()
        os.fsync(acknowledged.fileno())
    elif status >= 500:
        raise SystemExit(f"The server failed: {status} {submitted}")


if __name__ == "__main__":
    last = work(Browser(int(sys.argv[1]), sys.argv[2]), sys.argv[3])
    sys.exit(0 if last in (204, 401, 403) else f"unexpected status {last}")
