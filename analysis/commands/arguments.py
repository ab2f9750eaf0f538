"""Options that several commands share, and how their values are written.

Light: the commands of the database use it too, without loading the statistics.
"""

import argparse
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from analysis.options import (
    COEFFICIENTS,
    EPSILONS,
    FIGURES,
    KNOWN_COEFFICIENTS,
    KNOWN_LEVELS,
    LANGUAGES,
    LEVELS,
    AlignOptions,
)

# Files that a table may be in.
TABLE = ".csv, .tsv, .txt, .xlsx (or FILE.xlsx#SHEET), .jsonl or .parquet"
NAMES = '"A,B"'


def split_names(text: str) -> tuple[str, ...]:
    r"""Split names at commas; ``\,`` is a comma inside a name.

    >>> split_names(r"A, B\, Inc.")
    ('A', 'B, Inc.')
    """
    parts = text.replace("\\,", "\0").split(",")
    return tuple(p.replace("\0", ",").strip() for p in parts if p.strip())


def names_or_none(text: str) -> tuple[str, ...]:
    """Split names, of which only an empty text has none."""
    names = split_names(text)
    if text and not names:
        raise argparse.ArgumentTypeError(f'{text}: write names, or "" for none')
    return names


def join_names(names: Iterable[str]) -> str:
    """Write names so that `split_names` reads them."""
    return ",".join(name.replace(",", "\\,") for name in names)


def scale(text: str) -> tuple[int, int]:
    """Parse the bounds of a scale, as in 0:4."""
    low, _colon, high = text.partition(":")
    try:
        bounds = int(low), int(high)
    except ValueError as error:
        raise argparse.ArgumentTypeError(
            f"{text}: write LOW:HIGH, as in 0:4"
        ) from error
    if bounds[0] >= bounds[1]:
        raise argparse.ArgumentTypeError(f"{text}: the lower value comes first")
    return bounds


def count(text: str) -> int:
    """Parse a whole number from 0."""
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text}: write a whole number from 0")
    return int(text)


def counts(text: str) -> tuple[int, ...]:
    """Parse whole numbers from 0 between commas."""
    return tuple(count(part.strip()) for part in text.split(","))


def weight(text: str) -> float:
    """Read a number of answers, 0 or more."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r}: expected a number, 0 or more")
    return value


def share(text: str) -> float:
    """Parse a number between 0 and 1."""
    try:
        value = float(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text}: write a number") from error
    if not 0 < value < 1:
        raise argparse.ArgumentTypeError(f"{text}: write a number between 0 and 1")
    return value


def subset(known: Sequence[str]) -> Callable[[str], tuple[str, ...]]:
    """Return a parser of some of the known words, which keeps their usual order."""

    def parse(text: str) -> tuple[str, ...]:
        words = [word.strip() for word in text.split(",")]
        unknown = [word for word in words if word not in known]
        if unknown:
            expected = ", ".join(known)
            raise argparse.ArgumentTypeError(f"{unknown[0]}: write some of {expected}")
        return tuple(word for word in known if word in words)

    return parse


def _some_of(known: Sequence[str], default: Sequence[str]) -> dict[str, Any]:
    words = f"some of {', '.join(known)}; default {', '.join(default)}"
    return {"help": words, "type": subset(known), "metavar": NAMES}


# Options of an analysis, whose defaults are those of `AlignOptions`.
ARGUMENTS: dict[str, dict[str, Any]] = {
    "resamples": {"help": "default 1000; 0: none", "type": count},
    "resample": {
        "help": "stories, methods, annotators, units, or two joined by +",
        "metavar": "UNIT",
    },
    "confidence": {"help": "of intervals; default 0.95", "type": share},
    "seed": {"help": "of every random step; default 0", "type": count},
    "top": {
        "help": "also report whether the best K methods differ from all others",
        "type": count,
        "metavar": "K",
    },
    "top_confidence": {
        "help": "how sure that has to be; default as --confidence",
        "type": share,
    },
    "split_by": {
        "help": 'tags of stories that split the tables; default all, "" for none',
        "type": split_names,
        "metavar": NAMES,
    },
    "components": {
        "help": "metrics whose weights are fitted to people's preferences; default all",
        "type": split_names,
        "metavar": NAMES,
    },
    "demanded": {
        "help": "pairwise accuracy that metrics are held against; VISTAR's is 0.75",
        "type": share,
    },
    "epsilon": {
        "help": "how the tie threshold of acc_eq is tuned; default heldout",
        "choices": EPSILONS,
    },
    "language": {
        "help": "of sentences, headings and figures; default en",
        "choices": LANGUAGES,
    },
    "figures": {
        "help": "all: each annotator, accuracies by level, weighted metrics and "
        "profiles too; default main",
        "choices": FIGURES,
    },
    "questions": {
        "help": "dimensions, criteria; the only ones covered; default all",
        "type": split_names,
        "metavar": NAMES,
    },
    "metrics": {
        "help": 'the only ones covered; default all; "": a report of people alone',
        "type": names_or_none,
        "metavar": NAMES,
    },
    "exclude_methods": {
        "help": "a name with a comma in it can be written with a backslash before it",
        "type": split_names,
        "metavar": NAMES,
    },
    "levels": _some_of(KNOWN_LEVELS, LEVELS),
    "coefficients": _some_of(KNOWN_COEFFICIENTS, COEFFICIENTS),
}
RESAMPLING = ("resamples", "resample", "confidence", "seed")
TOP = ("top", "top_confidence")
CHOICE = ("questions", "metrics", "exclude_methods")
WITH_LEVELS = (*CHOICE, "levels", "coefficients")
ALIGNMENT = (*WITH_LEVELS, *TOP, "split_by", "components", "demanded", "epsilon")


def add(parser: argparse.ArgumentParser, names: Iterable[str]) -> None:
    """Add some of `ARGUMENTS`."""
    usual = AlignOptions()
    for name in names:
        flag = f"--{name.replace('_', '-')}"
        parser.add_argument(flag, default=getattr(usual, name), **ARGUMENTS[name])


def add_figures(parser: argparse.ArgumentParser) -> None:
    """Add the language, which figures are drawn, and whether they become files."""
    add(parser, ("language", "figures"))
    parser.add_argument(
        "--images",
        choices=("svg", "png", "none"),
        default="svg",
        help="figures as files, where Chromium is found; default svg",
    )
