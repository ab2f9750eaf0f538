"""Why there is no value: of an item, of a run, or of a metric that lacks something."""

import re
from dataclasses import dataclass


class FeatureError(ValueError):
    """An item has no feature: it cannot be read, or a judge gave no usable answer."""


class FatalError(Exception):
    """Nothing can be computed any more: wrong weights, or the budget is spent."""


@dataclass(frozen=True)
class Lack:
    """Something that a metric needs and that is not here."""

    what: str
    how: str  # how to get it, or why nobody can
    licence: str = ""  # under which its authors give it away, where that matters

    @property
    def slug(self) -> str:
        """Return its name as part of an address."""
        return re.sub(r"\W+", "-", self.what.lower()).strip("-")

    def __str__(self) -> str:
        licence = f"; licence: {self.licence}" if self.licence else ""
        return f"{self.what} ({self.how}{licence})"


class Lacks(tuple[Lack, ...]):
    """All that a metric lacks; empty if it is ready."""

    __slots__ = ()

    def __str__(self) -> str:
        return "; ".join(map(str, self))
