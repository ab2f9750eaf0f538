"""Names for readers: titles of questions and metrics in place of their keys."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import pandas as pd

# Columns that hold keys of questions, and of metrics.
QUESTIONS = ("question", "dimension", "criterion")
METRICS = ("metric", "metric_a", "metric_b", "against")


@dataclass(frozen=True)
class Titles:
    """What questions and metrics are called, by their keys; others keep the key."""

    questions: Mapping[str, str] = field(default_factory=dict)
    metrics: Mapping[str, str] = field(default_factory=dict)


def titled(frame: pd.DataFrame, titles: Titles) -> pd.DataFrame:
    """Return a table with titles in place of keys; see `apart`."""
    names = {
        **dict.fromkeys(QUESTIONS, titles.questions),
        **dict.fromkeys(METRICS, titles.metrics),
    }
    shown = {
        column: frame[column].map(lambda key, own=own: own.get(key, key))
        for column, own in names.items()
        if column in frame and own
    }
    return frame.assign(**shown)


def apart(tables: Iterable[pd.DataFrame], titles: Titles) -> Titles:
    """Return titles that are taken for no other name of these tables.

    A title that two keys have, or that is also the name of what has no title, has its
    key behind it.
    """
    frames = list(tables)
    return Titles(
        _apart(_names(frames, QUESTIONS), titles.questions),
        _apart(_names(frames, METRICS), titles.metrics),
    )


def _names(frames: Iterable[pd.DataFrame], columns: tuple[str, ...]) -> set[str]:
    return {
        str(name)
        for frame in frames
        for column in columns
        if column in frame
        for name in frame[column].unique()
    }


def _apart(names: set[str], titles: Mapping[str, str]) -> dict[str, str]:
    known = {key: title for key, title in titles.items() if title}
    used = Counter([*known.values(), *(names - known.keys())])
    return {
        key: title if used[title] == 1 else f"{title} ({key})"
        for key, title in known.items()
    }
