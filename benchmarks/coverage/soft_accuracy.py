"""Soft pairwise accuracy: these methods, other stories."""

import functools
from collections.abc import Iterator

import numpy as np

from analysis.options import Sampling
from analysis.pairwise.soft_accuracy import soft_pairwise_accuracy
from benchmarks.coverage.scenarios import (
    CONFIDENCE,
    STORIES,
    Interval,
    Scenario,
    interval_in,
)
from benchmarks.coverage.studies import (
    METRICS,
    SIZES,
    Design,
    generator,
    simulated_study,
    world,
    world_of,
)

# Its p-values depend on the number of stories: the truth is an average over studies.
STUDIES_OF_TRUTH = 100


def scenarios() -> Iterator[Scenario]:
    for stories, methods in SIZES:
        size = f"{stories} stories x {methods} methods"
        study = functools.partial(spa_study, Design(stories, methods))
        yield Scenario("spa", size, STORIES, STORIES, study)


@functools.cache
def spa_truth(design: Design, number: int) -> dict[str, float]:
    """Return what studies of other stories, as many, give on average."""
    here, rng = world(design, number), generator(12, number)
    sampling = Sampling(resamples=0, confidence=CONFIDENCE, seed=number)
    found = []
    for _ in range(STUDIES_OF_TRUTH):
        grid = simulated_study(here, here.methods[None], design.stories, rng)
        rows = soft_pairwise_accuracy(grid, **sampling)
        found.append([float(str(row["value"])) for row in rows])
    return dict(zip(METRICS, np.mean(found, axis=0), strict=True))


def spa_study(design: Design, study: int, sampling: Sampling) -> list[Interval]:
    """Draw a study of new stories, and SPA of both metrics, which keep their order."""
    number = world_of(study)
    here, rng = world(design, number), generator(13, study)
    grid = simulated_study(here, here.methods[None], design.stories, rng)
    rows = soft_pairwise_accuracy(grid, **sampling)
    return [
        interval_in(row, "value", f"spa, {metric}", "", truth)
        for row, (metric, truth) in zip(
            rows, spa_truth(design, number).items(), strict=True
        )
    ]
