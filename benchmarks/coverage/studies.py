"""The model of a study of ratings: what people think of outputs, and metrics score.

People's latent opinion of an output is the sum of a story, a method and a cell effect;
an annotator adds a bias and noise. A metric takes parts of the three effects.
"""

import functools
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from scipy import stats

from analysis.reading.cells import CellGrid, same_within_tolerance

QUESTION = "quality"
# Studies come in worlds: what is not drawn again stays the same inside a world, and
# the truth belongs to the world.
STUDIES_IN_A_WORLD = 25
# Stories and methods of the studies in which metrics are held against people.
SIZES = ((40, 12), (20, 26), (40, 8), (80, 5))


@dataclass(frozen=True)
class Design:
    """The size of a study, of whose annotators `raters` rate each output.

    The rest are standard deviations of the effects in it.
    """

    stories: int = 40
    methods: int = 12
    annotators: int = 20
    raters: int = 5
    story: float = 0.5
    method: float = 0.6
    cell: float = 0.5
    bias: float = 0.4
    noise: float = 0.8


@dataclass(frozen=True)
class Metric:
    """A simulated metric: weight of people's opinion, noise, rounding.

    `story`, `method` and `cell` are factors of people's effects; `own_method` and
    `own_cell` are standard deviations of the metric's effects.
    """

    story: float
    method: float
    cell: float
    own_method: float
    own_cell: float
    step: float = 0.0


METRICS = {
    "close": Metric(0.5, 1.0, 1.0, 0.35, 0.5),
    "coarse": Metric(0.8, 0.8, 0.5, 0.5, 0.7, step=1.0),
}


@dataclass(frozen=True)
class World:
    """Shared parameters of studies: biases of the annotators (A,), effects of methods.

    `methods` has one row a method: people's opinion of it, then each metric's own.
    """

    design: Design
    biases: np.ndarray
    methods: np.ndarray


def generator(*key: int) -> np.random.Generator:
    return np.random.default_rng([20, *key])


def world_of(study: int) -> int:
    return study // STUDIES_IN_A_WORLD


@functools.cache
def world(design: Design, number: int) -> World:
    rng = generator(1, number)
    biases = annotator_biases(design, rng)
    return World(design, biases, method_effects(design, design.methods, rng))


def annotator_biases(design: Design, rng: np.random.Generator) -> np.ndarray:
    return rng.normal(size=design.annotators) * design.bias


def method_effects(design: Design, n: int, rng: np.random.Generator) -> np.ndarray:
    spread = [design.method, *(metric.own_method for metric in METRICS.values())]
    return rng.normal(size=(n, len(spread))) * spread


def simulated_study(
    here: World, methods: np.ndarray, n_stories: int, rng: np.random.Generator
) -> CellGrid:
    """Draw new stories, with people's ratings and metrics' scores of the outputs.

    `methods` is (1, M, .), or (S, M, .) for other methods in every story.
    """
    opinions, scores = opinions_and_scores(here.design, methods, n_stories, rng)
    who, ratings = rated(here, opinions, rng)
    votes = np.full((here.design.annotators, *opinions.shape), np.nan)
    np.put_along_axis(votes, who, ratings, axis=0)
    human = same_within_tolerance(ratings.mean(axis=0))
    return cell_grid(human, scores, tuple(METRICS), votes)


def rated_by_all(
    here: World, methods: np.ndarray, n_stories: int, rng: np.random.Generator
) -> CellGrid:
    """Draw a study in which each annotator of the world rates every output."""
    n = len(here.biases)
    everybody = replace(here.design, annotators=n, raters=n)
    return simulated_study(replace(here, design=everybody), methods, n_stories, rng)


def opinions_and_scores(
    design: Design, methods: np.ndarray, n_stories: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Draw people's opinions (S, M) and scores (K, S, M)."""
    shape = (n_stories, methods.shape[1])
    of_method = methods[..., 0]
    story = rng.normal(size=(n_stories, 1)) * design.story
    cell = rng.normal(size=shape) * design.cell
    scores = []
    for k, metric in enumerate(METRICS.values(), 1):
        x = metric.story * story + metric.method * of_method + metric.cell * cell
        x = x + methods[..., k] + rng.normal(size=shape) * metric.own_cell
        scores.append(np.round(x / metric.step) * metric.step if metric.step else x)
    return story + of_method + cell, np.stack(scores)


def rated(
    here: World, opinions: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Rate every output 0 to 4: who rates it, and how; both (R, S, M)."""
    d = here.design
    order = rng.random((d.annotators, *opinions.shape)).argpartition(d.raters - 1, 0)
    who = order[: d.raters]
    latent = 2 + opinions + here.biases[who] + rng.normal(size=who.shape) * d.noise
    return who, np.clip(np.round(latent), 0, 4)


def expected_rating(here: World, opinion: np.ndarray) -> np.ndarray:
    """Mean rating of a method over endless stories, by the normal distribution."""
    d = here.design
    spread = np.sqrt(d.story**2 + d.cell**2 + d.noise**2)
    steps = np.arange(0.5, 4)[:, None, None]
    points = np.linspace(opinion.min(), opinion.max(), 2001)
    centre = 2 + points + here.biases[:, None]
    means = stats.norm.cdf((centre - steps) / spread).sum(axis=0).mean(axis=0)
    return np.interp(opinion, points, means)


def expected_scores(methods: np.ndarray) -> np.ndarray:
    """Mean score over endless stories, (K, M); rounding is all but unbiased."""
    return np.stack(
        [
            metric.method * methods[:, 0] + methods[:, k]
            for k, metric in enumerate(METRICS.values(), 1)
        ]
    )


def cell_grid(
    human: np.ndarray,
    scores: np.ndarray,
    metrics: tuple[str, ...],
    votes: np.ndarray | None = None,
) -> CellGrid:
    """Return a complete study: human (S, M), scores (K, S, M), votes (A, S, M).

    Without `votes` one annotator gave all values.
    """
    return CellGrid(
        QUESTION,
        tuple(f"s{s:04d}" for s in range(human.shape[0])),
        tuple(f"m{m:04d}" for m in range(human.shape[1])),
        metrics,
        np.ones(human.shape, bool),
        human,
        scores,
        human[None] if votes is None else votes,
        frozenset(),
    )


def rating_rows(grid: CellGrid) -> pd.DataFrame:
    """Return the votes as a table of ratings."""
    a, s, m = np.nonzero(np.isfinite(grid.votes))
    return pd.DataFrame(
        {
            "dimension": grid.question,
            "story": np.array(grid.stories)[s],
            "method": np.array(grid.methods)[m],
            "annotator": np.char.mod("a%03d", a),
            "rating": grid.votes[a, s, m],
        }
    )
