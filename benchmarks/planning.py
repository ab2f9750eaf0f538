"""Do pilots foretell larger studies? Simulated pilots, and the studies they plan.

    python benchmarks/planning.py [forecasts|components ...] [--pilots 24]
        [--studies 150] [--resamples 300] [--processes 2] [--only TEXT]

`forecasts`: for each model of a study, pilots are drawn and given to `power`; what
they foretell of larger studies stands beside the half-width that those really have:
1.96 standard deviations of the statistic over simulated studies with new stories,
methods and annotators (gap: stories and annotators; alpha: stories), and beside the
mean half-width of the intervals that reports of such studies print.

`components`: how often the intervals of variance components and of reliability contain
the truth, which is what the same methods and annotators would show over endless
stories. `docs/planning.md` says what came of it.
"""

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import argparse
import functools
import multiprocessing
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from analysis.correlations.level_estimates import level_estimates, level_spread
from analysis.correlations.levels import level_values
from analysis.inference.resampling import no_draws
from analysis.options import LEVELS, AlignOptions, Sampling
from analysis.planning.power import power_analysis
from analysis.planning.sums_of_squares import estimate_components, rating_design
from analysis.planning.variance_components import (
    expected_reliability,
    reliability,
    study_size,
    variance_components,
)
from analysis.reading.cells import (
    CellGrid,
    annotator_cells,
    same_within_tolerance,
)
from analysis.reliability.agreement import agreement
from analysis.reliability.matrices import rating_reliability
from benchmarks.cell_grids import QUESTION, cell_grid, rating_rows

METRIC = "metric"
COEFFICIENT = "kendall"
# Reports of large studies take time; the widths of their intervals differ little.
REPORTS = 8
# A study that repeats its stories this often shows what endless stories would.
ENDLESS = 4000


def in_halves(x: np.ndarray) -> np.ndarray:
    return np.round(2 * x) / 2


def in_three(x: np.ndarray) -> np.ndarray:
    """Most outputs pass, some fail half or all of it."""
    return np.select([x < -1.2, x < -0.6], [0.0, 0.5], 1.0)


@dataclass(frozen=True)
class Model:
    """A kind of study, and the size of its pilots.

    `raters` of the `pool` rate each output (0: all who are there). Standard deviations
    of what people see in methods, stories and cells; a metric shares `shared` of the
    variance of each. Annotators have a bias, a taste for methods, and noise.
    """

    name: str
    stories: int = 20
    methods: int = 10
    raters: int = 3
    pool: int = 0
    method: float = 0.6
    story: float = 0.6
    cell: float = 0.6
    shared: tuple[float, float, float] = (0.7, 0.5, 0.5)
    bias: float = 0.3
    taste: float = 0.0
    noise: float = 0.8
    centre: float = 2.0
    metric: Callable[[np.ndarray], np.ndarray] = in_halves

    @property
    def annotators(self) -> int:
        return self.pool or self.raters


MODELS = (
    Model("plain"),
    Model("skewed, ceiling", centre=3.6, metric=np.exp),
    Model("tied metric", metric=in_three),
    Model("method x story", method=0.25, story=0.3, cell=1.0),
    Model("6 methods", methods=6),
    Model("26 methods", methods=26),
    Model("3 of 20 annotators", pool=20, bias=0.5, taste=0.3),
)
# What grows fourfold, and the level or statistic looked at.
CASES = (
    *((grows, level) for grows in ("stories", "methods") for level in LEVELS),
    *(("annotators", level) for level in LEVELS),
    ("stories", "gap"),
    ("annotators", "gap"),
    ("stories", "alpha_ordinal"),
)


def generator(*key: int) -> np.random.Generator:
    return np.random.default_rng([31, *key])


def methods_of(model: Model, rng: np.random.Generator) -> np.ndarray:
    """What people, and the metric, see in the methods, best first: (2, 1, M)."""
    found = pair(model.method, model.shared[0], (1, model.methods), rng)
    return found[:, :, np.argsort(-found[0, 0])]


def pair(
    sd: float, shared: float, shape: tuple[int, ...], rng: np.random.Generator
) -> np.ndarray:
    one, two = sd * rng.standard_normal((2, *shape))
    return np.stack([one, shared * one + np.sqrt(1 - shared**2) * two])


@dataclass(frozen=True)
class People:
    """Annotators: biases (A, 1, 1) and tastes for methods (A, 1, M)."""

    biases: np.ndarray
    tastes: np.ndarray


def people_of(model: Model, rng: np.random.Generator) -> People:
    A, M = model.annotators, model.methods
    return People(
        model.bias * rng.standard_normal((A, 1, 1)),
        model.taste * rng.standard_normal((A, 1, M)),
    )


