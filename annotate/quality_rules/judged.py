"""Types of judged units and of signals. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean

PURPOSES = ("real", "training", "gold", "repeat", "twin")

Answers = Mapping[str, int | str]
PLACE = {"a": 1.0, "tie": 0.5, "both_bad": 0.5, "b": 0.0}


@dataclass(frozen=True, slots=True)
class JudgedUnit:
    """A submitted slot of an annotator; unknown values are None."""

    purpose: str
    # A rating, or a choice (a, b, tie, both_bad) in the unit's order, by question.
    answers: Answers
    shots: int = 1
    # Time on the page.
    seconds: float | None = None
    # `missing` (`seconds` is the full elapsed time then), `impossible`, or None.
    time_problem: str | None = None
    # Seconds in sight of each shot with pictures.
    in_sight: Sequence[float] | None = None
    a_is_left: bool | None = None
    # The lowest and the highest right rating, or the right choice. For a degraded copy
    # shown alone, the highest is below the rating of its original.
    expected: Mapping[str, Sequence[int] | str] | None = None
    # The own answers to the repeated unit, or to a degraded copy's original.
    earlier: Answers | None = None
    # The others' mean rating, or their share of votes for a (ties count half). None
    # for repeats.
    rest: Mapping[str, float] | None = None
    # The same of each of the others, by question and person; `rest` follows from it.
    others: Mapping[str, Mapping[int, float]] | None = None

    def __post_init__(self) -> None:
        if self.purpose not in PURPOSES:
            raise ValueError(f"{self.purpose!r} is not one of {', '.join(PURPOSES)}")
        if self.others is not None and self.rest is None:
            means = {key: fmean(votes.values()) for key, votes in self.others.items()}
            object.__setattr__(self, "rest", means)


@dataclass(frozen=True, slots=True)
class Signal:
    """A measured signal; if its value is None, `detail` says why."""

    name: str
    value: float | None
    # The number of units, pairs of units, or slots.
    n: int
    detail: str = ""
    # The value is their mean, for seconds their median, and for sides the distance of
    # the mean from one half. Empty for a correlation.
    observations: tuple[float, ...] = field(default=(), repr=False)
    # True if it was measured from the ticks of a checklist, shot by shot.
    of_ticks: bool = False
    # What the observations are compared with, where it is not a constant.
    expected: tuple[float, ...] = field(default=(), repr=False)
    # The method that it is about, the worst of so many.
    about: str = ""
    tries: int = 1


def mean_of(
    name: str, observations: Iterable[float], reason: str, detail: str = ""
) -> Signal:
    """Return the signal whose value is the mean of numbers between 0 and 1."""
    values = tuple(observations)
    if not values:
        return Signal(name, None, 0, reason)
    return Signal(name, fmean(values), len(values), detail, values)
