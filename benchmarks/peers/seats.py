"""What a page of each tool sends while somebody judges, and what it fetches next.

Every seat does the least that its tool's own page does: it saves once a story, and
leaves out drafts, notes of what was clicked, scripts, styles and pictures.
"""

import json
import re
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Protocol

from benchmarks.browser import Browser
from benchmarks.peers.job import QUESTIONS
from benchmarks.throughput import Annotator

PASSWORD = "A long-enough word 7"


class Seat(Protocol):
    """Somebody's place at a tool."""

    def enter(self) -> None:
        """Come in, and see the first story."""

    def answer(self, values: Sequence[int]) -> str:
        """Have three answers stored; return the name they are stored under."""

    def turn(self) -> None:
        """See the next story."""

    def close(self) -> None:
        """Leave."""


class PlumblineSeat(Annotator):
    """The page of a story: all answers and the submission are one request."""

    def enter(self) -> None:
        self.ask("GET", self.entry)
        self.following = self.start()
        self.turn()

    def answer(self, values: Sequence[int]) -> str:
        self.following = self.save(self.at, values)
        return self.at.split("/")[-2]

    def turn(self) -> None:
        self.at = self.following
        if "/story/" not in self.at:
            raise RuntimeError(f"no further story: {self.at}")
        self.ask("GET", self.at)


class LabelStudioSeat(Browser):
    """The label stream: an annotation is sent, then the next task is asked for."""

    def __init__(self, base: str, person: str) -> None:
        super().__init__(base)
        self.email, self.project = person.split()

    def enter(self) -> None:
        self.ask("GET", "/user/signup/")
        location = self.submit(
            "/user/signup/",
            email=self.email,
            password=PASSWORD,
            csrfmiddlewaretoken=self.cookies["csrftoken"],
        )
        if not location:
            raise RuntimeError(f"{self.email} could not sign up")
        self.turn()

    def answer(self, values: Sequence[int]) -> str:
        result = [
            {
                "id": f"{key}-{self.task}",
                "from_name": key,
                "to_name": "title",
                "type": "choices",
                "origin": "manual",
                "value": {"choices": [str(value)]},
            }
            for key, value in zip(QUESTIONS, values, strict=True)
        ]
        path = f"/api/tasks/{self.task}/annotations?project={self.project}"
        lead_time = time.perf_counter() - self.opened
        stored = self.post(path, {"result": result, "lead_time": lead_time})
        return str(stored["id"])

    def turn(self) -> None:
        path = f"/api/dm/actions?id=next_task&project={self.project}"
        self.task = self.post(path, {"project": self.project})["id"]


class PotatoSeat(Browser):
    """The page of an item: it is saved, then left for the next one's.

    Leaving is two requests: one moves on, the other one fetches the page.
    """

    MOVE = {"X-Potato-Navigation": "1"}

    def __init__(self, base: str, person: str) -> None:
        super().__init__(base)
        self.name = person

    def enter(self) -> None:
        self.submit("/register", email=self.name, **{"pass": PASSWORD})
        self.see()

    def answer(self, values: Sequence[int]) -> str:
        chosen = {
            f"{key}:{value}": str(value)
            for key, value in zip(QUESTIONS, values, strict=True)
        }
        saved = self.post(
            "/updateinstance",
            {
                "instance_id": self.item,
                "annotations": chosen,
                "cleared_schemas": [],
                "span_annotations": [],
                "client_timestamp": datetime.now(UTC).isoformat(),
                "response_time_seconds": time.perf_counter() - self.opened,
            },
        )
        if saved.get("status") != "success":
            raise RuntimeError(f"/updateinstance: {json.dumps(saved)[:300]}")
        return f"{self.name} {self.item}"

    def turn(self) -> None:
        step = {"action": "next_instance", "instance_id": self.item}
        self.post("/annotate", step, self.MOVE)
        self.see()

    def see(self) -> None:
        _location, page = self.ask("GET", "/annotate")
        found = re.search(rb'id="instance_id"[^>]*value="([^"]+)"', page)
        if not found:
            raise RuntimeError(f"no item on the page: {page[:300]!r}")
        self.item = found[1].decode()


SEATS = {
    "plumbline": PlumblineSeat,
    "label_studio": LabelStudioSeat,
    "potato": PotatoSeat,
}
