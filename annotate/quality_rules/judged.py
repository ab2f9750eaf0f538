"""What is known of a judged unit, and what a signal is. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean

PURPOSES = ("real", "training", "gold", "repeat", "twin")

Answers = Mapping[str, int | str]


@dataclass(frozen=True, slots=True)
class JudgedUnit:
    """One submitted slot of an annotator.

    Parameters
    ----------
    purpose
        One of `PURPOSES`.
    answers
        The answer by question: a rating, or a choice (a, b, tie, both_bad) in the
        unit's order.
    shots
        How many shots were shown.
    seconds
        How long the slot was on the page; None where nobody measured.
    time_problem
        What is wrong with that time: `missing` (all that there was is taken for it),
        `impossible`, or nothing; None where nobody was asked for it.
    in_sight
        For how many seconds each shot that has pictures was in sight; None where no
        page told it.
    a_is_left
        Whether output a stood left; None for ratings, and for choices from elsewhere.
    expected
        Of a training or gold unit: the lowest and the highest right rating, or the
        right choice, by question. The highest of a degraded twin that is shown alone
        lies below what the annotator gave its original.
    earlier
        Of a repeat: the annotator's own answers to the same unit; of a twin: to the
        original that was degraded.
    rest
        By question, the mean rating of the other annotators of the unit, or their
        share of votes for a (ties count half). Leave it out where a unit comes again.
    """

    purpose: str
    answers: Answers
    shots: int = 1
    seconds: float | None = None
    time_problem: str | None = None
    in_sight: Sequence[float] | None = None
    a_is_left: bool | None = None
    expected: Mapping[str, Sequence[int] | str] | None = None
    earlier: Answers | None = None
    rest: Mapping[str, float] | None = None

    def __post_init__(self) -> None:
        if self.purpose not in PURPOSES:
            raise ValueError(f"{self.purpose!r} is none of {', '.join(PURPOSES)}")


@dataclass(frozen=True, slots=True)
class Signal:
    """A measured signal.

    Parameters
    ----------
    name
        One of `annotate.quality_rules.signals.SIGNALS`.
    value
        None where the signal is undefined.
    n
        How many observations it rests on: units, pairs of units, or slots.
    detail
        What else is worth knowing; the reason where the value is None.
    observations
        One number per observation, whose mean (of seconds: median; of sides: distance
        of the mean from one half) is the value. Empty for a correlation.
    of_ticks
        Whether it was measured of the ticks of a checklist, shot by shot.
    """

    name: str
    value: float | None
    n: int
    detail: str = ""
    observations: tuple[float, ...] = field(default=(), repr=False)
    of_ticks: bool = False


def mean_of(
    name: str, observations: Iterable[float], reason: str, detail: str = ""
) -> Signal:
    """Return the signal whose value is the mean of numbers between 0 and 1."""
    seen = tuple(observations)
    if not seen:
        return Signal(name, None, 0, reason)
    return Signal(name, fmean(seen), len(seen), detail, seen)
