"""Statistics of one annotator at a time, with intervals over what he answered."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.stats import norm

from analysis.inference.resampling import (
    cluster_counts,
    divided,
    estimate,
    expanded,
    stream,
)
from analysis.options import Sampling
from analysis.reliability.chance_corrected import CHUNK
from analysis.results import NAN, Array, Counts, Estimate, Mask, TableRow, undefined
from analysis.sentences import sentence

ALL_SAME = sentence("all answers are the same")
ONE_CLUSTER = sentence("no interval: all answers are in one cluster")


@dataclass(frozen=True)
class AnnotatorMeasure:
    """Statistics of one annotator, as functions of how often each cluster counts."""

    names: tuple[str, ...]
    compute: Callable[[Array], Sequence[Array]]
    n: int
    reason: str = ""


@dataclass(frozen=True)
class Sheet:
    """Measurements of one annotator on one question."""

    question: str
    annotator: str
    n_answers: int
    clusters: int
    measures: Sequence[AnnotatorMeasure]
    of_people: bool = False


def renumbered(codes: Counts | Array) -> Counts:
    """Replace values by whole numbers from 0, in the same order."""
    return np.unique(codes, return_inverse=True)[1]


def summed(columns: Array, clusters: Counts, n: int = 0) -> Array:
    """Sum columns, shape (c, N), over clusters, at least n: shape (c, clusters)."""
    return np.stack([np.bincount(clusters, column, n) for column in columns])


def mean_measure(
    name: str,
    values: Array | Mask,
    clusters: Counts,
    *,
    used: Mask | None = None,
    reason: str = "",
    n_clusters: int = 0,
) -> AnnotatorMeasure:
    entered = np.ones(len(values)) if used is None else used.astype(float)
    sums = summed(np.stack([values * entered, entered]), clusters, n_clusters)

    def compute(counts: Array) -> list[Array]:
        part, whole = sums @ counts
        return [divided(part, whole)]

    n = int(entered.sum())
    return AnnotatorMeasure((name,), compute, n, "" if n else reason)


def sheet_rows(
    sheets: Sequence[Sheet], resamples: int, confidence: float, seed: int
) -> list[TableRow]:
    """Estimate every sheet; sheets with equally many clusters share their draws."""
    found: dict[int, list[TableRow]] = {}
    for size in sorted({sheet.clusters for sheet in sheets}):
        alike = {i: sheet for i, sheet in enumerate(sheets) if sheet.clusters == size}
        drawn: dict[int, list[list[Sequence[Array]]]] = {i: [] for i in alike}
        for counts in _drawn(size, resamples if size > 1 else 0, seed):
            for i, sheet in alike.items():
                drawn[i].append(
                    [
                        [] if measure.reason else measure.compute(counts)
                        for measure in sheet.measures
                    ]
                )
        for i, sheet in alike.items():
            found[i] = _one_sheet(sheet, drawn[i], resamples, confidence)
    return [row for i in sorted(found) for row in found[i]]


def _drawn(n: int, resamples: int, seed: int) -> Iterator[Array]:
    """Draw n of n clusters, some resamples at a time: shape (n, b)."""
    rng = stream(seed, "annotators", str(n))
    step = max(1, CHUNK // n)
    for start in range(0, resamples, step):
        counts = cluster_counts(n, min(step, resamples - start), rng)
        yield np.ascontiguousarray(counts.T, float)


def _one_sheet(
    sheet: Sheet, drawn: list[list[Sequence[Array]]], resamples: int, confidence: float
) -> list[TableRow]:
    total = Estimate(sheet.n_answers, n=sheet.n_answers)
    rows = [_row(sheet, "n_answers", total)]
    once = np.ones((sheet.clusters, 1))
    if sheet.of_people:
        confidence = expanded(confidence, sheet.clusters)
    for k, measure in enumerate(sheet.measures):
        values = [] if measure.reason else measure.compute(once)
        for j, name in enumerate(measure.names):
            if measure.reason:
                result = undefined(measure.reason, n=measure.n)
            elif not np.isfinite(values[j][0]):
                result = undefined(ALL_SAME, n=measure.n)
            else:
                draws = [block[k][j] for block in drawn] or [np.empty(0)]
                result = estimate(
                    float(values[j][0]), np.concatenate(draws), confidence, n=measure.n
                )
                if resamples and sheet.clusters == 1:
                    result = replace(result, reason=ONE_CLUSTER)
            rows.append(_row(sheet, name, result))
    return rows


def _row(sheet: Sheet, statistic: str, result: Estimate) -> TableRow:
    return {
        "question": sheet.question,
        "annotator": sheet.annotator,
        "statistic": statistic,
        **result.columns(),
    }


ALL_QUESTIONS = "all questions"
ABOVE, LIKE, BELOW = "above chance", "like chance", "below chance"
OPEN = "cannot be told"
# Verdicts on people whose answers are unrelated to the outputs, or reversed.
MARKED = (LIKE, BELOW)
SIGNIFICANT = 0.05
# Who is shown to agree with the others less than this part as well as these do.
PART = 2 / 3
# Fewer answers allow no verdict.
FEW_ANSWERS = 20
# Of more units the normal distribution stands for the shuffles.
MOST_SHUFFLED = 200
ROUNDING = 1e-9
ALONE = sentence("nobody else answered the same units")
ONE_ANSWER = sentence("the own answers are all the same")


@dataclass(frozen=True)
class Answers:
    """An annotator's answers on one question, to units that others answered as well."""

    units: Counts
    clusters: Counts
    own: Array
    others: Array


