"""What a judge costs, and a budget that is never overspent.

Before a question is sent, the most it can cost is set aside; when the reply is there,
what it did cost is counted and the rest is free again. A question whose worst case does
not fit waits while others are under way; if none is, the budget is spent.

Several meters, in other processes too, may share a purse. A meter sets aside in it what
a batch of questions can cost, before the first is sent, and puts back what is left.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from decimal import Decimal
from threading import Condition, Lock
from typing import Protocol

from evalcore.metrics.errors import FatalError
from evalcore.metrics.llm_judge.settings import ZERO, JudgeSettings

MILLION = 1_000_000
TILE = 512
# No judge is known to count more tokens for a picture: GPT-4o mini's base and tile.
PICTURE_TOKENS, TILE_TOKENS = 2833, 5667
TO_GO_ON = (
    "To go on, raise JUDGE_BUDGET_TOTAL (it is JUDGE_BUDGET while it is not set) and "
    "start again: what was answered is remembered, nothing is asked twice"
)
MESSAGE_TOKENS = 64  # roles, separators, and what a server's template adds


class BudgetExceededError(FatalError):
    """The next question could cost more than is left of the budget."""


class Purse(Protocol):
    """A budget that several meters share."""

    def take(self, least: Decimal, most: Decimal) -> Decimal:
        """Set aside as much as there is up to `most`, and return how much that is.

        Waits while others may put something back; without even the `least` it raises
        BudgetExceededError.
        """

    def put_back(self) -> None:
        """Free what is left of what was set aside."""


def text_tokens(text: str) -> int:
    """Return how many tokens a text has at most: as many as bytes.

    >>> text_tokens("Füchse")
    7
    """
    return len(text.encode("utf-8", "replace"))


def picture_tokens(width: int, height: int) -> int:
    """Return how many tokens a picture has at most.

    >>> picture_tokens(512, 512)
    8500
    """
    return PICTURE_TOKENS + TILE_TOKENS * -(-width // TILE) * -(-height // TILE)


class CostMeter:
    """Counts what is spent, and stops before the budget is exceeded.

    Several threads may use it. If a judge counts more tokens for one question than was
    thought possible, that one is counted as it is billed and nothing more is asked.

    `settings`: the judge's prices, and the budget, which what was `spent` is part of.
    `spent`: dollars that were spent before, in an earlier part of the same work.
    `on_spending`: called by `report` with the dollars spent since it was called before;
    if it fails, they are part of the next report. `purse`: what this and other meters
    spend from; None if nothing is shared.
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
        self._set_aside: Decimal | None = None  # how far the purse reaches for now
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
        """Return how many requests that money was spent for, since this began."""
        with self._changed:
            return self._requests

    def cost(self, tokens_in: int, tokens_out: int) -> Decimal:
        """Return the dollars for that many tokens."""
        judge = self.settings
        return (tokens_in * judge.price_in + tokens_out * judge.price_out) / MILLION

    @contextmanager
    def setting_aside(self, costs: Sequence[Decimal]) -> Iterator[None]:
        """Set aside in the purse what a batch of requests can cost."""
        if self._purse is None or not any(costs):
            yield
            return
        taken = self._purse.take(min(costs), sum(costs, ZERO))
        self._set_aside = self.spent + taken
        try:
            yield
        finally:
            try:
                self.report()
            finally:
                self._set_aside = None
                self._purse.put_back()

    def reserve(self, tokens_in: int, tokens_out: int) -> Decimal:
        """Set aside the most a request can cost; wait for others if it may yet fit."""
        most = self.cost(tokens_in, tokens_out)
        with self._changed:
            while not self._fits(most):
                if not self._under_way:
                    raise BudgetExceededError(self._words(most))
                self._changed.wait()
            self._reserved += most
            self._under_way += 1
        return most

    def settle(self, reserved: Decimal, dollars: Decimal | None) -> None:
        """Free what was set aside, and count what it did cost; None: not billed."""
        with self._changed:
            self._reserved -= reserved
            self._under_way -= 1
            if dollars is not None:
                self._spent += dollars
                self._requests += 1
            self._changed.notify_all()

    def report(self) -> None:
        """Tell `on_spending` what was spent since the last report."""
        with self._reporting:
            spent = self.spent
            if spent != self._reported:
                self._on_spending(spent - self._reported)
            self._reported = spent

    def _fits(self, dollars: Decimal) -> bool:
        bounds = [
            bound
            for bound in (self.settings.budget, self._set_aside)
            if bound is not None
        ]
        return all(self._spent + self._reserved + dollars <= bound for bound in bounds)

    def _words(self, most: Decimal) -> str:
        budget = self.settings.budget
        if budget is None or self._spent + most <= budget:
            return (
                "what was left of the budget over all runs is used up, and the next "
                f"request could cost ${most:.4f}. {TO_GO_ON}"
            )
        return (
            f"the judge's budget of ${budget} is used up: ${self._spent:.4f} were "
            f"spent, lately for {self._requests} requests, and the next one could cost "
            f"${most:.4f}. To go on, raise JUDGE_BUDGET and start again: what was "
            "answered is remembered, nothing is asked twice"
        )
