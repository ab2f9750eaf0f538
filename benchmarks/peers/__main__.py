"""Race Plumbline against Label Studio and Potato, all in one run, in turns.

    python -m benchmarks.peers --peers FOLDER [--clients 1,8] [--seconds 30]

installs the two into environments of their own in FOLDER, serves each tool with the
same job (stories of ten shots, three questions from 0 to 4, ten people an output) and
lets the same clients judge as fast as it lets them. A unit is three answers stored,
and the page of the next story. Servers and clients share two processors. At the end
the server is killed, and every acknowledged answer must be on the disk.

With PostgreSQL installed (programs and contrib modules; Debian's package postgresql)
Plumbline and Label Studio are served on it too. `--only TEXT` takes the rows whose name
holds the text. Exit 1 when an acknowledged answer is missing.
"""

import argparse
import json
import math
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.peers import database
from benchmarks.peers.clients import WARM_UP
from benchmarks.peers.label_studio import LabelStudio
from benchmarks.peers.plumbline import Plumbline
from benchmarks.peers.potato import Potato
from benchmarks.peers.processes import cpu_seconds
from benchmarks.peers.tools import Served, Tool
from benchmarks.temporary_site import ROOT

PROCESSORS = 2


@dataclass
class Cell:
    """What one tool did for one number of clients, in all rounds."""

    rates: list[float] = field(default_factory=list)  # units a second, by round
    units: list[float] = field(default_factory=list)  # milliseconds of each
    cpu: list[float] = field(default_factory=list)  # ms of server a unit, by round
    acknowledged: int = 0  # answers
    missing: int = 0  # of those
    errors: list[str] = field(default_factory=list)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--peers", type=Path, required=True, help="environments")
    parser.add_argument("--clients", default="1,8")
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--each", type=int, default=50, help="stories a person")
    parser.add_argument("--only", default="", help="rows whose name holds this")
    given = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended by SIGTERM"))
    share_processors()
    crowds = [int(number) for number in given.clients.split(",")]
    tools = [tool for tool in choose(given.peers.absolute()) if given.only in tool.name]
    cells = {(tool.name, crowd): Cell() for tool in tools for crowd in crowds}
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="peers-")))
        for number, tool in enumerate(tools):
            own = folder / str(number)
            own.mkdir()
            stack.enter_context(tool.ready(own))
            print(f"{tool.name}: {tool.versions()}", flush=True)
        for turn in range(given.rounds):
            yardsticks(folder)
            for crowd in crowds:
                for tool in tools:
                    cell = cells[tool.name, crowd]
                    measure(tool, f"r{turn}-{crowd}", crowd, given, cell)
                    print(line(tool.name, crowd, cell), flush=True)
    table(tools, crowds, cells)
    return int(any(cell.missing for cell in cells.values()))


def choose(peers: Path) -> list[Tool]:
    """Return the rows, those that are compared beside each other."""
    tools: list[Tool] = [
        Plumbline(on_postgres=False),
        Potato(peers, gunicorn=False),
        Potato(peers, gunicorn=True),
        LabelStudio(peers, uwsgi=False),
    ]
    if database.programs():
        tools += [Plumbline(on_postgres=True), LabelStudio(peers, uwsgi=True)]
    else:
        print("PostgreSQL is not installed: what is served on it is left out.")
    return tools


def share_processors() -> None:
    """Have this process, and all it starts, run on the same two processors."""
    chosen = sorted(os.sched_getaffinity(0))[:PROCESSORS]
    os.sched_setaffinity(0, chosen)


def yardsticks(folder: Path) -> None:
    """Print how fast this machine counts and writes at the moment."""
    print(
        f"{time.strftime('%H:%M')}, load {os.getloadavg()[0]:.1f}: this machine"
        f" counts to 200,000 in {timed(lambda: sum(range(200_000))):.1f} ms,"
        f" has 4 kB on the disk in {timed(lambda: write(folder)):.1f} ms",
        flush=True,
    )


