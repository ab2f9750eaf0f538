"""Rules that turn values of signals into actions. Pure.

A study's YAML lists them:

    rules:
      - key: too-fast
        signal: seconds_per_shot
        limit: 1          # seconds; the value is the share of units below it
        above: 0.5
        at_least: 7       # units
        chance: 0.001     # see `always_valid_p`
        action: pause
        message: Please take the time to look at every picture.

Rules are evaluated after every submitted slot. A test for a single look would sooner or
later flag nearly everybody, so `chance` bounds the probability over all looks.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import atanh, exp, log, sqrt
from statistics import fmean
from typing import Annotated, Any, Self

from pydantic import BeforeValidator, ConfigDict, Field, TypeAdapter, model_validator
from pydantic.dataclasses import dataclass as validated

from annotate.quality_rules.judged import Signal
from annotate.quality_rules.signals import HASTE, SIGNALS
from annotate.schema import (
    Count,
    Key,
    Path,
    Problem,
    one_of,
    refuse,
    refuse_boolean,
    says,
)

ACTIONS = ("note", "warn", "pause", "exclude")
# The value of these is the share of units below a `limit`, in seconds or as a share.
LIMITED = HASTE
SPEEDS = LIMITED[:-1]
CORRELATIONS = ("agreement",)

# Shares of the largest stake that cannot ruin the bettor.
STAKES = (0.05, 0.1, 0.2, 0.3, 0.45, 0.6, 0.75, 0.9)
# Robbins' boundary is tightest at about 12 times this many units.
MIXTURE = 4.0


def _range(signal: str) -> tuple[float, float]:
    """Return the lowest and highest valid threshold of a signal."""
    if signal in CORRELATIONS:
        return -1, 1
    return (0, 0.5) if signal == "side_bias" else (0, 1)


Real = Annotated[float, BeforeValidator(refuse_boolean), says("write a number")]


@validated(frozen=True, config=ConfigDict(extra="forbid", allow_inf_nan=False))
class Rule:
    """A rule: the action for values of a signal beyond a threshold.

    Either `above` or `below` is the threshold, for at least `at_least` observations.
    For a signal in `LIMITED`, the value is the share of units below `limit`. `chance`
    is the largest probability, over all looks together, of flagging an annotator who is
    no worse than the threshold in the long run. Without it, the value itself is
    compared with the threshold. The annotator reads `message`.
    """

    key: Key
    signal: Annotated[str, BeforeValidator(partial(one_of, SIGNALS))]
    action: Annotated[str, BeforeValidator(partial(one_of, ACTIONS))]
    above: Real | None = None
    below: Real | None = None
    at_least: Count = 1
    limit: Annotated[Real | None, Field(gt=0), says("write a number above 0")] = None
    chance: Annotated[
        Real | None, Field(gt=0, le=0.5), says("write a number above 0 up to 0.5")
    ] = None
    message: Annotated[str, says("write a text")] = ""

    @model_validator(mode="before")
    @classmethod
    def _refuse_unknown_keys(cls, data: Any) -> Any:
        known = cls.__dataclass_fields__
        expected = f"unknown key; expected {', '.join(known)}"
        if isinstance(data, dict):
            refuse(Problem([key], expected) for key in data if key not in known)
        return data

    @model_validator(mode="after")
    def _suits_its_signal(self) -> Self:
        refuse(self._problems())
        return self

    def _problems(self) -> Iterator[Problem]:
        if (self.above is None) == (self.below is None):
            yield Problem([], "write either above or below, with the threshold")
        else:
            low, high = _range(self.signal)
            if not low <= self.threshold <= high:
                side = "above" if self.below is None else "below"
                yield Problem([side], f"write a number from {low:g} up to {high:g}")
        needs_limit = self.signal in LIMITED
        if needs_limit != (self.limit is not None):
            unit = "in seconds" if self.signal in SPEEDS else "a share of the shots"
            advice = f"needs limit, {unit}" if needs_limit else "has no limit"
            path: Path = [] if needs_limit else ["limit"]
            yield Problem(path, f"{self.signal} {advice}")
        elif self.limit and self.signal not in SPEEDS and self.limit > 1:
            yield Problem(["limit"], "write a number above 0 up to 1")

    @property
    def threshold(self) -> float:
        """Return the threshold, `above` or `below`."""
        if self.above is not None:
            return self.above
        assert self.below is not None
        return self.below


@dataclass(frozen=True, slots=True)
class Breach:
    """A rule that an annotator's answers break.

    `value` is compared with the threshold and has `n` observations. `p` is the
    always-valid p value, None for rules without `chance`.
    """

    rule: Rule
    value: float
    n: int
    p: float | None
    of_ticks: bool = False
    about: str = ""


# Simulations chose the thresholds (docs/explanation/quality.md). A pause needs strong
# evidence.
DEFAULT_RULES = (
    Rule("training", "training", "pause", below=0.6, at_least=5),
    Rule("unseen", "shots_seen", "warn", above=0.2, limit=0.5, chance=0.01),
    Rule("unseen-often", "shots_seen", "pause", above=0.5, limit=0.5, chance=1e-4),
    Rule("hurried", "seconds_per_shot", "warn", above=0.1, limit=0.125, chance=0.01),
    Rule(
        "hurried-often",
        "seconds_per_shot",
        "pause",
        above=0.4,
        limit=0.125,
        chance=1e-4,
    ),
    Rule("fast", "seconds_in_sight", "warn", above=0.5, limit=1, chance=0.01),
    Rule("very-fast", "seconds_in_sight", "pause", above=0.5, limit=1, chance=1e-4),
    Rule("straight-line", "straight_line", "warn", above=0.5, chance=0.01),
    Rule("straight-line-long", "straight_line", "pause", above=0.6, chance=0.001),
    Rule("same-answer", "same_answer", "warn", above=0.75, chance=0.01),
    Rule("flat", "flat", "note", above=0.75, chance=0.001),
    Rule("side", "side_bias", "warn", above=0.05, chance=0.001),
    Rule("gold", "gold", "warn", below=0.6, at_least=3),
    Rule("gold-often", "gold", "pause", below=0.5, at_least=5),
    Rule("repeat", "repeat", "note", above=0.45, at_least=5),
    Rule("twin", "twin", "note", below=0.4, at_least=4),
    Rule("agreement", "agreement", "note", below=0.3, chance=0.05),
    Rule("majority", "majority", "note", below=0.65, chance=0.01),
    Rule("skips", "skips", "warn", above=0.5, at_least=4),
    Rule("random", "relative_agreement", "warn", below=0.6, chance=0.005),
    Rule("skips-often", "skips", "pause", above=0.25, chance=0.001),
    Rule("skips-one", "skips_one_method", "warn", above=0.2, chance=0.01),
    Rule("no-time", "no_time", "note", above=0.5, chance=0.01),
    Rule("impossible-time", "impossible_time", "note", above=0.1, chance=0.01),
)


def evaluate(rules: Sequence[Rule], signals: Mapping[str, Signal]) -> list[Breach]:
    """Return the rules that the signals break, in the order of the rules.

    Undefined signals, and those with fewer than `at_least` observations, break none.
    Answers to whole units and ticks are separate signals.
    """
    breaches = (
        _breach(rule, signal)
        for rule in rules
        for signal in signals.values()
        if signal.name == rule.signal
    )
    return [breach for breach in breaches if breach is not None]


def _breach(rule: Rule, signal: Signal) -> Breach | None:
    if signal.value is None or signal.n < rule.at_least:
        return None
    value, observations = signal.value, signal.observations
    if rule.limit is not None:
        observations = tuple(float(one < rule.limit) for one in observations)
        value = sum(observations) / len(observations)
    if not (value > rule.threshold if rule.below is None else value < rule.threshold):
        return None
    p = None
    if rule.chance is not None:
        p = _p(rule, value, signal, observations)
        if p > rule.chance:
            return None
    return Breach(rule, value, signal.n, p, signal.of_ticks, signal.about)


def _p(
    rule: Rule, value: float, signal: Signal, observations: Sequence[float]
) -> float:
    below = rule.below is not None
    if rule.signal in CORRELATIONS:
        return correlation_p(value, signal.n, rule.threshold, below=below)
    if rule.signal == "relative_agreement":
        return share_p(observations, signal.expected, rule.threshold, below=below)
    if rule.signal == "skips_one_method":
        # The usual share is taken as known.
        bound = min(signal.expected[0] + rule.threshold, 1.0)
        p = always_valid_p(observations, bound, below=below)
        return min(1.0, signal.tries * p)
    if rule.signal == "side_bias":
        # A bias to each side is tested separately, with half the chance.
        left = always_valid_p(observations, 0.5 + rule.threshold, below=False)
        right = always_valid_p(observations, 0.5 - rule.threshold, below=True)
        return min(1.0, 2 * min(left, right))
    return always_valid_p(observations, rule.threshold, below=below)


def always_valid_p(
    observations: Sequence[float], threshold: float, *, below: bool
) -> float:
    r"""Return a p value that is valid after every observation.

    The null hypothesis: given the past, each observation x in [0, 1] has an expected
    value of at least (`below`) or at most the threshold m. With the stake lambda, a bet
    against it has the capital prod(1 + lambda (m - x)). The mean over eight stakes is a
    non-negative supermartingale that starts at 1. By Ville's inequality it ever exceeds
    1 / alpha with probability at most alpha. So p = 1 / capital may be compared with
    alpha after every observation. No distribution or independence of questions is
    assumed: an observation is a whole unit.

    Source: Waudby-Smith and Ramdas, Estimating means of bounded random variables by
    betting, JRSS B 86 (2024) 1-27.
    """
    if not below:
        observations, threshold = [1 - x for x in observations], 1 - threshold
    counts = Counter(observations)
    capitals = []
    for share in STAKES:
        stake = share / max(1 - threshold, 0.1)
        logs = (n * log(1 + stake * (threshold - x)) for x, n in counts.items())
        capitals.append(exp(min(700.0, sum(logs))))
    return 1 / max(fmean(capitals), 1.0)


def share_p(
    own: Sequence[float], others: Sequence[float], share: float, *, below: bool
) -> float:
    """Return a p value, valid at every look, for agreement beyond a share of others'.

    Both are from -1 to 1 by unit. Tested is whether own - share * others, moved and
    scaled to 0 to 1, is 1/2 on average. So nobody stands out where nobody agrees.
    """
    most = 2 * (1 + share)
    differences = [
        0.5 + (x - share * y) / most for x, y in zip(own, others, strict=True)
    ]
    return always_valid_p(differences, 0.5, below=below)


def correlation_p(r: float, n: int, threshold: float, *, below: bool) -> float:
    """Return a p value for a correlation beyond the threshold, valid at every look.

    Fisher's z has a standard error of about 1 / sqrt(n - 3). A normal mixture
    (Robbins 1970) turns the standardised distance d into the capital
    sqrt(c / (m + c)) exp((m d)^2 / (2 (m + c))), where m = n - 3, c = `MIXTURE` and d
    is the difference of the two z; p = 1 / capital, and 1 on the good side. This is
    approximate, since z is normal only for large n.
    """
    m = n - 3
    distance = _z(threshold) - _z(r)
    if not below:
        distance = -distance
    if m <= 0 or distance <= 0:
        return 1.0
    exponent = (m * distance) ** 2 / (2 * (m + MIXTURE))
    capital = sqrt(MIXTURE / (m + MIXTURE)) * exp(min(700.0, exponent))
    return min(1.0, 1 / capital)


def _z(r: float) -> float:
    return atanh(max(-0.999999, min(0.999999, r)))


def parse_rules(data: Any) -> tuple[Rule, ...]:
    """Parse a study's `rules`: a list of mappings, or `default`.

    Raises
    ------
    pydantic.ValidationError
        With the path of each invalid value below `rules`, and what was expected.
    """
    if data is None:
        return ()
    if data == "default":
        return DEFAULT_RULES
    if not isinstance(data, list | tuple):
        refuse([Problem([], "write default, or a list of rules")])
    rules = _RULES.validate_python(data)
    keys = [rule.key for rule in rules]
    refuse(
        Problem([index, "key"], f"{key} is used twice")
        for index, key in enumerate(keys)
        if key in keys[:index]
    )
    return rules


_RULES = TypeAdapter(tuple[Rule, ...])
