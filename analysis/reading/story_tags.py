"""Tags of stories: what a table of them says, and numbers cut into a few classes."""

import re

import numpy as np
import pandas as pd

from analysis.problems import InputError, Problem
from analysis.reading.column_checks import TableCheck
from analysis.reading.column_cleaning import Coded, as_tags, as_text, coded, numbers
from analysis.reading.csv_files import DECIMAL_COMMA
from analysis.reading.files import Table, opened
from analysis.reading.shared_names import FILE
from analysis.results import Array
from analysis.sentences import sentence

# OneIG-Bench, supplement, table 1: short is below 30 words, long above 60.
SHORT_BELOW, LONG_ABOVE = 30, 60
# A tag of numbers with more values than this is cut into classes.
MOST_VALUES = 12
# The column of the probability with which a story was drawn to be judged; no tag.
DRAWING_PROBABILITY = "drawing_probability"
_COUNTS_WORDS = re.compile(
    r"(.*[_ -])?n?words?|word[_ -]?count|((prompt|caption|text|story)[_ -]?)?len(gth)?"
)
_ORDER = {"short": 0, "low": 0, "middle": 1, "long": 2, "high": 2}


def read_stories(table: Table) -> pd.DataFrame:
    """Read the tags of stories; also the probability with which each was drawn."""
    frame, file = opened(table, "stories", ("story",))
    check = TableCheck(frame, file, ("story",))
    keys = ["story", *({DRAWING_PROBABILITY} & {*frame.columns})]
    tags = [column for column in frame.columns if column not in keys]
    nameless = [column for column in tags if not str(column).strip()]
    if nameless or len(frame.columns) < 2:
        what = "a name of each tag" if tags else "at least one column of tags"
        raise InputError([Problem(file, what, 1, value="(empty)" if tags else "")])
    check.text(("story",), required=True)
    for tag in tags:
        cells = coded(frame[tag])
        if frame.attrs.get(DECIMAL_COMMA):
            cells = Coded(cells.codes, as_tags(cells.values))
        check.frame[tag] = cells.mapped(_as_written).column(frame.index)
    check.text(tags, required=False)
    check.unique(("story",))
    if DRAWING_PROBABILITY in frame:
        check.decimals((DRAWING_PROBABILITY,))
        check.number(DRAWING_PROBABILITY, required=False, largest=1e300)
        drawn = check.frame[DRAWING_PROBABILITY]
        outside = ((drawn <= 0) | (drawn > 1)).to_numpy()
        check.refuse(outside, DRAWING_PROBABILITY, "a probability above 0, at most 1")
    found = check.result()[["story", *tags, *keys[1:]]]
    found.attrs[FILE] = file
    return found


def _as_written(value: object) -> str:
    """Return a cell as a CSV file has it."""
    text = as_text(value)
    return text.lower() if isinstance(value, (bool, np.bool_)) else text


def without_probabilities(
    stories: pd.DataFrame | None,
) -> tuple[pd.DataFrame | None, "pd.Series[float] | None"]:
    """Return the tags of stories, and the probabilities with which they were drawn.

    Each is None if the table has none. A story without a probability is left out of
    them: it was picked by hand.
    """
    if stories is None or DRAWING_PROBABILITY not in stories:
        return stories, None
    given = pd.to_numeric(stories[DRAWING_PROBABILITY], errors="coerce")
    found = pd.Series(given.to_numpy(float), pd.Index(stories["story"])).dropna()
    tags = stories.drop(columns=DRAWING_PROBABILITY)
    return (tags if len(tags.columns) > 1 else None), found


def tagged(tags: pd.DataFrame | None, tag: str) -> frozenset[str]:
    """Return the stories with a value of any tag, or of the one before a ``=``."""
    if tags is None:
        return frozenset()
    name, _, value = tag.partition("=")
    if name in tags.columns.drop("story"):
        return frozenset(tags.loc[tags[name] == value, "story"])
    return frozenset(tags.loc[(tags.drop(columns="story") == tag).any(axis=1), "story"])


def word_count_class(words: float) -> str:
    """Return OneIG-Bench's class of a prompt by its number of words."""
    if words < SHORT_BELOW:
        return "short"
    return "middle" if words <= LONG_ABOVE else "long"


def binned(tags: pd.DataFrame, column: str) -> pd.Series:
    """Cut a tag of numbers into a few classes; leave any other tag as it is.

    Equal numbers are in one class, so thirds may differ in size; where a whole third
    is one number, there are two classes.

    Source: OneIG-Bench, supplement, table 1 and the reasons given above it.
    """
    given = tags[column]
    values, empty = numbers(given)
    filled = values[~empty]
    if not len(filled) or not np.isfinite(filled).all():
        return given
    if _counts_words(column):
        labels = {
            "short": f"short (below {SHORT_BELOW})",
            "middle": f"middle ({SHORT_BELOW} to {LONG_ABOVE})",
            "long": f"long (above {LONG_ABOVE})",
        }
        named = [labels[word_count_class(value)] for value in filled]
    elif len(np.unique(filled)) > MOST_VALUES:
        named = _thirds(filled)
    else:
        return given
    texts = np.full(len(given), "", object)
    texts[~empty] = named
    return pd.Series(texts, given.index, dtype="str", name=column)


def _counts_words(column: str) -> bool:
    return bool(_COUNTS_WORDS.fullmatch(column.strip().lower()))


def _thirds(values: Array) -> list[str]:
    low, high = np.quantile(values, [1 / 3, 2 / 3], method="inverted_cdf")
    a, b = f"{low:g}", f"{high:g}"
    top = values.max() > high
    labels = []
    for value in values:
        if value <= low:
            labels.append(f"low (at most {a})")
        elif value <= high and top:
            labels.append(f"middle (above {a}, at most {b})")
        else:
            labels.append(f"high (above {b if top else a})")
    return labels


def with_classes(tags: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
    """Cut every tag of numbers into classes."""
    found, notes = tags.copy(deep=False), []
    for column in tags.columns.drop("story"):
        found[column] = binned(tags, column)
        if found[column] is not tags[column] and (found[column] != tags[column]).any():
            classes = sorted(set(found[column]) - {""}, key=stratum_order)
            notes.append(
                sentence(
                    "Tag {tag} is cut into classes: {classes}.",
                    tag=column,
                    classes=[*classes],
                )
            )
    return found, notes


def stratum_order(name: str) -> tuple[int, str]:
    """Return the sort key of subgroups: classes by size, all others by name."""
    first = name.partition(" (")[0]
    return (_ORDER.get(first, 1), "" if first in _ORDER and first != name else name)
