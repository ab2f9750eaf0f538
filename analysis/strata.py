"""Does it hold everywhere? Means, agreement and alignment, split by tags of stories.

A stratum is the stories with one value of a tag: a style, a genre, core or hard. Every
table of a stratum is made from its stories alone, by the same functions as the whole;
differences between strata come from one set of draws, so that what the strata share
(the methods) is shared there, too.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from analysis.agreement import STATISTICS as AGREEMENT
from analysis.agreement import agreement
from analysis.cells import Grid, rated_grid
from analysis.levels import level_estimates, level_values, method_means
from analysis.means import mean_ratings
from analysis.options import AlignOptions
from analysis.pairwise import Pairs, pair_agreement, ppa_by_story_weights, restricted
from analysis.reliability import Reliability
from analysis.resampling import Draws, cluster_counts, interval, stream
from analysis.results import NAN, Array, Estimate, Mask, Row
from analysis.significance import holm

STRATA_COLUMNS = (
    "question", "metric", "value", "low", "high", "n", "reason", "tag", "stratum",
    "method", "statistic", "level", "n_groups", "p_value",
)  # fmt: skip
STRATA_DIFFERENCE_COLUMNS = (
    "question", "metric", "value", "low", "high", "n", "reason", "tag", "stratum_a",
    "stratum_b", "method", "statistic", "level", "p_value", "p_adjusted",
)  # fmt: skip
# A tag with more values than this names stories rather than groups of them.
MOST_STRATA = 12
OTHERS = "all others"
# What VISTAR compares: how much of its score a method loses from core to hard.
CORE, HARD = "core", "hard"
SLACK = 1e-9


@dataclass(frozen=True)
class Split:
    """Stories of one question by the values of one tag.

    Attributes
    ----------
    tag
        Its name.
    strata
        The values, sorted, to the stories that have them.
    """

    tag: str
    strata: dict[str, frozenset[str]]

    def comparisons(self) -> Iterator[tuple[str, frozenset[str], str, frozenset[str]]]:
        """Yield what is compared: two strata, or each of several with all others."""
        names = sorted(self.strata)
        if CORE in names and HARD in names and len(names) == 2:
            names = [CORE, HARD]
        if len(names) == 2:
            a, b = names
            yield a, self.strata[a], b, self.strata[b]
        elif len(names) > 2:
            every = frozenset().union(*self.strata.values())
            for name in names:
                yield name, self.strata[name], OTHERS, every - self.strata[name]


def splits(tags: pd.DataFrame, stories: Sequence[str]) -> tuple[list[Split], list[str]]:
    """Group the stories of a question by every tag that groups them.

    Parameters
    ----------
    tags
        Column story and one column a tag; empty where a story has none.
    stories
        Those which occur in the question.

    Returns
    -------
    list of Split
        Of tags with 2 to `MOST_STRATA` values among these stories.
    list of str
        Which tags split nothing, and why.
    """
    here = tags[tags["story"].isin(list(stories))]
    found, notes = [], []
    for tag in tags.columns.drop("story"):
        groups = here[here[tag] != ""].groupby(tag, sort=True)["story"]
        strata = {str(value): frozenset(rows) for value, rows in groups}
        if 2 <= len(strata) <= MOST_STRATA:
            found.append(Split(str(tag), strata))
        else:
            many = "more than" if len(strata) > MOST_STRATA else "fewer than two of"
            limit = str(MOST_STRATA) if len(strata) > MOST_STRATA else "its"
            notes.append(
                f"tag {tag} does not split the stories: they have {many} {limit} "
                f"values ({len(strata)})."
            )
    return found, notes


@dataclass(frozen=True)
class Strata:
    """What of one question is split.

    Attributes
    ----------
    question
        A dimension or a criterion.
    ratings, by_annotator
        Kept rows of the dimension and their cells; None for a criterion.
    grid
        The common subset of cells; None for a criterion.
    reliability
        From a frame of answers to the layout for agreement, by story.
    pairs
        Pairs inside stories; None where there are none.
    statistics
        Which statistics of agreement are split.
    """

    question: str
    answers: pd.DataFrame
    by_annotator: pd.DataFrame | None
    grid: Grid | None
    pairs: Pairs | None
    reliability: Callable[[pd.DataFrame], Reliability]
    statistics: tuple[str, ...]


def strata_rows(
    data: Strata, split: Split, *, parts: tuple[str, ...], options: AlignOptions
) -> list[Row]:
    """Compute every statistic of one question inside each stratum.

    Parameters
    ----------
    data
        The question.
    split
        Its stories by one tag.
    parts
        Clusters to draw, as for the whole.
    options
        Levels, coefficients, resamples, confidence and seed.

    Returns
    -------
    list of Row
        With `STRATA_COLUMNS`: means of methods, agreement of people, coefficients
        and pairwise accuracies of metrics.
    """
    rows: list[Row] = []
    for stratum, stories in split.strata.items():
        for place, value in _inside(data, stories, parts, options):
            rows.append(
                {
                    "question": data.question, "metric": place.metric,
                    "value": value.value, "low": value.low, "high": value.high,
                    "n": value.n, "reason": value.reason, "tag": split.tag,
                    "stratum": stratum, "method": place.method,
                    "statistic": place.statistic, "level": place.level,
                    "n_groups": value.n_groups, "p_value": value.p_value,
                }
            )  # fmt: skip
    return rows


@dataclass(frozen=True)
class Place:
    """Which statistic a number is: of a metric or a method, at a level."""

    statistic: str
    metric: str = ""
    method: str = ""
    level: str = ""


def _inside(
    data: Strata,
    stories: frozenset[str],
    parts: tuple[str, ...],
    options: AlignOptions,
) -> Iterator[tuple[Place, Estimate]]:
    """Yield the statistics of some stories of a question."""
    sampling = {
        "resamples": options.resamples, "confidence": options.confidence,
        "seed": options.seed,
    }  # fmt: skip
    answers = data.answers[data.answers["story"].isin(stories)]
    if data.by_annotator is not None:
        cells = data.by_annotator[data.by_annotator["story"].isin(stories)]
        own = tuple(part for part in parts if part != "methods")
        for mean in mean_ratings(
            answers, cells, dimension=data.question, parts=own, **sampling
        ):
            yield Place("mean", method=mean.method), mean.mean
    for row in agreement(
        data.reliability(answers), data.statistics, parts=("stories",),
        question=data.question, **sampling,
    ):  # fmt: skip
        yield Place(row.statistic), row.estimate
    if data.grid is not None and data.grid.metrics:
        part = restricted_grid(data.grid, stories)
        for level in options.levels:
            found, _ = level_estimates(
                part, level, coefficients=options.coefficients, parts=parts, **sampling
            )
            for (metric, name), value in found.items():
                yield Place(name, metric=metric, level=level), value
    if data.pairs is not None and data.pairs.metrics:
        for pair in pair_agreement(
            restricted(data.pairs, stories), epsilon="0", parts=parts, **sampling
        ):
            yield Place("ppa_strict", metric=pair.metric), pair.strict
            yield Place("ppa_half", metric=pair.metric), pair.half


def restricted_grid(grid: Grid, stories: frozenset[str]) -> Grid:
    """Return the cells of some stories."""
    kept = np.array([story in stories for story in grid.stories], bool)
    return replace(
        grid,
        stories=tuple(np.array(grid.stories, object)[kept]),
        cells=grid.cells[kept],
        human=grid.human[kept],
        scores=grid.scores[:, kept],
        votes=grid.votes[:, kept],
    )


@dataclass(frozen=True)
class Measure:
    """Numbers that follow from how often each story and method counts.

    Attributes
    ----------
    places
        Which numbers, L of them.
    stories
        S names.
    n_methods
        M.
    values
        From weights of stories (B, S) and of methods (B, M) to numbers (B, L).
    """

    places: tuple[Place, ...]
    stories: tuple[str, ...]
    n_methods: int
    values: Callable[[Array, Array], Array]


def difference_rows(
    data: Strata, split: Split, *, parts: tuple[str, ...], options: AlignOptions
) -> list[Row]:
    r"""Compare strata: every statistic of one less that of another.

    Parameters
    ----------
    data, split, parts, options
        As for `strata_rows`.

    Returns
    -------
    list of Row
        With `STRATA_DIFFERENCE_COLUMNS`; of the two strata core and hard also how
        many per cent of the core's mean a method loses, ``drop_percent``.

    Notes
    -----
    The interval draws stories inside each stratum and, where `parts` name them,
    the same methods for both. The p-value is that of a permutation test: which of
    the stories belong to which of the two strata is shuffled, with
    :math:`p = (c + 1)/(k + 1)`. It is adjusted within tag, statistic and level
    (Holm). Two strata are compared with each other, each of several with all
    others.

    References
    ----------
    VISTAR, table 3: drop = (core - hard) / core.
    """
    rows: list[Row] = []
    for a, inside, b, outside in split.comparisons():
        for measure in measures(data, options):
            rows += _compared(
                data.question, split.tag, measure, (a, inside), (b, outside), parts,
                options,
            )  # fmt: skip
    return _adjusted(rows)


def measures(data: Strata, options: AlignOptions) -> list[Measure]:
    """Return what of a question can be compared between strata."""
    found = [_agreement_measure(data)]
    if data.by_annotator is not None:
        found.append(_means_measure(data))
    if data.grid is not None and data.grid.metrics and data.grid.cells.any():
        found += [
            _level_measure(data.grid, level, options.coefficients)
            for level in options.levels
        ]
    if data.pairs is not None and data.pairs.metrics:
        found.append(_pairs_measure(data.pairs))
    return found


def _agreement_measure(data: Strata) -> Measure:
    answers = data.reliability(data.answers)
    stories = tuple(sorted(data.answers["story"].unique()))
    codes = answers.clusters["stories"][:, 0]
    defined = answers.pairable.any() and not answers.of_means
    names = tuple(name for name in data.statistics if name in AGREEMENT)

    def values(w: Array, _methods: Array) -> Array:
        if not defined:
            return np.full((len(w), len(names)), np.nan)
        return np.stack([AGREEMENT[name](answers, w[:, codes]) for name in names], 1)

    return Measure(tuple(map(Place, names)), stories, 1, values)


def _means_measure(data: Strata) -> Measure:
    grid = rated_grid(data.question, data.by_annotator)
    once = np.ones((1, len(grid.methods)), int)

    def values(w: Array, _methods: Array) -> Array:
        draws = Draws(w.astype(int), np.broadcast_to(once, (len(w), once.size)))
        human, _, present = method_means(grid, draws)
        return np.where(present > 0, human, np.nan)

    places = tuple(Place("mean", method=method) for method in grid.methods)
    return Measure(places, grid.stories, len(grid.methods), values)


def _level_measure(grid: Grid, level: str, coefficients: Sequence[str]) -> Measure:
    places = tuple(
        Place(name, metric=metric, level=level)
        for name in coefficients
        for metric in grid.metrics
    )

    def values(w: Array, methods: Array) -> Array:
        draws = Draws(w.astype(int), methods.astype(int))
        found = level_values(grid, level, draws, coefficients)
        return np.concatenate([found[name].T for name in coefficients], axis=1)

    return Measure(places, grid.stories, len(grid.methods), values)


def _pairs_measure(pairs: Pairs) -> Measure:
    names = ("ppa_strict", "ppa_half")
    places = tuple(Place(s, metric=metric) for s in names for metric in pairs.metrics)

    def values(w: Array, methods: Array) -> Array:
        strict, half = ppa_by_story_weights(pairs, w, methods)
        return np.concatenate([strict, half], axis=1)

    return Measure(places, pairs.stories, len(pairs.methods), values)


def _compared(
    question: str,
    tag: str,
    measure: Measure,
    first: tuple[str, frozenset[str]],
    second: tuple[str, frozenset[str]],
    parts: tuple[str, ...],
    options: AlignOptions,
) -> Iterator[Row]:
    (a, inside), (b, outside) = first, second
    in_a, in_b = (
        np.array([story in group for story in measure.stories], bool)
        for group in (inside, outside)
    )
    if not (in_a.any() and in_b.any()):
        return
    name = (question, tag, a, b)
    once = np.ones((1, measure.n_methods))
    value_a = measure.values(in_a[None].astype(float), once)[0]
    value_b = measure.values(in_b[None].astype(float), once)[0]
    drawn_a, drawn_b = _draws(measure, in_a, in_b, parts, name, options)
    p_values = _shuffled_p(measure, in_a, in_b, value_a - value_b, name, options)
    for i, place in enumerate(measure.places):
        kinds = [(place.statistic, value_a - value_b, drawn_a - drawn_b)]
        if place.statistic == "mean" and (a, b) == (CORE, HARD):
            kinds.append(
                ("drop_percent", _drop(value_a, value_b), _drop(drawn_a, drawn_b))
            )
        for statistic, value, drawn in kinds:
            low, high, why = interval(drawn[:, i], options.confidence)
            known = bool(np.isfinite(value[i]))
            reason = why if known else _why_undefined((a, value_a[i]), (b, value_b[i]))
            yield {
                "question": question, "metric": place.metric, "value": float(value[i]),
                "low": low if known else NAN, "high": high if known else NAN,
                "n": int(in_a.sum() + in_b.sum()), "reason": reason, "tag": tag,
                "stratum_a": a, "stratum_b": b, "method": place.method,
                "statistic": statistic, "level": place.level,
                "p_value": float(p_values[i]),
            }  # fmt: skip


def _drop(core: Array, hard: Array) -> Array:
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(core > 0, 100 * (core - hard) / core, np.nan)


def _why_undefined(first: tuple[str, float], second: tuple[str, float]) -> str:
    unknown = [name for name, value in (first, second) if not np.isfinite(value)]
    if not unknown:
        return "the mean of the first stratum is not above 0"
    return f"undefined in {' and in '.join(unknown)}"


def _draws(
    measure: Measure,
    in_a: Mask,
    in_b: Mask,
    parts: tuple[str, ...],
    name: tuple[str, ...],
    options: AlignOptions,
) -> tuple[Array, Array]:
    """Return resampled values of both strata, each (B, L); the methods are shared."""
    B = options.resamples
    if B == 0 or min(in_a.sum(), in_b.sum()) < 2:
        none = np.empty((0, len(measure.places)))
        return none, none
    rng = stream(options.seed, "strata", *name)
    methods = np.ones((B, measure.n_methods), int)
    if "methods" in parts:
        methods = cluster_counts(measure.n_methods, B, rng)
    found = []
    for mask in (in_a, in_b):
        weights = np.zeros((B, len(mask)))
        weights[:, mask] = cluster_counts(int(mask.sum()), B, rng)
        found.append(measure.values(weights, methods.astype(float)))
    return found[0], found[1]


def _shuffled_p(
    measure: Measure,
    in_a: Mask,
    in_b: Mask,
    observed: Array,
    name: tuple[str, ...],
    options: AlignOptions,
) -> Array:
    """Return the p-value of each difference when stories are dealt out anew."""
    B = options.resamples
    if B == 0:
        return np.full(len(observed), np.nan)
    rng = stream(options.seed, "shuffled strata", *name)
    stories = np.flatnonzero(in_a | in_b)
    dealt = rng.permuted(np.tile(in_a[stories], (B, 1)), axis=1)
    first = np.zeros((B, len(in_a)))
    second = np.zeros((B, len(in_a)))
    first[:, stories], second[:, stories] = dealt, ~dealt
    once = np.ones((B, measure.n_methods))
    moved = measure.values(first, once) - measure.values(second, once)
    known = np.isfinite(moved)
    with np.errstate(invalid="ignore"):
        extreme = (np.abs(moved) >= np.abs(observed) - SLACK) & known
    p = (extreme.sum(axis=0) + 1) / (known.sum(axis=0) + 1)
    return np.where(np.isfinite(observed) & known.any(axis=0), p, np.nan)


def _adjusted(rows: list[Row]) -> list[Row]:
    """Adjust p-values within tag, statistic and level; a drop is a mean once more."""
    families: dict[tuple[object, ...], list[Row]] = {}
    for row in rows:
        families.setdefault((row["tag"], row["statistic"], row["level"]), []).append(
            row
        )
    for family in families.values():
        adjusted = holm(np.array([row["p_value"] for row in family], float))
        for row, p_value in zip(family, adjusted, strict=True):
            row["p_adjusted"] = float(p_value)
    return rows
