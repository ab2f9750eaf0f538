"""Count false and missed claims of `analysis` in simulated studies.

    python -m benchmarks.claims [SCENARIO ...] [--studies 300] [--processes 2]

Each scenario draws studies whose truth is known, asks the public functions of
`analysis`, and prints the share of studies in which each event occurs, with its
standard error. Seeds are fixed. Only the public interface is used, so that the same
file measures any version: run it in a checkout of the older one to compare.
"""

import argparse
import math
import warnings
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

import analysis

# NaN where a study has no such event to count.
Events = dict[str, float]
LEVEL = 0.05
NAN = math.nan


def _rows(values: np.ndarray, column: str, name: str) -> pd.DataFrame:
    """Return stories x methods values as a tidy table."""
    kind = "metric" if column == "score" else "dimension"
    story, method = np.indices(values.shape)
    return pd.DataFrame(
        {
            "story": [f"s{s:03}" for s in story.ravel()],
            "method": [f"m{m:02}" for m in method.ravel()],
            kind: name,
            column: values.ravel(),
        }
    )


def _ratings(values: np.ndarray, name: str = "q") -> pd.DataFrame:
    """Return annotators x stories x methods ratings as a tidy table; NaN is absent."""
    tables = [
        _rows(own, "rating", name).assign(annotator=f"R{a:02}")
        for a, own in enumerate(values)
    ]
    return pd.concat(tables).dropna(subset=["rating"])


def _scores(**metrics: np.ndarray) -> pd.DataFrame:
    return pd.concat(_rows(values, "score", name) for name, values in metrics.items())


def _align(ratings: pd.DataFrame, scores: pd.DataFrame, **options: Any) -> Any:
    asked = {"resamples": 200, "levels": ["story"], "coefficients": ["kendall"]}
    return analysis.align(ratings=ratings, scores=scores, **(asked | options))


def _holds(row: Any, truth: float) -> float:
    if math.isnan(row.low):
        return NAN
    return float(row.low - 1e-9 <= truth <= row.high + 1e-9)


# --- one function a scenario: a generator in, events out


def noise_called_agreement(rng: np.random.Generator, dominant: float) -> Events:
    """Two annotators rate independently of each other."""
    p = np.full(5, (1 - dominant) / 4)
    p[3] = dominant
    ratings = rng.choice(5, size=(2, 20, 4), p=p).astype(float)
    report = analysis.agreement(ratings=_ratings(ratings), scale=(0, 4), resamples=200)
    texts = [*report.notes, *report._findings.shown]
    return {
        "says that annotators agree": any(
            "agree beyond chance" in text for text in texts
        )
    }


def fitted_weights(rng: np.random.Generator, n_methods: int) -> Events:
    """Five unrelated metrics, with method effects, are weighted together."""
    shape = 40, n_methods
    human = 0.8 * rng.normal(size=n_methods) + 0.4 * rng.normal(size=(40, 1))
    human = human + 0.7 * rng.normal(size=shape)
    scores = {
        f"k{j}": rng.normal(size=n_methods) + rng.normal(size=shape) for j in range(5)
    }
    table = _align(_ratings(human[None]), _scores(**scores))["calibration"]
    gains = table[table["statistic"] == "gain"]
    composite = table.query("metric == 'composite' and statistic == 'ppa_half'")
    return {
        "gain over the best metric": bool((gains["low"].iloc[:1] > 0).any()),
        "composite above chance": bool((composite["low"] > 0.5).any()),
    }


def unrelated_with_ties(
    rng: np.random.Generator, n_methods: int, n_values: int
) -> Events:
    """A metric of few values is unrelated to people, who tie some pairs."""
    shape = 30, n_methods
    human = np.round(3 + rng.normal(size=n_methods) + 0.8 * rng.normal(size=shape), 1)
    cuts = [-0.3, 0.8] if n_values == 3 else np.linspace(-1, 1, n_values - 1)
    metric = np.digitize(rng.normal(size=shape), cuts).astype(float)
    verdicts = _align(_ratings(human[None]), _scores(x=metric)).verdicts
    row = verdicts[(verdicts["metric"] == "x") & (verdicts["statistic"] == "acc_eq")]
    verdict = str(row["verdict"].iloc[0])
    return {
        "above chance": verdict == "above chance",
        "below chance": verdict == "below chance",
    }


