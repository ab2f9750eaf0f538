"""Costs of a judge, and a budget that is never exceeded.

The highest possible cost of a question is reserved before it is sent. A question that
does not fit waits while others are running. Several meters, even in other processes,
may share a purse.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from decimal import Decimal
from threading import Condition, Lock
from typing import Protocol

from evalcore.metrics.llm_judge.settings import (
    ZERO,
    BudgetExceededError,
    JudgeSettings,
)

MILLION = 1_000_000
TILE = 512
# The most tokens that any known judge counts for a picture: GPT-4o mini's base and
# tile.
PICTURE_TOKENS, TILE_TOKENS = 2833, 5667
TO_CONTINUE = (
    "To continue, raise JUDGE_BUDGET_TOTAL (by default equal to JUDGE_BUDGET) and "
    "start again: answers are stored, and nothing is asked twice"
)
MESSAGE_TOKENS = 64  # roles, separators, and additions of a server's template


class Purse(Protocol):
    """A budget that several meters share."""

    def take(self, least: Decimal, most: Decimal) -> Decimal:
        """Reserve up to `most`, and return the reserved amount.

        Waits while others may free money; raises BudgetExceededError if even `least` is
        not available.
        """

    def put_back(self) -> None:
        """Free the unused reservation."""


def text_tokens(text: str) -> int:
    """Return the most tokens that a text can have: its number of bytes."""
    return len(text.encode("utf-8", "replace"))


def picture_tokens(width: int, height: int) -> int:
    """Return the most tokens that a picture can have."""
    return PICTURE_TOKENS + TILE_TOKENS * -(-width // TILE) * -(-height // TILE)


def dollars(settings: JudgeSettings, tokens_in: int, tokens_out: int) -> Decimal:
    """Return the cost of that many tokens."""
    price = tokens_in * settings.price_in + tokens_out * settings.price_out
    return price / MILLION


class CostMeter:
    """Counts spending, and stops before the budget is exceeded.

    `spent`: dollars spent before, part of the budget. `on_spending`: called by `report`
    with the spending since the last report; if it fails, the next report includes it.
    `purse`: the shared budget of this and other meters.
    """

    def __init__(
        self,
        settings: JudgeSettings,
        *,
        spent: Decimal = ZERO,
        on_spending: Callable[[Decimal], None] = lambda dollars: None,
        purse: Purse | None = None,
    ) -> None:
        self.settings = settings
        self._on_spending = on_spending
        self._purse = purse
        # upper limit of current reservations from the purse
        self._set_aside: Decimal | None = None
        self._has_whole_batch = False
        self._changed = Condition()
        self._reporting = Lock()
        self._spent = self._reported = spent
        self._reserved = ZERO
        self._under_way = 0
        self._requests = 0

    @property
    def spent(self) -> Decimal:
        with self._changed:
            return self._spent

    @property
    def requests(self) -> int:
        """Return how many requests have cost money since the meter was created."""
        with self._changed:
            return self._requests

    def cost(self, tokens_in: int, tokens_out: int) -> Decimal:
        """Return the cost of that many tokens in dollars."""
        return dollars(self.settings, tokens_in, tokens_out)

    @contextmanager
    def setting_aside(self, costs: Sequence[Decimal]) -> Iterator[None]:
        """Reserve in the purse the highest possible cost of a batch of requests."""
        if self._purse is None or not any(costs):
            yield
            return
        most = sum(costs, ZERO)
        taken = self._purse.take(min(costs), most)
        self._set_aside = self.spent + taken
        self._has_whole_batch = taken == most
        try:
            yield
        finally:
            try:
                self.report()
            finally:
                self._set_aside = None
                self._purse.put_back()

    def reserve(self, tokens_in: int, tokens_out: int) -> Decimal:
        """Reserve a request's highest possible cost; wait for others if it may fit."""
        most = self.cost(tokens_in, tokens_out)
        with self._changed:
            while not self._fits(most):
                if not self._under_way:
                    raise BudgetExceededError(self._words(most))
                self._changed.wait()
            self._reserved += most
            self._under_way += 1
        return most

    def settle(self, reserved: Decimal, paid: Decimal | None) -> None:
        """Free a reservation and count the actual cost; None if it was not billed."""
        with self._changed:
            self._reserved -= reserved
            self._under_way -= 1
            if paid is not None:
                self._spent += paid
                self._requests += 1
            self._changed.notify_all()

    def report(self) -> None:
        """Call `on_spending` with the spending since the last report."""
        with self._reporting:
            spent = self.spent
            if spent != self._reported:
                self._on_spending(spent - self._reported)
            self._reported = spent

    def _fits(self, cost: Decimal) -> bool:
        bounds = [
            bound
            for bound in (self.settings.budget, self._set_aside)
            if bound is not None
        ]
        return all(self._spent + self._reserved + cost <= bound for bound in bounds)

    def _words(self, most: Decimal) -> str:
        budget = self.settings.budget
        if self._set_aside is not None and (
            budget is None or self._spent + most <= budget
        ):
            if self._has_whole_batch:
                return (
                    "requests without a reply, which may be billed, have used up what "
                    "a batch of questions can cost: raise JUDGE_TIMEOUT if it is slow"
                )
            return (
                "the rest of the budget over all runs is used up, and the next "
                f"request could cost ${most:.4f}. {TO_CONTINUE}"
            )
        if not self._spent:
            return (
                f"the judge's budget of ${budget} is too small: the first request may "
                f"cost ${most:.4f}. To continue, raise JUDGE_BUDGET"
            )
        return (
            f"the judge's budget of ${budget} is used up: ${self._spent:.4f} were "
            f"spent, most recently for {self._requests} requests, and the next one "
            f"could cost ${most:.4f}. To continue, raise JUDGE_BUDGET and start "
            "again: answers are stored, and nothing is asked twice"
        )
