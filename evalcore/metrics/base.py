"""What a metric declares, and what it returns."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
import numpy.typing as npt

Picture = npt.NDArray[np.uint8]  # height x width x 3, RGB
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class MetricInfo:
    """What a metric is, for people and for the database.

    Parameters
    ----------
    name
        Its name in tables.
    title
        Its name for readers.
    scores
        Whether a value belongs to a shot or to a whole output.
    higher_is_better
        Direction.
    low, high
        Range of values; None where there is no bound.
    version
        Changes whenever values would change.
    source
        Paper and section, or where a baseline comes from.
    measures
        One sentence on what it measures, and what it cannot see.
    backend
        What computes it.
    """

    name: str
    title: str
    scores: Literal["shot", "output"]
    higher_is_better: bool
    low: float | None
    high: float | None
    version: str
    source: str
    measures: str
    backend: str = "numpy"


@dataclass(frozen=True)
class Value:
    """One value; `shot` is None for a whole output.

    A metric that is undefined gives no value but a reason.
    """

    value: float | None
    shot: int | None = None
    reason: str = ""


class Metric(Protocol):
    """A metric that can be computed here."""

    info: MetricInfo

    def missing(self) -> str:
        """Return what is lacking to compute it, and how to get it; empty if ready."""
        ...

    def score(self, pictures: Sequence[tuple[int, Picture | None]]) -> list[Value]:
        """Score one output.

        Parameters
        ----------
        pictures
            Shot number and picture in order; None where the shot is missing.
        """
        ...
