"""Agreement of people: every output is rated by all annotators."""

import functools
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from analysis.options import Sampling
from analysis.reading.cells import same_within_tolerance
from analysis.reliability.agreement import STATISTICS, agreement
from analysis.reliability.matrices import rating_reliability
from benchmarks.coverage import counting, studies
from benchmarks.coverage.correlation_truth import coefficient
from benchmarks.coverage.counting import Interval, Parts, Scenario
from benchmarks.coverage.studies import Design, generator, world, world_of

COEFFICIENTS = ("alpha_nominal", "alpha_ordinal", "alpha_interval", "ac1")
COEFFICIENTS += ("ac2_quadratic", "icc_2_1")
COEFFICIENTS += ("rater_vs_rest_spearman", "rater_vs_rest_kendall")
SCALE = (0, 4)
PANEL = Design(annotators=5, raters=5)


def scenarios() -> Iterator[Scenario]:
    for stories, methods, drawn, resample in (
        (100, 1, counting.STORIES, counting.UNITS),
        (300, 1, counting.STORIES, counting.UNITS),
        (40, 4, counting.STORIES, counting.UNITS),
        (40, 4, counting.STORIES, counting.STORIES),
        (20, 10, counting.STORIES_METHODS, counting.STORIES_METHODS),
        (20, 10, counting.STORIES_METHODS, counting.UNITS),
    ):
        yield scenario(
            replace(PANEL, stories=stories, methods=methods), drawn, resample
        )


def scenario(design: Design, drawn: Parts, resample: Parts) -> Scenario:
    size = (
        f"{design.stories} stories x {design.methods} outputs, "
        f"{design.annotators} annotators"
    )
    study = functools.partial(agreement_study, design, drawn, resample)
    return Scenario("agreement", size, drawn, resample, study)


@functools.cache
def agreement_truth(design: Design, number: int, drawn: Parts) -> dict[str, float]:
    """Compute agreement in a study that stands for an endless one."""
    here, rng = world(design, number), generator(6, number)
    methods, n = here.methods[None], 60_000 // design.methods
    if "methods" in drawn:
        n = 60_000
        methods = studies.method_effects(design, n, rng)[:, None]
    grid = studies.rated_by_all(here, methods, n, rng)
    data = rating_reliability(studies.rating_rows(grid), SCALE)
    once = np.ones((1, len(data.per_unit)))
    return {
        name: rater_vs_rest(grid.votes, name.split("_")[-1])
        if name.startswith("rater")
        else float(STATISTICS[name](data, once)[0])
        for name in COEFFICIENTS
    }


def rater_vs_rest(votes: np.ndarray, name: str) -> float:
    """Correlate each annotator with the mean of the others; return the mean."""
    found = []
    for a, own in enumerate(votes):
        rest = same_within_tolerance(np.delete(votes, a, 0).mean(axis=0))
        found.append(coefficient(name, own.ravel(), rest.ravel()))
    return float(np.mean(found))


def agreement_study(
    design: Design, drawn: Parts, parts: Parts, study: int, sampling: Sampling
) -> list[Interval]:
    """Draw a study, with new annotators or methods if they are drawn."""
    number = world_of(study)
    truth = agreement_truth(design, number, drawn)
    here, rng = world(design, number), generator(8, study)
    methods = here.methods
    if "methods" in drawn:
        methods = studies.method_effects(design, design.methods, rng)
    rows = studies.rating_rows(
        studies.rated_by_all(here, methods[None], design.stories, rng)
    )
    data = rating_reliability(rows, SCALE)
    found = agreement(
        data, tuple(truth), parts=parts, question=studies.QUESTION, **sampling
    )
    return [
        counting.interval_of(row.estimate, row.statistic, "units", truth[row.statistic])
        for row in found
    ]
