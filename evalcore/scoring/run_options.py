"""Options of a run: checked before it is queued, and stored with it."""

from collections.abc import Sequence
from typing import Any, TypedDict, Unpack

from django.db.models import QuerySet
from django.utils.translation import gettext as _

from evalcore.metrics import registry
from evalcore.models import Benchmark, MetricRun, Output
from evalcore.scoring import asked_again, judged_outputs
from evalcore.scoring.asked_again import Which
from evalcore.scoring.chunks import ScoringError


class RunOptions(TypedDict, total=False):
    """Options of a run beside its metrics."""

    truth: str  # the method with the true outputs, for metrics that need them
    outputs: Sequence[str]  # those to compute, each METHOD/STORY; by default all
    again: Which | None  # existing values that are computed again and replaced
    # Number of another answer of the judge to every question, with values of its own.
    repeat: int


def checked_options(
    benchmark: Benchmark, metrics: Sequence[str], **sent: Unpack[RunOptions]
) -> dict[str, Any]:
    """Return the options to store; raise ScoringError if they cannot be met."""
    truth, outputs = sent.get("truth", ""), sent.get("outputs", ())
    again, repeat = sent.get("again"), sent.get("repeat", 0)
    infos = {name: registry.load(name).info for name in metrics}
    options: dict[str, Any] = {}
    needing = [name for name, info in infos.items() if info.against_truth]
    if needing and not truth:
        raise ScoringError(
            _("%(metrics)s: name the method that holds the true outputs")
            % {"metrics": ", ".join(needing)}
        )
    if truth:
        if not judged_outputs.outputs(benchmark).filter(method__name=truth).exists():
            raise ScoringError(
                _("no outputs of a method “%(method)s” in %(benchmark)s")
                % {"method": truth, "benchmark": benchmark.slug}
            )
        options["truth"] = truth
    if outputs:
        whole = [name for name, info in infos.items() if info.scores == "run"]
        if whole:
            raise ScoringError(
                _("%(metrics)s: one value per method, so outputs cannot be chosen")
                % {"metrics": ", ".join(whole)}
            )
        options["outputs"] = sorted(set(outputs))
        _check_outputs(benchmark, options["outputs"])
    if repeat:
        others = [name for name, info in infos.items() if info.queue != "judge"]
        if others:
            raise ScoringError(
                _("%(metrics)s: no judge is asked, so there is nothing to repeat")
                % {"metrics": ", ".join(others)}
            )
        options["repeat"] = repeat
    if again:
        options["again"] = again
        asked_again.note_start(benchmark, metrics, options)
    return options


def _check_outputs(benchmark: Benchmark, names: Sequence[str]) -> None:
    existing = {path(output) for output in judged_outputs.outputs(benchmark)}
    unknown = [name for name in names if name not in existing]
    if unknown:
        raise ScoringError(
            _("no output “%(output)s”: write METHOD/STORY, such as %(example)s")
            % {"output": unknown[0], "example": min(existing, default="-")}
        )


def path(output: Output) -> str:
    """Return an output's name in the option `outputs`."""
    return f"{output.method.name}/{output.story.key}"


def outputs_of(run: MetricRun) -> list[Output]:
    """Return the outputs that a run computes scores of."""
    every: QuerySet[Output] = judged_outputs.outputs(run.benchmark)
    chosen = run.options.get("outputs")
    return [one for one in every if chosen is None or path(one) in chosen]