def study(
    model: Model, methods: np.ndarray, people: People, rng: np.random.Generator
) -> CellGrid:
    """Rate new stories, 0 to 4."""
    S, M, A = model.stories, methods.shape[-1], model.annotators
    values = methods + pair(model.story, model.shared[1], (S, 1), rng)
    values = values + pair(model.cell, model.shared[2], (S, M), rng)
    latent = model.centre + values[0] + people.biases + people.tastes
    votes = np.round(latent + model.noise * rng.standard_normal((A, S, M)))
    votes = np.clip(votes, 0, 4)
    if model.pool:
        order = rng.random((A, S, M)).argsort(axis=0).argsort(axis=0)
        votes[order >= model.raters] = np.nan
    human = same_within_tolerance(np.nanmean(votes, axis=0))
    return cell_grid(human, model.metric(values[1])[None], (METRIC,), votes)


def fresh(model: Model, *key: int) -> CellGrid:
    rng = generator(*key)
    return study(model, methods_of(model, rng), people_of(model, rng), rng)


def scores_of(grid: CellGrid) -> pd.DataFrame:
    s, m = np.nonzero(grid.cells)
    return pd.DataFrame(
        {
            "story": np.array(grid.stories)[s],
            "method": np.array(grid.methods)[m],
            "metric": METRIC,
            "score": grid.scores[0, s, m],
        }
    )


def grown(model: Model, grows: str, times: int) -> Model:
    if grows == "annotators":
        return replace(model, raters=times * model.raters, pool=times * model.pool)
    return replace(model, **{grows: times * getattr(model, grows)})


# --- What a pilot foretells -----------------------------------------------------------


def foretold(model: Model, resamples: int, times: int, pilot: int) -> np.ndarray:
    """Return the half-width of every case that one pilot foretells."""
    grid = fresh(model, 1, pilot)
    options = AlignOptions(resamples=resamples, coefficients=(COEFFICIENT,))
    rows = pd.DataFrame(
        power_analysis(
            ratings=rating_rows(grid), scores=scores_of(grid), options=options
        )["power"]
    )
    found = []
    for grows, what in CASES:
        name = COEFFICIENT if what in LEVELS else what
        column = "n_annotators" if grows == "annotators" else f"n_{grows}"
        own = model.raters if grows == "annotators" else getattr(model, grows)
        here = rows[(rows["grows"] == grows) & (rows["statistic"] == name)]
        if what in LEVELS:
            here = here[here["level"] == what]
        here = here[here[column] == times * own]
        found.append(float(here["half_width"].iloc[0]))
    return np.array(found)


# --- What larger studies really show --------------------------------------------------


def real(model: Model, what: str, studies: int) -> float:
    spread = {"gap": gap_spread, "alpha_ordinal": alpha_spread}.get(what)
    if spread:
        return 1.96 * spread(model, studies)
    values = [
        level_values(
            fresh(model, 2, i),
            what,
            no_draws(model.stories, model.methods),
            (COEFFICIENT,),
        )[COEFFICIENT][0, 0]
        for i in range(studies)
    ]
    return 1.96 * float(np.nanstd(values, ddof=1))


