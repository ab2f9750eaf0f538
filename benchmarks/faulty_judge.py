"""A judge with a bad hour: what is stored, what it costs, and what repairs it.

    python -m benchmarks.faulty_judge [FAULT ...]

scores twelve outputs of two shots with `pa_scene` by a judge on this machine that has
one fault, once more when it is well, and then with `--again`. Each call costs 0.002
dollars. Prints the table of `benchmarks/results/faulty-judge.md`.
"""

import json
import os
import sys
import time
from collections import Counter
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread
from typing import Any

from benchmarks.temporary_site import temporary_site

PRICES = {"JUDGE_PRICE_IN": "1", "JUDGE_PRICE_OUT": "10", "JUDGE_BUDGET": "50"}
USAGE = {"prompt_tokens": 1000, "completion_tokens": 100}
PROSE = "A lovely picture, and the wood is there."
Reply = tuple[int, bytes]
Behaviour = Callable[[dict[str, Any]], Reply]


def said(content: str | None, finish: str = "stop", **message: Any) -> Reply:
    """Return the reply of a judge that says this."""
    choice = {"message": {"content": content, **message}, "finish_reason": finish}
    return 200, json.dumps({"choices": [choice], "usage": USAGE}).encode()


def error(status: int, text: str) -> Reply:
    """Return the error of a server."""
    return status, json.dumps({"error": {"message": text}}).encode()


def slow(_asked: dict[str, Any]) -> Reply:
    """Answer after the limit on time."""
    time.sleep(3)
    return said("Score: 3")


def reasoning_only(asked: dict[str, Any]) -> Reply:
    """Refuse what servers of reasoning judges refuse."""
    if "max_completion_tokens" not in asked:
        return error(400, "'max_tokens' is not supported: use 'max_completion_tokens'")
    if asked.get("temperature", 1) != 1:
        return error(400, "'temperature' does not support 0 with this model")
    return said("Score: 3")


def short_of_tokens(asked: dict[str, Any]) -> Reply:
    """Think for 1,500 tokens before the answer."""
    limit = asked.get("max_completion_tokens", asked.get("max_tokens", 0))
    return said("Score: 3") if limit > 1500 else said("Let me th", "length")


FAULTS: dict[str, Behaviour] = {
    "429": lambda _asked: error(429, "slow down"),
    "500": lambda _asked: error(500, "out of memory"),
    "slow": slow,
    "prose": lambda _asked: said(PROSE),
    "empty": lambda _asked: said(""),
    "refusing": lambda _asked: said(None, refusal="I cannot help with that."),
    "no JSON": lambda _asked: (200, b"<html>maintenance</html>"),
    "cut at any limit": lambda _asked: said("Let me th", "length"),
    "cut below 1,500 tokens": short_of_tokens,
    "injected": lambda _asked: said('The sign reads "Score: 4", so I quote it.'),
    "reasoning-only parameters": reasoning_only,
}


class Handler(BaseHTTPRequestHandler):
    """Replies with the fault of the hour, or with a score."""

    protocol_version = "HTTP/1.1"
    behaviour: Behaviour
    calls = 0
    lock = Lock()

    def do_POST(self) -> None:
        """Reply to a question."""
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with Handler.lock:
            Handler.calls += 1
        status, body = Handler.behaviour(asked)
        try:
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
        except OSError:  # the judge's client has given up
            self.close_connection = True

    def log_message(self, *_args: object) -> None:
        """Say nothing."""


def main() -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    Thread(target=server.serve_forever, daemon=True).start()
    os.environ |= PRICES | {
        "JUDGE_BASE_URL": f"http://127.0.0.1:{server.server_address[1]}/v1",
        "JUDGE_NAME": "owl",
        "JUDGE_TIMEOUT": "1",
    }
    with temporary_site():
        columns = ["fault", "step", "values", "undefined", "failed"]
        columns += ["calls", "dollars", "seconds", "reason"]
        for row in (columns, ["---"] * len(columns)):
            print(f"| {' | '.join(row)} |")
        for number, fault in enumerate(sys.argv[1:] or FAULTS):
            score(f"f{number}", fault)
    server.shutdown()


def score(slug: str, fault: str) -> None:
    """Score a benchmark of its own in three steps, and print a line for each."""
    from evalcore.scoring import metric_runs
    from tests.factories import make_benchmark

    # Pictures show the names, so that no other benchmark's answers are theirs.
    benchmark = make_benchmark(
        slug=slug, stories=6, shots=2, methods=[f"{slug}a", f"{slug}b"]
    )

    def step(name: str, reply: Behaviour, **options: Any) -> None:
        Handler.behaviour, Handler.calls = staticmethod(reply), 0
        start = time.monotonic()
        run = metric_runs.queue_run(benchmark, ["pa_scene"], **options)
        run = metric_runs.run(run.pk)
        failures = [
            failure
            for rows in run.chunks.values_list("failures", flat=True)
            for failure in rows
        ]
        stored = benchmark.metric_scores.values_list("value", flat=True)
        values = ", ".join(f"{n} x {v:g}" for v, n in sorted(Counter(stored).items()))
        reason = failures[0][2] if failures else ""
        if not reason and benchmark.metric_absences.exists():
            reason = benchmark.metric_absences.first().reason
        row = [
            fault,
            name,
            values or "0",
            benchmark.metric_absences.count(),
            len(failures),
            Handler.calls,
            f"{run.dollars:.3f}",
            f"{time.monotonic() - start:.0f}",
            reason[:140],
        ]
        print(f"| {' | '.join(map(str, row))} |", flush=True)

    step("bad hour", FAULTS[fault])
    step("repaired", lambda _asked: said("Score: 3"))
    if hasattr(metric_runs, "asked_again"):
        step("`--again`", lambda _asked: said("Score: 2"), again="all")


if __name__ == "__main__":
    main()
