"""Count how often tests between metrics reject two that agree equally well.

    python benchmarks/type_one.py [--studies 500] [--only story,pairs] [--csv FILE]

Draws studies in which both metrics agree with people equally, so that every rejection
is an error; the shares should be near the nominal .05. Metrics may have effects of
their own for methods and for stories. Seeds are fixed. Some twenty minutes on one core.
"""

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from analysis.correlations.level_estimates import level_spread
from analysis.correlations.metric_differences import metric_differences
from analysis.options import Sampling
from analysis.pairwise.accuracy_differences import accuracy_differences
from analysis.pairwise.output_pairs import rating_pairs
from analysis.pairwise.soft_accuracy import spa_differences
from analysis.reading.cells import CellGrid
from analysis.results import Array
from benchmarks.cell_grids import cell_grid

NOMINAL = 0.05
SIZES = ((40, 5), (40, 8), (12, 12), (160, 10), (40, 25))
COEFFICIENTS = ("kendall", "spearman", "pearson")
LEVELS = ("story", "pooled", "method")
FAMILIES = (*LEVELS, "pairs", "spa")
# Standard deviations of a metric's own effects: of methods, and of how much it follows
# the quality inside a story.
WORLDS = {
    "no effects": (0.0, 0.0),
    "methods .4": (0.4, 0.0),
    "methods .8": (0.8, 0.0),
    "stories": (0.0, 0.6),
    "methods .4, stories": (0.4, 0.6),
    "ties": (0.0, 0.0),
}
TESTS = {"stories+methods": ("stories", "methods"), "stories": ("stories",)}


def study(world: str, n_stories: int, n_methods: int, seed: int) -> CellGrid:
    """Draw people's values and two metrics that follow them equally well."""
    rng = np.random.default_rng(seed)
    cells = n_stories, n_methods
    quality = 0.6 * rng.normal(size=n_methods) + 0.8 * rng.normal(size=cells)
    human: Array = quality + 0.5 * rng.normal(size=cells)
    of_methods, of_stories = WORLDS[world]
    follows = 1 + of_stories * rng.normal(size=(2, n_stories, 1))
    liked = of_methods * rng.normal(size=(2, 1, n_methods))
    scores: Array = quality * follows + liked + rng.normal(size=(2, *cells))
    if world == "ties":
        human, scores = np.clip(np.round(human + 3), 1, 5), np.round(scores * 1.5)
    return cell_grid(human, scores, ("a", "b"))


def p_values(
    grid: CellGrid, families: list[str], parts: tuple[str, ...], seed: int
) -> Iterator[tuple[str, str, float]]:
    """Yield family, statistic and p-value of every test of a study."""
    sampling = Sampling(resamples=1, confidence=0.95, seed=seed)
    for level in [name for name in LEVELS if name in families]:
        asked = grid, level, COEFFICIENTS
        spread = level_spread(*asked, parts, sampling)
        for row in metric_differences(*asked, spread, sampling):
            yield level, str(row["coefficient"]), float(str(row["p_value"]))
    if "pairs" in families:
        pairs = rating_pairs(grid)
        for row in accuracy_differences(
            pairs, epsilon="heldout", parts=parts, sampling=sampling
        ):
            yield "pairs", str(row["statistic"]), float(str(row["p_value"]))
    if "spa" in families:
        for row in spa_differences(grid, sampling=sampling):
            yield "spa", "spa", float(str(row["p_value"]))


def rejected(
    world: str, size: tuple[int, int], families: list[str], studies: int
) -> list[dict[str, object]]:
    """Return the share of studies in which each test rejects."""
    found = []
    for test, parts in TESTS.items():
        told = [
            {"family": family, "statistic": name, "rejected": p <= NOMINAL}
            for seed in range(studies)
            for family, name, p in p_values(
                study(world, *size, seed), families, parts, seed
            )
        ]
        shares = pd.DataFrame(told).groupby(["family", "statistic"], sort=False).mean()
        for (family, name), share in shares["rejected"].items():
            found.append(
                {
                    "world": world,
                    "stories": size[0],
                    "methods": size[1],
                    "drawn": test,
                    "level": family,
                    "statistic": name,
                    "rejected": share,
                }
            )
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--studies", type=int, default=500)
    parser.add_argument("--only", default=",".join(FAMILIES))
    parser.add_argument("--csv", type=Path)
    given = parser.parse_args()
    rows = []
    for size in SIZES:
        for world in WORLDS:
            here = rejected(world, size, given.only.split(","), given.studies)
            rows += here
            shares = " ".join(
                f"{row['level']} {row['statistic']} {row['rejected']:.3f}"
                for row in here
                if row["drawn"] == "stories+methods"
            )
            print(f"{size[0]} x {size[1]}, {world}: {shares}", flush=True)
    if given.csv:
        pd.DataFrame(rows).to_csv(given.csv, index=False)


if __name__ == "__main__":
    main()
