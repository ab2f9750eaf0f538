"""Read the four tables from files of any kind and refuse what is wrong."""

from collections.abc import Collection

import pandas as pd

from analysis.problems import listed
from analysis.reading.column_checks import LARGEST_RATING, LARGEST_SCORE, TableCheck
from analysis.reading.files import Table, opened
from analysis.reading.metric_names import UNTOLD
from analysis.reading.rankings import check_orders, ordered_choices
from analysis.reading.scores import BASELINES, OTHER_NAME
from analysis.reading.shared_names import FILE
from analysis.reading.wide_tables import WideKeys, long_rows
from analysis.tables import (
    CHOICE_COLUMNS,
    CHOICE_KEY,
    CHOICE_VALUES,
    MEAN_OF_RATERS,
    RANKING_COLUMNS,
    RANKING_KEY,
    RATING_COLUMNS,
    RATING_KEY,
    SCORE_COLUMNS,
    SCORE_KEY,
)

WITHOUT_SCORES = "metrics without scores"


def read_ratings(
    table: Table,
    *,
    wide: bool = False,
    method_column: str = "method",
    story_column: str = "story",
    value_columns: Collection[str] = (),
    scale: tuple[int, int] | None = None,
) -> pd.DataFrame:
    raw, file = opened(
        table,
        "ratings",
        (method_column,) if wide else RATING_COLUMNS,
        index=(story_column,),
    )
    if wide:
        keys = WideKeys(file, method_column, story_column, value_columns)
        raw = long_rows(raw, keys, "dimension", "rating", LARGEST_RATING, scale)
        if "annotator" not in raw:
            raw["annotator"] = MEAN_OF_RATERS
    return _of_file(check_ratings(raw, file=file, scale=scale), file)


def check_ratings(
    frame: pd.DataFrame, *, file: str, scale: tuple[int, int] | None = None
) -> pd.DataFrame:
    """Return a clean copy of a table of ratings, or raise `InputError`."""
    check = TableCheck(frame, file, RATING_COLUMNS)
    check.text(("method", "dimension", "annotator"), required=True)
    check.text(("story",), required=False)
    check.whole("shot", least=0)
    check.whole("round", least=1, empty="1")
    check.decimals(("rating",))
    check.number("rating", required=True, largest=LARGEST_RATING, limits=scale)
    check.flags()
    check.unique(RATING_KEY, unless="is_repeat")
    return check.result()


def read_choices(table: Table) -> pd.DataFrame:
    """Read choices; the two methods come back in alphabetical order."""
    raw, file = opened(table, "choices", CHOICE_COLUMNS)
    return _of_file(check_choices(raw, file=file), file)


def check_choices(frame: pd.DataFrame, *, file: str) -> pd.DataFrame:
    """Return a clean copy of a table of choices, or raise `InputError`."""
    check = TableCheck(frame, file, CHOICE_COLUMNS)
    check.text(
        ("story", "method_a", "method_b", "criterion", "annotator"), required=True
    )
    check.text(("left_method",), required=False)
    check.whole("round", least=1, empty="1")
    check.word("choice", CHOICE_VALUES)
    check.flags()
    data = check.frame
    same = (data["method_a"] == data["method_b"]) & (data["method_a"] != "")
    check.refuse(same, "method_b", "a method other than method_a")
    if "left_method" in data:
        left = data["left_method"]
        alien = (left != "") & (left != data["method_a"])
        alien &= left != data["method_b"]
        check.refuse(alien, "left_method", "one of the two methods")
    check.frame = ordered_choices(data)
    check.unique(CHOICE_KEY, unless="is_repeat")
    return check.result()


def read_rankings(table: Table) -> pd.DataFrame:
    """Read rankings: one row a method of an answer, rank 1 being the best."""
    raw, file = opened(table, "rankings", RANKING_COLUMNS)
    return _of_file(check_rankings(raw, file=file), file)


def check_rankings(frame: pd.DataFrame, *, file: str) -> pd.DataFrame:
    """Return a clean copy of a table of rankings, or raise `InputError`."""
    check = TableCheck(frame, file, RANKING_COLUMNS)
    check.text(("story", "method", "criterion", "annotator"), required=True)
    check.text(("slot",), required=False)
    check.whole("round", least=1, empty="1")
    check.whole("rank", least=1)
    check.flags()
    check.unique(RANKING_KEY)
    check_orders(check)
    clean = check.result()
    return clean.assign(rank=clean["rank"].astype(int))


def read_scores(
    table: Table,
    *,
    wide: bool = False,
    method_column: str = "method",
    story_column: str = "story",
    value_columns: Collection[str] = (),
) -> pd.DataFrame:
    """Read metric scores; an empty score is a missing value and gives no row."""
    raw, file = opened(
        table,
        "scores",
        (method_column,) if wide else SCORE_COLUMNS,
        index=(story_column,),
    )
    if wide:
        keys = WideKeys(file, method_column, story_column, value_columns)
        raw = long_rows(raw, keys, "metric", "score", LARGEST_SCORE)
    return _of_file(check_scores(raw, file=file), file)


def _of_file(table: pd.DataFrame, file: str) -> pd.DataFrame:
    """Note what the table is called, for remarks that name it and its lines."""
    table.attrs[FILE] = file
    return table


def check_scores(frame: pd.DataFrame, *, file: str) -> pd.DataFrame:
    """Return a clean copy of a table of scores, or raise `InputError`."""
    check = TableCheck(frame, file, SCORE_COLUMNS)
    check.text(("method", "metric"), required=True)
    taken = check.frame["metric"].isin(BASELINES)
    once = taken & ~check.frame["metric"].duplicated()
    check.refuse(once, "metric", OTHER_NAME)
    check.text(("story", "metric_version", "backend"), required=False)
    check.whole("shot", least=0)
    check.decimals(("score",))
    check.number("score", required=False, largest=LARGEST_SCORE)
    check.directions()
    check.unique(SCORE_KEY)
    clean = check.result()
    found = clean.dropna(subset=["score"])
    empty = set(clean["metric"]) - set(found["metric"])
    found.attrs[WITHOUT_SCORES] = tuple(sorted(empty))
    found.attrs[UNTOLD] = clean.attrs[UNTOLD]
    return found


def metrics_without_scores(scores: pd.DataFrame) -> tuple[str, ...]:
    """Return the metrics that a table names but has no score of."""
    return tuple(scores.attrs.get(WITHOUT_SCORES, ()))


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
