"""A scripted judge's server on this machine, and a clock that jumps."""

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from evalcore.metrics.base import FeatureError
from evalcore.metrics.llm_judge.client import Judge
from evalcore.metrics.llm_judge.costs import CostMeter
from evalcore.metrics.llm_judge.questions import JudgeQuestion
from evalcore.metrics.llm_judge.settings import JudgeSettings

KEY = "sk-this-must-never-be-seen/1"


@dataclass
class Asked:
    """One received request."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]

    @property
    def text(self) -> str:
        """Return all texts of all messages."""
        said = []
        for message in self.body["messages"]:
            content = message["content"]
            parts = [content] if isinstance(content, str) else content
            said += [p if isinstance(p, str) else p.get("text") for p in parts]
        return "\n".join(text for text in said if text is not None)

    @property
    def pictures(self) -> list[dict[str, str]]:
        """Return all pictures, as data URLs with their detail."""
        (content,) = [
            m["content"] for m in self.body["messages"] if m["role"] == "user"
        ]
        return [p["image_url"] for p in content if p["type"] == "image_url"]


Behaviour = Callable[["Handler", Asked], None]


def reply(
    content: Any, *, finish: str = "stop", usage: dict | None = None, **message: Any
) -> dict[str, Any]:
    """Return the reply of a well-behaved server."""
    choice = {
        "index": 0,
        "message": {"role": "assistant", "content": content, **message},
        "finish_reason": finish,
    }
    whole: dict[str, Any] = {"object": "chat.completion", "choices": [choice]}
    return {**whole, "usage": usage} if usage else whole


def raw(
    body: bytes,
    *,
    status: int = 200,
    kind: str = "application/json",
    headers: dict[str, str] | None = None,
) -> Behaviour:
    """Return a behaviour that sends these bytes."""

    def behave(handler: "Handler", _asked: Asked) -> None:
        handler.send_response(status)
        handler.send_header("Content-Type", kind)
        handler.send_header("Content-Length", str(len(body)))
        for name, value in (headers or {}).items():
            handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(body)

    return behave


def refuses_parameter(name: str, instead: str = "") -> Behaviour:
    """Return a behaviour that refuses a parameter, as OpenAI's servers do."""
    message = f"Unsupported parameter: '{name}' is not supported with this model."
    message += f" Use '{instead}' instead." if instead else ""
    error = {"message": message, "param": name, "code": "unsupported_parameter"}
    return raw(json.dumps({"error": error}).encode(), status=400)


def answers(content: Any, **how: Any) -> Behaviour:
    """Return a behaviour that gives this answer."""
    return raw(json.dumps(reply(content, **how)).encode())


def fails(status: int, message: str = "", **headers: str) -> Behaviour:
    """Return a behaviour that replies with an error."""
    body = json.dumps({"error": {"message": message}}).encode() if message else b""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return raw(body, status=status, headers=named)


def hangs_up(handler: "Handler", _asked: Asked) -> None:
    """Close the connection without a reply."""
    handler.connection.shutdown(socket.SHUT_RDWR)
    handler.close_connection = True


def half_a_reply(handler: "Handler", _asked: Asked) -> None:
    """Announce more bytes than are sent."""
    handler.send_response(200)
    handler.send_header("Content-Length", "500")
    handler.end_headers()
    handler.wfile.write(b'{"choices": [{"mess')
    hangs_up(handler, _asked)


def slow(seconds: float, then: Behaviour) -> Behaviour:
    """Return a behaviour that first takes some time."""

    def behave(handler: "Handler", asked: Asked) -> None:
        time.sleep(seconds)
        then(handler, asked)

    return behave


def drips(handler: "Handler", _asked: Asked) -> None:
    """Send one space after the other, for two seconds."""
    handler.send_response(200)
    handler.send_header("Content-Length", "100")
    handler.end_headers()
    for _ in range(100):
        handler.wfile.write(b" ")
        handler.wfile.flush()
        time.sleep(0.02)


class Handler(BaseHTTPRequestHandler):
    """Records each request and follows the next step of the script."""

    protocol_version = "HTTP/1.1"
    server: "Server"

    def do_POST(self) -> None:
        size = int(self.headers["Content-Length"])
        asked = Asked(
            self.path, dict(self.headers.items()), json.loads(self.rfile.read(size))
        )
        step = self.server.take(asked)
        try:
            step(self, asked)
        except OSError:  # the client has gone
            self.close_connection = True
        finally:
            self.server.done()

    def do_GET(self) -> None:
        self.server.asked.append(Asked(self.path, dict(self.headers.items()), {}))
        self.send_error(405)

    def log_message(self, format: str, *args: object) -> None:
        pass


class Server(ThreadingHTTPServer):
    """A server whose replies follow a script, and then `then` for ever."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.asked: list[Asked] = []
        self.script: list[Behaviour] = []
        self.then: Behaviour | Callable[[Asked], Behaviour] = answers("Score: 3")
        self.by_question: Callable[[Asked], Behaviour] | None = None
        self.at_once = self.most_at_once = 0
        self._lock = threading.Lock()

    def handle_error(self, request: object, address: object) -> None:
        pass

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"

    def take(self, asked: Asked) -> Behaviour:
        with self._lock:
            self.asked.append(asked)
            self.at_once += 1
            self.most_at_once = max(self.most_at_once, self.at_once)
            if self.script:
                return self.script.pop(0)
        return self.by_question(asked) if self.by_question else self.then

    def done(self) -> None:
        with self._lock:
            self.at_once -= 1


@contextmanager
def serving() -> Iterator[Server]:
    """Yield a running server."""
    server = Server()
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@dataclass
class JumpingClock:
    """A clock on which sleeping takes no time."""

    time: float = 1000.0
    slept: list[float] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def now(self) -> float:
        with self._lock:
            return self.time

    def sleep(self, seconds: float) -> None:
        with self._lock:
            self.time += seconds
            self.slept.append(seconds)


def judge_at(
    server: Server,
    *,
    clock: JumpingClock | None = None,
    meter: CostMeter | None = None,
    **settings: Any,
) -> Judge:
    """Return a judge that asks that server, with a key."""
    settings = {"name": "owl", "key": KEY, "timeout": 5.0, **settings}
    for name in ("budget", "price_in", "price_out", "requests_per_minute"):
        if name in settings:
            settings[name] = Decimal(str(settings[name]))
    made = JudgeSettings(base_url=server.base_url, **settings)
    return Judge(made, meter, clock=clock or JumpingClock())


def ask(judge: Judge, *questions: str | JudgeQuestion) -> list:
    """Return the judge's replies: texts as str, errors as they are."""
    asked = [JudgeQuestion((q,)) if isinstance(q, str) else q for q in questions]
    replies = judge.encode([judge.prepare(question) for question in asked])
    return [r if isinstance(r, FeatureError) else judge.text_of(r) for r in replies]