def in_worlds(
    model: Model, studies: int, same_people: bool, of: Callable[[CellGrid], float]
) -> float:
    """Standard deviation over studies of the same methods (and people)."""
    worlds, variances = 10, []
    for world in range(worlds):
        rng = generator(3, world)
        methods, people = methods_of(model, rng), people_of(model, rng)
        values = []
        for _ in range(studies // worlds):
            here = people if same_people else people_of(model, rng)
            values.append(of(study(model, methods, here, rng)))
        variances.append(np.var(values, ddof=1))
    return float(np.sqrt(np.mean(variances)))


def gap_spread(model: Model, studies: int) -> float:
    """Of the two best methods, which stay the same."""

    def difference(grid: CellGrid) -> float:
        means = grid.human.mean(axis=0)
        return float(means[0] - means[1])

    return in_worlds(model, studies, False, difference)


def alpha_spread(model: Model, studies: int) -> float:
    def alpha(grid: CellGrid) -> float:
        return alpha_of(grid, 0).value

    return in_worlds(model, studies, True, alpha)


def alpha_of(grid: CellGrid, resamples: int):
    data = rating_reliability(rating_rows(grid), (0, 4))
    return agreement(
        data,
        ("alpha_ordinal",),
        parts=("units",),
        resamples=resamples,
        confidence=0.95,
        seed=0,
        question=QUESTION,
    )[0].estimate


def printed(model: Model, what: str, resamples: int) -> float:
    """Mean half-width of the intervals that reports of such studies print."""
    if what == "gap":
        return np.nan
    halves = []
    for i in range(REPORTS):
        grid = fresh(model, 4, i)
        if what == "alpha_ordinal":
            e = alpha_of(grid, resamples)
        else:
            asked = grid, what, (COEFFICIENT,)
            sampling = Sampling(resamples=resamples, confidence=0.95, seed=i)
            spread = level_spread(*asked, ("stories", "methods"), sampling)
            e = level_estimates(*asked, spread, sampling)[METRIC, COEFFICIENT]
        halves.append((e.high - e.low) / 2)
    return float(np.mean(halves))


def forecasts(pool, models: list[Model], args: argparse.Namespace) -> None:
    print(
        f"{'model':20} {'4 times the':12} {'what':14} {'foretold':>8} {'real':>6} "
        f"{'ratio':>6} {'single pilots':>14}   "
        f"{'printed':>7} {'ratio':>6}"
    )
    for model in models:
        one = functools.partial(foretold, model, args.resamples, 4)
        table = np.array(pool.map(one, range(args.pilots)))
        sizes = [grown(model, grows, 4) for grows, _ in CASES]
        jobs = [(size, what) for size, (_, what) in zip(sizes, CASES, strict=True)]
        truths = pool.starmap(real, [(*job, args.studies) for job in jobs], 1)
        widths = pool.starmap(printed, [(*job, args.resamples) for job in jobs], 1)
        for i, ((grows, what), truth, width) in enumerate(
            zip(CASES, truths, widths, strict=True)
        ):
            half = table[:, i]
            low, high = np.quantile(half, [0.1, 0.9]) / truth
            print(
                f"{model.name:20} {grows:12} {what:14} {half.mean():8.3f} {truth:6.3f} "
                f"{half.mean() / truth:6.2f} {low:6.2f} - {high:5.2f}   "
                f"{width:7.3f} {half.mean() / width:6.2f}",
                flush=True,
            )


# --- Components and reliability -------------------------------------------------------


def covered(model: Model, resamples: int, number: int) -> dict[str, tuple[bool, bool]]:
    """Say of every interval of one study whether it is there and holds the truth."""
    world = number // 20
    rng = generator(5, world)
    methods, people = methods_of(model, rng), people_of(model, rng)
    truth = true_values(model, world)
    grid = study(model, methods, people, generator(6, number))
    cells = annotator_cells(rating_rows(grid))
    options = {
        "question": QUESTION,
        "resamples": resamples,
        "confidence": 0.95,
        "seed": number,
    }
    found = {}
    for row in variance_components(cells, **options):
        found[row["component"]] = row["low"], row["high"]
    for row in expected_reliability(cells, annotators=(1, 5), **options):
        key = f"{row['statistic']}, {row['n_annotators']} annotators"
        found[key] = row["low"], row["high"]
    return {
        name: (bool(np.isfinite(low)), bool(low <= truth.get(name, np.nan) <= high))
        for name, (low, high) in found.items()
    }


@functools.lru_cache(maxsize=4)
def true_values(model: Model, world: int) -> dict[str, float]:
    """What these methods and annotators show over endless stories."""
    rng = generator(5, world)
    methods, people = methods_of(model, rng), people_of(model, rng)
    many = replace(model, stories=ENDLESS)
    cells = annotator_cells(rating_rows(study(many, methods, people, rng)))
    y = cells["rating"].to_numpy(float)
    fit = estimate_components(rating_design(cells), y[:, None])
    parts = {source: matrix[0, 0] for source, matrix in fit.values.items()}
    names = {s: "rest" if len(s) == 3 else " x ".join(s) for s in parts}
    found = {names[source]: float(value) for source, value in parts.items()}
    size = study_size(cells)
    for k in (1, 5):
        planned = replace(
            size, annotators=k, per_output=k, per_story=k, stories=model.stories
        )
        for name, value in reliability(parts, planned).items():
            found[f"{name}, {k} annotators"] = float(value)
    return found


def components(pool, models: list[Model], args: argparse.Namespace) -> None:
    print(f"{'model':20} {'value':40} {'covered':>8} {'of':>5}")
    for model in models:
        one = functools.partial(covered, model, args.resamples)
        # A world is made once in the process that takes its studies.
        found = pool.map(one, range(args.studies), 20)
        for name in found[0]:
            there = [row[name] for row in found if row[name][0]]
            share = np.mean([hit for _, hit in there]) if there else np.nan
            print(f"{model.name:20} {name:40} {share:8.3f} {len(there):5}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parts = {"forecasts": forecasts, "components": components}
    parser.add_argument("parts", nargs="*", choices=[*parts, []], default=[])
    parser.add_argument("--pilots", type=int, default=24)
    parser.add_argument("--studies", type=int, default=150)
    parser.add_argument("--resamples", type=int, default=300)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--only", default="", help="text in the name of the model")
    args = parser.parse_args()
    models = [model for model in MODELS if args.only in model.name]
    with multiprocessing.Pool(args.processes) as pool:
        for part in args.parts or parts:
            began = time.time()
            parts[part](pool, models, args)
            print(f"{part}: {time.time() - began:.0f} s\n")


if __name__ == "__main__":
    main()