def against_chance(
    rng: np.random.Generator, n_methods: int, follows: float, n_stories: int
) -> Events:
    """A metric with method effects follows people by `follows`; 0 is unrelated."""
    shape = n_stories, n_methods
    quality = 0.6 * rng.normal(size=n_methods) + 0.8 * rng.normal(size=shape)
    human = quality + 0.5 * rng.normal(size=shape)
    own = 0.4 * rng.normal(size=n_methods) + rng.normal(size=shape)
    metric = follows * quality + own
    constant = np.zeros(shape)
    levels = ["method", "story", "pooled"]
    scores = _scores(x=metric, flat=constant)
    report = _align(_ratings(human[None]), scores, levels=levels)
    found: Events = {}
    pairs = report["pairwise_accuracy"]
    row = pairs[pairs["metric"] == "x"].iloc[0]
    found["half accuracy, p <= .05"] = row["p_half"] <= LEVEL
    low, high = row["ppa_half_low"], row["ppa_half_high"]
    found["half accuracy, test and interval disagree"] = (
        row["p_half"] <= LEVEL
    ) != bool(low > 0.5 or high < 0.5)
    comparisons = report["accuracy_comparisons"]
    half = comparisons[comparisons["statistic"] == "ppa_half"].iloc[0]
    apart = abs(float(half["p_value"]) - float(row["p_half"]))
    found["half accuracy, another p against the constant"] = apart > 1e-6
    table = report["correlations"]
    for row in table[table["metric"] == "x"].itertuples():
        found[f"tau {row.level}, p <= .05"] = (
            row.p_value <= LEVEL if math.isfinite(row.p_value) else NAN
        )
        claims = row.low > 0 or row.high < 0
        found[f"tau {row.level}, test and interval disagree"] = (
            float((row.p_value <= LEVEL) != claims)
            if math.isfinite(row.low) and math.isfinite(row.p_value)
            else NAN
        )
    verdicts = report.verdicts
    verdicts = verdicts[verdicts["metric"] == "x"]
    for row in verdicts.itertuples():
        if row.statistic in ("ppa_half", "kendall"):
            name = row.statistic if row.level == "pairs" else f"tau {row.level}"
            found[f"{name}, said to agree"] = row.verdict == "above chance"
    return found


TRUTHS: dict[tuple[float, ...], tuple[float, float]] = {}


def near_one(rng: np.random.Generator, n_methods: int, noise: float) -> Events:
    """A metric follows people with little noise."""
    shape = 30, n_methods
    key = noise, n_methods

    def draw(rng: np.random.Generator, shape: tuple[int, int]) -> list[np.ndarray]:
        quality = 0.6 * rng.normal(size=shape[1]) + 0.8 * rng.normal(size=shape)
        return [quality, quality + noise * rng.normal(size=shape)]

    if key not in TRUTHS:
        pair = draw(np.random.default_rng(99), (400, 600))
        signs = [np.sign(values[:, ::2] - values[:, 1::2]) for values in pair]
        right = np.mean(signs[0] == signs[1])
        TRUTHS[key] = float(right), float(2 * right - 1)
    human, metric = draw(rng, shape)
    report = _align(_ratings(human[None]), _scores(x=metric))
    pairs = report["pairwise_accuracy"]
    row = pairs[pairs["metric"] == "x"].iloc[0]
    tau = report["correlations"].iloc[0]
    half = pd.Series({"low": row["ppa_half_low"], "high": row["ppa_half_high"]})
    truth = TRUTHS[key]
    return {
        "half accuracy, p <= .05": row["p_half"] <= LEVEL,
        "half accuracy, interval holds the truth": _holds(half, truth[0]),
        "half accuracy, width": float(half.high - half.low),
        "tau story, p <= .05": tau["p_value"] <= LEVEL,
        "tau story, interval holds the truth": _holds(tau, truth[1]),
        "tau story, width": float(tau["high"] - tau["low"]),
    }


def unequal_strata(rng: np.random.Generator, first: int, second: int) -> Events:
    """Two groups of stories have one mean; the smaller spreads three times as far."""
    n = first + second
    spread = np.where(np.arange(n) < first, 3.0, 1.0)[:, None]
    values = 50 + 5 * spread * rng.normal(size=(n, 1)) + 4 * rng.normal(size=(n, 4))
    tags = pd.DataFrame({"story": [f"s{s:03}" for s in range(n)]})
    tags["kind"] = np.where(np.arange(n) < first, "a", "b")
    report = analysis.align(ratings=_ratings(values[None]), stories=tags, resamples=400)
    table = report["strata_differences"]
    means = table[(table["statistic"] == "mean") & (table["method"] == "m00")]
    row = means.iloc[0]
    return {
        "p <= .05": row["p_value"] <= LEVEL,
        "interval without 0": not row["low"] <= 0 <= row["high"],
    }


