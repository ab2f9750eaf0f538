"""Coverage of shares of true labels by majority and by Dawid and Skene, simulated.

python -m benchmarks.label_aggregation --studies 300
"""

import argparse

import numpy as np
import pandas as pd

from analysis.reliability.label_shares import aggregation_rows

# Stories, outputs of each, annotators, and annotators of each output.
DESIGNS = ((40, 5, 3, 3), (40, 5, 5, 5), (40, 5, 20, 3), (15, 8, 5, 3), (100, 8, 8, 3))
# How often yes is true, and how alike the outputs of a story are.
SHARE, ALIKE = 0.3, 0.2


def study(
    rng: np.random.Generator, stories: int, outputs: int, people: int, raters: int
) -> pd.DataFrame:
    """Draw answers of annotators who are right in 60 to 95 %, by what is true."""
    spread = (1 - ALIKE) / ALIKE
    chance = rng.beta(SHARE * spread, (1 - SHARE) * spread, (stories, 1))
    true = (rng.random((stories, outputs)) < chance).astype(int)
    right = np.stack([np.linspace(0.95, 0.7, people), np.linspace(0.6, 0.9, people)])
    turn = rng.permuted(np.tile(np.arange(people), (true.size, 1)), axis=1)
    s, m, _r = np.indices((stories, outputs, raters)).reshape(3, -1)
    who = turn[:, :raters].ravel()
    is_right = rng.random(len(s)) < right[true[s, m], who]
    return pd.DataFrame(
        {
            "dimension": "q",
            "story": np.char.mod("s%03d", s),
            "method": np.char.mod("m%d", m),
            "annotator": np.char.mod("a%02d", who),
            "rating": np.where(is_right, true[s, m], 1 - true[s, m]),
        }
    )


def main() -> None:
    """Print how often 95 % intervals contain the true share, and their half-widths."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--studies", type=int, default=300)
    asked = parser.parse_args()
    print("| stories x outputs | annotators, of each | by | bias | covered |", end="")
    print(" half-width | studies |\n|---|---|---|---|---|---|---|")
    for design in DESIGNS:
        rng = np.random.default_rng(design)
        found = pd.DataFrame(
            aggregation_rows(study(rng, *design), 0.95)[0]
            for _study in range(asked.studies)
        )
        for by in ("majority", "dawid_skene"):
            value, low, high = (found[f"{by}{end}"] for end in ("", "_low", "_high"))
            n = low.count()
            held = ((low <= SHARE) & (high >= SHARE)).sum() / n
            cells = (
                f"{design[0]} x {design[1]}",
                f"{design[2]}, {design[3]}",
                by,
                f"{value.mean() - SHARE:+.3f}",
                f"{held:.3f} ± {np.sqrt(held * (1 - held) / n):.3f}",
                f"{(high - low).mean() / 2:.3f}",
                n,
            )
            print("|", *(f"{cell} |" for cell in cells))


if __name__ == "__main__":
    main()
