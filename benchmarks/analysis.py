"""Time the statistics against their named peers, all in one run.

    python benchmarks/analysis.py [--peers FOLDER] [--no-sizes]

With `--peers`, nlpstats and arena-rank are installed from PyPI into an environment of
their own in FOLDER, made if it is missing; they are no dependencies of this project.
Without it only krippendorff, which is one, is raced. Ten minutes on two idle cores, of
which four are whole alignments of up to a million ratings.
"""

import argparse
import os
import subprocess
import sys
import venv
from pathlib import Path

HERE = Path(__file__).resolve().parent
PEERS = ("nlpstats==0.0.1", "arena-rank==0.1.1")
# What our side of a race needs in the peers' environment.
OWN = ("pandas", "scipy", "threadpoolctl", "pyarrow")
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


def environment(folder: Path) -> Path:
    """Return the interpreter that has the peers; install them if it is missing."""
    python = folder / "bin" / "python"
    if not python.exists():
        venv.create(folder, with_pip=True)
        subprocess.run([python, "-m", "pip", "install", "-q", *PEERS, *OWN], check=True)
    return python


def run(python: Path | str, script: str, *options: str, one_thread: bool) -> None:
    """Run another benchmark and show what it prints."""
    print(f"\n== {script} {' '.join(options)}", flush=True)
    subprocess.run(
        [python, HERE / script, *options],
        env=os.environ | (ONE_THREAD if one_thread else {}),
        check=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--peers", type=Path, help="environment of the peers")
    parser.add_argument("--no-sizes", action="store_true", help="no large alignments")
    given = parser.parse_args()
    run(sys.executable, "agreement.py", "package", one_thread=True)
    if given.peers:
        python = environment(given.peers.absolute())
        run(python, "alignment.py", "tests", one_thread=False)
        run(sys.executable, "leaderboard.py", "--peer", str(python), one_thread=True)
    else:
        run(sys.executable, "leaderboard.py", one_thread=True)
    if not given.no_sizes:
        run(sys.executable, "alignment.py", "data", one_thread=False)
        run(sys.executable, "alignment.py", "sizes", one_thread=False)


if __name__ == "__main__":
    main()
