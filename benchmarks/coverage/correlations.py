"""Correlations at all levels, their differences, and accuracy in pairs."""

from collections.abc import Iterator
from functools import partial

from analysis.correlations.level_estimates import level_estimates, level_spread
from analysis.correlations.metric_differences import metric_differences
from analysis.options import COEFFICIENTS, LEVELS, Sampling
from analysis.pairwise.accuracy import pair_agreement
from analysis.pairwise.output_pairs import rating_pairs
from analysis.reading.cells import CellGrid
from benchmarks.coverage import counting, studies
from benchmarks.coverage.correlation_truth import Truth, methods_drawn, methods_kept
from benchmarks.coverage.counting import Interval, Parts, Scenario
from benchmarks.coverage.studies import Design, generator, world, world_of


def scenarios() -> Iterator[Scenario]:
    """Yield each design with its default first, then what is compared with it."""
    both = counting.STORIES_METHODS
    for stories, methods in studies.SIZES:
        yield scenario(Design(stories, methods), both, both)
    yield scenario(Design(), both, counting.UNITS)
    for stories in (40, 10):
        yield scenario(Design(stories), counting.STORIES, counting.STORIES)
    yield scenario(Design(), counting.STORIES, counting.UNITS)


def scenario(design: Design, drawn: Parts, resample: Parts) -> Scenario:
    size = f"{design.stories} stories x {design.methods} methods"
    study = partial(correlation_study, design, drawn, resample)
    return Scenario("correlation", size, drawn, resample, study)


def correlation_study(
    design: Design, drawn: Parts, parts: Parts, study: int, sampling: Sampling
) -> list[Interval]:
    """Draw a study, with new methods if they are drawn, and all its intervals."""
    number = world_of(study)
    here, rng = world(design, number), generator(4, study)
    if "methods" in drawn:
        truth = methods_drawn(design, number)
        methods = studies.method_effects(design, design.methods, rng)
    else:
        truth, methods = methods_kept(design, number), here.methods
    grid = studies.simulated_study(here, methods[None], design.stories, rng)
    found: list[Interval] = []
    for level in LEVELS:
        found += level_intervals(grid, level, parts, sampling, truth)
    return [*found, *accuracy_intervals(grid, parts, sampling, truth)]


def level_intervals(
    grid: CellGrid, level: str, parts: Parts, sampling: Sampling, truth: Truth
) -> Iterator[Interval]:
    """Yield coefficients of both metrics, then the differences of these."""
    asked = grid, level, COEFFICIENTS
    spread = level_spread(*asked, parts, sampling)
    estimates = level_estimates(*asked, spread, sampling)
    for name in COEFFICIENTS:
        for metric in studies.METRICS:
            true = truth[metric, level, name]
            e = estimates[metric, name]
            yield counting.interval_of(e, f"{name}, {metric}", level, true)
    for row in metric_differences(*asked, spread, sampling):
        name = str(row["coefficient"])
        true = truth["difference", level, name]
        yield counting.interval_in(
            row, "difference", f"{name}, difference", level, true
        )


def accuracy_intervals(
    grid: CellGrid, parts: Parts, sampling: Sampling, truth: Truth
) -> Iterator[Interval]:
    """Yield strict and half accuracy in pairs of outputs of one story."""
    pairs = rating_pairs(grid)
    for row in pair_agreement(pairs, epsilon="0", parts=parts, **sampling):
        if row.metric not in studies.METRICS:
            continue  # a baseline
        for kind, e in (("ppa strict", row.strict), ("ppa half", row.half)):
            true = truth[row.metric, "story", kind]
            yield counting.interval_of(e, f"{kind}, {row.metric}", "story", true)
