"""Planning of a run: what is missing, as chunks that workers take."""

from collections.abc import Sequence

from evalcore.metrics import registry
from evalcore.models import MetricChunk, MetricRun, Output
from evalcore.scoring import score_rows
from evalcore.scoring.score_rows import WantedMetric

# Outputs per chunk.
CHUNK = 64


def planned_metrics(run: MetricRun) -> tuple[list[WantedMetric], str]:
    """Return the metrics of a run, or why there are none.

    It may read gigabytes of weights, and so never happens within a transaction. What is
    wrong with weights or a judge, the worker will say.
    """
    try:
        metrics = score_rows.metrics_of(run.metrics, run.options)
    except registry.UnknownMetricError as error:
        return [], str(error)
    return score_rows.identified(metrics, strict=False), ""


def chunks_of(
    run: MetricRun,
    queue: str,
    metrics: Sequence[WantedMetric],
    outputs: Sequence[Output],
    already: score_rows.KnownRows,
) -> tuple[list[MetricChunk], int]:
    """Return the chunks of one queue, and how many pieces of work they contain.

    A metric whose identity is unknown here gets a chunk with every output: the worker
    that has its weights finds out which of them lack a value.
    """
    undecided = [one for one in metrics if not one.asked]
    per_output = {}
    for output in outputs:
        count = len(score_rows.missing_metrics(output, metrics, already))
        if count or score_rows.missing_metrics(output, undecided, set()):
            per_output[output.pk] = count
    keys = list(per_output)
    single = [one.name for one in metrics if one.of_an_output]
    chunks = []
    for start in range(0, len(keys), CHUNK):
        own = keys[start : start + CHUNK]
        guessed = sum(per_output[key] for key in own) if undecided else None
        chunks.append(
            MetricChunk(
                run=run, queue=queue, metrics=single, outputs=own, guessed=guessed
            )
        )
    pieces = sum(per_output.values())
    for method in {output.method_id: output.method for output in outputs}.values():
        lacking = score_rows.missing_method_metrics(method, metrics, already)
        names = [
            one.name
            for one in metrics
            if one in lacking
            or (
                one in undecided
                and not one.of_an_output
                and one.applies_to(method.name)
            )
        ]
        if names:
            guessed = len(lacking) if undecided else None
            chunk = MetricChunk(
                run=run, queue=queue, metrics=names, method=method, guessed=guessed
            )
            chunks.append(chunk)
            pieces += len(lacking)
    return chunks, pieces
