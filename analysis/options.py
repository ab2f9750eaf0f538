"""Options of an analysis.

Plain words and numbers: importing this module loads neither numpy nor pandas, so a web
page can check what somebody asks for. scipy reads SOURCE_DATE_EPOCH while it is
imported and fails on what is no whole number, so that the date is checked here.
"""

import os
import re
import subprocess
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import TypedDict

from analysis.statistics import MODULES

# The version of Plumbline; `pyproject.toml` and `CITATION.cff` name the same one.
VERSION = "0.2.0"
ROOT = Path(__file__).resolve().parents[1]
# What is computed unless something else is asked for, and what can be asked for.
COEFFICIENTS = ("kendall", "spearman", "pearson")
KNOWN_COEFFICIENTS = tuple(MODULES)
LEVELS = ("method", "story", "pooled")
KNOWN_LEVELS = (*LEVELS, "within_method", "residual")
EPSILONS = ("heldout", "insample", "0")
# Figures of the questions that people ask, or every figure there is.
FIGURES = ("main", "all")
# What sentences, headings and figures are written in.
LANGUAGES = ("en", "zh-Hans")
PARTS = ("stories", "methods", "annotators", "units")
# Options from 0 to below 1.
SHARES = ("top_confidence", "demanded", "equivalent_within", "replaces_within")


# Lowest and highest rating.
Scale = tuple[int, int]
# Called with the next step of an analysis.
Progress = Callable[[str], None]


@cache
def commit(root: Path = ROOT) -> str:
    """Return the commit of this code, abbreviated, or "" where it is unknown.

    A wheel has no repository: its build writes the file `.commit`.
    """
    try:
        if (root / ".git").exists():
            known = subprocess.run(
                ["git", "-C", str(root), "rev-parse", "HEAD"],
                capture_output=True,
                check=True,
                text=True,
                timeout=5,
            ).stdout
        else:
            known = (root / "analysis" / ".commit").read_text("ascii")
    except (OSError, ValueError, subprocess.SubprocessError):
        return ""
    return known[:10] if re.fullmatch(r"[0-9a-f]{10,64}\s*", known) else ""


def release() -> str:
    """Return the version, with the commit where it is known."""
    return f"{VERSION} ({commit()})" if commit() else VERSION


def silent(step: str) -> None:
    """Ignore the steps of an analysis."""


class OptionError(ValueError):
    """An option that the data cannot satisfy; the message says what would be right."""


class Sampling(TypedDict):
    """Options of every analysis that resamples: resamples, coverage, seed."""

    resamples: int
    confidence: float
    seed: int


@dataclass(frozen=True)
class AlignOptions:
    """The options of `align`, as on the command line.

    `scales` are those of single dimensions. `identity` names the one to use of a
    metric's identities, by metric. `resample` None is the default
    of each analysis; 0 for `top`, `top_confidence`, `demanded`, `equivalent_within` and
    `replaces_within` is not asked.
    """

    questions: tuple[str, ...] | None = None
    metrics: tuple[str, ...] | None = None
    exclude_methods: tuple[str, ...] = ()
    baseline: tuple[str, ...] = ()
    identity: Mapping[str, str] = field(default_factory=dict)
    compare_identities: bool = False
    mix_identities: bool = False
    scale: Scale | None = None
    scales: Mapping[str, Scale] = field(default_factory=dict)
    levels: tuple[str, ...] = LEVELS
    coefficients: tuple[str, ...] = COEFFICIENTS
    split_by: tuple[str, ...] | None = None
    components: tuple[str, ...] = ()
    top: int = 0
    top_confidence: float = 0.0
    demanded: float = 0.0
    equivalent_within: float = 0.0
    replaces_within: float = 0.0
    epsilon: str = "heldout"
    resamples: int = 1000
    resample: str | None = None
    confidence: float = 0.95
    seed: int = 0
    figures: str = "main"
    language: str = "en"
    paper: bool = False

    def __post_init__(self) -> None:
        """Refuse values that no analysis knows."""
        check_known("--levels", self.levels, KNOWN_LEVELS)
        check_known("--coefficients", self.coefficients, KNOWN_COEFFICIENTS)
        check_known("--epsilon", (self.epsilon,), EPSILONS)
        check_known("--figures", (self.figures,), FIGURES)
        check_known("--language", (self.language,), LANGUAGES)
        if not 0 < self.confidence < 1:
            raise OptionError(
                f"--confidence: {self.confidence}: expected a number between 0 and 1"
            )
        if self.compare_identities and self.mix_identities:
            raise OptionError(
                "--compare-identities, --mix-identities: expected one of them"
            )
        if self.top < 0:
            raise OptionError(f"--top: {self.top}: expected 0 or more")
        for name in SHARES:
            if not 0 <= (given := getattr(self, name)) < 1:
                option = f"--{name.replace('_', '-')}"
                raise OptionError(f"{option}: {given}: expected a number below 1")
        if self.resamples < 0:
            raise OptionError(f"--resamples: {self.resamples}: expected 0 or more")
        resample_parts(self.resample, default="units")

    @property
    def sampling(self) -> Sampling:
        """Number of resamples, coverage and seed, to be passed on."""
        return Sampling(
            resamples=self.resamples, confidence=self.confidence, seed=self.seed
        )

    def scale_of(self, dimension: str) -> Scale | None:
        """Return the scale of a dimension, else the scale of all."""
        return self.scales.get(dimension, self.scale)


