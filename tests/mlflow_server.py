"""A stand-in for an MLflow server: its REST protocol, kept in memory."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

API = "/api/2.0/mlflow/"
ARTIFACTS = "/api/2.0/mlflow-artifacts/artifacts"


@dataclass
class Stored:
    """Runs, values and files that clients have stored."""

    address: str = ""
    experiments: dict[str, str] = field(default_factory=dict)
    runs: dict[str, dict[str, Any]] = field(default_factory=dict)
    files: dict[str, bytes] = field(default_factory=dict)


@contextmanager
def mlflow_server() -> Iterator[Stored]:
    """Serve on a free port of 127.0.0.1."""
    stored = Stored()

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_args: object) -> None:
            pass

        def handle_one(self) -> None:
            at = urlsplit(self.path)
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            path = unquote(at.path)
            if path.startswith(ARTIFACTS):
                name = path.removeprefix(ARTIFACTS).strip("/")
                self.file(name, body, parse_qs(at.query).get("path", [""])[0])
                return
            asked = {k: v[0] for k, v in parse_qs(at.query).items()}
            asked |= json.loads(body) if body else {}
            answer = _answer(stored, path.removeprefix(API), asked)
            if answer is None:
                missing = {"error_code": "RESOURCE_DOES_NOT_EXIST", "message": path}
                self.send(404, json.dumps(missing).encode())
            else:
                self.send(200, json.dumps(answer).encode())

        do_GET = do_POST = do_PUT = handle_one  # noqa: N815

        def file(self, name: str, body: bytes, folder: str) -> None:
            if self.command == "PUT":
                stored.files[name] = body
                self.send(200, b"{}")
            elif name:
                content = stored.files.get(name)
                self.send(404 if content is None else 200, content or b"")
            else:
                self.send(200, json.dumps({"files": _listed(stored, folder)}).encode())

        def send(self, status: int, content: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    stored.address = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield stored
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _listed(stored: Stored, folder: str) -> list[dict[str, Any]]:
    """Return the files and folders in a folder, by their names there."""
    found: dict[str, dict[str, Any]] = {}
    for name, content in stored.files.items():
        if name.startswith(f"{folder}/"):
            first, rest, _below = name.removeprefix(f"{folder}/").partition("/")
            about = {"is_dir": True} if rest else {"file_size": len(content)}
            found[first] = {"path": first, "is_dir": False, **about}
    return list(found.values())


def _answer(stored: Stored, call: str, asked: dict[str, Any]) -> dict[str, Any] | None:
    if call == "experiments/get-by-name":
        name = asked["experiment_name"]
        if name not in stored.experiments:
            return None
        key = stored.experiments[name]
        return {"experiment": {"experiment_id": key, "name": name}}
    if call == "experiments/create":
        key = str(len(stored.experiments) + 1)
        stored.experiments[asked["name"]] = key
        return {"experiment_id": key}
    if call == "runs/create":
        key = f"{len(stored.runs):032x}"
        info = {
            "run_id": key,
            "run_uuid": key,
            "run_name": asked.get("run_name", ""),
            "experiment_id": asked["experiment_id"],
            "status": "RUNNING",
            "artifact_uri": f"mlflow-artifacts:/{key}/artifacts",
            "lifecycle_stage": "active",
        }
        stored.runs[key] = {"info": info, "data": {"metrics": [], "params": []}}
        return {"run": stored.runs[key]}
    if call == "logged-models/search":
        return {"models": []}
    run = stored.runs.get(asked.get("run_id", ""))
    if run is None:
        return None
    if call == "runs/log-batch":
        for kind in ("metrics", "params"):
            run["data"][kind] += asked.get(kind, [])
        return {}
    if call == "runs/update":
        run["info"]["status"] = asked["status"]
        return {"run_info": run["info"]}
    return {"run": run} if call == "runs/get" else None
