"""Do metrics agree with people? Every table of a report, from the three tables."""

from dataclasses import dataclass

import pandas as pd

from analysis.results import OptionError

__all__ = ["Analysis", "AlignOptions", "OptionError", "agree", "align", "rank"]

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


@dataclass(frozen=True)
class Analysis:
    """The tables of a report, the points behind its figures, and its remarks.

    Attributes
    ----------
    tables
        File name without suffix to frame, with the columns of the contract.
    cells
        The common subset of every question: columns question, metric, story,
        method, human, score (as given, not turned).
    notes
        Plain sentences: what was left out, dropped, or undefined.
    """

    tables: dict[str, pd.DataFrame]
    cells: pd.DataFrame
    notes: tuple[str, ...]


def align(
    *,
    ratings: pd.DataFrame | None,
    choices: pd.DataFrame | None,
    scores: pd.DataFrame,
    options: AlignOptions,
) -> Analysis:
    """Compare every metric with people."""
    raise NotImplementedError


def agree(
    *,
    ratings: pd.DataFrame | None = None,
    choices: pd.DataFrame | None = None,
    options: AlignOptions,
) -> Analysis:
    """Measure how well people agree with one another."""
    raise NotImplementedError


def rank(
    *,
    choices: pd.DataFrame,
    ties: str = "half",
    majority: bool = False,
    options: AlignOptions,
) -> Analysis:
    """Rank methods by side-by-side answers."""
    raise NotImplementedError