def mean_for_new_people(rng: np.random.Generator, n_annotators: int) -> Events:
    """Means of methods, held against the truth for other people and stories."""
    method = 0.5 * np.arange(-1.5, 2.0) / 1.5
    bias = 0.5 * rng.normal(size=(n_annotators, 1, 1))
    taste = 0.3 * rng.normal(size=(n_annotators, 1, 4))
    story = 0.5 * rng.normal(size=(1, 30, 1)) + 0.4 * rng.normal(size=(1, 30, 4))
    values = method + bias + taste + story
    values = 5 + values + 0.7 * rng.normal(size=values.shape)
    values = np.clip(values, 0, 10)  # few are outside
    report = analysis.align(ratings=_ratings(values), scale=(0, 10), resamples=200)
    means = report["method_means"]
    held = [_holds(row, 5 + method[i]) for i, row in enumerate(means.itertuples())]
    return {"interval holds the truth": float(np.mean(held))}


def one_with_half_of_all_votes(rng: np.random.Generator, taste: float) -> Events:
    """Methods are equal; one of nine annotators gives half of all votes."""
    rows = []
    liked = taste * rng.normal(size=(9, 4))
    for story in range(30):
        for first in range(4):
            for second in range(first + 1, 4):
                people = [0, int(rng.integers(1, 9))]
                for person in people:
                    apart = liked[person, first] - liked[person, second]
                    better = rng.random() < 1 / (1 + np.exp(-apart))
                    choice = "a" if better else "b"
                    pair = f"m{first}", f"m{second}"
                    rows.append((f"s{story:02}", *pair, f"R{person}", choice))
    columns = ["story", "method_a", "method_b", "annotator", "choice"]
    choices = pd.DataFrame(rows, columns=columns).assign(criterion="q")
    report = analysis.leaderboard(choices=choices, resamples=200)
    p = report["method_comparisons"]["p_value"].astype(float)
    return {"p <= .05, one pair of methods": float(p.iloc[0] <= LEVEL)}


def slider_alpha(rng: np.random.Generator, n_units: int, noise: float) -> Events:
    """Two annotators answer on a slider from 0 to 100; ordinal alpha is of ranks."""
    key = (-1.0, noise)

    def draw(rng: np.random.Generator, n: int) -> np.ndarray:
        true = rng.uniform(5, 95, size=n)
        return np.clip(np.round(true + noise * rng.normal(size=(2, n))), 0, 100)

    if key not in TRUTHS:
        whole = draw(np.random.default_rng(99), 40_000)
        counts = np.bincount(whole.astype(int).ravel(), minlength=101)
        ends = np.cumsum(counts)
        ranks = (ends - counts / 2)[whole.astype(int)]
        apart = ((ranks[0] - ranks[1]) ** 2).mean()
        TRUTHS[key] = float(1 - apart / (2 * ranks.var())), 0.0
    values = draw(rng, n_units)
    ratings = _ratings(values[:, :, None])
    table = analysis.agreement(ratings=ratings, scale=(0, 100), resamples=400)
    table = table["agreement"]
    row = table[table["statistic"] == "alpha_ordinal"].iloc[0]
    return {
        "interval holds the truth": _holds(row, TRUTHS[key][0]),
        "interval holds the estimate": _holds(row, float(row["value"])),
    }


def _of_methods(human: np.ndarray, metric: np.ndarray) -> Any:
    """Report published tables: one value a method."""
    keys = {"story": "", "method": [f"m{m:02}" for m in range(len(human))]}
    ratings = pd.DataFrame(keys | {"dimension": "q", "annotator": "people"})
    return _align(
        ratings.assign(rating=human),
        pd.DataFrame(keys | {"metric": "x", "score": metric}),
        levels=["method"],
        coefficients=["kendall", "pearson"],
    )


