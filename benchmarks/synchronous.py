"""What it costs that SQLite writes each acknowledged answer through to the disk.

    python benchmarks/synchronous.py [--people 6] [--stories 40] [--folder /a/disk]

People work through a study by requests, as one after the other, through Django's whole
middleware. Stories are answered in turns with `synchronous=NORMAL` and with `FULL`, the
setting of Plumbline, so that both meet the machine in the same state. Prints median and
95th percentile of "answer" and "submit and next" of both, their ratios, and how long
the disk below takes to write a page through, in the same minutes.
"""

import argparse
import os
import statistics
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import seat
from benchmarks.temporary_site import temporary_site

LEVELS = ("NORMAL", "FULL")
PAGE = b"0" * 4096


def main() -> None:
    """Measure both settings in turns, and print them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--people", type=int, default=6)
    parser.add_argument("--stories", type=int, default=40)
    parser.add_argument("--folder", help="on the disk that is measured; default: /tmp")
    options = parser.parse_args()
    options.shots, options.side = 2, 64
    with temporary_site(options.folder) as folder:
        from django.test import Client

        seat.ASKING = options.people
        _study, tokens = seat.build(options)
        spent: dict[tuple[str, str], list[float]] = {}
        disk: list[float] = []
        with (folder / "page").open("wb", buffering=0) as stream:
            for token in tokens[: options.people]:
                work(Client(SERVER_NAME="127.0.0.1"), token, spent, disk, stream)
    show(spent)
    print(f"the disk writes a page through: {figures(disk)}")


def work(client, token: str, spent, disk: list[float], stream) -> None:
    """Work through a person's stories, each with the other setting."""
    from django.db import connection
    from django.urls import reverse

    at = client.post(reverse("rate-pause", args=[token]))["Location"]
    turn = 0
    while "/story/" in at:
        level = LEVELS[turn % 2]
        turn += 1
        with connection.cursor() as cursor:
            cursor.execute(f"PRAGMA synchronous={level}")
        answers = spent.setdefault(("answer", level), [])
        for question in ("character", "beauty"):
            seat.timed(answers, seat.save, client, at, [question])
        submits = spent.setdefault(("submit and next", level), [])
        at = seat.timed(submits, seat.save, client, at, [], "")
        seat.timed(disk, write_through, stream)
        if at.endswith("/pause/"):
            at = client.post(at)["Location"]


def write_through(stream) -> None:
    stream.write(PAGE)
    os.fsync(stream.fileno())


def show(spent: dict[tuple[str, str], list[float]]) -> None:
    for name in ("answer", "submit and next"):
        normal, full = (spent[name, level] for level in LEVELS)
        for level, times in zip(LEVELS, (normal, full), strict=True):
            print(f"{name}, {level}: {figures(times)}")
        print(
            f"{name}, FULL to NORMAL: median "
            f"{statistics.median(full) / statistics.median(normal):.2f}, p95 "
            f"{seat.p95(full) / seat.p95(normal):.2f}"
        )


def figures(times: list[float]) -> str:
    return (
        f"median {statistics.median(times):.1f} ms, p95 {seat.p95(times):.1f} ms "
        f"({len(times)} times)"
    )


if __name__ == "__main__":
    main()
