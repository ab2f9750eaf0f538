"""What a report computes, and how."""

from collections.abc import Iterable
from dataclasses import dataclass

from analysis.correlation import COEFFICIENTS, LEVELS
from analysis.resampling import PARTS, resample_parts
from analysis.results import OptionError


@dataclass(frozen=True)
class AlignOptions:
    """What to compute and how; the options of the command line.

    Attributes
    ----------
    exclude_methods
        Methods left out of every table.
    scale
        Lowest and highest rating; the categories of AC1 and AC2.
    levels, coefficients
        Which rows `correlations` and `metric_comparisons` hold.
    epsilon
        Tie threshold of acc_eq: ``"heldout"`` (tuned on other stories),
        ``"insample"`` (tuned on the same ones, flagged) or ``"0"``.
    resamples, resample, confidence, seed
        Number and unit of bootstrap resamples (None: the default of each
        analysis), coverage of intervals, and seed of every random step.
    """

    exclude_methods: tuple[str, ...] = ()
    scale: tuple[int, int] | None = None
    levels: tuple[str, ...] = ("method", "story", "pooled")
    coefficients: tuple[str, ...] = ("kendall", "spearman", "pearson")
    epsilon: str = "heldout"
    resamples: int = 1000
    resample: str | None = None
    confidence: float = 0.95
    seed: int = 0

    def __post_init__(self) -> None:
        """Refuse values that no analysis knows."""
        check_known("--levels", self.levels, LEVELS)
        check_known("--coefficients", self.coefficients, COEFFICIENTS)
        check_known("--epsilon", (self.epsilon,), ("heldout", "insample", "0"))
        if not 0 < self.confidence < 1:
            raise OptionError(
                f"--confidence: {self.confidence}: expected a number between 0 and 1"
            )
        if self.resamples < 0:
            raise OptionError(f"--resamples: {self.resamples}: expected 0 or more")
        resample_parts(self.resample, default="units")


def supported_parts(
    text: str | None, default: str, supported: tuple[str, ...]
) -> tuple[str, ...]:
    """Return what an analysis can draw of the parts asked for, else its default."""
    asked = resample_parts(text, default=default, allowed=PARTS)
    return tuple(part for part in asked if part in supported) or tuple(
        default.split("+")
    )


def check_known(option: str, given: Iterable[str], known: tuple[str, ...]) -> None:
    """Refuse a value of an option that is none of the known ones."""
    for value in given:
        if value not in known:
            raise OptionError(f"{option}: {value!r}: expected {', '.join(known)}")
