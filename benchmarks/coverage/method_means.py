"""Mean ratings of the methods: these methods, other stories (and annotators)."""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from analysis.options import Sampling
from analysis.rankings.method_means import mean_ratings
from analysis.rankings.rating_rankings import rating_leaderboard
from analysis.reading.cells import annotator_cells
from benchmarks.cell_grids import QUESTION, rating_rows
from benchmarks.coverage.scenarios import (
    STORIES,
    STORIES_ANNOTATORS,
    UNITS,
    Interval,
    Parts,
    Scenario,
    interval_in,
    interval_of,
)
from benchmarks.coverage.studies import (
    Design,
    annotator_biases,
    even_biases,
    expected_rating,
    generator,
    simulated_study,
    world,
    world_of,
)

# Annotators that stand for endless ones.
ENDLESS_ANNOTATORS = 200


def scenarios() -> Iterator[Scenario]:
    for drawn, resample in (
        (STORIES, STORIES),
        (STORIES_ANNOTATORS, STORIES_ANNOTATORS),
        (STORIES_ANNOTATORS, UNITS),
    ):
        design = Design()
        size = f"{design.stories} stories, {design.annotators} annotators"
        study = partial(means_study, design, drawn, resample)
        yield Scenario("mean", size, drawn, resample, study)


def means_study(
    design: Design, drawn: Parts, parts: Parts, study: int, sampling: Sampling
) -> list[Interval]:
    """Draw a study, with new annotators if they are drawn, and its means."""
    here, rng = world(design, world_of(study)), generator(5, study)
    endless = here
    if "annotators" in drawn:
        here = replace(here, biases=annotator_biases(design, rng))
        endless = replace(here, biases=even_biases(design, ENDLESS_ANNOTATORS))
    truth = expected_rating(endless, here.methods[:, 0])
    rows = rating_rows(simulated_study(here, here.methods[None], design.stories, rng))
    cells = annotator_cells(rows)
    found = mean_ratings(rows, cells, parts=parts, confidence=sampling["confidence"])
    intervals = [
        interval_of(row.mean, "mean rating", "method", true)
        for row, true in zip(found, truth, strict=True)
    ]
    named = {row.method: float(true) for row, true in zip(found, truth, strict=True)}
    board, gaps, _ = rating_leaderboard(
        rows,
        cells,
        question=QUESTION,
        parts=parts,
        confidence=sampling["confidence"],
    )
    for row in board:
        value, low, high = (
            float(str(row[f"mean{end}"])) for end in ("", "_low", "_high")
        )
        true = named[str(row["method"])]
        intervals.append(Interval("leaderboard", "method", value, low, high, true))
    for row in gaps:
        true = named[str(row["method_a"])] - named[str(row["method_b"])]
        intervals.append(interval_in(row, "difference", "difference", "method", true))
    return intervals
