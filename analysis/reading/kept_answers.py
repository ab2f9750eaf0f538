"""Answers that enter a report: kept rows, and remarks on what was left out."""

from collections.abc import Mapping
from dataclasses import dataclass

import pandas as pd

from analysis.notes import Notes
from analysis.options import AlignOptions, OptionError
from analysis.printing import counted
from analysis.problems import listed, one_of
from analysis.reading.column_cleaning import kept_rows, without_methods
from analysis.reading.rankings import OUTCOMES, in_orders, ordered_choices
from analysis.reading.scores import ScoreTable
from analysis.reading.shared_names import OF_ANSWERS, spelling_remarks
from analysis.sentences import sentence
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
                    "how well they agree, cannot be told from them."
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


def _several(rankings: pd.DataFrame, notes: Notes) -> pd.DataFrame:
    """Leave out rankings of which one method is left: it has no others to stand by."""
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
    """Where some ratings of a dimension name a story, drop those that do not."""
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
    if not options.exclude_methods:
        return
    columns = ("method", "method_a", "method_b")
    known = {
        str(name)
        for frame in frames
        if frame is not None
        for column in columns
        if column in frame
        for name in frame[column].unique()
    }
    for name in options.exclude_methods:
        if name not in known:
            raise OptionError(
                f"--exclude-methods: {name!r}: expected one of "
                f"{', '.join(sorted(known))}"
            )
    notes.add(
        sentence("Left out as asked: {methods}.", methods=options.exclude_methods)
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
    """Keep the questions and metrics that were asked for."""
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
