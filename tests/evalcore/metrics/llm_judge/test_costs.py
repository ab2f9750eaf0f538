"""Counting money."""

import threading
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalcore.metrics.llm_judge.settings import (
    BudgetExceededError,
    CostMeter,
    JudgeSettings,
    picture_tokens,
    text_tokens,
)


def metered(budget: str | None = None, **more) -> CostMeter:
    """A meter of a judge with those prices."""
    prices = {n: Decimal(more.pop(n)) for n in ("price_in", "price_out") if n in more}
    bound = None if budget is None else Decimal(budget)
    return CostMeter(JudgeSettings("", "owl", budget=bound, **prices), **more)


def dear(budget: str, **more) -> CostMeter:
    """A meter at 1 dollar for a million tokens, either way."""
    return metered(budget, price_in=1, price_out=1, **more)


def test_a_budget_is_used_to_the_last_cent_and_no_further():
    meter = dear("0.3")
    for _ in range(3):  # floats would make 0.30000000000000004 of it
        meter.settle(meter.reserve(100_000, 0), Decimal("0.1"))
    assert meter.spent == Decimal("0.3")
    with pytest.raises(BudgetExceededError):
        meter.reserve(1, 0)


def test_the_message_says_what_was_spent_and_how_to_go_on():
    meter = dear("1", spent=Decimal("0.75"))
    meter.settle(meter.reserve(200_000, 0), Decimal("0.2"))
    with pytest.raises(BudgetExceededError) as caught:
        meter.reserve(60_000, 0)
    words = str(caught.value)
    assert "budget of $1 " in words
    assert "$0.9500 were spent" in words
    assert "for 1 requests" in words
    assert "could cost $0.0600" in words
    assert "raise JUDGE_BUDGET" in words
    assert "nothing is asked twice" in words


class Purse:
    """One that gives what is asked for."""

    def __init__(self) -> None:
        self.held = Decimal(0)

    def take(self, least: Decimal, most: Decimal) -> Decimal:
        self.held = most
        return most

    def put_back(self) -> None:
        self.held = Decimal(0)


def test_what_was_set_aside_is_put_back_although_a_report_fails():
    def fail(_dollars):
        raise OSError("the database is away")

    purse = Purse()
    meter = dear("1", on_spending=fail, purse=purse)
    spent = meter.reserve(100_000, 0)
    with pytest.raises(OSError, match="away"), meter.setting_aside([Decimal("0.5")]):
        meter.settle(spent, Decimal("0.1"))
    assert purse.held == 0
    meter.reserve(800_000, 0)  # the budget alone is the bound again


def test_one_that_does_not_fit_waits_for_those_under_way():
    meter = dear("1")
    first = meter.reserve(900_000, 0)
    came = threading.Event()

    def second() -> None:
        meter.reserve(500_000, 0)
        came.set()

    thread = threading.Thread(target=second)
    thread.start()
    assert not came.wait(0.1)
    meter.settle(first, Decimal("0.4"))  # 0.4 + 0.5 fits
    assert came.wait(5)
    thread.join()


def test_one_that_waited_in_vain_is_refused():
    meter = dear("1")
    first = meter.reserve(900_000, 0)
    refused = []

    def second() -> None:
        try:
            meter.reserve(500_000, 0)
        except BudgetExceededError as error:
            refused.append(error)

    thread = threading.Thread(target=second)
    thread.start()
    meter.settle(first, Decimal("0.8"))
    thread.join(5)
    assert len(refused) == 1


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


def test_what_could_not_be_noted_is_reported_again():
    seen: list[Decimal] = []

    def note(dollars: Decimal) -> None:
        if not seen:
            seen.append(Decimal(0))
            raise OSError("disk full")
        seen.append(dollars)

    meter = dear("9", on_spending=note)
    meter.settle(meter.reserve(10, 0), Decimal("0.5"))
    with pytest.raises(OSError, match="disk full"):
        meter.report()
    meter.settle(meter.reserve(10, 0), Decimal("0.25"))
    meter.report()
    assert seen == [0, Decimal("0.75")]


def test_what_was_spent_before_is_not_reported_again():
    seen: list[Decimal] = []
    meter = dear("9", spent=Decimal(3), on_spending=seen.append)
    meter.report()
    assert seen == []


@given(st.lists(st.tuples(st.integers(0, 400), st.integers(0, 400)), max_size=40))
def test_no_order_of_costs_below_the_reserved_exceeds_the_budget(costs):
    """Law: if nothing costs more than was reserved, spent <= budget throughout."""
    meter = dear("0.001")
    for most, share in costs:
        try:
            reserved = meter.reserve(most, 0)
        except BudgetExceededError:
            continue
        meter.settle(reserved, min(reserved, meter.cost(share, 0)))
        assert meter.spent <= meter.settings.budget


def test_many_threads_do_not_exceed_the_budget():
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


def test_bounds_of_tokens():
    assert text_tokens("狐") == 3  # a token is a byte at least
    assert picture_tokens(512, 512) == 2833 + 5667
    assert picture_tokens(1024, 513) == 2833 + 4 * 5667
