"""How long a balanced plan takes: the ViStoryBench user study and larger ones.

    python benchmarks/design.py

Prints the median of five runs and the balance of each design.
"""

import statistics
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from annotate.balance import DesignUnit
from annotate.design import plan

LIMIT_SECONDS = 5.0


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


DESIGNS = {
    "26 methods x 20 stories x 10 ratings x 20 annotators": (likert(26, 20), 20, 10, 7),
    "50 methods x 80 stories x 10 ratings x 60 annotators": (likert(50, 80), 60, 10, 8),
    "4 methods, all pairs x 100 stories x 3 x 30 annotators": (
        pairwise(4, 100), 30, 3, 8,
    ),
}  # fmt: skip


def main() -> None:
    for name, (units, annotators, redundancy, size) in DESIGNS.items():
        times = []
        for seed in range(5):
            start = time.perf_counter()
            made = plan(
                units, annotators=annotators, redundancy=redundancy,
                session_size=size, seed=seed,
            )  # fmt: skip
            times.append(time.perf_counter() - start)
        median = statistics.median(times)
        share = median / LIMIT_SECONDS
        print(
            f"{name}: {median:.2f} s, {share:.2f} of the limit of {LIMIT_SECONDS:g} s"
        )
        for line in made.balance.lines():
            print(f"    {line}")


if __name__ == "__main__":
    main()
