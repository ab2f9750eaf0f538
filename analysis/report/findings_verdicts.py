"""What verdicts say in words: sentences word rows of one table, and decide nothing.

The rules are in `analysis.verdicts`.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import pandas as pd

from analysis.report.language import counted, listed
from analysis.report.language import gettext as _
from analysis.report.wording import (
    WORDS,
    ClaimText,
    claim_of,
    drawn_units,
    is_missing,
    name_of,
    p_text,
    per_cent,
    records,
    share,
    with_interval,
    word,
)
from analysis.verdicts import AGREES, DOES_NOT, EXACT, FEW_METHODS, OPEN

# Roles of metrics that are told one by one.
NAMED = ("declared", "composite")
# What is drawn where a test speaks of new stories and new methods.
CROSSED = "stories+methods"
COUNTED = {
    "method": "method",
    "story": "story",
    "within_method": "method",
    "pooled": "output",
}
VerdictRow = dict[str, Any]


def question_claims(verdicts: pd.DataFrame) -> Iterator[list[ClaimText]]:
    """Say of each question what its declared metrics and composites do, then the rest.

    Only rows of the statistic by which a question is led are worded; metrics that were
    declared and have none, and questions in which no metric has any, are named.
    """
    real = verdicts[verdicts["role"] != "baseline"]
    for question, asked in real.groupby("question", sort=True):
        yield list(_of_question(str(question), asked))


def _of_question(question: str, asked: pd.DataFrame) -> Iterator[ClaimText]:
    leading = asked[asked["leads"]]
    if leading.empty:
        yield False, word("verdicts", "none", question=question)
        return
    for _source, rows in leading.groupby("source", sort=True):
        named, explored = _roles(rows)
        for row in named:
            head = word(row["role"], _verdict(row), metric=row["metric"])
            clauses = _evidence(row, head), *_why(row), *_demand(row)
            yield claim_of(row["verdict"] == AGREES, question, *clauses)
        if explored:
            shown, clauses = _explored(explored, named)
            yield claim_of(shown, question, *clauses)
    meant = asked[asked["role"] == "declared"]
    for metric in sorted({*meant["metric"]} - {*leading["metric"]}):
        head = word("declared", OPEN, metric=metric)
        yield claim_of(False, question, head, word("reasons", "undefined"))


def named_metric(verdicts: pd.DataFrame | None, question: str, source: str) -> str:
    """Return the metric that the first sentence of a question names; else nothing."""
    if verdicts is None:
        return ""
    leading = verdicts[
        verdicts["leads"]
        & (verdicts["role"] != "baseline")
        & (verdicts["question"] == question)
        & (verdicts["source"] == source)
    ]
    named, explored = _roles(leading)
    agreeing = [row for row in explored if row["verdict"] == AGREES]
    return next((str(row["metric"]) for row in (*named, *agreeing, *explored)), "")


def tie_claims(verdicts: pd.DataFrame) -> Iterator[str]:
    """Say which metrics do worse than chance where ties of people count."""
    below = verdicts[
        (verdicts["statistic"] == "acc_eq") & (verdicts["verdict"] == DOES_NOT)
    ]
    for (question, source), rows in below.groupby(["question", "source"], sort=True):
        told = listed(
            word("verdicts", "tied", metric=row["metric"], **_accuracy(row))
            for row in records(rows)
        )
        values = {"question": question, "source": word("answers", source)}
        yield word("verdicts", "below chance", metrics=told, **values)


def _roles(rows: pd.DataFrame) -> tuple[list[VerdictRow], list[VerdictRow]]:
    """Return rows that are told one by one, and of explored metrics, highest first."""
    family = records(rows.sort_values(["value", "metric"], ascending=[False, True]))
    named = [row for role in NAMED for row in family if row["role"] == role]
    return named, [row for row in family if row["role"] == "exploratory"]


def _verdict(row: VerdictRow) -> str:
    return row["verdict"] if row["verdict"] in (AGREES, DOES_NOT) else OPEN


def _explored(
    rows: Sequence[VerdictRow], named: Sequence[VerdictRow]
) -> tuple[bool, tuple[str, ...]]:
    """Say how many of the explored metrics agree, and what the highest does.

    It is held against `named` ones too.
    """
    agreeing = [row for row in rows if row["verdict"] == AGREES]
    first, n = (agreeing or rows)[0], len(agreeing)
    metric, statistic = first["metric"], str(first["statistic"])
    if len(rows) == 1:
        head = word("only", _verdict(first), metric=metric)
    else:
        is_leading = statistic in WORDS["leading"]
        called = word("leading", statistic) if is_leading else name_of(statistic)
        kind = "none" if n == 0 else "one" if n == 1 else "several"
        values = {"total": len(rows), "n": n, "metric": metric, "statistic": called}
        head = word("verdicts", f"explored {kind}", **values)
    compared = bool(agreeing) and len(rows) > 1
    after = _apart(first, [*named, *rows]) if compared else _why(first)
    return bool(agreeing), (_evidence(first, head), *after, *_demand(first))


def _why(row: VerdictRow) -> list[str]:
    return [word("reasons", row["reason"], few=FEW_METHODS)] if row["reason"] else []


def _apart(first: VerdictRow, rows: Sequence[VerdictRow]) -> list[str]:
    """Say of how many of the others the tests show that they are worse, or better."""
    if is_missing(first, "n_worse"):
        return []
    total = sum(not is_missing(row, "n_worse") for row in rows) - 1
    text = _compared("better", int(first["n_worse"]), total)
    if first["n_better"]:
        worse = _compared("worse", int(first["n_better"]), total)
        text = _("{first}, {second}", first=text, second=worse)
    return [text]


def _compared(table: str, n: int, total: int) -> str:
    """Say than how many of all others a metric is better, or worse."""
    which = "none" if n == 0 else "all" if n == total else "some"
    of_one = " of one" if total == 1 else ""
    return word(table, f"{which}{of_one}", n=n, total=total)


def _evidence(row: VerdictRow, head: str) -> str:
    """Add the value, what it rests on, and the test that decided."""
    if is_missing(row, "value"):
        return head
    if row["statistic"] == "ppa_half":
        what = word("preferences", row["source"])
        told = word("verdicts", "preferred", what=what, **_accuracy(row))
    else:
        is_grouped = row["level"] in ("story", "within_method")
        n = counted(row["n_groups" if is_grouped else "n"], COUNTED[row["level"]])
        value = f"{name_of(row['statistic'])} {with_interval(row)}"
        told = _with_p(row, word("over", row["level"], value=value, n=n))
    if population := _population(str(row["decided_by"])):
        told = _("{first}, {second}", first=told, second=population)
    return _("{head}: {evidence}", head=head, evidence=told)


def _accuracy(row: VerdictRow) -> dict[str, str]:
    """Return the share of pairs, how many they are, and chance with the test."""
    chance = word("verdicts", "chance", share=per_cent(row["chance"]))
    pairs = counted(row["n"], "pair")
    return {"share": share(row), "pairs": pairs, "chance": _with_p(row, chance)}


def _population(drawn: str) -> str:
    """Say of what the test speaks, where that is not new stories and methods."""
    if drawn in ("", CROSSED):
        return ""
    if drawn == EXACT:
        return word("verdicts", "exact")
    if drawn in WORDS["populations"]:
        return word("populations", drawn)
    return word("verdicts", "drawn", units=drawn_units(drawn, "+"))


def _with_p(row: VerdictRow, text: str) -> str:
    """Add the adjusted p-value and over how many metrics it is adjusted."""
    if is_missing(row, "p_adjusted"):
        return text
    p_value = p_text(float(row["p_adjusted"]))
    if row["n_family"] > 1:
        p_value = word("families", row["role"], p=p_value, n=f"{row['n_family']:.0f}")
    return _("{first}, {second}", first=text, second=p_value)


def _demand(row: VerdictRow) -> list[str]:
    """Hold a metric that agrees, in new stories and methods, against what is asked."""
    if row["verdict"] != AGREES or row["decided_by"] != CROSSED:
        return []
    if is_missing(row, "demanded"):
        return []
    demanded = float(row["demanded"])
    low, high = row["low"] > demanded, row["high"] < demanded
    where = "above" if low else "below" if high else "unsettled"
    return [word("verdicts", where, share=per_cent(demanded))]
