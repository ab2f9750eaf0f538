"""Mean scores of a run's metrics, for MLflow and Weights & Biases."""

from collections import defaultdict
from collections.abc import Sequence

from django.db.models import Avg, Q

from analysis.options import VERSION
from analysis.tracking import Run
from evalcore.models import MetricRun
from evalcore.scoring.identities import FIELDS, Identities, words


def scores_run(run: MetricRun, metrics: Sequence[str]) -> Run:
    """Return the mean score of each method by each metric that a run was asked for.

    All stored values count, not only new ones: of each output its own, or the mean of
    its shots. Where a metric has several identities, their numbers name them.
    """
    names = {metric.partition("@")[0] for metric in metrics}
    rows = run.benchmark.metric_scores.filter(metric__in=names).order_by()
    by_story = rows.values_list(*FIELDS, "method__name", "story").annotate(
        whole=Avg("value", filter=Q(shot=None)), of_shots=Avg("value")
    )
    known, values = Identities(), defaultdict(list)
    for a, b, c, d, e, method, _story, whole, of_shots in by_story:
        mean = of_shots if whole is None else whole
        values[known.of((a, b, c, d, e)), method].append(mean)
    keys: dict[str, set[str]] = defaultdict(set)
    for identity, _method in values:
        keys[identity.metric].add(identity.key)
    parameters = {
        "benchmark": run.benchmark.slug,
        "plumbline": VERSION,
        "run": str(run.pk),
        "metrics": ", ".join(metrics),
    }
    numbers = {}
    for (identity, method), means in values.items():
        name = identity.metric
        if len(keys[name]) > 1:
            name = f"{name} {identity.key}"
        parameters[f"identity of {name}"] = f"{identity.key}: {words(identity)}"
        numbers[f"{name}/{method}"] = sum(means) / len(means)
        numbers[f"{name} n/{method}"] = float(len(means))
    return Run(f"{run.benchmark.slug} scores", parameters, numbers)
