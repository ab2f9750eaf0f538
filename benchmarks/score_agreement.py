"""Coverage of the intervals of `score_agreement`, over simulated pairs of scores.

python -m benchmarks.score_agreement --studies 1000
"""

import argparse

import numpy as np
import pandas as pd

from analysis.reliability.score_agreement import ScorePairs, agreement_rows

SHAPES = ((6, 5), (12, 5), (40, 8), (20, 26))
# Continuous scores, a judge's, differences with heavy tails, and rare large ones.
KINDS = ("continuous", "0 to 4", "heavy tails", "rare")
# Outputs behind the truths.
TRUTH_STORIES = 40_000


def pairs(
    rng: np.random.Generator, stories: int, methods: int, kind: str
) -> ScorePairs:
    """Draw outputs whose two scores have errors by story and by output.

    Standard deviations are .5 of stories, .5 of outputs, .15 and .3 of the errors of
    each side; the second side is .1 higher. A judge's scores are rounded to 0 to 4.
    Heavy tails are those of Student's t with 4 degrees of freedom, of differences of
    .01; rare differences are as large as scores, in one output of 25.
    """
    shape = stories, methods
    true = np.linspace(-0.8, 0.8, methods) + rng.normal(0, 0.5, (stories, 1))
    true = true + rng.normal(0, 0.5, shape)
    x, y = (
        true + shift + rng.normal(0, 0.15, (stories, 1)) + rng.normal(0, 0.3, shape)
        for shift in (0.0, 0.1)
    )
    if kind == "0 to 4":
        x, y = (np.clip(np.round(2 + 1.3 * side), 0, 4) for side in (x, y))
    if kind == "heavy tails":
        y = x + 0.01 * rng.standard_t(4, shape)
    if kind == "rare":
        y = np.where(rng.random(shape) < 0.04, rng.normal(-2, 1, shape), y)
    codes = np.repeat(np.arange(stories), methods)
    outputs = pd.DataFrame({"story": codes, "method": np.tile(range(methods), stories)})
    return ScorePairs(outputs, x.ravel(), y.ravel(), codes)


def truths(methods: int, kind: str) -> dict[str, float]:
    """Return every statistic of very many stories."""
    drawn = pairs(np.random.default_rng(1), TRUTH_STORIES, methods, kind)
    as_one = np.zeros(len(drawn.x), int)
    whole = ScorePairs(drawn.outputs, drawn.x, drawn.y, as_one)
    rows = agreement_rows(whole, None)
    return {str(row["statistic"]): float(str(row["value"])) for row in rows}


def main() -> None:
    """Print the share of 95 % intervals that contain the truth."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--studies", type=int, default=1000)
    studies = parser.parse_args().studies
    print("| statistic | scores |", *(f"{s} x {m} |" for s, m in SHAPES))
    for kind in KINDS:
        shares: dict[str, list[str]] = {}
        for stories, methods in SHAPES:
            true = truths(methods, kind)
            rng = np.random.default_rng(stories)
            held: dict[str, list[bool]] = {name: [] for name in true}
            for _study in range(studies):
                drawn = pairs(rng, stories, methods, kind)
                for row in agreement_rows(drawn, 0.95):
                    low, high = float(str(row["low"])), float(str(row["high"]))
                    name = str(row["statistic"])
                    if np.isfinite(low):
                        held[name].append(low <= true[name] <= high)
            for name, one in held.items():
                share = f"{np.mean(one):.3f}" if len(one) > studies / 2 else ""
                shares.setdefault(name, []).append(share)
        for name, row in shares.items():
            print(f"| {name} | {kind} |", *(f"{one} |" for one in row), flush=True)


if __name__ == "__main__":
    main()