@dataclass(frozen=True)
class Evidence:
    """Evidence that an annotator answers at random."""

    statistic: str
    questions: tuple[Answers, ...]

    @property
    def n(self) -> int:
        return sum(len(one.units) for one in self.questions)

    def measure(
        self, names: tuple[str, ...], clusters: Counts, n: int
    ) -> AnnotatorMeasure:
        r"""Return agreement above that of shuffled answers, and the latter.

        With :math:`T = \sum x_i z_i / N` of own and others' answers, and
        :math:`E = \sum_q N_q \bar x_q \bar z_q / N`, its mean over all shuffles of the
        own answers within questions: :math:`(T - E) / (1 - E)`, and E.
        """
        parts = []
        start = 0
        for one in self.questions:
            here = clusters[start : start + len(one.units)]
            start += len(one.units)
            columns = [np.ones(len(here)), (one.own * one.others).sum(axis=1)]
            parts.append(
                summed(np.stack([*columns, *one.own.T, *one.others.T]), here, n)
            )

        def compute(counts: Array) -> list[Array]:
            total = equal = expected = np.zeros(counts.shape[1])
            for sums in parts:
                size, agree, *means = sums @ counts
                own, others = np.split(np.stack(means), 2)
                total, equal = total + size, equal + agree
                products = (own * others).sum(axis=0)
                expected = expected + np.where(size > 0, divided(products, size), 0.0)
            chance = divided(expected, total)
            above = divided(divided(equal, total) - chance, 1 - chance)
            return [above, chance][: len(names)]

        varies = any(np.ptp(q.own, axis=0).any() for q in self.questions if len(q.own))
        reason = "" if varies else ONE_ANSWER
        return AnnotatorMeasure(names, compute, self.n, reason if self.n else ALONE)

    def p_value(self, resamples: int, rng: np.random.Generator) -> float:
        r"""Return how often shuffled answers agree as much with the others.

        All answers to a unit are shuffled together, among the units that were asked the
        same questions, which keeps how often each is given: :math:`p = (1 + c) /
        (1 + B)` with the c of B shuffles that agree at least as much (one-sided). Of
        more than `MOST_SHUFFLED` units, p is that of a normal distribution with the
        exact mean and variance over all shuffles, :math:`\operatorname{tr}(S_x S_z) /
        (n - 1)` for the sums of squares and products of both (Hoeffding 1951, Annals of
        Mathematical Statistics 22(4)).
        """
        own, others, groups = self._joined()
        if len(own) < 2 or not resamples:
            return NAN
        if len(own) > MOST_SHUFFLED:
            above, error = self.above_shuffled()
            return float(norm.sf(above / error if error else 0.0))
        observed = float((own * others).sum())
        drawn = self.shuffled(own, others, groups, resamples=resamples, rng=rng)
        return float((1 + (drawn >= observed - ROUNDING).sum()) / (1 + resamples))

    def above_shuffled(self) -> tuple[float, float]:
        r"""Return agreement above the mean of all shuffles, and their standard error.

        :math:`(T - E) / (N - E)` of the sum T over N answers that others gave as well,
        and the standard deviation of T over all shuffles in the same unit.
        """
        own, others, groups = self._joined()
        mean, variance = self.moments(own, others, groups)
        most = self.n - mean
        if most <= ROUNDING:
            return 0.0, 0.0
        observed = float((own * others).sum())
        return (observed - mean) / most, float(np.sqrt(max(variance, 0.0))) / most

    def shuffled(
        self,
        own: Array,
        others: Array,
        groups: Counts,
        *,
        resamples: int,
        rng: np.random.Generator,
    ) -> Array:
        """Return how much each shuffle agrees with the others, shape (resamples,)."""
        # Whole numbers stay apart: a shuffle within each group.
        keys = groups + rng.random((resamples, len(own)))
        drawn = own[np.argsort(keys, axis=1)]
        return np.asarray(np.einsum("bnk,nk->b", drawn, others))

    def moments(self, own: Array, others: Array, groups: Counts) -> tuple[float, float]:
        """Return mean and variance of what `shuffled` returns, over all shuffles."""
        mean = variance = 0.0
        for group in np.unique(groups):
            sides = own[groups == group], others[groups == group]
            n = len(sides[0])
            mean += n * float(sides[0].mean(axis=0) @ sides[1].mean(axis=0))
            x, z = (side - side.mean(axis=0) for side in sides)
            variance += float(((x.T @ x) * (z.T @ z)).sum()) / max(1, n - 1)
        return mean, variance

    def _joined(self) -> tuple[Array, Array, Counts]:
        """Return own and others' answers by unit, those asked the same together."""
        units = np.unique(np.concatenate([q.units for q in self.questions]))
        sides: list[list[Array]] = [[], []]
        asked = np.zeros((len(units), len(self.questions)), bool)
        for k, one in enumerate(self.questions):
            place = np.searchsorted(units, one.units)
            asked[place, k] = True
            for side, values in zip(sides, (one.own, one.others), strict=True):
                columns = np.zeros((len(units), values.shape[1]))
                columns[place] = values
                side.append(columns)
        groups = np.unique(asked, axis=0, return_inverse=True)[1].ravel()
        order = np.argsort(groups, kind="stable")
        own, others = (np.concatenate(side, axis=1)[order] for side in sides)
        return own, others, groups[order]


