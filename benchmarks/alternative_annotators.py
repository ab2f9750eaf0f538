"""Type-I errors of tests whether a metric may take an annotator's place.

Each study has stories, methods, unequal annotators, and a metric that errs by story as
well as by output. Epsilon is what the metric is worse than each annotator in a very
large study, so that every hypothesis is true and on its boundary.

    python -m benchmarks.alternative_annotators --studies 400
"""

import argparse
from collections.abc import Iterable

import numpy as np
from scipy.special import stdtrit

from analysis.reliability import alternative_annotators as alternative
from analysis.results import Array

# Stories of a very large study, and at most so many of its pairs.
LARGE, MOST_PAIRS = 20_000, 1_500_000
SETTINGS = [
    (5, 12, 3),
    (5, 30, 5),
    (8, 12, 5),
    (8, 30, 20),
    (23, 12, 3),
    (23, 30, 5),
]


def study(
    rng: np.random.Generator, stories: int, methods: int, people: int
) -> tuple[Array, Array]:
    """Return ratings in 1 to 5 of (people, stories, methods), and a judge's."""
    quality = rng.normal(0, 0.6, (stories, 1)) + np.linspace(-0.6, 0.6, methods)
    quality = quality + rng.normal(0, 0.7, (stories, methods))
    noise = np.linspace(0.5, 1.3, people)[:, None, None]
    shape = people, stories, methods
    votes = quality + noise * rng.normal(0, 1, shape)
    votes = votes + 0.4 * rng.normal(0, 1, (people, stories, 1))
    judge = quality + rng.normal(0, 0.8, (stories, methods))
    judge = judge + rng.normal(0, 0.8, (stories, 1))
    return _rounded(votes), _rounded(judge)


def _rounded(values: Array) -> Array:
    return np.clip(np.round(3 + values), 1, 5)


def measured(
    votes: Array, judge: Array, *, by_pairs: bool
) -> Iterable[alternative.LeftOut]:
    """Return the items of each annotator, with the agreement of both."""
    people, stories, methods = votes.shape
    names = [str(j) for j in range(people)]
    story = np.repeat(np.arange(stories), methods)
    if not by_pairs:
        flat = votes.reshape(people, -1), judge.reshape(1, -1)
        return alternative.label_items(*flat, story, names)
    i, j = np.triu_indices(methods, 1)
    story = np.repeat(np.arange(stories), len(i))
    signs = np.sign(votes[..., i] - votes[..., j]).reshape(people, -1)
    total = votes.sum(axis=0)
    left_out = []
    for own, sign in zip(votes, signs, strict=True):
        rest = total - own
        others = np.sign(rest[:, i] - rest[:, j]).ravel()
        left_out.append((np.arange(len(story)), sign, others))
    metric = np.sign(judge[:, i] - judge[:, j]).reshape(1, -1)
    return alternative.pair_items(left_out, metric, story, names)


def simulated(
    methods: int, stories: int, people: int, by_pairs: bool, studies: int
) -> list[str]:
    """Return the cells of one line of the table."""
    rng = np.random.default_rng([methods, stories, people, by_pairs])
    none = np.array([np.nan])
    n_pairs = methods * (methods - 1) // 2
    enough = min(LARGE, MOST_PAIRS // n_pairs) if by_pairs else LARGE
    large = study(rng, enough, methods, people)
    truth = alternative.measured(measured(*large, by_pairs=by_pairs), none).value
    epsilon = -truth[:, 0]
    crossed, items, inside, any_win, half = [], [], [], [], []
    for _study in range(studies):
        drawn = study(rng, stories, methods, people)
        left_out = [*measured(*drawn, by_pairs=by_pairs)]
        found = alternative.measured(left_out, none)
        p = found.p_values(epsilon[:, None])[0]
        crossed.append((p <= 0.05).mean())
        items.append(
            np.mean(
                [
                    alternative.item_p((one.metrics - one.own)[0], e) <= 0.05
                    for one, e in zip(left_out, epsilon, strict=True)
                ]
            )
        )
        far = stdtrit(found.freedom, 0.975) * found.error
        inside.append((abs(found.value - truth) <= far).mean())
        wins = alternative.adjusted(p) <= 0.05
        any_win.append(wins.any())
        half.append(wins.mean() >= 0.5)
    cells = [
        "pairs" if by_pairs else "ratings",
        *map(str, (methods, stories, people)),
        f"{truth.min():.2f} to {truth.max():.2f}",
    ]
    for values in (crossed, items, inside, any_win, half):
        error = np.std(values) / np.sqrt(studies)
        cells.append(f"{np.mean(values):.3f} ({error:.3f})")
    return cells


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--studies", type=int, default=400)
    studies = parser.parse_args().studies
    heads = [
        "items",
        "methods",
        "stories",
        "annotators",
        "true advantages",
        "type-I error over stories",
        "over items (the paper's)",
        "coverage over stories",
        "any annotator after Benjamini-Yekutieli",
        "half of them",
    ]
    print("|", " | ".join(heads), "|")
    print("|---" * len(heads) + "|")
    for by_pairs in (False, True):
        for setting in SETTINGS:
            line = simulated(*setting, by_pairs, studies)
            print("|", " | ".join(line), "|", flush=True)


if __name__ == "__main__":
    main()
