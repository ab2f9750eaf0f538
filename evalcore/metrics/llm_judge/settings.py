"""Which judge is asked, how fast, and for how much money; read from the environment.

`docs/running.md` says what each variable is, and what holds without it.
"""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from urllib.parse import SplitResult, urlsplit

from evalcore.metrics.errors import FatalError

ENDPOINT = "/chat/completions"
MOST_CONCURRENT = 256
ZERO = Decimal(0)


class JudgeSettingsError(FatalError):
    """A setting of the judge is absent or cannot be used; the message names it."""


@dataclass(frozen=True)
class JudgeSettings:
    """A judge, and the bounds that it is asked within."""

    base_url: str  # address below which `/chat/completions` lies
    name: str  # what the judge is called there
    key: str = field(default="", repr=False)  # what it demands; never shown
    # Dollars that one run may spend; None only for a judge that costs nothing.
    budget: Decimal | None = None
    # Dollars that all runs together may spend; None only where `budget` is.
    budget_total: Decimal | None = None
    price_in: Decimal = ZERO  # dollars for a million tokens read and written
    price_out: Decimal = ZERO
    requests_per_minute: Decimal | None = None  # None for no limit
    timeout: float = 120.0  # seconds to wait for a reply
    concurrency: int = 8  # how many questions are asked at once

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
        """Return whether it answers on this machine."""
        host = urlsplit(self.base_url).hostname or ""
        return host in ("localhost", "::1") or host.startswith("127.")

    @property
    def url(self) -> str:
        return f"{self.base_url}{ENDPOINT}"


def read_settings(environment: Mapping[str, str] = os.environ) -> JudgeSettings:
    """Read the settings of the judge.

    >>> settings = read_settings(
    ...     {"JUDGE_BASE_URL": "http://localhost:11434", "JUDGE_NAME": "qwen2.5vl"}
    ... )
    >>> settings.url
    'http://localhost:11434/v1/chat/completions'
    """
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
    """Return the address below which the endpoint lies, without a slash at its end."""
    parts = _split(text)
    if parts is None or parts.scheme not in ("http", "https") or not parts.hostname:
        raise JudgeSettingsError(
            f"JUDGE_BASE_URL={_without_user(text)!r} is no address: "
            "write https://HOST/v1"
        )
    if parts.username is not None or parts.query or parts.fragment:
        raise JudgeSettingsError(
            "JUDGE_BASE_URL holds more than an address: write https://HOST/v1, and the "
            "key into JUDGE_API_KEY"
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


def _without_user(text: str) -> str:
    """Return an address as it may be shown: neither user nor query."""
    return re.sub(r"[?#].*", "", text.rpartition("@")[2])


def _key(text: str) -> str:
    if not re.fullmatch(r"[\x21-\x7e]*", text):
        raise JudgeSettingsError(
            "JUDGE_API_KEY holds a blank or a character beyond ASCII: copy it again"
        )
    return text


def _number(
    values: Mapping[str, str], name: str, low: str = "0", high: str = "1000000"
) -> Decimal | None:
    """Return a number between bounds; None where it is not set."""
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
