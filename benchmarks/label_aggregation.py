"""Coverage of shares of true labels by majority and by Dawid and Skene, simulated.

python -m benchmarks.label_aggregation --studies 300
"""

import argparse

import numpy as np
import pandas as pd

from analysis.reliability.label_shares import aggregation_rows

# Stories, outputs of each, annotators, and annotators of each output.
DESIGNS = ((40, 5, 3, 3), (40, 5, 5, 5), (40, 5, 20, 3), (15, 8, 5, 3), (100, 8, 8, 3))
# How often each label is true, and how alike the outputs of a story are.
SHARES = {2: (0.7, 0.3), 3: (0.5, 0.3, 0.2)}
ALIKE = 0.2


def study(
    rng: np.random.Generator,
    labels: int,
    stories: int,
    outputs: int,
    people: int,
    raters: int,
) -> pd.DataFrame:
    """Draw answers of annotators who are right in 60 to 95 %, by what is true."""
    spread = (1 - ALIKE) / ALIKE
    chance = rng.dirichlet(np.array(SHARES[labels]) * spread, stories)
    drawn = rng.random((stories, outputs, 1))
    true = (drawn > chance.cumsum(axis=1)[:, None, :-1]).sum(axis=2)
    right = np.stack([np.linspace(0.95, 0.7, people), np.linspace(0.6, 0.9, people)])
    turn = rng.permuted(np.tile(np.arange(people), (true.size, 1)), axis=1)
    s, m, _r = np.indices((stories, outputs, raters)).reshape(3, -1)
    who = turn[:, :raters].ravel()
    is_right = rng.random(len(s)) < right[true[s, m] % 2, who]
    wrong = (true[s, m] + rng.integers(1, labels, len(s))) % labels
    return pd.DataFrame(
        {
            "dimension": "q",
            "story": np.char.mod("s%03d", s),
            "method": np.char.mod("m%d", m),
            "annotator": np.char.mod("a%02d", who),
            "rating": np.where(is_right, true[s, m], wrong),
        }
    )


def main() -> None:
    """Print how often 95 % intervals contain the true share, and their half-widths."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--studies", type=int, default=300)
    parser.add_argument("--labels", type=int, choices=SHARES, default=2)
    asked = parser.parse_args()
    labels = range(1, 2) if asked.labels == 2 else range(asked.labels)
    print(
        "| stories x outputs | annotators, of each | label | by | bias | covered |",
        end="",
    )
    print(" half-width | studies |\n|---|---|---|---|---|---|---|---|")
    for design in DESIGNS:
        rng = np.random.default_rng(design)
        found = [
            aggregation_rows(study(rng, asked.labels, *design), 0.95)
            for _study in range(asked.studies)
        ]
        for place, label in enumerate(labels):
            share = SHARES[asked.labels][label]
            for by in ("majority", "dawid_skene"):
                value, low, high = (
                    np.array([rows[place].get(f"{by}{end}", np.nan) for rows in found])
                    for end in ("", "_low", "_high")
                )
                known = np.isfinite(low)
                held = ((low <= share) & (high >= share))[known].mean()
                error = np.sqrt(held * (1 - held) / known.sum())
                cells = (
                    f"{design[0]} x {design[1]}",
                    f"{design[2]}, {design[3]}",
                    label,
                    by,
                    f"{np.nanmean(value) - share:+.3f}",
                    f"{held:.3f} ± {error:.3f}",
                    f"{np.nanmean(high - low) / 2:.3f}",
                    known.sum(),
                )
                print("|", *(f"{cell} |" for cell in cells))


if __name__ == "__main__":
    main()