def write(folder: Path) -> None:
    with (folder / "yardstick").open("wb") as file:
        file.write(bytes(4096))
        file.flush()
        os.fsync(file.fileno())


def timed(work) -> float:
    """Return the median milliseconds of fifty calls."""
    times = []
    for _ in range(50):
        began = time.perf_counter()
        work()
        times.append(1000 * (time.perf_counter() - began))
    return statistics.median(times)


def measure(
    tool: Tool, name: str, crowd: int, given: argparse.Namespace, cell: Cell
) -> None:
    """Serve a new study, have it judged, kill the server, look at what is stored."""
    most = tool.most * (given.seconds + WARM_UP)
    shift = math.ceil(most / crowd / given.each) + 1  # people, one after the other
    with tool.served(name, shift * crowd, given.each) as served:
        shifts = [served.people[number::crowd] for number in range(crowd)]
        found, cpu = push(tool.kind, served, shifts, given)
    stored = tool.stored()
    acknowledged = found["acknowledged"]
    cell.rates.append(len(found["times"]) / given.seconds)
    cell.units += [save + page for save, page in found["times"]]
    cell.cpu.append(1000 * cpu / len(acknowledged))
    cell.errors += found["errors"]
    for key, values in acknowledged.items():
        kept = stored.get(key, [])
        cell.acknowledged += len(values)
        same = [one == other for one, other in zip(values, kept, strict=False)]
        cell.missing += len(values) - sum(same)


def push(
    kind: str, served: Served, shifts: list[list[str]], given: argparse.Namespace
) -> tuple[dict, float]:
    """Have clients judge; return what they found, and what it cost the server."""
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(shifts, file)
        file.flush()
        clients = subprocess.Popen(
            [
                *(sys.executable, "-m", "benchmarks.peers.clients"),
                *(kind, served.base, file.name),
                *("--seconds", str(given.seconds), "--each", str(given.each)),
            ],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            clients.stdout.readline()
            before = cpu_seconds(*served.pids)
            output = clients.stdout.readline()
            used = cpu_seconds(*served.pids) - before
            if clients.wait():
                raise RuntimeError("The clients failed; they say why above.")
        finally:
            clients.kill()
            clients.wait()
    return json.loads(output), used


def line(name: str, crowd: int, cell: Cell) -> str:
    rates = ", ".join(f"{rate:.1f}" for rate in cell.rates)
    return (
        f"  {name}, {crowd} clients: {rates} units/s, "
        f"{statistics.mean(cell.cpu):.0f} ms of server a unit; "
        f"{cell.acknowledged} answers acknowledged, {cell.missing} missing; "
        f"{len(cell.errors)} errors {cell.errors[:1] or ''}"
    )


def table(tools: list[Tool], crowds: list[int], cells: dict) -> None:
    """Print all rows, and how many times faster the first one is."""
    print(
        "\n| | clients | units/s | a unit, median and p95 | server a unit |"
        " answers acknowledged, missing | errors |\n|---|---|---|---|---|---|---|"
    )
    for tool in tools:
        for crowd in crowds:
            cell = cells[tool.name, crowd]
            rates = " and ".join(f"{rate:.1f}" for rate in cell.rates)
            median, high = statistics.median(cell.units), p95(cell.units)
            print(
                f"| {tool.name} | {crowd} | {rates} | {median:.0f} and {high:.0f} ms"
                f" | {statistics.mean(cell.cpu):.0f} ms"
                f" | {cell.acknowledged:,}, {cell.missing} | {len(cell.errors)} |"
            )
    print()
    first, *others = tools
    for crowd in crowds:
        ours = statistics.mean(cells[first.name, crowd].rates)
        for tool in others:
            theirs = statistics.mean(cells[tool.name, crowd].rates)
            print(f"{first.name} / {tool.name}, {crowd} clients: {ours / theirs:.1f}")


def p95(times: list[float]) -> float:
    return statistics.quantiles(times, n=20, method="inclusive")[-1]


if __name__ == "__main__":
    raise SystemExit(main())
