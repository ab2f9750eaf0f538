"""What changes without the annotators who answer like chance; nobody is left out."""

from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass

import numpy as np
import pandas as pd

from analysis.rankings.bradley_terry import leaderboard
from analysis.rankings.plackett_luce import ranking_leaderboard
from analysis.rankings.standings import ranks
from analysis.reading.cells import annotator_cells, human_cells
from analysis.reading.kept_answers import KeptAnswers
from analysis.reading.rankings import KEPT_ANSWER, answer_codes
from analysis.reliability.agreement import agreement
from analysis.reliability.annotators import ABOVE_CHANCE, SPEARMAN
from analysis.reliability.matrices import choice_reliability, rating_reliability
from analysis.reliability.random_responding import ALL_QUESTIONS, MARKED
from analysis.reliability.ranking_annotators import (
    MEAN_KENDALL,
    STATISTIC,
    ranking_agreement,
)
from analysis.result_tables.contract import TableCollector
from analysis.results import NAN, TableRow

SAME_MEAN = 1e-9
RANK = "rank"


@dataclass(frozen=True)
class _Kind:
    """What is a question of these answers, what is tested of a person, what told."""

    question: str
    tested: str
    agreement: str


KINDS = {
    "ratings": _Kind("dimension", SPEARMAN, "alpha_ordinal"),
    "choices": _Kind("criterion", ABOVE_CHANCE[0], "alpha_nominal"),
    "rankings": _Kind("criterion", MEAN_KENDALL, STATISTIC),
}


def add_without_marked(people: KeptAnswers, found: TableCollector) -> None:
    """Add agreement and the ranks of methods without whom ``annotators`` marks."""
    for kind, about in KINDS.items():
        answers = getattr(people, kind)
        marked = _marked(found, about.tested)
        if answers is None or not marked:
            continue
        for name, rows in answers.groupby(about.question, sort=True):
            names = marked.get(str(name), set()) | marked.get(ALL_QUESTIONS, set())
            names &= set(rows["annotator"].astype(str))
            if names:
                found.extend("without_marked", _rows(kind, str(name), rows, names))


def _marked(found: TableCollector, statistic: str) -> dict[str, set[str]]:
    """Return who is marked, by question."""
    marked: dict[str, set[str]] = {}
    for row in found.rows.get("annotators", ()):
        if row["statistic"] == statistic and row.get("verdict") in MARKED:
            marked.setdefault(str(row["question"]), set()).add(str(row["annotator"]))
    return marked


def _rows(
    kind: str, question: str, rows: pd.DataFrame, names: Set[str]
) -> Iterator[TableRow]:
    rest = rows[~rows["annotator"].astype(str).isin(names)]
    left = {
        "question": question,
        "left_out": ", ".join(sorted(names)),
        "n_answers": len(np.unique(answer_codes(rest, KEPT_ANSWER)))
        if kind == "rankings"
        else len(rest),
    }
    without, why = _agreement(kind, question, rest)
    of_all, _why = _agreement(kind, question, rows)
    values = {"value": without, "value_all": of_all, "reason": why}
    yield {**left, "statistic": KINDS[kind].agreement, "method": "", **values}
    standing = _standing(kind, question, rest)
    for method, rank in _standing(kind, question, rows).items():
        values = {"value": standing.get(method, NAN), "value_all": rank, "reason": ""}
        yield {**left, "statistic": RANK, "method": method, **values}


def _agreement(kind: str, question: str, rows: pd.DataFrame) -> tuple[float, str]:
    if rows.empty:
        return NAN, ""
    if kind == "rankings":
        row = ranking_agreement(rows, question=question, resamples=0)
        return float(str(row["value"])), str(row["reason"])
    layout = rating_reliability if kind == "ratings" else choice_reliability
    (one,) = agreement(
        layout(rows),
        (KINDS[kind].agreement,),
        parts=("units",),
        resamples=0,
        confidence=0.95,
        seed=0,
        question=question,
    )
    return one.estimate.value, one.estimate.reason


def _standing(kind: str, question: str, rows: pd.DataFrame) -> Mapping[str, float]:
    """Return each method's rank: by mean rating, Bradley-Terry, or Plackett-Luce."""
    if rows.empty:
        return {}
    if kind != "ratings":
        rank_all = leaderboard if kind == "choices" else ranking_leaderboard
        board = rank_all(rows, criterion=question, parts=()).rows
        return {row.method: row.rank for row in sorted(board, key=lambda r: r.method)}
    means = human_cells(annotator_cells(rows)).groupby("method")["human"].mean()
    places = ranks(means.to_numpy(float), tolerance=SAME_MEAN)
    return dict(zip(map(str, means.index), np.asarray(places).tolist(), strict=True))
