"""Medians, percentiles, ratios and tables of measurements."""

import statistics
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any


def p95(times: Sequence[float]) -> float:
    return statistics.quantiles(times, n=20, method="inclusive")[-1]


def median_p95(times: Sequence[float]) -> str:
    """Return median and 95th percentile as a text; a dash where nothing was timed."""
    if len(times) < 2:
        return "-"
    return f"{statistics.median(times):.1f} / {p95(times):.1f}"


def timed(work: Callable[[], Any], times: int = 1) -> list[float]:
    """Return the seconds of each of several calls."""
    found = []
    for _ in range(times):
        start = time.perf_counter()
        work()
        found.append(time.perf_counter() - start)
    return found


def median_time(work: Callable[[], Any], times: int = 3) -> float:
    return statistics.median(timed(work, times))


def memory(kind: str, pid: int | str = "self") -> float:
    """Return the MB of a process now (VmRSS) or at most (VmHWM); 0 once it ended."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0.0
    lines = [line for line in status.splitlines() if line.startswith(kind)]
    return int(lines[0].split()[1]) / 1000 if lines else 0.0


def head(*names: str) -> None:
    """Print the head of a Markdown table."""
    row(names)
    row("---" for _ in names)


def row(cells: Iterable[object]) -> None:
    print("|", " | ".join(map(str, cells)), "|", flush=True)
