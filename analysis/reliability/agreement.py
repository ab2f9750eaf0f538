"""Agreement of people with one another: every statistic, with cluster intervals."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from analysis.inference.resampling import cluster_counts, estimate, expanded, stream
from analysis.reading.texts import step_of
from analysis.reliability.chance_corrected import (
    CHUNK,
    alike,
    alpha,
    alpha_value,
    category_values,
    gwet,
    has_many_values,
    majority_share,
    ordinal_interval,
)
from analysis.reliability.matrices import Reliability, has_rest, icc, rater_vs_rest
from analysis.results import NAN, ONE, Array, Counts, Estimate, undefined
from analysis.sentences import chained, sentence

RATING_STATISTICS = (
    "alpha_nominal",
    "alpha_ordinal",
    "alpha_interval",
    "ac1",
    "ac2_quadratic",
    "icc_2_1",
    "icc_2_k",
    "rater_vs_rest_spearman",
    "rater_vs_rest_kendall",
)
CHOICE_STATISTICS = ("alpha_nominal", "fleiss_kappa", "ac1", "majority_share")
MARK_STATISTICS = ("alpha_nominal", "ac1")
PARTS = ("stories", "methods", "units", "annotators")
# Fewer annotators make too few different panels, and too many of one person.
LEAST_DRAWN = 5
# Units with equal answers are drawn together while answers take few values.
FEW_VALUES = 64
# Answers with smaller steps are a continuous scale, without categories.
LEAST_STEP = 0.25

STATISTICS: dict[str, Callable[..., Array]] = {
    "alpha_nominal": partial(alpha, metric="nominal"),
    "alpha_ordinal": partial(alpha, metric="ordinal"),
    "alpha_interval": partial(alpha, metric="interval"),
    "ac1": partial(gwet, kind="ac1"),
    "ac2_quadratic": partial(gwet, kind="ac2_quadratic"),
    "fleiss_kappa": partial(gwet, kind="fleiss_kappa"),
    "majority_share": majority_share,
    "icc_2_1": partial(icc, kind="icc_2_1"),
    "icc_2_k": partial(icc, kind="icc_2_k"),
    "rater_vs_rest_spearman": partial(rater_vs_rest, coefficient="spearman"),
    "rater_vs_rest_kendall": partial(rater_vs_rest, coefficient="kendall"),
}
COMPLETE_ONLY = (
    "icc_2_1",
    "icc_2_k",
    "rater_vs_rest_spearman",
    "rater_vs_rest_kendall",
)
NO_VALUE = sentence("undefined for these answers")
NEGATIVE = sentence("the estimated variance of the ratings is not positive")
ONE_SIDED = sentence(
    "for each annotator, the own ratings or the means of the others are all the same"
)
# Why a statistic has no value although the answers differ.
WITHOUT_VALUE = {
    "icc_2_1": NEGATIVE,
    "icc_2_k": NEGATIVE,
    "rater_vs_rest_spearman": ONE_SIDED,
    "rater_vs_rest_kendall": ONE_SIDED,
}
# Statistics that are no means over pairs of annotators, so that these cannot be drawn.
SMALLER_PANEL = sentence(
    "no interval: the mean of fewer different annotators is "
    "noisier, so annotators cannot be drawn; draw units or "
    "stories"
)
NOT_OF_PAIRS = {
    "majority_share": (
        sentence(
            "no interval: the largest share grows when some annotators "
            "count twice, so annotators cannot be drawn; draw units or "
            "stories"
        )
    ),
    "rater_vs_rest_spearman": SMALLER_PANEL,
    "rater_vs_rest_kendall": SMALLER_PANEL,
}


@dataclass(frozen=True)
class Agreement:
    """One statistic of one question, with the data behind it."""

    statistic: str
    estimate: Estimate
    n_annotators: int | None
    n_answers: int | None


def agreement(
    data: Reliability,
    statistics: tuple[str, ...],
    *,
    parts: tuple[str, ...],
    resamples: int,
    confidence: float,
    seed: int,
    question: str,
) -> list[Agreement]:
    """Compute agreement statistics with cluster intervals."""
    reasons = {name: _why_undefined(data, name) for name in statistics}
    values = {name: NAN if reasons[name] else _value(data, name) for name in statistics}
    for name, value in values.items():
        if not reasons[name] and not np.isfinite(value):
            reasons[name] = WITHOUT_VALUE.get(name, NO_VALUE)
    drawn: dict[str, Array] = {}
    for complete in (False, True):
        names = tuple(
            name
            for name in statistics
            if not reasons[name]
            and (name in COMPLETE_ONLY) == complete
            and not _why_not_drawn(data, name, parts)
            and not _left_out(data, name)
        )
        if names and resamples:
            sample = _Sample(
                data, parts, resamples, complete=complete, seed=seed, question=question
            )
            drawn |= sample.draws(names)
    by_people = "annotators" in parts and data.n_annotators > 1
    found = []
    for name in statistics:
        units = _units(data, name)
        if reasons[name]:
            result = undefined(reasons[name], n=len(units))
        else:
            draws = drawn.get(name, np.empty(0))
            coverage = confidence
            if by_people and not (len(parts) > 1 and name.startswith("alpha")):
                coverage = expanded(confidence, data.n_annotators)
            result = estimate(values[name], draws, coverage, n=len(units))
            if resamples and not result.reason:
                why = _why_not_drawn(data, name, parts)
                result = replace(result, reason=why)
                if not why and _left_out(data, name):
                    low, high = ordinal_interval(data, values[name], parts, confidence)
                    result = replace(result, low=low, high=high)
        people, answers = (None, None) if data.of_means else _counted(data, units)
        if name.startswith("rater") and not reasons[name]:
            people = int(has_rest(data).sum())
        found.append(Agreement(name, result, people, answers))
    return found


def _left_out(data: Reliability, name: str) -> bool:
    """Say whether clusters are left out one by one instead of drawn."""
    return name == "alpha_ordinal" and has_many_values(data)


def _units(data: Reliability, name: str) -> Counts:
    """Return the units that enter a statistic."""
    used = data.pairable
    return np.flatnonzero(used & data.complete if name in COMPLETE_ONLY else used)


def _counted(data: Reliability, units: Counts) -> tuple[int, int]:
    """Return the number of annotators and of answers in some units."""
    entered = np.zeros(data.n_units, bool)
    entered[units] = True
    rows = entered[data.units]
    return int((np.bincount(data.annotators[rows]) > 0).sum()), int(rows.sum())


def _value(data: Reliability, name: str) -> float:
    kind, _, metric = name.partition("_")
    if kind == "alpha":
        return alpha_value(data, metric)
    return float(STATISTICS[name](data, np.ones((1, data.n_units)))[0])


class _Sample:
    """Resamples of units and annotators."""

    def __init__(
        self,
        data: Reliability,
        parts: tuple[str, ...],
        resamples: int,
        *,
        complete: bool,
        seed: int,
        question: str,
    ) -> None:
        if complete:
            data = data.take(np.flatnonzero(data.complete))
        self.resamples = resamples
        self.by_people = "annotators" in parts
        self.streams = {
            part: stream(seed, "agreement", question, part) for part in parts
        }
        clusters = {
            part: np.unique(data.clusters[part], return_inverse=True)[1].reshape(
                data.clusters[part].shape
            )
            for part in parts
            if part != "annotators"
        }
        self.sizes = {part: int(codes.max()) + 1 for part, codes in clusters.items()}
        # Only single units are resampled, so clusters do not matter.
        self.alone = set(parts) == {"units"} and self.sizes["units"] == data.n_units
        tell_apart = [] if self.alone else list(clusters.values())
        first, self.times = _kinds(data, tell_apart, answers=self.by_people or complete)
        self.clusters = {part: codes[first] for part, codes in clusters.items()}
        self.data = data.take(first)

    def draws(self, names: tuple[str, ...]) -> dict[str, Array]:
        """Compute statistics in every resample: arrays of shape (B,)."""
        found: dict[str, list[Array]] = {name: [] for name in names}
        for weights, people in self._weights():
            for name in names:
                found[name].append(STATISTICS[name](self.data, weights, people=people))
        return {name: np.concatenate(values) for name, values in found.items()}

    def _weights(self) -> Iterator[tuple[Array, Array | None]]:
        """Yield weights of units (b, U) and of annotators (b, A), some b at a time."""
        data = self.data
        cells = data.counts.nnz if self.by_people else data.n_units
        step = max(1, CHUNK // max(cells, len(data.values), *self.sizes.values(), 1))
        for start in range(0, self.resamples, step):
            b = min(step, self.resamples - start)
            people = None
            if self.by_people:
                drawn = cluster_counts(data.n_annotators, b, self.streams["annotators"])
                people = drawn.astype(float)
            yield self._of_units(b), people

    def _of_units(self, b: int) -> Array:
        if self.alone:
            n = int(self.times.sum())
            drawn = self.streams["units"].multinomial(n, self.times / n, size=b)
            return np.asarray(drawn, float)
        weights = np.tile(self.times, (b, 1))
        for part, codes in self.clusters.items():
            counts = cluster_counts(self.sizes[part], b, self.streams[part])
            for column in codes.T:
                weights *= counts[:, column]
        return weights


def _kinds(
    data: Reliability, clusters: Sequence[Counts], *, answers: bool
) -> tuple[Counts, Array]:
    """Find units that are alike in answers and clusters."""
    units = np.arange(data.n_units)
    if len(data.values) > FEW_VALUES or (answers and not data.complete.all()):
        return units, np.ones(data.n_units)
    if answers:
        keys = np.searchsorted(data.values, data.matrix)
    else:
        keys = data.counts.toarray().astype(int)
    kinds = alike([*keys.T, *(column for codes in clusters for column in codes.T)])
    times = np.bincount(kinds)
    first = np.empty(len(times), int)
    first[kinds[::-1]] = units[::-1]
    return first, times.astype(float)


def _why_not_drawn(data: Reliability, name: str, parts: tuple[str, ...]) -> str:
    """Say in words why an interval cannot be drawn; empty when it can."""
    if "annotators" in parts:
        if name in NOT_OF_PAIRS:
            return NOT_OF_PAIRS[name]
        n = data.n_annotators
        if n < LEAST_DRAWN:
            return sentence("no interval: {n} annotators are too few to draw from", n=n)
    units = _units(data, name)
    others = [part for part in parts if part != "annotators"]
    if others and "annotators" not in parts:
        sizes = [len(np.unique(data.clusters[part][units])) for part in others]
        if max(sizes) == 1:
            only = chained("{first} and {second}", [ONE[part] for part in others])
            return sentence("no interval: only {only} to draw from", only=only)
    return ""


def _why_undefined(data: Reliability, name: str) -> str:
    """Say in words why a statistic cannot be computed; empty when it can."""
    if data.of_means:
        return sentence("the ratings are means over raters, who are not distinguished")
    if not data.pairable.any():
        return sentence("no unit has two answers")
    if name in COMPLETE_ONLY:
        return _why_incomplete(data, name)
    if name.startswith("ac") and step_of(data.values) < LEAST_STEP:
        return sentence("ratings are not whole categories")
    if name.startswith("ac") and len(category_values(data)) < 2:
        return sentence("all answers are the same, and no scale names other categories")
    answered = np.asarray(data.counts[data.pairable].sum(axis=0))
    if name.startswith(("alpha", "fleiss")) and (answered > 0).sum() < 2:
        return sentence("all answers are the same")
    return ""


def _why_incomplete(data: Reliability, name: str) -> str:
    """Say why units that all annotators answered give no value."""
    x = data.matrix
    if len(x) < 2:
        return sentence(
            "only one unit was rated by all {n} annotators"
            if len(x)
            else "no unit was rated by all {n} annotators",
            n=data.n_annotators,
        )
    if np.ptp(x) == 0:
        return sentence("all ratings are the same")
    if name.startswith("rater") and (np.ptp(x, axis=0) == 0).all():
        return sentence("each annotator gave one rating throughout")
    return ""
