"""Where an output stands among those of its story, by people or by a metric."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class RankedValue:
    """A value of an output, and the ranks it shares with equal ones."""

    value: float
    first: int
    last: int
    n: int
    lowest: float
    highest: float

    @property
    def shown(self) -> str:
        return _digits(self.value)

    @property
    def rank(self) -> str:
        """Return the rank, or from which to which equal values have it."""
        return "–".join(dict.fromkeys((str(self.first), str(self.last))))

    @property
    def span(self) -> str:
        """Return the lowest and the highest value of the story's outputs."""
        return f"{_digits(self.lowest)} – {_digits(self.highest)}"


def _digits(value: float) -> str:
    """Return a number with the digits that tell outputs apart."""
    return f"{value:.4g}" if abs(value) < 1000 else f"{value:.0f}"


def ranked(
    values: Mapping[str, float], method: str, *, higher_is_better: bool = True
) -> RankedValue | None:
    """Return where a method stands by values of all; None if it has none."""
    if method not in values:
        return None
    own, turn = values[method], 1 if higher_is_better else -1
    above = sum(turn * value > turn * own for value in values.values())
    equal = sum(value == own for value in values.values())
    return RankedValue(
        values[method],
        above + 1,
        above + equal,
        len(values),
        min(values.values()),
        max(values.values()),
    )
