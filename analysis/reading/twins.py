"""Scores of degraded twins: outputs that were made worse on purpose."""

from collections.abc import Collection

import pandas as pd

from analysis.problems import listed
from analysis.reading.column_checks import LARGEST_SCORE, TableCheck
from analysis.reading.frames import Table, opened

TWIN_COLUMNS = ("story", "method", "twin", "metric", "score")
TWIN_KEY = ("story", "method", "shot", "twin", "metric")


def read_twins(table: Table, metrics: Collection[str]) -> pd.DataFrame:
    """Read scores of degraded twins."""
    rows, file = opened(table, "twins", TWIN_COLUMNS)
    check = TableCheck(rows, file, TWIN_COLUMNS)
    check.text(("story", "method", "twin", "metric"), required=True)
    named = check.frame["metric"]
    unknown = ~named.isin(list(metrics)) & (named != "")
    check.refuse(unknown, "metric", f"one of {listed(sorted(metrics))}")
    check.whole("shot", least=0)
    for column in {"score", "original"} & {*check.frame.columns}:
        check.number(column, required=False, largest=LARGEST_SCORE)
    check.unique(TWIN_KEY)
    return check.result().dropna(subset=["score"])
