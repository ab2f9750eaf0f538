"""Race Plumbline against Label Studio and Potato, all in one run, in turns.

    python -m benchmarks.peers --peers FOLDER [--clients 1,8] [--seconds 30]

installs the two into separate environments in FOLDER, serves each tool with the
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
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.figures import head, median_time, p95, row
from benchmarks.peers.clients import WARM_UP
from benchmarks.peers.job import Served
from benchmarks.peers.label_studio import LabelStudio
from benchmarks.peers.plumbline import Plumbline
from benchmarks.peers.potato import Potato
from benchmarks.peers.processes import cpu_seconds, postgres_programs
from benchmarks.temporary_site import ROOT

PROCESSORS = 2


@dataclass
class Cell:
    """Results of one tool for one number of clients, over all rounds."""

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
    # This process, and all it starts, run on the same two processors.
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:PROCESSORS])
    crowds = [int(number) for number in given.clients.split(",")]
    tools = [tool for tool in choose(given.peers.absolute()) if given.only in tool.name]
    cells = {(tool.name, crowd): Cell() for tool in tools for crowd in crowds}
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="peers-")))
        for number, tool in enumerate(tools):
            own = folder / str(number)
            own.mkdir()
            stack.enter_context(tool.ready(own))
        for turn in range(given.rounds):
            print(yardstick(), flush=True)
            for crowd in crowds:
                for tool in tools:
                    cell = cells[tool.name, crowd]
                    measure(tool, f"r{turn}-{crowd}", crowd, given, cell)
                    print(
                        f"  {tool.name}, {crowd} clients: {cell.rates[-1]:.1f} units/s"
                    )
                    print(*cell.errors[:1], end="", flush=True)
    table(tools, crowds, cells)
    return int(any(cell.missing for cell in cells.values()))


def choose(peers: Path) -> list[Any]:
    """Return the rows, those that are compared beside each other."""
    tools: list[Any] = [
        Plumbline(on_postgres=False),
        Potato(peers, gunicorn=False),
        Potato(peers, gunicorn=True),
        LabelStudio(peers, uwsgi=False),
    ]
    if postgres_programs():
        tools += [Plumbline(on_postgres=True), LabelStudio(peers, uwsgi=True)]
    else:
        print("PostgreSQL is not installed: what is served on it is left out.")
    return tools


def yardstick() -> str:
    """Say how fast this machine counts at the moment."""
    counted = 1000 * median_time(lambda: sum(range(200_000)), 50)
    return f"load {os.getloadavg()[0]:.1f}, counts to 200,000 in {counted:.1f} ms"


def measure(
    tool: Any, name: str, crowd: int, given: argparse.Namespace, cell: Cell
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
    cell.units += found["times"]
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


def table(tools: list[Any], crowds: list[int], cells: dict) -> None:
    """Print all rows, and how many times faster the first one is."""
    stored = "answers acknowledged, missing"
    print()
    head(
        *("", "clients", "units/s", "a unit, median and p95", "server a unit"),
        *(stored, "errors"),
    )
    for tool in tools:
        for crowd in crowds:
            cell = cells[tool.name, crowd]
            rates = " and ".join(f"{rate:.1f}" for rate in cell.rates)
            median, high = statistics.median(cell.units), p95(cell.units)
            spent = f"{median:.0f} and {high:.0f} ms"
            cpu = f"{statistics.mean(cell.cpu):.0f} ms"
            answers = f"{cell.acknowledged:,}, {cell.missing}"
            row([tool.name, crowd, rates, spent, cpu, answers, len(cell.errors)])
    print()
    first, *others = tools
    for crowd in crowds:
        ours = statistics.mean(cells[first.name, crowd].rates)
        for tool in others:
            theirs = statistics.mean(cells[tool.name, crowd].rates)
            print(f"{first.name} / {tool.name}, {crowd} clients: {ours / theirs:.1f}")


if __name__ == "__main__":
    raise SystemExit(main())
