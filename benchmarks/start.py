"""How long `make run` takes, once all is set up, until a page comes.

Starts the web server with its workers on a folder of its own, first without a database,
which it makes, then with it:

    python benchmarks/start.py [--runs 5]

Prints medians over the runs, with the quickest and the slowest, of the seconds until
the page on which one logs in has come.
"""

import argparse
import statistics
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.serving import Served

LIMIT = 5.0  # seconds


def seconds_until_a_page(folder: Path) -> float:
    """Start, wait for the first page and for the workers, and stop."""
    began = time.monotonic()
    with Served(folder) as served:
        served.wait_for_pages()
        urllib.request.urlopen(f"http://127.0.0.1:{served.port}/login/").close()
        took = time.monotonic() - began
        served.wait_for_workers()
    return took


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--runs", type=int, default=5)
    took: dict[str, list[float]] = {"no database": [], "a database": []}
    for _ in range(parser.parse_args().runs):
        with tempfile.TemporaryDirectory() as folder:
            for runs in took.values():
                runs.append(seconds_until_a_page(Path(folder)))
    for state, runs in took.items():
        print(
            f"{state}: {statistics.median(runs):.1f} s "
            f"({min(runs):.1f} to {max(runs):.1f}; limit {LIMIT:.0f})"
        )


if __name__ == "__main__":
    main()
