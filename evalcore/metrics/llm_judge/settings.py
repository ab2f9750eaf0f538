"""Settings of a judge: address, parameters of requests, rate, budget.

`docs/reference/settings.md` describes the environment's variables.
"""

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from typing import Literal, get_args
from urllib.parse import SplitResult, urlsplit

from evalcore.metrics.base import FatalError

ENDPOINT = "/chat/completions"
MOST_CONCURRENT = 256
ZERO = Decimal(0)
TokenParameter = Literal["max_tokens", "max_completion_tokens"]
# Tokens for the thoughts of a judge whose effort is set.
THOUGHTS = 4096
EFFORTS_WITHOUT_THOUGHTS = ("", "none")
# Fields with settings of their own, or that would make answers unreadable or dearer.
RESERVED = ("model", "messages", "stream", "n", "best_of", *get_args(TokenParameter))


class JudgeSettingsError(FatalError):
    """A setting of the judge is missing or invalid; the message names it."""


class BudgetExceededError(FatalError):
    """The next question could cost more than the rest of the budget."""


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
    repeat: int = 0  # number of an independent repetition of all questions
    # Name of the limit on an answer's tokens.
    token_parameter: TokenParameter = "max_tokens"
    # A number replaces the metrics' temperatures; `none` sends none.
    temperature: float | Literal["metric", "none"] = "metric"
    effort: str = ""  # `reasoning_effort`; not sent if empty
    extra_tokens: int = 0  # tokens of an answer beyond the metric's limit
    extra_body: str = ""  # further fields of the request, as a JSON object
    # Whether metrics that know their answer's schema send it.
    structured: bool = False
    # How many first answers, all unusable, end a run; 0 for no end.
    stop_after: int = 20

    @property
    def identity(self) -> dict[str, str]:
        """Return the settings that decide a whole answer, beside the judge's name.

        Settings left alone are left out. Limits on tokens are none of them: they only
        decide whether an answer is whole, and no other is kept.
        """
        decisive = {
            "server": self.place,
            "temperature": "" if self.temperature == "metric" else self.temperature,
            "reasoning_effort": self.effort,
            "extra_body": self.extra_body,
            "structured": "yes" if self.structured else "",
            "repeat": self.repeat or "",
        }
        return {name: str(value) for name, value in decisive.items() if value != ""}

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
    effort = _effort(values.get("JUDGE_REASONING_EFFORT", ""))
    thoughts = 0 if effort in EFFORTS_WITHOUT_THOUGHTS else THOUGHTS
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
        concurrency=_whole(values, "JUDGE_CONCURRENCY", 8, 1, MOST_CONCURRENT),
        token_parameter=_token_parameter(values),
        temperature=_temperature(values),
        effort=effort,
        extra_tokens=_whole(values, "JUDGE_EXTRA_TOKENS", thoughts, 0, 1_000_000),
        extra_body=_extra_body(values.get("JUDGE_EXTRA_BODY", "")),
        structured=_whole(values, "JUDGE_STRUCTURED", 0, 0, 1) == 1,
        stop_after=_whole(values, "JUDGE_STOP_AFTER", 20, 0, 1_000_000),
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


def _whole(
    values: Mapping[str, str], name: str, default: int, low: int, high: int
) -> int:
    text = values.get(name, str(default))
    if not re.fullmatch(r"[0-9]{1,7}", text) or not low <= int(text) <= high:
        raise JudgeSettingsError(
            f"{name}={text!r}: write a whole number from {low} to {high}"
        )
    return int(text)


def _token_parameter(values: Mapping[str, str]) -> TokenParameter:
    text = values.get("JUDGE_TOKEN_PARAMETER", "max_tokens")
    for name in get_args(TokenParameter):
        if text == name:
            return name  # type: ignore[no-any-return]
    raise JudgeSettingsError(
        f"JUDGE_TOKEN_PARAMETER={text!r}: write max_tokens or max_completion_tokens"
    )


def _temperature(values: Mapping[str, str]) -> float | Literal["metric", "none"]:
    text = values.get("JUDGE_TEMPERATURE", "metric")
    if text in ("metric", "none"):
        return "none" if text == "none" else "metric"
    try:
        return float(_number(values, "JUDGE_TEMPERATURE", "0", "2") or 0)
    except JudgeSettingsError as error:
        raise JudgeSettingsError(f"{error}, or `none` to send none") from error


def _effort(text: str) -> str:
    if not re.fullmatch(r"[a-z]{0,20}", text):
        raise JudgeSettingsError(
            f"JUDGE_REASONING_EFFORT={text!r}: write a word that the server knows, "
            "such as low, medium or high"
        )
    return text


def _extra_body(text: str) -> str:
    """Return further fields of a request as JSON with sorted keys."""
    if not text:
        return ""
    try:
        fields = json.loads(text)
        written = json.dumps(fields, sort_keys=True, allow_nan=False)
    except (ValueError, RecursionError):
        fields = None
    if not isinstance(fields, dict):
        raise JudgeSettingsError(
            f"JUDGE_EXTRA_BODY={text!r}: write a JSON object, such as "
            '{"chat_template_kwargs": {"enable_thinking": false}}'
        )
    if reserved := sorted(set(fields) & set(RESERVED)):
        raise JudgeSettingsError(
            f"JUDGE_EXTRA_BODY sets {', '.join(reserved)}: leave that out"
        )
    return written if fields else ""
