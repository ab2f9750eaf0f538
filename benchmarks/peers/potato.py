"""Potato, as its documentation starts it, and as its container does.

`potato start` serves by Flask's own server, with a thread a request. The container runs
one process of gunicorn with eight threads: Potato keeps everybody's state in memory,
and its documentation refuses a second process.
"""

import json
import re
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.browser import Browser
from benchmarks.peers import job
from benchmarks.peers.job import PASSWORD, Served, Stored
from benchmarks.peers.processes import environment, server
from benchmarks.temporary_site import free_port

VERSION = "2.12.1"
THREADS = 8  # the container's default


class Seat(Browser):
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
        pairs = zip(job.QUESTIONS, values, strict=True)
        given = {f"{key}:{value}": str(value) for key, value in pairs}
        answer: dict[str, object] = {"annotations": given}
        answer |= {"instance_id": self.item, "cleared_schemas": []}
        answer |= {"span_annotations": []}
        answer["client_timestamp"] = datetime.now(UTC).isoformat()
        answer["response_time_seconds"] = time.perf_counter() - self.opened
        saved = self.post("/updateinstance", answer)
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


class Potato:
    kind = "potato"
    most = 80

    def __init__(self, peers: Path, *, gunicorn: bool) -> None:
        self.peers = peers
        self.gunicorn = gunicorn
        how = f"gunicorn, 1 x {THREADS} threads" if gunicorn else "potato start"
        self.name = f"Potato {VERSION}, {how}"

    @contextmanager
    def ready(self, folder: Path) -> Iterator[None]:
        self.folder = folder
        packages = (f"potato-annotation=={VERSION}", "gunicorn")
        self.python = environment(self.peers / "potato", *packages)
        yield

    @contextmanager
    def served(self, name: str, people: int, each: int) -> Iterator[Served]:
        self.task = self.folder / name
        write_task(self.task, each)
        port = free_port()
        bind = f"127.0.0.1:{port}"
        if self.gunicorn:
            command = [
                *(self.python, "-m", "gunicorn", "--bind", bind, "--workers", "1"),
                *("--threads", str(THREADS), "--timeout", "120"),
                "potato.flask_server:create_app('config.yaml')",
            ]
        else:
            command = [
                *(self.python.parent / "potato", "start", "config.yaml"),
                *("--port", str(port), "--host", "127.0.0.1"),
            ]
        log = self.folder / "log"
        ready = f"http://{bind}/health"
        with server(command, ready, log=log, cwd=self.task) as pid:
            names = [f"p{number:03}" for number in range(people)]
            yield Served(f"http://{bind}", names, [pid])

    def stored(self) -> Stored:
        """Return the answers in everybody's file, by person and output."""
        found: Stored = {}
        for file in self.task.glob("annotation_output/*/user_state.json"):
            state = json.loads(file.read_text())
            for output, labels in state["instance_id_to_label_to_value"].items():
                values = {label["schema"]: int(value) for label, value in labels}
                kept = [values.get(key, -1) for key in job.QUESTIONS]
                found[f"{file.parent.name} {output}"] = kept
        return found


def write_task(folder: Path, each: int) -> None:
    """Write a task's folder: its settings and what is judged."""
    folder.mkdir()
    lines = [json.dumps(output) for output in job.outputs()]
    (folder / "outputs.jsonl").write_text("\n".join(lines))
    labels = [str(value) for value in range(job.LOWEST, job.HIGHEST + 1)]
    scale = {"annotation_type": "radio", "horizontal": True, "labels": labels}
    scale["label_requirement"] = {"required": True}
    title, shots = {"key": "title", "type": "text"}, {"key": "shots", "type": "gallery"}
    config = {
        "annotation_task_name": "Stories",
        "task_dir": ".",
        "output_annotation_dir": "annotation_output",
        "data_files": ["outputs.jsonl"],
        "item_properties": {"id_key": "id", "text_key": "title"},
        "user_config": {"allow_all_users": True, "users": []},
        "assignment_strategy": "least_annotated",
        "max_annotations_per_item": job.REDUNDANCY,
        # So that each story is followed by another.
        "max_annotations_per_user": each + 1,
        "instance_display": {"fields": [title, shots]},
        "annotation_schemes": [
            scale | {"name": key, "description": text}
            for key, text in job.QUESTIONS.items()
        ],
    }
    # JSON is YAML.
    (folder / "config.yaml").write_text(json.dumps(config, indent=1))
