"""Costs of judges: each run's account, and the budget over all runs.

Amounts spent are stored with the runs. Before a batch of questions is sent, its highest
possible cost is reserved with its run, so that two runs, even on different machines,
cannot both spend the rest.
"""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from functools import lru_cache

from django.db import transaction
from django.db.models import F, Q, Sum
from django.utils import timezone

from evalcore.database.postgresql import one_at_a_time
from evalcore.metrics.base import FatalError
from evalcore.metrics.llm_judge.client import Judge, asking
from evalcore.metrics.llm_judge.costs import TO_CONTINUE, CostMeter
from evalcore.metrics.llm_judge.requests import Dialect
from evalcore.metrics.llm_judge.settings import (
    ZERO,
    BudgetExceededError,
    JudgeSettings,
    JudgeSettingsError,
    read_settings,
)
from evalcore.models import Benchmark, MetricRun

# A worker without a heartbeat for this long loses its reservation.
FORGOTTEN = timedelta(hours=1)
LOOK_AGAIN_SECONDS = 1.0


def totals(*, beside: int | None = None) -> tuple[Decimal, Decimal]:
    """Return what all runs have spent, and what runs except `beside` have reserved."""
    counts = Q(reserved_at__gte=timezone.now() - FORGOTTEN)
    if beside is not None:
        counts &= ~Q(pk=beside)
    # One query, since paying moves money from one sum to the other.
    sums = MetricRun.objects.aggregate(
        spent=Sum("dollars"), held=Sum("reserved", filter=counts)
    )
    return _dollars(sums["spent"]), _dollars(sums["held"])


def of_all_runs() -> tuple[Decimal, Decimal] | None:
    """Return spending and limit of the budget over all runs; None without a limit."""
    try:
        total = read_settings().budget_total
    except JudgeSettingsError:
        return None
    return None if total is None else (totals()[0], total)


def _dollars(stored: float | None) -> Decimal:
    return round(Decimal(stored or 0), 9)


class Account:
    """Payments of one run, from its own budget and that of all runs; see `Purse`."""

    def __init__(self, run: int, settings: JudgeSettings) -> None:
        self._run = MetricRun.objects.filter(pk=run)
        self._key = run
        self._settings = settings
        self._set_aside = ZERO

    def meter(self) -> CostMeter:
        """Return a meter that starts from what the run has spent."""
        spent = _dollars(self._run.values_list("dollars", flat=True).get())
        shared = self._settings.budget_total is not None
        return CostMeter(
            self._settings,
            spent=spent,
            on_spending=self._note,
            purse=self if shared else None,
        )

    def _note(self, dollars: Decimal) -> None:
        self._set_aside = max(ZERO, self._set_aside - dollars)
        self._run.update(dollars=F("dollars") + float(dollars), **self._reserved())

    def _reserved(self) -> dict[str, object]:
        return {"reserved": float(self._set_aside), "reserved_at": timezone.now()}

    def take(self, least: Decimal, most: Decimal) -> Decimal:
        """Reserve a batch's cost, or the whole rest if no other run holds any."""
        total = self._settings.budget_total or ZERO
        while True:
            with transaction.atomic():
                one_at_a_time("judge_money")
                spent, held = totals(beside=self._key)
                left = total - spent - held
                if left >= most or (not held and left >= least):
                    self._set_aside = min(most, left)
                    self._run.update(**self._reserved())
                    return self._set_aside
            if not held:
                raise BudgetExceededError(
                    f"the judges' budget of ${total} over all runs is used up: "
                    f"${spent:.4f} were spent, and the next request could cost "
                    f"${least:.4f}. {TO_CONTINUE}"
                )
            if self._run.filter(state=MetricRun.State.STOPPED).exists():
                raise FatalError("stopped while it waited for money of other runs")
            time.sleep(LOOK_AGAIN_SECONDS)

    def put_back(self) -> None:
        """Free the unused reservation."""
        self._set_aside = ZERO
        self._run.update(**self._reserved())


def settings_of(run: MetricRun) -> JudgeSettings:
    """Return the settings of a run's judge, with the number of its repetition."""
    return replace(read_settings(), repeat=run.options.get("repeat", 0))


@lru_cache(maxsize=8)
def _dialect(_run: int, settings: JudgeSettings) -> Dialect:
    """Return what a run has learned of its judge's server, for its next chunks."""
    return Dialect(settings)


@contextmanager
def asking_for_run(run: int) -> Iterator[Judge]:
    """Use the judge inside the block, on a run's account."""
    settings = settings_of(MetricRun.objects.get(pk=run))
    meter = Account(run, settings).meter()
    with asking(Judge(settings, meter, dialect=_dialect(run, settings))) as judge:
        yield judge


@contextmanager
def asking_for_command(benchmark: Benchmark, metrics: Sequence[str]) -> Iterator[Judge]:
    """Use the judge inside the block, for a command that stores no scores."""
    settings = read_settings()
    if not settings.costs_money:
        with asking(Judge(settings)) as judge:
            yield judge
        return
    now = timezone.now()
    row = MetricRun.objects.create(
        benchmark=benchmark,
        source=MetricRun.Source.ASKED,
        metrics=sorted(metrics),
        state=MetricRun.State.DONE,
        started_at=now,
        finished_at=now,
    )
    with asking_for_run(row.pk) as judge:
        yield judge
