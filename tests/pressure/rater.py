"""An annotator, as a thread that speaks HTTP as the page does.

Each story is answered, answered otherwise twice, and submitted. The last answer, and
the submission, are sent again, under the same key, until they are acknowledged.
"""

import json
import random
import re
import threading
import time
import urllib.request
from dataclasses import dataclass
from http.client import HTTPException
from http.cookiejar import CookieJar
from typing import NamedTuple

# A story takes a person this long however fast the machine is, so that those of a study
# last for minutes.
THINKING = 0.25
PATIENCE = 0.2  # seconds until what failed is sent again


class Acknowledged(NamedTuple):
    """An answer that the server has called saved, by the key that it was sent with."""

    key: str
    value: int
    is_last: bool
    submitted: bool


@dataclass
class Story:
    """A story and what its person thinks of it, however often that has to be sent."""

    at: str
    passing: list[tuple[str, int]]  # keys and values; each is sent once
    last: tuple[str, int]


class Rater(threading.Thread):
    """An annotator who saves each answer, submits, and continues."""

    def __init__(self, port: int, token: str, patience: float = 60) -> None:
        super().__init__(daemon=True)
        self.home = f"http://127.0.0.1:{port}/rate/{token}/pause/"
        self.cookies = CookieJar()
        keep = urllib.request.HTTPCookieProcessor(self.cookies)
        self.opener = urllib.request.build_opener(keep)
        self.patience = patience
        self.tab, self.told = token[:8], 0
        self.acknowledged: list[Acknowledged] = []
        self.times: list[float] = []
        self.failed: list[str] = []
        self.answered_at: list[float] = []
        self.over = threading.Event()

    @property
    def submitted(self) -> int:
        return sum(one.submitted for one in self.acknowledged)

    def run(self) -> None:
        story: Story | None = None
        while not self.over.is_set():
            try:
                at = self.rate(story) if story else self.begin()
            except (OSError, ValueError, HTTPException) as error:
                told = story.at if story else self.home
                self.failed.append(f"{told}: {error!r}")
                self.over.wait(PATIENCE)
            else:
                story = self.think(at) if at else None

    def begin(self) -> str:
        """Go to the first story of a session, if one is left."""
        self.ask(self.home)
        at = self.ask(self.home, b"")[0]
        return at if "/story/" in at else ""

    def think(self, at: str) -> Story:
        """Think one thing of a story, then another, and perhaps the first again."""
        first, second, third = random.sample(range(5), 3)
        values = [first, second, random.choice([first, third])]
        *passing, last = [(self.key(), value) for value in values]
        return Story(at, passing, last)

    def key(self) -> str:
        """Return a key as the page makes them: later ones are greater."""
        self.told += 1
        return f"{10**12 + self.told} {self.tab}"

    def rate(self, story: Story) -> str:
        """Answer a story, and return the address of the next one.

        Whatever became of a passing answer, the next attempt begins with another.
        """
        while story.passing:
            self.answer(story, *story.passing.pop(0))
        self.answer(story, *story.last)
        self.over.wait(THINKING)
        submit = {"kind": "submit", "id": "", "seconds": 30, "shown": ""}
        reply = self.save(story.at, submit)
        if not reply["submitted"]:
            raise ValueError(f"not submitted: {reply}")
        self.acknowledged.append(Acknowledged(*story.last, True, True))
        return str(reply["next"]) if "/story/" in reply["next"] else ""

    def answer(self, story: Story, key: str, value: int) -> None:
        answer = {"kind": "answer", "id": "quality", "question": "quality"}
        self.save(story.at, answer | {"key": key, "value": value})
        is_last = (key, value) == story.last
        # Given again, an answer goes by its last key.
        if is_last or value != story.last[1]:
            self.acknowledged.append(Acknowledged(key, value, is_last, False))

    def save(self, at: str, row: dict[str, object]) -> dict:
        content = self.ask(f"{at}save/", json.dumps({"rows": [row]}).encode())[1]
        reply = json.loads(content)
        if reply["refused"] or reply["problem"]:
            raise ValueError(f"refused: {reply}")
        self.answered_at.append(time.monotonic())
        return reply

    def ask(self, address: str, body: bytes | None = None) -> tuple[str, bytes]:
        """Return where a request led, and what came back."""
        if address.startswith("/"):
            address = re.match("http://[^/]+", self.home)[0] + address
        request = urllib.request.Request(address, body)
        request.add_header("Accept", "application/json, text/html")
        if body is not None:
            sent = next(c.value for c in self.cookies if c.name == "csrftoken")
            request.add_header("X-CSRFToken", str(sent))
            request.add_header("Content-Type", "application/json")
        began = time.monotonic()
        with self.opener.open(request, timeout=self.patience) as response:
            content = response.read()
        self.times.append(time.monotonic() - began)
        return response.geturl(), content
