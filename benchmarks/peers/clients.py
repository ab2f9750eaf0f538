"""The crowd: one process, a thread for each client, the same for every tool.

    python -m benchmarks.peers.clients KIND BASE FILE --seconds N --each N

The file lists who works for each client, one after the other. Everybody comes in before
the clock runs, judges `--each` stories, and is followed by the next person. Prints a
line when all are in; then what was acknowledged, how long it took, and what failed.
"""

import argparse
import json
import threading
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.peers import job
from benchmarks.peers.seats import SEATS, Seat

WARM_UP = 5.0  # seconds that do not count


class Client:
    """One client: the people who work there, and what came of it."""

    def __init__(self, seats: list[Seat]) -> None:
        self.seats = seats
        self.acknowledged: dict[str, list[int]] = {}
        self.times: list[tuple[float, float, float]] = []  # began, saved, turned
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

    def judge(self, seat: Seat, values: list[int]) -> None:
        began = time.perf_counter()
        name = seat.answer(values)
        saved = time.perf_counter()
        self.acknowledged[name] = values
        seat.turn()
        self.times.append((began, saved, time.perf_counter()))


def at_once(works: list[Callable[[], None]]) -> None:
    """Do all in threads; raise what the first one raises."""
    failed: list[BaseException] = []

    def run(work: Callable[[], None]) -> None:
        try:
            work()
        except BaseException as error:  # noqa: BLE001 - raised by who waits
            failed.append(error)

    threads = [threading.Thread(target=run, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failed:
        raise failed[0]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("kind", choices=SEATS)
    parser.add_argument("base")
    parser.add_argument("file", type=Path)
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--each", type=int, required=True)
    given = parser.parse_args()
    shifts: list[list[str]] = json.loads(given.file.read_text())
    clients = [
        Client([SEATS[given.kind](given.base, person) for person in shift])
        for shift in shifts
    ]
    at_once([client.enter for client in clients])
    print("entered", flush=True)
    began = time.perf_counter() + WARM_UP
    end = began + given.seconds
    at_once([lambda one=client: one.work(end, given.each) for client in clients])
    counted = [
        (1000 * (saved - start), 1000 * (turned - saved))
        for client in clients
        for start, saved, turned in client.times
        if start >= began and turned <= end
    ]
    found = {
        "acknowledged": {k: v for one in clients for k, v in one.acknowledged.items()},
        "times": counted,
        "errors": [error for client in clients for error in client.errors],
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main()
