"""Tables of a study as data frames with the right types."""

import io
from typing import TYPE_CHECKING

from analysis.tables import restored

if TYPE_CHECKING:
    import pandas as pd

NUMBERS = (
    "rating",
    "round",
    "session",
    "shot",
    "seconds",
    "score",
    "rank",
    "place",
    "x",
    "y",
    "probability",
)
TRUTHS = ("is_gold", "is_repeat", "excluded", "higher_is_better")
TIMES = ("started_at", "submitted_at", "computed_at")
IS_TRUE = {"True": True, "true": True, "1": True}


def read_table(text: str) -> "pd.DataFrame":
    r"""Return a table of a study; all but numbers, truths and times is text.

    >>> table = read_table("story,rating,is_gold\n01,3,False\n")
    >>> table.loc[0, "story"], table.loc[0, "rating"], table.loc[0, "is_gold"]
    ('01', np.int64(3), np.False_)
    """
    import pandas as pd

    frame = pd.read_csv(io.StringIO(text), dtype=str, keep_default_na=False)
    for name in frame.columns:
        cells = frame[name]
        if name in NUMBERS:
            frame[name] = pd.to_numeric(cells.mask(cells == ""))
        elif name in TRUTHS:
            frame[name] = cells.map(lambda cell: IS_TRUE.get(cell, False)).astype(bool)
        elif name in TIMES:
            frame[name] = pd.to_datetime(cells.mask(cells == ""), utc=True)
        else:
            frame[name] = cells.map(restored)
    return frame
