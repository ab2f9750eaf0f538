"""Differences of methods' mean ratings, where methods have all stories or only a few.

All methods are alike, so that every difference is 0. Annotators like some methods
better than others, and some are more careless than others.
"""

import functools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd

from analysis.options import Sampling
from analysis.rankings.method_means import mean_ranks
from benchmarks.coverage import counting
from benchmarks.coverage.counting import Interval, Scenario
from benchmarks.coverage.studies import generator


@dataclass(frozen=True)
class Panel:
    """The size of a study of ratings; the first method has only `rare` stories.

    Standard deviations: of what stories, outputs, annotators, annotators' tastes and
    single ratings add. `unequal` annotators answer as often as 1/k, and are careless to
    different degrees; `late`: only half of them rate the first method.
    """

    methods: int = 8
    annotators: int = 8
    stories: int = 40
    rare: int = 40
    raters: int = 3
    taste: float = 0.3
    unequal: bool = False
    late: bool = False
    step: float = 1.0


def scenarios() -> Iterator[Scenario]:
    for methods in (5, 8, 23):
        for annotators in (3, 8, 20):
            yield scenario(Panel(methods, annotators), "all stories")
            yield scenario(Panel(methods, annotators, rare=5), "5 of 40 stories")
    yield scenario(Panel(annotators=5, rare=10), "10 of 40 stories")
    yield scenario(Panel(annotators=8, rare=5, taste=0.0), "5 of 40, no tastes")
    yield scenario(Panel(annotators=8, rare=10, late=True), "10 of 40, late")
    yield scenario(Panel(annotators=8, late=True), "all stories, late")
    yield scenario(Panel(annotators=8, rare=5, unequal=True), "5 of 40, unequal people")
    yield scenario(Panel(annotators=8, unequal=True), "all stories, unequal people")
    yield scenario(Panel(annotators=8, rare=5, step=2.0), "5 of 40, three answers")


def scenario(panel: Panel, name: str) -> Scenario:
    size = f"{panel.methods} methods, {panel.annotators} annotators, {name}"
    study = functools.partial(panel_study, panel)
    parts = counting.STORIES_ANNOTATORS
    return Scenario("method means", size, parts, parts, study)


def simulated_ratings(panel: Panel, rng: np.random.Generator) -> pd.DataFrame:
    """Draw each annotator's ratings of one question."""
    A, S, M = panel.annotators, panel.stories, panel.methods
    careless = rng.lognormal(0, 0.4, A) if panel.unequal else np.ones(A)
    liking = (
        2
        + rng.normal(0, 0.5, (1, S, 1))
        + rng.normal(0, 0.5, (1, S, M))
        + rng.normal(0, 0.4, (A, 1, 1))
        + rng.normal(0, panel.taste, (A, 1, M))
        + rng.normal(0, 0.8, (A, S, M)) * careless[:, None, None]
    )
    rating = np.clip(np.round(liking / panel.step) * panel.step, 0, 4)
    turn = rng.exponential(size=liking.shape)
    if panel.unequal:
        turn *= 1 + np.arange(A)[:, None, None]
    if panel.late:
        turn[A // 2 :, :, 0] = np.inf
    is_rated = turn.argsort(axis=0).argsort(axis=0) < panel.raters
    is_rated &= np.isfinite(turn)
    is_rated[:, panel.rare :, 0] = False
    a, s, m = np.nonzero(is_rated)
    return pd.DataFrame(
        {
            "story": np.char.mod("s%03d", s),
            "method": np.char.mod("m%02d", m),
            "annotator": np.char.mod("a%03d", a),
            "rating": rating[a, s, m],
        }
    )


def panel_study(panel: Panel, study: int, sampling: Sampling) -> list[Interval]:
    """Draw a study: every difference, by whether the first method is in it."""
    rows = simulated_ratings(panel, generator(11, study))
    _ranks, compared = mean_ranks(
        rows, parts=counting.STORIES_ANNOTATORS, confidence=sampling["confidence"]
    )
    return [
        counting.interval_in(
            row,
            "difference",
            "difference of means",
            "first" if "m00" in (row["method_a"], row["method_b"]) else "others",
            0.0,
        )
        for row in compared
    ]