def resample_parts(
    text: str | None, *, default: str, allowed: tuple[str, ...] = PARTS
) -> tuple[str, ...]:
    """Split a resampling unit such as ``stories+methods`` into its parts.

    >>> resample_parts("methods+stories", default="units")
    ('stories', 'methods')
    """
    parts = [part.strip() for part in (text or default).split("+")]
    wrong = [part for part in parts if part not in allowed]
    if wrong or len(set(parts)) != len(parts) or len(parts) > 2:
        raise OptionError(
            f"--resample: {text!r}: expected one of {', '.join(allowed)}, "
            "or two different ones joined by '+'"
        )
    return tuple(part for part in PARTS if part in parts)


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


VARIABLE = "SOURCE_DATE_EPOCH"

DOES = {
    "align": "how well metrics agree with people",
    "agreement": "how well people agree with one another",
    "leaderboard": "a ranking from side-by-side answers, or from orders of several "
    "outputs",
    "power": "what larger studies than a pilot would show",
    "subset": "whether fewer stories keep the means and the order of the methods",
    "stability": "how stable a judge is over repeated trials, and whom it agrees with",
    "score-agreement": "how well two sets of a metric's scores agree",
    "late-entry": "a method that was judged after a study, on the scale of that study",
    "meta": "one value for each metric over several studies",
}
# The reading of wide tables by default.
WIDE = {
    "wide": False,
    "method_column": "method",
    "story_column": "story",
    "value_columns": (),
}
# What the first of them does without metrics.
OF_PEOPLE = "people's judgements of methods"
RESAMPLE_DEFAULTS = {
    "align": "stories+methods",
    "agreement": "units",
    "leaderboard": "stories+annotators",
    "power": "stories+methods",
    "subset": "stories+methods",
    "stability": "stories+methods",
    "score-agreement": "stories",
    "late-entry": "stories+annotators",
    "meta": "studies",
}


def drawn(command: str, *, majority: bool = False) -> str:
    """Return the clusters that a command resamples by default.

    >>> drawn("leaderboard"), drawn("leaderboard", majority=True)
    ('stories+annotators', 'stories')
    """
    return "stories" if majority else RESAMPLE_DEFAULTS[command]


def title(command: str, *, with_metrics: bool = True) -> str:
    """Return the default heading of a report.

    >>> title("align", with_metrics=False)
    "Report: people's judgements of methods"
    """
    if command == "align" and not with_metrics:
        return f"Report: {OF_PEOPLE}"
    return f"Report: {DOES[command]}"


def report_date(newest_input: float | None) -> str:
    """Return SOURCE_DATE_EPOCH, else the newest input's time, as ISO 8601."""
    stamp = os.environ.get(VARIABLE)
    try:
        seconds = (newest_input or 0.0) if stamp is None else int(stamp)
        return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")
    except (ValueError, OverflowError, OSError) as error:
        raise OptionError(
            f"{VARIABLE}: {stamp!r}: expected whole seconds since 1970"
        ) from error