def annotator_rows(
    sheets: Sequence[Sheet],
    evidence: Mapping[tuple[str, str], Evidence],
    names: tuple[str, ...],
    sampling: Sampling,
) -> list[TableRow]:
    """Return the rows of sheets, then of all questions together, with verdicts."""
    further, joined = pooled(evidence, names)
    return with_verdicts(
        sheet_rows([*sheets, *further], **sampling),
        {**evidence, **joined},
        resamples=sampling["resamples"],
        seed=sampling["seed"],
    )


def pooled(
    evidence: Mapping[tuple[str, str], Evidence], names: tuple[str, ...]
) -> tuple[list[Sheet], dict[tuple[str, str], Evidence]]:
    """Join the questions of each annotator who answered several."""
    people: dict[str, list[Evidence]] = {}
    for (_question, annotator), one in evidence.items():
        people.setdefault(annotator, []).append(one)
    sheets, joined = [], {}
    for annotator, own in sorted(people.items()):
        questions = [q for one in own for q in one.questions if len(q.units)]
        if len(questions) < 2:
            continue
        one = replace(own[0], questions=tuple(questions))
        clusters = renumbered(np.concatenate([q.clusters for q in questions]))
        n = int(clusters.max()) + 1
        measures = [one.measure(names, clusters, n)]
        sheets.append(Sheet(ALL_QUESTIONS, annotator, one.n, n, measures))
        joined[ALL_QUESTIONS, annotator] = one
    return sheets, joined


def with_verdicts(
    rows: Iterable[TableRow],
    evidence: Mapping[tuple[str, str], Evidence],
    *,
    resamples: int,
    seed: int,
) -> list[TableRow]:
    """Return rows of ``annotators`` with who answers like chance."""
    found = list(rows)
    tested: dict[str, list[TableRow]] = {}
    for row in found:
        one = evidence.get((str(row["question"]), str(row["annotator"])))
        if one and row["statistic"] == one.statistic and np.isfinite(_of(row, "value")):
            tested.setdefault(str(row["question"]), []).append(row)
    for question, here in tested.items():
        values = np.array([_of(row, "value") for row in here])
        enough = np.array([_of(row, "n") >= FEW_ANSWERS for row in here])
        for i, row in enumerate(here):
            keys = question, str(row["annotator"])
            rng = stream(seed, "like chance", *keys)
            p = evidence[keys].p_value(resamples, rng)
            rest = values[enough & (np.arange(len(here)) != i)]
            others = float(np.median(rest)) if len(rest) else NAN
            row |= {"others": others, "p_value": p}
            if np.isfinite(p):
                known = p, _of(row, "high"), others
                told = _verdict(*known, len(here)) if enough[i] else OPEN
                row["verdict"] = told
    return found


def _verdict(p_value: float, high: float, others: float, n_annotators: int) -> str:
    if p_value <= SIGNIFICANT:
        return ABOVE
    if high < 0 and 1 - p_value <= SIGNIFICANT / n_annotators:
        return BELOW
    return LIKE if high < PART * others else OPEN


def _of(row: TableRow, name: str) -> float:
    return float(str(row[name]))
