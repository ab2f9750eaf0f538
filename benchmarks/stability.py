"""Do the 95 % intervals of `stability` contain the truth? Simulated judges.

    python benchmarks/stability.py [--studies 400] [--resamples 400] [--processes 2]
                                   [--only TEXT]

A judge scores outputs several times: method + story + output + trial + noise. Methods
stay the same; stories, outputs, trials and noise are drawn anew in each study. The
truth of what trials do (sd, sd_population, coefficient_of_variation, noise_to_methods)
is what endless trials of the same outputs would give, that of everything else what
endless stories would. Prints how many intervals contain it, and how many lie above it
or below. `docs/planning.md` says what came of it.
"""

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import argparse
import functools
import multiprocessing
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from analysis.planning.stability import stability

# Trials, stories, and times that a judge is asked, that stand for endless ones.
TRIALS, STORIES, AGAIN = 2000, 1000, 40


@dataclass(frozen=True)
class Judge:
    """A judge, and how often it is asked about how many outputs.

    Standard deviations of what it sees in methods, stories and outputs, of what all
    outputs of a trial share, and of the noise of one score; `coarse` judges give whole
    numbers.
    """

    name: str
    stories: int = 30
    methods: int = 6
    trials: int = 5
    method: float = 0.4
    story: float = 0.5
    output: float = 0.5
    shared: float = 0.0
    noise: float = 0.4
    coarse: bool = False


JUDGES = (
    Judge("plain"),
    Judge("shared drift", shared=0.1),
    Judge("3 trials", trials=3),
    Judge("10 trials", trials=10),
    Judge("8 stories", stories=8),
    Judge("whole numbers", coarse=True),
    Judge("many methods", methods=20),
)


def methods_of(judge: Judge) -> np.ndarray:
    """The same in every study, with the standard deviation that is asked for."""
    means = np.linspace(-1, 1, judge.methods)
    return 3 + judge.method * means / means.std(ddof=1)


def outputs_of(judge: Judge, rng: np.random.Generator) -> np.ndarray:
    """What the judge sees in outputs: (S, M)."""
    shape = (judge.stories, judge.methods)
    story = judge.story * rng.standard_normal((judge.stories, 1))
    return methods_of(judge) + story + judge.output * rng.standard_normal(shape)


def scores_of(
    judge: Judge, outputs: np.ndarray, trials: int, rng: np.random.Generator
) -> np.ndarray:
    """What it says of them in several trials: (K, S, M)."""
    shared = judge.shared * rng.standard_normal((trials, 1, 1))
    noise = judge.noise * rng.standard_normal((trials, *outputs.shape))
    scores = outputs + shared + noise
    return np.round(scores) if judge.coarse else scores


def as_trials(scores: np.ndarray) -> pd.DataFrame:
    k, s, m = (index.ravel() for index in np.indices(scores.shape))
    return pd.DataFrame(
        {
            "question": "q",
            "metric": "judge",
            "story": np.char.add("s", s.astype(str)),
            "method": np.char.add("m", m.astype(str)),
            "round": k.astype(str),
            "value": scores.ravel(),
        }
    )


def of_trials(judge: Judge, outputs: np.ndarray, rng: np.random.Generator):
    """What endless trials of these outputs would give; by the name of a method."""
    scores = scores_of(judge, outputs, TRIALS, rng)
    means = scores.mean(axis=1)  # (trials, methods)
    found = {}
    for name, own in (("", means.mean(axis=1)), ("m0", means[:, 0])):
        sd = own.std()
        found[name, "sd"] = sd
        found[name, "sd_population"] = sd * np.sqrt(1 - 1 / judge.trials)
        found[name, "coefficient_of_variation"] = sd / own.mean()
    spread = means.mean(axis=0).std(ddof=1)
    noise = np.sqrt(means.var(axis=0).mean())
    found["", "noise_to_methods"] = noise / spread
    return found


@functools.lru_cache(maxsize=2)
def of_stories(judge: Judge) -> dict[tuple[str, str], float]:
    """What endless stories would give."""
    rng = np.random.default_rng([7, judge.stories, judge.trials])
    many = replace(judge, stories=STORIES)
    outputs = outputs_of(many, rng)
    found: dict[tuple[str, str], float] = {}
    x = scores_of(many, outputs, judge.trials * AGAIN, rng)
    again = x.reshape(AGAIN, judge.trials, *outputs.shape)
    for name, here in (("", slice(None)), ("m0", slice(0, 1))):
        found[name, "sd_output"] = np.sqrt(x[:, :, here].var(axis=0, ddof=1).mean())
        same = np.ptp(again[..., here], axis=1) == 0
        found[name, "same_share"] = float(same.mean())
    found["", "mean"] = methods_of(judge).mean()
    found["m0", "mean"] = methods_of(judge)[0]
    flat = x.reshape(len(x), -1)
    between = flat.mean(axis=0).var()
    one = between / (between + flat.var(axis=0).mean())
    found["", "icc_2_1"] = one
    found["", "icc_2_k"] = judge.trials * one / (1 + (judge.trials - 1) * one)
    return found


def covered(judge: Judge, resamples: int, number: int) -> dict[tuple[str, str], float]:
    """Say of every interval of one study: 0 holds the truth, 1 lies above it, -1 below.

    NaN: there is none.
    """
    rng = np.random.default_rng([11, number])
    outputs = outputs_of(judge, rng)
    scores = scores_of(judge, outputs, judge.trials, rng)
    truth = {**of_stories(judge), **of_trials(judge, outputs, rng)}
    rows = stability(
        as_trials(scores), resamples=resamples, confidence=0.95, seed=number
    )
    found = {(row["method"], row["statistic"]): row for row in rows}
    return {key: side(found[key], value) for key, value in truth.items()}


def side(row: dict[str, float], truth: float) -> float:
    if not np.isfinite(row["low"]):
        return np.nan
    return float(row["low"] > truth) - float(row["high"] < truth)


def lines(judge: Judge, args: argparse.Namespace, pool) -> Iterator[str]:
    one = functools.partial(covered, judge, args.resamples)
    found = pd.DataFrame(pool.map(one, range(args.studies), 20))
    for method, statistic in found:
        own = found[method, statistic].dropna()
        held, above, below = ((own == x).mean() for x in (0, 1, -1))
        yield (
            f"{judge.name:15} {statistic:26} {method or 'all':4} {held:6.3f} "
            f"{above:6.3f} {below:6.3f} {len(own):5}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--studies", type=int, default=400)
    parser.add_argument("--resamples", type=int, default=400)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--only", default="", help="text in the name of the judge")
    args = parser.parse_args()
    print(f"{'judge':15} {'statistic':26} of      held  above  below     n")
    with multiprocessing.Pool(args.processes) as pool:
        for judge in JUDGES:
            if args.only in judge.name:
                for line in lines(judge, args, pool):
                    print(line, flush=True)


if __name__ == "__main__":
    main()
