"""Questions that a run would ask a judge, with their price, before it starts."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from evalcore.metrics import registry
from evalcore.metrics.base import Scoring
from evalcore.metrics.decoding import UNSCORABLE
from evalcore.metrics.engine import ODD_STORY, stored_names
from evalcore.metrics.feature_store import FeatureStore
from evalcore.metrics.llm_judge.client import Judge, asking
from evalcore.metrics.llm_judge.estimates import (
    Estimate,
    estimated_cost,
    example_request,
)
from evalcore.metrics.llm_judge.questions import JudgeQuestion
from evalcore.metrics.llm_judge.settings import JudgeSettings
from evalcore.models import MetricChunk, MetricRun
from evalcore.scoring import asked_again, judge_budget
from evalcore.scoring.chunks import ChunkWork, feature_store
from evalcore.scoring.run_options import outputs_of

# Outputs whose renderings are loaded together.
AT_ONCE = 64


@dataclass
class MetricPreview:
    """Questions of one metric."""

    name: str
    # Those without a stored answer, by key.
    questions: dict[str, JudgeQuestion] = field(default_factory=dict)
    answered: set[str] = field(default_factory=set)
    # Scores whose questions need features that are not computed yet.
    unknown: int = 0

    def add(
        self, scoring: Scoring, judge: Judge, store: FeatureStore, again: str
    ) -> None:
        """Add the first questions of a score; retries are not foreseen.

        `again`: name of the answers that a run which asks again may use.
        """
        try:
            ask = next(scoring)
            while ask.encoder is not judge:
                found = store.get_many(ask.encoder.id, [i.key for i in ask.items])
                if any(item.key not in found for item in ask.items):
                    self.unknown += 1
                    return
                ask = scoring.send([found[item.key] for item in ask.items])
        except (StopIteration, *UNSCORABLE, *ODD_STORY):
            return  # a score without questions
        finally:
            scoring.close()
        asked = {q.key: q for q in ask.items if isinstance(q, JudgeQuestion)}
        stored = store.get_many(stored_names(judge.id, again)[0], asked)
        self.answered |= set(stored)
        self.questions |= {k: q for k, q in asked.items() if k not in stored}


@dataclass(frozen=True)
class JudgePreview:
    """Questions of a run by metric."""

    settings: JudgeSettings
    metrics: Sequence[MetricPreview]

    @property
    def price(self) -> Estimate:
        """Return the price of all questions, each asked once."""
        asked = {k: q for metric in self.metrics for k, q in metric.questions.items()}
        return estimated_cost(asked.values(), self.settings)

    @property
    def price_in_words(self) -> str:
        """Return the price, and what it leaves out, as a sentence."""
        said = f"The judge: {self.price}"
        if unknown := max(one.unknown for one in self.metrics):
            said += (
                f". Questions of {unknown:,} more outputs are not known yet, since "
                "they need features; they add to the price"
            )
        return f"{said}."

    @property
    def budget(self) -> str:
        """Return the budgets as a sentence; empty for a judge that is free."""
        if not self.settings.costs_money:
            return ""
        spent, _reserved = judge_budget.totals()
        return (
            f"Budget: ${self.settings.budget} for a run; "
            f"${self.settings.budget_total} for all runs, "
            f"${spent:,.2f} spent so far."
        )

    def __str__(self) -> str:
        lines = [f"POST {self.settings.url}"]
        for metric in self.metrics:
            lines.append(f"\n{metric.name}: {_counts(metric)}.")
            for question in list(metric.questions.values())[:1]:
                request = example_request(question, self.settings)
                lines.append(json.dumps(request, indent=2, ensure_ascii=False))
        lines.append(f"\n{self.price_in_words} {self.budget}".rstrip())
        return "\n".join(lines)


def _counts(metric: MetricPreview) -> str:
    said = f"{len(metric.questions):,} questions"
    if metric.answered:
        said += f", and {len(metric.answered):,} with a stored answer"
    if metric.unknown:
        said += f"; those of {metric.unknown:,} outputs need features computed first"
    return said


def preview(run: MetricRun) -> JudgePreview | None:
    """Return what a run will ask a judge; None if none of its metrics asks one.

    Nothing is sent and nothing is computed. Raises JudgeSettingsError without a judge.
    """
    queues = {name: registry.load(name).info.queue for name in run.metrics}
    asked = [name for name, queue in queues.items() if queue == "judge"]
    if not asked:
        return None
    judge, store = Judge(judge_budget.settings_of(run)), feature_store()
    by_name = {name: MetricPreview(name) for name in asked}
    again = asked_again.cache_name(run)
    with asking(judge):
        for chunk in _chunks(run, asked):
            for job in ChunkWork(chunk, None, None).jobs_to_preview():
                by_name[job.key.wanted.name].add(job.scoring, judge, store, again)
    return JudgePreview(judge.settings, list(by_name.values()))


def _chunks(run: MetricRun, names: Sequence[str]) -> Iterator[MetricChunk]:
    """Yield chunks that no database holds, with all outputs and methods."""
    levels = {name: registry.load(name).info.scores for name in names}
    single = [name for name, level in levels.items() if level != "run"]
    whole = [name for name, level in levels.items() if level == "run"]
    outputs = outputs_of(run)
    keys = [output.pk for output in outputs] if single else []
    for start in range(0, len(keys), AT_ONCE):
        part = keys[start : start + AT_ONCE]
        yield MetricChunk(run=run, queue="judge", metrics=single, outputs=part)
    methods = {output.method_id: output.method for output in outputs} if whole else {}
    for method in methods.values():
        yield MetricChunk(run=run, queue="judge", metrics=whole, method=method)
