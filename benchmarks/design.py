"""How long a balanced plan takes, how much memory, and how good it is.

    python benchmarks/design.py [--quick] [--runs N]

Prints a curve of time and peak memory against the number of slots, each size in a
process of its own, beside the two limits: 20,800 slots in 2 s; a million slots in 60 s
and 2 GB. Then the balance of the ViStoryBench user study beside what arithmetic allows.
`--quick` leaves the million out. The exit code is 1 if a limit is exceeded.
"""

import argparse
import json
import resource
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from annotate.assignment.designs.balance import BalanceReport, DesignUnit
from annotate.assignment.designs.balanced import plan
from annotate.assignment.designs.planned_slots import LanguageGroup


@dataclass(frozen=True)
class Design:
    """A study: its size, and the limits that it must keep, if any."""

    pairs: bool
    methods: int
    stories: int
    redundancy: int
    annotators: int
    session_size: int
    seconds: float | None = None
    gigabytes: float | None = None

    def units(self) -> list[DesignUnit]:
        make = pairwise if self.pairs else likert
        return make(self.methods, self.stories)

    @property
    def groups(self) -> list[LanguageGroup]:
        return [LanguageGroup("", self.annotators, self.redundancy)]

    def __str__(self) -> str:
        shown = "methods, all pairs," if self.pairs else "methods"
        return (
            f"{self.methods} {shown} x {self.stories} stories x {self.redundancy}, "
            f"{self.annotators} annotators"
        )


def likert(methods: int, stories: int) -> list[DesignUnit]:
    return [
        DesignUnit(m * stories + s, f"s{s}", (f"m{m}",))
        for m in range(methods)
        for s in range(stories)
    ]


def pairwise(methods: int, stories: int) -> list[DesignUnit]:
    pairs = [(a, b) for a in range(methods) for b in range(a + 1, methods)]
    return [
        DesignUnit(s * len(pairs) + i, f"s{s}", (f"m{a}", f"m{b}"))
        for s in range(stories)
        for i, (a, b) in enumerate(pairs)
    ]


USER_STUDY = Design(False, 26, 20, 10, 20, 7)
DESIGNS = [
    Design(False, 10, 10, 10, 20, 7),
    Design(True, 5, 10, 10, 20, 7),
    USER_STUDY,
    Design(False, 25, 40, 10, 40, 7),
    Design(False, 26, 80, 10, 60, 7, seconds=2),
    Design(True, 5, 208, 10, 60, 7, seconds=2),
    Design(False, 50, 200, 10, 200, 8),
    Design(True, 10, 222, 10, 200, 8),
    Design(False, 50, 2000, 10, 1000, 8, seconds=60, gigabytes=2),
    Design(True, 10, 2222, 10, 1000, 8, seconds=60, gigabytes=2),
]
LARGE = 8


def measure_one(number: int, runs: int) -> dict[str, float]:
    """Plan a design several times; return the median time and the peak memory."""
    design = DESIGNS[number]
    units = design.units()
    times = []
    for seed in range(runs):
        start = time.perf_counter()
        made = plan(
            units,
            groups=design.groups,
            session_size=design.session_size,
            seed=seed,
        )
        times.append(time.perf_counter() - start)
    return {
        "slots": len(made.assignments),
        "seconds": statistics.median(times),
        "gigabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
    }


def curve(numbers: range, runs: int) -> bool:
    """Print time and memory against size; say whether the limits are kept."""
    print(f"{'slots':>9}  {'seconds':>8}  {'GB':>5}  limit      design")
    kept = True
    for number in numbers:
        design = DESIGNS[number]
        arguments = [__file__, "--one", str(number), "--runs", str(runs)]
        output = subprocess.run(
            [sys.executable, *arguments], check=True, capture_output=True, text=True
        ).stdout
        found = json.loads(output)
        limit = f"{design.seconds:g} s" if design.seconds else ""
        limit += f", {design.gigabytes:g} GB" if design.gigabytes else ""
        print(
            f"{found['slots']:>9,}  {found['seconds']:>8.2f}  "
            f"{found['gigabytes']:>5.2f}  {limit:<10} {design}",
            flush=True,
        )
        kept &= found["seconds"] <= (design.seconds or found["seconds"])
        kept &= found["gigabytes"] <= (design.gigabytes or found["gigabytes"])
    return kept


def user_study() -> None:
    """Print each line of the balance of the user study beside its optimum."""
    design = USER_STUDY
    units, people = design.units(), design.annotators
    balance = plan(
        units,
        groups=design.groups,
        session_size=design.session_size,
        seed=1,
    ).balance
    slots = len(units) * design.redundancy
    load = slots // people
    count = -(-load // design.session_size)
    shared = len(units) * design.redundancy * (design.redundancy - 1)
    shared_mean = shared / (people * (people - 1))
    optima = {
        "redundancy": (design.redundancy, design.redundancy),
        "load": (load, -(-slots // people)),
        "sessions": (count, count),
        "session_size": (load // count, -(-load // count)),
        "method_spread": int(load % design.methods > 0),
        "repeated_units": 0,
        "stories_twice_in_session": 0,
        "connected": True,
        "overlap": (int(shared_mean), int(shared_mean) + (shared_mean % 1 > 0)),
        "overlap_mean": round(shared_mean, 2),
        "position_spread": 0.0,
        "follow": round(balance.follow_expected, 4),
    }
    print(f"\nThe ViStoryBench user study: {design}, sessions of 6 to 7")
    print(f"{'':<26}{'found':>14}{'optimum':>14}")
    for name, optimum in optima.items():
        print(f"{name:<26}{_short(balance, name):>14}{optimum!s:>14}")


def _short(balance: BalanceReport, name: str) -> str:
    value = getattr(balance, name)
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="leave out the million")
    parser.add_argument("--runs", type=int, default=3, help="runs a size (median)")
    parser.add_argument("--one", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one is not None:
        print(json.dumps(measure_one(options.one, options.runs)))
        return
    kept = curve(range(LARGE if options.quick else len(DESIGNS)), options.runs)
    user_study()
    if not kept:
        sys.exit("A limit is exceeded.")


if __name__ == "__main__":
    main()
