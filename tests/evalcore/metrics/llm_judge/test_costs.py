"""Costs and budgets of a judge."""

import threading
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalcore.metrics.llm_judge.costs import CostMeter
from evalcore.metrics.llm_judge.settings import BudgetExceededError, JudgeSettings


def metered(budget: str | None = None, **more) -> CostMeter:
    """Return a meter of a judge with those prices."""
    prices = {n: Decimal(more.pop(n)) for n in ("price_in", "price_out") if n in more}
    bound = None if budget is None else Decimal(budget)
    return CostMeter(JudgeSettings("", "owl", budget=bound, **prices), **more)


def dear(budget: str, **more) -> CostMeter:
    """Return a meter at 1 dollar per million tokens, read or written."""
    return metered(budget, price_in=1, price_out=1, **more)


def test_budget_is_used_exactly():
    meter = dear("0.3")
    for _ in range(3):  # floats would make 0.30000000000000004 of it
        meter.settle(meter.reserve(100_000, 0), Decimal("0.1"))
    assert meter.spent == Decimal("0.3")
    with pytest.raises(BudgetExceededError):
        meter.reserve(1, 0)


def test_budget_below_the_first_request_is_called_too_small():
    with pytest.raises(
        BudgetExceededError, match=r"^the judge's budget of \$0.01 is too"
    ):
        dear("0.01").reserve(20_000, 0)


def test_spending_is_reported_once():
    seen: list[Decimal] = []
    meter = dear("9", on_spending=seen.append)
    meter.report()
    meter.settle(meter.reserve(10, 0), Decimal("0.5"))
    meter.settle(meter.reserve(10, 0), Decimal("0.25"))
    meter.report()
    meter.report()
    meter.settle(meter.reserve(10, 0), None)
    meter.report()
    assert seen == [Decimal("0.75")]


@given(st.lists(st.tuples(st.integers(0, 400), st.integers(0, 400)), max_size=40))
def test_costs_below_reservation_never_exceed_budget(costs):
    """Law: if nothing costs more than was reserved, spent <= budget throughout."""
    meter = dear("0.001")
    for most, share in costs:
        try:
            reserved = meter.reserve(most, 0)
        except BudgetExceededError:
            continue
        meter.settle(reserved, min(reserved, meter.cost(share, 0)))
        assert meter.spent <= meter.settings.budget


def test_threads_together_do_not_exceed_budget():
    meter = dear("0.01")
    asked = []

    def spend() -> None:
        try:
            while True:
                meter.settle(meter.reserve(300, 0), Decimal("0.0003"))
                asked.append(1)
        except BudgetExceededError:
            pass

    threads = [threading.Thread(target=spend) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    # 33 x 0.0003 = 0.0099; a 34th would make 0.0102.
    assert len(asked) == meter.requests == 33
    assert meter.spent == Decimal("0.0099")