def over_methods(rng: np.random.Generator, n_methods: int, r: float) -> Events:
    """Over methods, a metric is correlated by r."""
    human = rng.normal(size=n_methods)
    metric = r * human + math.sqrt(1 - r**2) * rng.normal(size=n_methods)
    report = _of_methods(human, metric)
    found: Events = {}
    truths = {"kendall": 2 / math.pi * math.asin(r), "pearson": r}
    for row in report["correlations"].itertuples():
        name, rejects = row.coefficient, row.p_value <= LEVEL
        found[f"{name}, p <= .05"] = rejects
        found[f"{name}, interval holds the truth"] = _holds(row, truths[name])
        found[f"{name}, test and interval disagree"] = (
            float(rejects == (row.low <= 0 <= row.high))
            if math.isfinite(row.low)
            else NAN
        )
    found["said to agree"] = bool((report.verdicts["verdict"] == "above chance").any())
    return found


def dependent_not_correlated(rng: np.random.Generator, n_methods: int) -> Events:
    """Over methods, uncorrelated values whose spreads go together."""
    size = np.exp(rng.normal(size=n_methods))
    report = _of_methods(*(size * rng.normal(size=(2, n_methods))))
    rows = report["correlations"].itertuples()
    return {f"{row.coefficient}, p <= .05": row.p_value <= LEVEL for row in rows}


SCENARIOS: dict[str, Callable[[np.random.Generator], Events]] = {
    "noise-called-agreement/even": partial(noise_called_agreement, dominant=0.3),
    "noise-called-agreement/skewed": partial(noise_called_agreement, dominant=0.7),
    **{f"fitted-weights/{n}": partial(fitted_weights, n_methods=n) for n in (5, 8, 12)},
    "unrelated-with-ties/5,3": partial(unrelated_with_ties, n_methods=5, n_values=3),
    "unrelated-with-ties/8,3": partial(unrelated_with_ties, n_methods=8, n_values=3),
    "unrelated-with-ties/8,5": partial(unrelated_with_ties, n_methods=8, n_values=5),
    **{
        f"against-chance/{n},{follows}": partial(
            against_chance, n_methods=n, follows=follows, n_stories=30
        )
        for n in (5, 8, 12)
        for follows in (0.0, 0.4, 0.8)
    },
    "near-one/5,.2": partial(near_one, n_methods=5, noise=0.2),
    "near-one/8,.2": partial(near_one, n_methods=8, noise=0.2),
    "near-one/8,.05": partial(near_one, n_methods=8, noise=0.05),
    "unequal-strata/10,40": partial(unequal_strata, first=10, second=40),
    "unequal-strata/20,20": partial(unequal_strata, first=20, second=20),
    "mean-for-new-people/5": partial(mean_for_new_people, n_annotators=5),
    "mean-for-new-people/10": partial(mean_for_new_people, n_annotators=10),
    "half-of-all-votes/alike": partial(one_with_half_of_all_votes, taste=0.0),
    "half-of-all-votes/different": partial(one_with_half_of_all_votes, taste=0.7),
    "slider-alpha/60": partial(slider_alpha, n_units=60, noise=3.0),
    "slider-alpha/200": partial(slider_alpha, n_units=200, noise=8.0),
    **{
        f"over-methods/{n},{r}": partial(over_methods, n_methods=n, r=r)
        for n, r in ((8, 0.0), (12, 0.0), (23, 0.0), (23, 0.45), (23, 0.6), (12, 0.9))
    },
    "dependent-not-correlated/12": partial(dependent_not_correlated, n_methods=12),
    "dependent-not-correlated/30": partial(dependent_not_correlated, n_methods=30),
}


def one_study(name: str, number: int) -> Events:
    """Return the events of one study of a scenario."""
    warnings.simplefilter("ignore")
    return SCENARIOS[name](np.random.default_rng([46, number]))


def main() -> None:
    """Print the shares of every scenario asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("scenarios", nargs="*", help="or the beginnings of their names")
    parser.add_argument("--studies", type=int, default=300)
    parser.add_argument("--processes", type=int, default=2)
    given = parser.parse_args()
    asked = tuple(given.scenarios) or ("",)
    with ProcessPoolExecutor(given.processes) as pool:
        for name in SCENARIOS:
            if not name.startswith(asked):
                continue
            numbers = range(given.studies)
            work = pool.map(partial(one_study, name), numbers, chunksize=10)
            table = pd.DataFrame(work).astype(float)
            for event, values in table.items():
                n = int(values.notna().sum())
                mean = float(values.mean())
                error = float(values.std(ddof=1)) / math.sqrt(n) if n > 1 else NAN
                print(
                    f"{name}: {event}: {mean:.3f} (+- {error:.3f}, n {n})", flush=True
                )


if __name__ == "__main__":
    main()
