"""Settings of a judge: address, rate, and a budget that is never exceeded.

`docs/reference/settings.md` describes the environment's variables. The highest possible
cost of a question is reserved before it is sent. A question that does not fit waits
while others are running. Several meters, even in other processes, may share a purse.
"""

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from threading import Condition, Lock
from typing import Protocol
from urllib.parse import SplitResult, urlsplit

from evalcore.metrics.base import FatalError

ENDPOINT = "/chat/completions"
MOST_CONCURRENT = 256
ZERO = Decimal(0)


class JudgeSettingsError(FatalError):
    """A setting of the judge is missing or invalid; the message names it."""


@dataclass(frozen=True)
class JudgeSettings:
    """A judge with its limits."""

    base_url: str  # address that `/chat/completions` is appended to
    name: str  # the judge's name on the server
    key: str = field(default="", repr=False)  # secret; never shown
    # Dollars that one run may spend; None only for a judge that is free.
    budget: Decimal | None = None
    # Dollars that all runs together may spend; None only if `budget` is.
    budget_total: Decimal | None = None
    price_in: Decimal = ZERO  # dollars per million tokens read and written
    price_out: Decimal = ZERO
    requests_per_minute: Decimal | None = None  # None for no limit
    timeout: float = 120.0  # seconds to wait for a reply
    concurrency: int = 8  # number of parallel questions

    @property
    def costs_money(self) -> bool:
        return bool(self.price_in or self.price_out)

    @property
    def place(self) -> str:
        """Return host and path, for people and as part of the judge's identity."""
        parts = urlsplit(self.base_url)
        return f"{parts.netloc}{parts.path}"

    @property
    def is_local(self) -> bool:
        """Return whether the server runs on this machine."""
        host = urlsplit(self.base_url).hostname or ""
        return host in ("localhost", "::1") or host.startswith("127.")

    @property
    def identity(self) -> dict[str, str]:
        """Return the settings that decide an answer, as texts."""
        return {"server": self.place}

    @property
    def url(self) -> str:
        return f"{self.base_url}{ENDPOINT}"


def read_settings(environment: Mapping[str, str] = os.environ) -> JudgeSettings:
    """Return the judge's settings."""
    values = {
        name: value.strip()
        for name, value in environment.items()
        if name.startswith("JUDGE_") and value.strip()
    }
    absent = [n for n in ("JUDGE_BASE_URL", "JUDGE_NAME") if n not in values]
    if absent:
        raise JudgeSettingsError(f"no judge is set: set {' and '.join(absent)}")
    price_in = _number(values, "JUDGE_PRICE_IN") or ZERO
    price_out = _number(values, "JUDGE_PRICE_OUT") or ZERO
    budget = _number(values, "JUDGE_BUDGET")
    if budget is None and (price_in or price_out):
        raise JudgeSettingsError(
            "the judge costs money: set JUDGE_BUDGET to the dollars that may be spent"
        )
    total = _number(values, "JUDGE_BUDGET_TOTAL")
    return JudgeSettings(
        base_url=_address(values["JUDGE_BASE_URL"]),
        name=values["JUDGE_NAME"],
        key=_key(values.get("JUDGE_API_KEY", "")),
        budget=budget,
        budget_total=budget if total is None else total,
        price_in=price_in,
        price_out=price_out,
        requests_per_minute=_number(values, "JUDGE_REQUESTS_PER_MINUTE", "0.1"),
        timeout=float(_number(values, "JUDGE_TIMEOUT", "0.1", "3600") or 120),
        concurrency=_concurrency(values),
    )


def _address(text: str) -> str:
    """Return the endpoint's base address, without a final slash."""
    parts = _split(text)
    if parts is None or parts.scheme not in ("http", "https") or not parts.hostname:
        # The message must show neither user nor query.
        shown = re.sub(r"[?#].*", "", text.rpartition("@")[2])
        raise JudgeSettingsError(
            f"JUDGE_BASE_URL={shown!r} is not a valid address: write https://HOST/v1"
        )
    if parts.username is not None or parts.query or parts.fragment:
        raise JudgeSettingsError(
            "JUDGE_BASE_URL contains more than an address: write https://HOST/v1, and "
            "the key into JUDGE_API_KEY"
        )
    path = parts.path.rstrip("/").removesuffix(ENDPOINT) or "/v1"
    return f"{parts.scheme}://{parts.netloc}{path}"


def _split(text: str) -> SplitResult | None:
    if re.search(r"[\s\x00-\x1f]", text):
        return None
    try:
        parts = urlsplit(text)
        _checked = parts.port
    except ValueError:
        return None
    return parts


def _key(text: str) -> str:
    if not re.fullmatch(r"[\x21-\x7e]*", text):
        raise JudgeSettingsError(
            "JUDGE_API_KEY contains a space or a non-ASCII character: copy it again"
        )
    return text


def _number(
    values: Mapping[str, str], name: str, low: str = "0", high: str = "1000000"
) -> Decimal | None:
    """Return a number between bounds; None if it is not set."""
    text = values.get(name)
    if text is None:
        return None
    try:
        number = Decimal(text)
    except InvalidOperation:
        number = Decimal("NaN")
    if number.is_nan() or not Decimal(low) <= number <= Decimal(high):
        raise JudgeSettingsError(
            f"{name}={text!r}: write a number from {low} to {high}"
        )
    return number


def _concurrency(values: Mapping[str, str]) -> int:
    text = values.get("JUDGE_CONCURRENCY", "8")
    if not re.fullmatch(r"[0-9]{1,3}", text) or not 1 <= int(text) <= MOST_CONCURRENT:
        raise JudgeSettingsError(
            f"JUDGE_CONCURRENCY={text!r}: write a whole number from 1 to "
            f"{MOST_CONCURRENT}"
        )
    return int(text)


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


class BudgetExceededError(FatalError):
    """The next question could cost more than the rest of the budget."""


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
        judge = self.settings
        return (tokens_in * judge.price_in + tokens_out * judge.price_out) / MILLION

    @contextmanager
    def setting_aside(self, costs: Sequence[Decimal]) -> Iterator[None]:
        """Reserve in the purse the highest possible cost of a batch of requests."""
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

    def settle(self, reserved: Decimal, dollars: Decimal | None) -> None:
        """Free a reservation and count the actual cost; None if it was not billed."""
        with self._changed:
            self._reserved -= reserved
            self._under_way -= 1
            if dollars is not None:
                self._spent += dollars
                self._requests += 1
            self._changed.notify_all()

    def report(self) -> None:
        """Call `on_spending` with the spending since the last report."""
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
                "the rest of the budget over all runs is used up, and the next "
                f"request could cost ${most:.4f}. {TO_CONTINUE}"
            )
        return (
            f"the judge's budget of ${budget} is used up: ${self._spent:.4f} were "
            f"spent, most recently for {self._requests} requests, and the next one "
            f"could cost ${most:.4f}. To continue, raise JUDGE_BUDGET and start "
            "again: answers are stored, and nothing is asked twice"
        )
