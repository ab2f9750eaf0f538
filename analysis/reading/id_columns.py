"""Columns of wide tables that name rows or tell times: no questions and no metrics."""

import re

import numpy as np

from analysis.results import Array

# What exports call ids, and times and addresses, by words of the column's name.
IDS = frozenset({"guid", "hash", "id", "idx", "index", "ip", "uid", "uuid"})
TIMES = frozenset(
    {"date", "datetime", "duration", "elapsed", "seconds", "secs", "timestamp"}
)
# Names that end so are times: lead_time, created_at.
LAST_OF_TIMES = frozenset({"at", "time"})
UNNAMED = re.compile(r"(unnamed: ?[0-9]+)?", re.IGNORECASE)
# Of fewer rows, values that rise may be chance.
LEAST_ROWS = 10
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


def is_id_or_time(name: str, values: Array, *, of_answers: bool) -> bool:
    """Say whether a column of numbers is an id or a time, by its name or its values.

    Ids are whole numbers whose column is called so (``annotation_id``, ``HITId``), or
    has no name, as the index of a frame that was written with it. Ten or more whole
    numbers that rise with every row are ids whatever their name.

    Examples
    --------
    >>> rows = np.arange(12.0)
    >>> is_id_or_time("ResponseId", rows % 5, of_answers=True)
    True
    >>> is_id_or_time("ID", rows / 20, of_answers=False)
    False
    >>> [is_id_or_time("n", rows, of_answers=answers) for answers in (True, False)]
    [True, False]
    """
    words = [word.lower() for word in _WORD.findall(name)]
    if TIMES & {*words} or (words and words[-1] in LAST_OF_TIMES):
        return True
    known = values[np.isfinite(values)]
    if not (known == np.round(known)).all():
        return False
    is_named = bool(IDS & {*words}) or UNNAMED.fullmatch(name.strip()) is not None
    rises = len(values) >= LEAST_ROWS and bool((np.diff(values) > 0).all())
    return is_named or (of_answers and rises)
