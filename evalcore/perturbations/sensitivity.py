"""Sensitivity of metrics: scores of originals compared with their degraded copies.

A metric meant to measure consistency should score a story with a shot of another story
lower than the story itself. The check needs no annotators.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from evalcore.metrics.base import Metric, Value
from evalcore.metrics.engine import Engine, MetricJob
from evalcore.metrics.identity import identity_of, joined
from evalcore.models import Benchmark, TwinScore
from evalcore.perturbations.degraded_copies import current_perturbations
from evalcore.scoring import identities, judged_outputs
from evalcore.scoring.chunks import feature_store


@dataclass(frozen=True)
class Sensitivity:
    """Sensitivity of one metric to one degradation.

    `better`, `alike` and `worse` count the pairs in which the original scored better
    than its copy, the same, or worse, by the metric's direction; pairs in which one has
    no value are `undefined`. Means are over the pairs with two values.
    """

    metric: str
    degradation: str
    better: int
    alike: int
    worse: int
    undefined: int
    mean_original: float
    mean_twin: float


def sensitivities(
    benchmark: Benchmark, metrics: Mapping[str, Metric]
) -> tuple[list[Sensitivity], dict[str, str], list[TwinScore]]:
    """Score originals and their degraded copies."""
    perturbations = current_perturbations(benchmark)
    originals = list(
        judged_outputs.outputs(benchmark).filter(
            pk__in=[perturbation.twin_of_id for perturbation in perturbations]
        )
    )
    renderings = judged_outputs.renderings([*originals, *perturbations])
    jobs = (
        MetricJob((key, name), metric.score(rendering))
        for key, rendering in renderings.items()
        for name, metric in metrics.items()
    )
    values: dict[tuple[int, str], float | None] = {}
    made = {name: identity_of(metric) for name, metric in metrics.items()}
    answered: dict[str, set[str]] = defaultdict(set)
    failed = {}
    for outcome in Engine(feature_store()).run(jobs):
        key, name = outcome.key
        if outcome.error is not None:
            rendering = renderings[key]
            failed[f"{rendering.method} / {rendering.story}: {name}"] = str(
                outcome.error
            )
        values[key, name] = _mean(outcome.values)
        answered[name] |= outcome.judge_versions
    pairs = defaultdict(list)
    for perturbation in perturbations:
        assert perturbation.twin_of_id is not None
        pairs[perturbation.degradation].append(
            (perturbation.twin_of_id, perturbation.pk)
        )
    rows = [
        _compared(name, metric, degradation, pairs[degradation], values)
        for name, metric in metrics.items()
        for degradation in sorted(pairs)
    ]
    identity = {
        name: replace(one, judge_version=joined(answered[name]))
        for name, one in made.items()
    }
    stored = {name: identities.store(one) for name, one in made.items()}
    scores = [
        TwinScore(
            twin=perturbation,
            identity_id=stored[name],
            **identities.columns_of(identity[name]),
            value=score,
            original=original,
        )
        for perturbation in perturbations
        for name in metrics
        if (score := values.get((perturbation.pk, name))) is not None
        and (original := values.get((perturbation.twin_of_id or 0, name))) is not None
    ]
    return rows, failed, scores


def store(scores: Sequence[TwinScore]) -> None:
    """Store scores of degraded copies; existing ones stay."""
    TwinScore.objects.bulk_create(scores, ignore_conflicts=True, batch_size=500)


def _mean(values: Iterable[Value]) -> float | None:
    numbers = [value.value for value in values if value.value is not None]
    return sum(numbers) / len(numbers) if numbers else None


def _compared(
    name: str,
    metric: Metric,
    degradation: str,
    pairs: Sequence[tuple[int, int]],
    values: Mapping[tuple[int, str], float | None],
) -> Sensitivity:
    sign = 1 if metric.info.higher_is_better else -1
    both = [
        (original, degraded)
        for a, b in pairs
        if (original := values.get((a, name))) is not None
        and (degraded := values.get((b, name))) is not None
    ]
    # Differences of rounding count as equal, also for small scores.
    largest = max((max(abs(o), abs(t)) for o, t in both), default=0.0)
    noise = 1e-12 * min(1.0, largest)
    gaps = [
        0.0 if math.isclose(o, t, rel_tol=1e-9, abs_tol=noise) else sign * (o - t)
        for o, t in both
    ]
    n = len(both) or math.nan
    return Sensitivity(
        name,
        degradation,
        better=sum(gap > 0 for gap in gaps),
        alike=sum(gap == 0 for gap in gaps),
        worse=sum(gap < 0 for gap in gaps),
        undefined=len(pairs) - len(both),
        mean_original=sum(o for o, _t in both) / n,
        mean_twin=sum(t for _o, t in both) / n,
    )
