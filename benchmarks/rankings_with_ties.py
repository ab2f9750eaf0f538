"""Coverage and type-I error of ratings from rankings with ties, simulated.

python -m benchmarks.rankings_with_ties --studies 200
"""

import argparse

import numpy as np
import pandas as pd

from analysis.rankings.plackett_luce import RankingLeaderboardRow, ranking_leaderboard

# Methods, annotators, and sets of outputs that each story shows.
DESIGNS = ((5, 3, 1), (5, 20, 1), (8, 5, 2), (8, 20, 2), (23, 3, 5), (23, 20, 5))
STORIES, SHOWN, RATERS = 30, 5, 3
# Standard deviations on the scale of log worths: methods, and methods by story and by
# annotator; annotators' noise is between .6 and 1.6 times that of the model.
SPREAD, BY_STORY, BY_ANNOTATOR = 0.5, 0.5, 0.3
# Outputs whose values round to the same multiple of this tie.
COARSE = 1.0
TRUTH_RANKINGS = 60_000


def rankings(
    rng: np.random.Generator,
    theta: np.ndarray,
    annotators: int,
    sets: int,
    rare: int = STORIES,
) -> pd.DataFrame:
    """Draw a study: each set of outputs of a story is ranked by some annotators.

    The first method has only `rare` stories.
    """
    story = np.repeat(np.arange(STORIES), sets)
    M, n = len(theta), len(story)
    turn = rng.random((n, M))
    turn[story >= rare, 0] = np.inf
    size = min(SHOWN, M if rare == STORIES else M - 1)
    shown = turn.argsort(axis=1)[:, :size]
    who = rng.permuted(np.tile(np.arange(annotators), (n, 1)), axis=1)[:, :RATERS]
    liking = theta + rng.normal(0, BY_STORY, (STORIES, 1, M))
    liking = liking + rng.normal(0, BY_ANNOTATOR, (1, annotators, M))
    noise = rng.uniform(0.6, 1.6, annotators)
    return _rows(rng, story, shown, who, liking, noise[who])


def _rows(
    rng: np.random.Generator,
    story: np.ndarray,
    shown: np.ndarray,
    who: np.ndarray,
    liking: np.ndarray,
    noise: np.ndarray,
) -> pd.DataFrame:
    value = liking[story[:, None, None], who[:, :, None], shown[:, None]]
    value = value + noise[:, :, None] * rng.gumbel(size=value.shape)
    s, r, k = np.indices(value.shape).reshape(3, -1)
    return pd.DataFrame(
        {
            "story": np.char.mod("s%05d", story[s]),
            "slot": s,
            "criterion": "q",
            "annotator": np.char.mod("a%02d", who[s, r]),
            "method": np.char.mod("m%02d", shown[s, k]),
            "rank": -np.round(value[s, r, k] / COARSE).astype(int),
        }
    )


def truth(theta: np.ndarray, seed: int = 1) -> np.ndarray:
    """Return the ratings of very many rankings, each of a new story and annotator."""
    rng, n, M = np.random.default_rng(seed), TRUTH_RANKINGS, len(theta)
    shown = rng.permuted(np.tile(np.arange(M), (n, 1)), axis=1)[:, :SHOWN]
    liking = theta + rng.normal(0, np.hypot(BY_STORY, BY_ANNOTATOR), (n, 1, M))
    who, noise = np.zeros((n, 1), int), rng.uniform(0.6, 1.6, (n, 1))
    rows = _rows(rng, np.arange(n), shown, who, liking, noise)
    return _ratings(ranking_leaderboard(rows, criterion="q", parts=()).rows, "rating")


def _ratings(rows: list[RankingLeaderboardRow], name: str) -> np.ndarray:
    ordered = sorted(rows, key=lambda row: row.method)
    return np.array([getattr(row, name) for row in ordered])


def _has_rare(row: dict[str, object]) -> bool:
    return "m00" in (row["method_a"], row["method_b"])


def _counted(shares: list[float]) -> str:
    error = np.std(shares, ddof=1) / np.sqrt(len(shares))
    return f"{np.mean(shares):.3f} ± {error:.3f}"


def main() -> None:
    """Print, for each design, how often intervals and tests are right."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--studies", type=int, default=200)
    studies = parser.parse_args().studies
    print(
        "| methods | annotators | rankings with ties | ratings in intervals |", end=""
    )
    print(" half-width | equal methods: p < .05 | any adjusted p < .05 |", end="")
    print(" a method of 5 stories: p < .05 |")
    print("|---|---|---|---|---|---|---|---|")
    for methods, annotators, sets in DESIGNS:
        theta = np.linspace(-1, 1, methods) * SPREAD * np.sqrt(3)
        true, rng = truth(theta), np.random.default_rng(methods * 100 + annotators)
        inside, wide, tied, falsely, any_false, of_rare = [], [], [], [], [], []
        for _study in range(studies):
            rows = rankings(rng, theta, annotators, sets)
            answers = rows.groupby(["slot", "annotator"])["rank"]
            tied.append(float((answers.nunique() < SHOWN).mean()))
            board = ranking_leaderboard(rows, criterion="q").rows
            low, high = _ratings(board, "low"), _ratings(board, "high")
            inside.append(float(((low <= true) & (true <= high)).mean()))
            wide.append(float((high - low).mean() / 2))
            rows = rankings(rng, np.zeros(methods), annotators, sets)
            pairs = ranking_leaderboard(rows, criterion="q").comparisons
            p, adjusted = (
                np.array([row[name] for row in pairs], float)
                for name in ("p_value", "p_adjusted")
            )
            falsely.append(float((p <= 0.05).mean()))
            any_false.append(float((adjusted <= 0.05).any()))
            rows = rankings(rng, np.zeros(methods), annotators, sets, rare=5)
            pairs = ranking_leaderboard(rows, criterion="q").comparisons
            rejected = [row["p_value"] <= 0.05 for row in pairs if _has_rare(row)]
            of_rare.append(float(np.mean(rejected)))
        cells = methods, annotators, f"{np.mean(tied):.2f}", _counted(inside)
        more = f"{np.mean(wide):.0f}", *map(_counted, (falsely, any_false, of_rare))
        print("|", *(f"{cell} |" for cell in (*cells, *more)), flush=True)


if __name__ == "__main__":
    main()
