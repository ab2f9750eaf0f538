"""The crowd: one process, a thread for each client, the same for every tool.

    python -m benchmarks.peers.clients KIND BASE FILE --seconds N --each N

The file lists who works for each client, one after the other. Everybody comes in before
the clock runs, judges `--each` stories, and is followed by the next person. Prints a
line when all are in; then what was acknowledged, how long it took, and what failed.
"""

import argparse
import importlib
import json
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from benchmarks.peers import job

WARM_UP = 5.0  # seconds that do not count


class Client:
    """One client: the people who work there, and what came of it."""

    def __init__(self, seats: list[Any]) -> None:
        self.seats = seats
        self.acknowledged: dict[str, list[int]] = {}
        self.times: list[tuple[float, float]] = []  # of each unit: began, ended
        self.errors: list[str] = []

    def enter(self) -> None:
        for seat in self.seats:
            seat.enter()
            seat.close()

    def work(self, end: float, each: int) -> None:
        """Judge until the end; who meets an error leaves."""
        for seat in self.seats:
            try:
                for number in range(each):
                    if time.perf_counter() >= end:
                        return
                    self.judge(seat, job.answers(number))
            except (OSError, RuntimeError, ValueError, KeyError) as error:
                self.errors.append(f"{type(error).__name__}: {error}")
            finally:
                seat.close()
        last = f"; the last error: {self.errors[-1]}" if self.errors else ""
        raise RuntimeError(f"Everybody is done before the time is up{last}")

    def judge(self, seat: Any, values: list[int]) -> None:
        began = time.perf_counter()
        self.acknowledged[seat.answer(values)] = values
        seat.turn()
        self.times.append((began, time.perf_counter()))


def at_once(works: list[Callable[[], None]]) -> None:
    """Do all in threads; raise what the first one raises."""
    with ThreadPoolExecutor(len(works)) as pool:
        for future in [pool.submit(work) for work in works]:
            future.result()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("kind", help="the module of the tool")
    parser.add_argument("base")
    parser.add_argument("file", type=Path)
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--each", type=int, required=True)
    given = parser.parse_args()
    shifts: list[list[str]] = json.loads(given.file.read_text())
    seat = importlib.import_module(f"benchmarks.peers.{given.kind}").Seat
    clients = [Client([seat(given.base, one) for one in shift]) for shift in shifts]
    at_once([client.enter for client in clients])
    print("entered", flush=True)
    began = time.perf_counter() + WARM_UP
    end = began + given.seconds
    at_once([lambda one=client: one.work(end, given.each) for client in clients])
    times = [pair for client in clients for pair in client.times]
    counted = [1000 * (b - a) for a, b in times if a >= began and b <= end]
    found = {
        "acknowledged": {k: v for one in clients for k, v in one.acknowledged.items()},
        "times": counted,
        "errors": [error for client in clients for error in client.errors],
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main()
