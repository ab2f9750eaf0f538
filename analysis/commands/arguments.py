"""Options that several commands share, and how their values are written.

Light: the commands of the database use it too, without loading the statistics.
"""

import argparse
from collections.abc import Callable, Iterable, Sequence

from analysis.options import (
    COEFFICIENTS,
    EPSILONS,
    FIGURES,
    KNOWN_COEFFICIENTS,
    KNOWN_LEVELS,
    LANGUAGES,
    LEVELS,
)

# Files that a table may be in.
TABLE = ".csv, .tsv, .txt, .xlsx (or FILE.xlsx#SHEET), .jsonl or .parquet"


def add_resampling(parser: argparse.ArgumentParser) -> None:
    """Add what every analysis takes: intervals and the seed."""
    parser.add_argument(
        "--resamples", type=count, default=1000, help="default 1000; 0: none"
    )
    parser.add_argument(
        "--resample",
        metavar="UNIT",
        help="stories, methods, annotators, units, or two joined by +",
    )
    parser.add_argument(
        "--confidence", type=share, default=0.95, help="of intervals; default 0.95"
    )
    parser.add_argument(
        "--seed", type=count, default=0, help="of every random step; default 0"
    )


def add_top(parser: argparse.ArgumentParser) -> None:
    """Add the question whether the best few methods are the best."""
    parser.add_argument(
        "--top",
        type=count,
        default=0,
        metavar="K",
        help="also tell whether the best K methods are told apart from all others",
    )
    parser.add_argument(
        "--top-confidence",
        type=share,
        default=0.0,
        help="how sure that has to be; default as --confidence",
    )


def add_alignment(parser: argparse.ArgumentParser) -> None:
    """Add what an alignment can leave out, its levels, coefficients and strata."""
    add_levels(parser)
    add_top(parser)
    parser.add_argument(
        "--split-by",
        type=split_names,
        metavar='"A,B"',
        help='tags of stories that split the tables; default all, "" for none',
    )
    parser.add_argument(
        "--components",
        type=split_names,
        default=(),
        metavar='"A,B"',
        help="metrics whose weights are fitted to people's preferences; default all",
    )
    parser.add_argument(
        "--demanded",
        type=share,
        default=0.0,
        help="pairwise accuracy that metrics are held against; VISTAR's is 0.75",
    )
    parser.add_argument(
        "--epsilon",
        choices=EPSILONS,
        default="heldout",
        help="how the tie threshold of acc_eq is tuned; default heldout",
    )


def add_figures(parser: argparse.ArgumentParser) -> None:
    """Add the language, which figures are drawn, and whether they become files."""
    parser.add_argument(
        "--language",
        choices=LANGUAGES,
        default="en",
        help="of sentences, headings and figures; default en",
    )
    parser.add_argument(
        "--figures",
        choices=FIGURES,
        default="main",
        help="all: each annotator, accuracies by level, weighted metrics and profiles "
        "too; default main",
    )
    parser.add_argument(
        "--images",
        choices=("svg", "png", "none"),
        default="svg",
        help="figures as files, where Chromium is found; default svg",
    )


def add_choice(parser: argparse.ArgumentParser) -> None:
    """Add which questions and metrics are covered, and which methods left out."""
    parser.add_argument(
        "--questions",
        type=split_names,
        metavar='"A,B"',
        help="dimensions, criteria; the only ones covered; default all",
    )
    parser.add_argument(
        "--metrics",
        type=names_or_none,
        metavar='"A,B"',
        help='the only ones covered; default all; "": a report of people alone',
    )
    parser.add_argument(
        "--exclude-methods",
        type=split_names,
        default=(),
        metavar='"A,B"',
        help="a name with a comma in it can be written with a backslash before it",
    )


def add_levels(parser: argparse.ArgumentParser) -> None:
    """Add what is covered, and the levels and coefficients."""
    add_choice(parser)
    parser.add_argument(
        "--levels",
        type=subset(KNOWN_LEVELS),
        default=LEVELS,
        metavar='"A,B"',
        help=f"some of {', '.join(KNOWN_LEVELS)}; default {', '.join(LEVELS)}",
    )
    parser.add_argument(
        "--coefficients",
        type=subset(KNOWN_COEFFICIENTS),
        default=COEFFICIENTS,
        metavar='"A,B"',
        help=f"some of {', '.join(KNOWN_COEFFICIENTS)}; "
        f"default {', '.join(COEFFICIENTS)}",
    )


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
