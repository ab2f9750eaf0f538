"""Names for readers: titles of questions and metrics in place of their keys."""

from collections import Counter
from collections.abc import Mapping
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
    """Return a table with titles in place of keys.

    Of two keys with one title each has its key behind it, so that none is taken for the
    other.
    """
    names = {
        **dict.fromkeys(QUESTIONS, _apart(titles.questions)),
        **dict.fromkeys(METRICS, _apart(titles.metrics)),
    }
    shown = {
        column: frame[column].map(lambda key, own=own: own.get(key, key))
        for column, own in names.items()
        if column in frame and own
    }
    return frame.assign(**shown)


def _apart(titles: Mapping[str, str]) -> dict[str, str]:
    used = Counter(titles.values())
    return {
        key: title if used[title] == 1 else f"{title} ({key})"
        for key, title in titles.items()
        if title
    }
