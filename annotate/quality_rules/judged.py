"""What is known of a judged unit, and what a signal is. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean

PURPOSES = ("real", "training", "gold", "repeat", "twin")

Answers = Mapping[str, int | str]


@dataclass(frozen=True, slots=True)
class JudgedUnit:
    """One submitted slot of an annotator; None where something is not known."""

    purpose: str
    # A rating, or a choice (a, b, tie, both_bad) in the unit's order, by question.
    answers: Answers
    shots: int = 1
    # On the page.
    seconds: float | None = None
    # `missing` (all that there was is taken for it), `impossible`, or nothing.
    time_problem: str | None = None
    # For how many seconds each shot that has pictures was in sight.
    in_sight: Sequence[float] | None = None
    a_is_left: bool | None = None
    # The lowest and the highest right rating, or the right choice. The highest of a
    # degraded twin that is shown alone lies below what its original was given.
    expected: Mapping[str, Sequence[int] | str] | None = None
    # Of a repeat: the own answers to the same unit; of a twin: to its original.
    earlier: Answers | None = None
    # The mean rating of the others, or their share of votes for a (ties count half).
    # Leave it out where a unit comes again.
    rest: Mapping[str, float] | None = None

    def __post_init__(self) -> None:
        if self.purpose not in PURPOSES:
            raise ValueError(f"{self.purpose!r} is none of {', '.join(PURPOSES)}")


@dataclass(frozen=True, slots=True)
class Signal:
    """A measured signal; `detail` says why where its value is None."""

    name: str
    value: float | None
    # Units, pairs of units, or slots.
    n: int
    detail: str = ""
    # Their mean (of seconds: median; of sides: distance of the mean from one half) is
    # the value. Empty for a correlation.
    observations: tuple[float, ...] = field(default=(), repr=False)
    # Whether it was measured of the ticks of a checklist, shot by shot.
    of_ticks: bool = False


def mean_of(
    name: str, observations: Iterable[float], reason: str, detail: str = ""
) -> Signal:
    """Return the signal whose value is the mean of numbers between 0 and 1."""
    seen = tuple(observations)
    if not seen:
        return Signal(name, None, 0, reason)
    return Signal(name, fmean(seen), len(seen), detail, seen)
