"""The leaderboard of a study so far, fast enough for a request."""

from dataclasses import dataclass, field
from math import isfinite
from typing import TYPE_CHECKING, Any

from django.utils.translation import gettext as _

from annotate.kinds.registry import counted, kind_of, tables_of
from annotate.models import Study
from annotate.reports.study_tables import answers_frame, scales

if TYPE_CHECKING:
    import pandas as pd

# More answers take longer than a request may; a report has no such limit.
MOST_ANSWERS = 20_000
PARTS = ("stories", "annotators")
CONFIDENCE = 0.95
COLUMNS = {"ratings": "dimension", "choices": "criterion", "rankings": "criterion"}


class TooManyAnswersError(ValueError):
    """The study has more answers than a request analyses; the message says so."""


@dataclass
class Found:
    """The rows of a leaderboard, the best method of each question first."""

    rows: list[dict[str, Any]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def leaderboard(study: Study) -> Found:
    """Return the methods of a study by question, from the answers that count.

    Raises
    ------
    TooManyAnswersError
        There are more answers than a request analyses.
    """
    answers = sum(
        model.objects.filter(slot__study=study, is_current=True).count()
        for model in tables_of(study)
    )
    if answers > MOST_ANSWERS:
        raise TooManyAnswersError(
            _("The study has over %(most)s answers. Make a report instead.")
            % {"most": f"{MOST_ANSWERS:,}"}
        )
    found = Found()
    tables = {kind_of(question).table for question in counted(study.asked)}
    for table in sorted(tables & COLUMNS.keys()):
        frame = _kept(answers_frame(study, table))
        for question, rows in frame.groupby(COLUMNS[table], sort=True):
            _add(found, table, str(question), rows, scales(study).get(str(question)))
    return found


def _kept(frame: "pd.DataFrame") -> "pd.DataFrame":
    """Return the answers that count, without checks of annotators."""
    left_out = frame[["is_gold", "is_repeat", "excluded"]].astype(bool).any(axis=1)
    return frame[~left_out]


def _add(
    found: Found,
    table: str,
    question: str,
    rows: "pd.DataFrame",
    scale: tuple[int, int] | None,
) -> None:
    """Add the methods of one question."""
    if table == "ratings":
        for row in _means(rows, scale):
            _put(found, table, question, **row)
        return
    from analysis.rankings.bradley_terry import leaderboard as of_pairs
    from analysis.rankings.plackett_luce import ranking_leaderboard as of_ranks

    board: Any = of_pairs if table == "choices" else of_ranks
    standings = board(rows, criterion=question, parts=PARTS, confidence=CONFIDENCE)
    found.notes += map(str, standings.notes)
    for one in standings.rows:
        row = vars(one)
        n = row.get("n_comparisons", row.get("n_rankings"))
        named = ("method", "rank", "rank_low", "rank_high", "low", "high")
        _put(
            found,
            table,
            question,
            **{name: row[name] for name in named},
            value=one.rating,
            n=n,
        )


def _means(rows: "pd.DataFrame", scale: tuple[int, int] | None) -> list[dict[str, Any]]:
    from analysis.rankings.method_means import mean_ranks, mean_ratings

    cells = ["story", "method", "annotator"]
    people = rows.groupby(cells, as_index=False)[["rating"]].mean()
    how: Any = {"parts": PARTS, "confidence": CONFIDENCE}
    ranks, _compared = mean_ranks(people, **how)
    means = mean_ratings(rows, people, scale=scale, **how)
    found = [
        {
            **ranks[one.method],
            "method": one.method,
            "value": one.mean.value,
            "low": one.mean.low,
            "high": one.mean.high,
            "n": one.n_ratings,
        }
        for one in means
    ]
    return sorted(found, key=lambda row: (row["rank"], row["method"]))


def _put(found: Found, table: str, question: str, **row: Any) -> None:
    """Add a row; what is undefined becomes null."""
    plain = {
        name: None if isinstance(value, float) and not isfinite(value) else value
        for name, value in row.items()
    }
    found.rows.append({"question": question, "kind": table, **plain})
