"""Parsers of the values of options.

Light: the commands of the database use them too, without loading the statistics.
"""

import argparse
from collections.abc import Callable, Iterable, Sequence


def split_names(text: str) -> tuple[str, ...]:
    r"""Split names at commas; ``\,`` is a comma inside a name.

    >>> split_names(r"A, B\, Inc.")
    ('A', 'B, Inc.')
    """
    parts = text.replace("\\,", "\0").split(",")
    return tuple(p.replace("\0", ",").strip() for p in parts if p.strip())


def names_or_none(text: str) -> tuple[str, ...]:
    """Split names; return None for an empty text."""
    names = split_names(text)
    if text and not names:
        raise argparse.ArgumentTypeError(f'{text}: write names, or "" for none')
    return names


def join_names(names: Iterable[str]) -> str:
    """Write names so that `split_names` reads them."""
    return ",".join(name.replace(",", "\\,") for name in names)


def chosen_identities(text: str) -> dict[str, str]:
    """Parse metrics and the identity of each, as in cids=1a2b3c,csd=4d5e6f."""
    chosen = {}
    for part in split_names(text):
        metric, _equals, identity = map(str.strip, part.partition("="))
        if not metric or not identity:
            raise argparse.ArgumentTypeError(f"{part}: write METRIC=IDENTITY")
        chosen[metric] = identity
    return chosen


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
