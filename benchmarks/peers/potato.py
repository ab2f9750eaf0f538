"""Potato, as its documentation starts it, and as its container does.

`potato start` serves by Flask's own server, with a thread a request. The container runs
one process of gunicorn with eight threads: Potato keeps everybody's state in memory,
and its documentation refuses a second process.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.peers import job
from benchmarks.peers.processes import environment, server, version
from benchmarks.peers.tools import Served, Stored
from benchmarks.temporary_site import free_port

VERSION = "2.12.1"
THREADS = 8  # the container's default


class Potato:
    kind = "potato"
    most = 80

    def __init__(self, peers: Path, *, gunicorn: bool) -> None:
        self.peers = peers
        self.gunicorn = gunicorn
        how = f"gunicorn, 1 x {THREADS} threads" if gunicorn else "potato start"
        self.name = f"Potato, {how}"

    def versions(self) -> str:
        packages = ("potato-annotation", "flask", "gunicorn")
        return ", ".join(f"{one} {version(self.python, one)}" for one in packages)

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
                found[f"{file.parent.name} {output}"] = [
                    values.get(key, -1) for key in job.QUESTIONS
                ]
        return found


def write_task(folder: Path, each: int) -> None:
    """Write a task's folder: its settings and what is judged."""
    folder.mkdir()
    lines = [json.dumps(output) for output in job.outputs()]
    (folder / "outputs.jsonl").write_text("\n".join(lines))
    labels = [str(value) for value in range(job.LOWEST, job.HIGHEST + 1)]
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
        "instance_display": {
            "fields": [
                {"key": "title", "type": "text"},
                {"key": "shots", "type": "gallery"},
            ]
        },
        "annotation_schemes": [
            {
                "annotation_type": "radio",
                "name": key,
                "description": text,
                "labels": labels,
                "horizontal": True,
                "label_requirement": {"required": True},
            }
            for key, text in job.QUESTIONS.items()
        ],
    }
    # JSON is YAML.
    (folder / "config.yaml").write_text(json.dumps(config, indent=1))
