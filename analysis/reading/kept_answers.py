"""Answers that enter a report: kept rows, and remarks on what was left out."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from analysis.options import AlignOptions, OptionError
from analysis.problems import listed, one_of
from analysis.reading.column_cleaning import kept_rows, without_methods
from analysis.reading.files import address
from analysis.reading.identities import one_identity
from analysis.reading.rankings import OUTCOMES, in_orders, ordered_choices
from analysis.reading.scores import ScoreTable
from analysis.reading.shared_names import FILE, OF_ANSWERS, spelling_remarks
from analysis.results import Array, Mask
from analysis.sentences import Notes, counted, sentence
from analysis.tables import MEAN_OF_RATERS

RATING_KEYS = ("dimension", "story", "method", "annotator", "shot", "round")
CHOICE_KEYS = ("criterion", "story", "method_a", "method_b", "annotator", "round")
RANKING_KEYS = ("criterion", "story", "annotator", "round", "slot", "method")
# What is counted of each table, in words.
ROWS = {
    "ratings": sentence("ratings"),
    "choices": sentence("choices"),
    "rankings": sentence("rows of rankings"),
}


@dataclass(frozen=True)
class KeptAnswers:
    """Kept and sorted answers."""

    ratings: pd.DataFrame | None
    choices: pd.DataFrame | None
    rankings: pd.DataFrame | None = None


def kept_people(
    ratings: pd.DataFrame | None,
    choices: pd.DataFrame | None,
    options: AlignOptions,
    notes: Notes,
    *,
    rankings: pd.DataFrame | None = None,
) -> KeptAnswers:
    """Drop rows that enter no table, put the rest in order, and note what went."""
    given = {"ratings": ratings, "choices": choices, "rankings": rankings}
    notes.extend(spelling_remarks(given, OF_ANSWERS, options.exclude_methods))
    kept: list[pd.DataFrame | None] = []
    for name, frame, keys, columns in (
        ("ratings", ratings, RATING_KEYS, ("method",)),
        ("choices", choices, CHOICE_KEYS, ("method_a", "method_b")),
        ("rankings", rankings, RANKING_KEYS, ("method",)),
    ):
        if frame is None:
            kept.append(None)
            continue
        if keys[0] not in frame:
            found = ", ".join(map(str, frame.columns))
            raise OptionError(f"{name}: expected a column {keys[0]!r}; found {found}")
        rows = kept_rows(frame, keys)
        if len(rows) < len(frame):
            notes.add(
                sentence(
                    "{n} of {total} {what} left out of every table as gold, repeated "
                    "or excluded.",
                    n=len(frame) - len(rows),
                    total=len(frame),
                    what=ROWS[name],
                )
            )
        rows = without_methods(rows, options.exclude_methods, columns)
        if rows.empty:
            raise OptionError(f"{name}: no row is left to analyse")
        kept.append(rows)
    rated, chosen, ranked = kept
    if rated is not None:
        rated = _one_kind_of_row(rated, notes)
        if are_means(rated):
            notes.add(
                sentence(
                    "Ratings are means over raters: how many there were, and "
                    "how well they agree, cannot be computed from them."
                )
            )
    if chosen is not None:
        chosen = kept_rows(ordered_choices(chosen), CHOICE_KEYS)
        _note_both_bad(chosen, notes)
    if ranked is not None:
        ranked = _several(ranked, notes)
    return KeptAnswers(rated, chosen, ranked)


def kept_ratings(
    ratings: pd.DataFrame, options: AlignOptions, notes: Notes
) -> pd.DataFrame:
    """Keep ratings as `kept_people` does."""
    kept = kept_people(ratings, None, options, notes).ratings
    assert kept is not None  # ratings were given
    return kept


def kept_marks(
    marked: pd.DataFrame | None, options: AlignOptions
) -> pd.DataFrame | None:
    """Keep the marks of shots as other answers, or return None."""
    if marked is None:
        return None
    rows = kept_rows(marked, RATING_KEYS)
    rows = without_methods(rows, options.exclude_methods, ("method",))
    return None if rows.empty else rows


def _several(rankings: pd.DataFrame, notes: Notes) -> pd.DataFrame:
    """Leave out rankings with a single method left."""
    rows, _, _ = in_orders(rankings)
    alone = len(rankings) - len(rows)
    if rows.empty:
        raise OptionError("rankings: no answer ranks two methods that are left")
    if alone:
        notes.add(
            sentence(
                "{rankings} of a single method left out.",
                rankings=counted(alone, "ranking"),
            )
        )
    return rows.reset_index(drop=True)


def _one_kind_of_row(ratings: pd.DataFrame, notes: Notes) -> pd.DataFrame:
    """Drop ratings without a story if others of the dimension name one."""
    named = ratings["story"] != ""
    if named.all():
        return ratings
    stray = ~named & named.groupby(ratings["dimension"]).transform("any")
    for dimension, count in stray.groupby(ratings["dimension"]).sum().items():
        if count:
            notes.add(
                sentence(
                    "{ratings} without a story left out, since others name one.",
                    ratings=counted(count, "rating"),
                ),
                str(dimension),
            )
    return ratings[~stray].reset_index(drop=True)


def are_means(ratings: pd.DataFrame) -> bool:
    """Say whether the ratings are means over raters, each given by nobody."""
    return bool((ratings["annotator"] == MEAN_OF_RATERS).all())


def _note_both_bad(choices: pd.DataFrame, notes: Notes) -> None:
    bad = choices[choices["choice"] == OUTCOMES[3]].groupby("criterion").size()
    for criterion, count in bad.items():
        notes.add(
            sentence(
                "both bad in {answers}, counted as neither win nor tie in "
                "win rates, and as a tie in the leaderboard.",
                answers=counted(count, "answer"),
            ),
            str(criterion),
        )


def note_exclusions(
    frames: list[pd.DataFrame | None], options: AlignOptions, notes: Notes
) -> None:
    """Note which methods are left out; refuse names that no table knows."""
    check_methods("--exclude-methods", options.exclude_methods, frames)
    if options.exclude_methods:
        notes.add(
            sentence("Left out as asked: {methods}.", methods=options.exclude_methods)
        )


def check_methods(
    option: str, names: Iterable[str], frames: Iterable[pd.DataFrame | None]
) -> None:
    """Refuse names of methods that no table knows."""
    known = {
        str(name)
        for frame in frames
        if frame is not None
        for column in ("method", "method_a", "method_b")
        if column in frame
        for name in frame[column].unique()
    }
    for name in names:
        if name not in known:
            raise OptionError(
                f"{option}: {name!r}: expected one of "
                f"{', '.join(sorted(known)) or 'the methods of choices'}"
            )


def note_directions(table: ScoreTable, notes: Notes) -> None:
    """Note which metrics have their sign turned."""
    lower = [m for m in table.metrics if not table.higher_is_better[m]]
    if lower:
        notes.add(
            sentence(
                "Lower is better for {metrics}: the sign is turned before "
                "comparing, so that positive always means agreement with "
                "people.",
                metrics=[*lower],
            )
        )


# Where each table has them.
COLUMNS = {
    "questions": {
        "ratings": "dimension",
        "trials": "dimension",
        "choices": "criterion",
        "rankings": "criterion",
    },
    "metrics": {"scores": "metric"},
}
Tables = Mapping[str, pd.DataFrame | None]


def chosen_tables(
    tables: Tables, options: AlignOptions, notes: Notes | None = None
) -> dict[str, pd.DataFrame | None]:
    """Keep the questions, metrics and identities of metrics that were asked for."""
    found = dict(tables)
    for option, columns in COLUMNS.items():
        wanted = getattr(options, option)
        if wanted is None:
            continue
        here = {
            name: (frame, frame[column])
            for name, column in columns.items()
            if (frame := tables.get(name)) is not None and column in frame
        }
        known = {str(one) for _, names in here.values() for one in names.unique()}
        _check(option, wanted, known)
        for name, (frame, names) in here.items():
            rows = frame[names.isin(wanted)]
            found[name] = None if rows.empty else rows
        if notes is not None and (rest := sorted(known - {*wanted})):
            notes.add(
                sentence(
                    "Left out as asked: metrics {names}."
                    if option == "metrics"
                    else "Left out as asked: questions {names}.",
                    names=listed(rest),
                )
            )
    if (scores := found.get("scores")) is not None:
        found["scores"], remarks = one_identity(scores, options)
        if notes is not None:
            notes.extend(remarks)
    return found


def _check(option: str, wanted: tuple[str, ...], known: set[str]) -> None:
    if option == "metrics" and not wanted:
        return
    if not known:
        raise OptionError(
            f"--{option}: expected {' or '.join(COLUMNS[option])} beside it"
        )
    if not wanted:
        raise OptionError(f"--{option}: expected some of {listed(sorted(known))}")
    for name in wanted:
        if name not in known:
            raise OptionError(f"--{option}: {name!r}: expected {one_of(name, known)}")


# Of so many ratings one may be isolated; of fewer than four hundred, two.
ONE_IN, LEAST, LEAST_RATINGS = 200, 2, 40
# So many times as many ratings have the value next to the isolated ones: the tail of
# counts, or of a slider that few people push far, has fewer and fewer.
TIMES = 10
# Scales on which a rare rating may be far from the others and meant.
USUAL_SCALES = ((0, 10), (-5, 5), (0, 100), (-100, 100))
# Values of a question that are named.
MOST_VALUES = 5


def isolated(values: Array) -> Mask:
    """Return which ratings lie farther from the others than these from each other.

    Only whole numbers are checked, 40 or more. The others are the shortest range that
    holds all ratings but one in 200 (two of fewer than 400), and whatever lies no
    farther from it than it is wide, until nothing more does. Ratings outside are
    isolated, unless they are within the smallest usual scale that holds the range (0 to
    10, -5 to 5, 0 to 100, -100 to 100), or the end of the range next to them has not
    ten times as many ratings.
    """
    values = np.asarray(values, float)
    none = np.zeros(len(values), bool)
    if len(values) < LEAST_RATINGS or not (values == np.round(values)).all():
        return none
    low, high = _range_of_others(values)
    usual = [scale for scale in USUAL_SCALES if scale[0] <= low and high <= scale[1]]
    bottom, top = usual[0] if usual else (low, high)
    for far, end in ((values < bottom, low), (values > top, high)):
        if (values == end).sum() >= TIMES * far.sum():
            none |= far
    return none


def _range_of_others(values: Array) -> tuple[float, float]:
    ordered = np.sort(values)
    rare = max(LEAST, len(values) // ONE_IN)
    widths = ordered[len(values) - rare - 1 :] - ordered[: rare + 1]
    start = int(np.argmin(widths))
    low, high = ordered[start], ordered[len(values) - rare - 1 + start]
    while True:
        width = high - low
        near = ordered[(ordered >= low - width) & (ordered <= high + width)]
        if near[0] == low and near[-1] == high:
            return float(low), float(high)
        low, high = near[0], near[-1]


def isolated_ratings(ratings: pd.DataFrame) -> Iterator[str]:
    """Remark on isolated ratings, question by question."""
    file = str(ratings.attrs.get(FILE, "ratings"))
    for question, rows in ratings.groupby("dimension", sort=True):
        values = rows["rating"].to_numpy(float)
        alone = isolated(values)
        if alone.any():
            yield _remark(str(question), rows["rating"], alone, file)


def _remark(question: str, ratings: "pd.Series[float]", alone: Mask, file: str) -> str:
    groups = []
    for value, own in ratings[alone].groupby(ratings[alone]):
        where = address(file, own.index, own.index[0])
        groups.append(
            sentence("{value} ({where})", value=f"{value:g}", where=where)
            if len(own) == 1
            else sentence(
                "{value} ({where}, {times})",
                value=f"{value:g}",
                where=where,
                times=counted(len(own), "time"),
            )
        )
    others = ratings[~alone]
    low, high = others.min(), others.max()
    rest = len(groups) - MOST_VALUES
    first = sentence("{names}", names=groups[:MOST_VALUES])
    if rest > 0:
        first = sentence("{names} and {n} other values", names=first, n=rest)
    few = int(alone.sum())
    return sentence(
        "{question}: {n} of {total} ratings lies far from all others, which go from "
        "{low} to {high}: {examples}. They are used as they are; if they are typing "
        "errors, --scale {low}:{high} refuses them."
        if few == 1
        else "{question}: {n} of {total} ratings lie far from all others, which go "
        "from {low} to {high}: {examples}. They are used as they are; if they are "
        "typing errors, --scale {low}:{high} refuses them.",
        question=question,
        n=few,
        total=f"{len(ratings):,}",
        low=f"{low:g}",
        high=f"{high:g}",
        examples=first,
    )
