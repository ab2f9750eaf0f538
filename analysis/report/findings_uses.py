"""Answers on the leading metrics: better than chance, in an annotator's place, savings.

They word rows of tables and decide nothing.
"""

import math
from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd

from analysis.reliability.alternative_annotators import LEAST_ITEMS
from analysis.reliability.annotator_replacement import DOES_NOT, REPLACES, STORIES
from analysis.report.language import counted, retold
from analysis.report.wording import (
    BOTH,
    ClaimText,
    Row,
    claim,
    epsilon_text,
    is_missing,
    metric_of,
    name_of,
    names_of,
    per_cent,
    question_names,
    records,
    share,
    with_interval,
    word,
)
from analysis.verdicts import ABOVE, BELOW, leading_metrics

SAVED = "saved"
# Sentences in reading order; those of the first kind are shown.
AGREE = ("above", "explored", "below", "not_adjusted", "open", "untested", "undefined")
REPLACE = (REPLACES, DOES_NOT, "chance", "open", "needed", "untested")
Grouped = Mapping[tuple[str, str], list[str]]  # names by kind and reason


def agree_claims(verdicts: pd.DataFrame) -> Iterator[ClaimText]:
    """Yield which leading metrics are better than chance, and which explored ones."""
    rows = verdicts[verdicts["leads"].astype(bool) & (verdicts["role"] != "baseline")]
    title = question_names(rows)
    found: dict[tuple[str, str], list[str]] = {}
    for (question, source), own in rows.groupby(BOTH, sort=True):
        by_metric = {str(row["metric"]): row for row in records(own)}
        named = leading_metrics(own, question, source)
        kinds = {metric: _kind(by_metric[metric]) for metric in named}
        if "above" not in kinds.values():
            explored = own[(own["role"] == "exploratory") & (own["verdict"] == ABOVE)]
            best = explored.sort_values(["value", "metric"], ascending=[False, True])
            kinds |= {str(metric): "explored" for metric in best["metric"][:1]}
        for metric, kind in kinds.items():
            name = metric_of(metric, title(question, source), _value(by_metric[metric]))
            found.setdefault((kind, ""), []).append(name)
    yield from _sentences("agree", found, AGREE, shown=AGREE[:2])


def _kind(row: Row) -> str:
    if row["verdict"] in (ABOVE, BELOW):
        return "above" if row["verdict"] == ABOVE else "below"
    return row["reason"] if row["reason"] in AGREE else "open"


def _value(row: Row) -> str:
    if is_missing(row, "value"):
        return ""
    if row["statistic"] == "ppa_half":
        return word("agree", "pairs", share=share(row))
    return f"{name_of(row['statistic'])} {with_interval(row)}"


def _sentences(
    table: str, found: Grouped, order: tuple[str, ...], shown: tuple[str, ...]
) -> Iterator[ClaimText]:
    """Yield one sentence on all names with the same kind and reason."""
    for kind, reason in sorted(found, key=lambda key: order.index(key[0])):
        names = names_of(found[kind, reason])
        yield kind in shown, word(table, kind, names=names, reason=reason)


def replacement_claims(
    alternative_annotator: pd.DataFrame, verdicts: pd.DataFrame | None
) -> Iterator[ClaimText]:
    """Yield whether the leading metric of each question may replace an annotator."""
    of_all = alternative_annotator[
        (alternative_annotator["annotator"] == "")
        & (alternative_annotator["drawn"] == STORIES)
    ]
    title = question_names(of_all)
    found: dict[tuple[str, str], list[str]] = {}
    for (question, source), rows in of_all.groupby(BOTH, sort=True):
        for metric in leading_metrics(verdicts, question, source)[:1]:
            for row in records(rows[rows["metric"] == metric]):
                kind = _place(row, is_above=_is_above(verdicts, row))
                if is_untested := kind == "untested":
                    beside = _most_items(alternative_annotator, row)
                else:
                    beside = _beside(row, kind)
                reason = retold(row["reason"]) if is_untested else ""
                text = metric_of(metric, title(question, source), beside)
                found.setdefault((kind, reason), []).append(text)
    yield from _sentences("replacing", found, REPLACE, shown=REPLACE[:1])


def _is_above(verdicts: pd.DataFrame | None, row: Row) -> bool:
    if verdicts is None:
        return False
    above = verdicts[verdicts["leads"] & (verdicts["verdict"] == ABOVE)]
    return len(_same(above, row)) > 0


def _same(rows: pd.DataFrame, row: Row) -> pd.DataFrame:
    """Return the rows on the same metric, question and kind of answers."""
    for key in (*BOTH, "metric"):
        rows = rows[rows[key] == row[key]]
    return rows


def _most_items(alternative_annotator: pd.DataFrame, row: Row) -> str:
    """Return how many items an annotator has at most, if these are too few."""
    own = _same(alternative_annotator, row)
    most = own.loc[own["annotator"] != "", "n"].max()
    if not 0 < most < LEAST_ITEMS:
        return ""
    return word("beside", "items", items=counted(most, "item"))


def _place(row: Row, *, is_above: bool) -> str:
    """Return the kind of sentence on a metric in place of annotators."""
    if row["reason"]:
        is_asked = not is_missing(row, "epsilon") or is_missing(row, "epsilon_needed")
        return "untested" if is_asked else "needed"
    if row["verdict"] == REPLACES and not is_above:
        return "chance"
    return row["verdict"] if row["verdict"] in (REPLACES, DOES_NOT) else "open"


def _beside(row: Row, kind: str) -> str:
    """Return how many annotators are replaced within which margin."""
    if kind == "needed":
        epsilon = epsilon_text(float(row["epsilon_needed"]))
        return word("beside", "margin", epsilon=epsilon)
    values = {
        "n": f"{row['wins']:.0f}",
        "total": f"{row['n_annotators']:.0f}",
        "epsilon": epsilon_text(float(row["epsilon"])),
    }
    if kind != "open":
        return word("beside", "replaced", **values)
    if is_missing(row, "n_more_stories"):
        return word("beside", "undecided", **values)
    stories = counted(row["n_more_stories"], "more story")
    return word("beside", "more", stories=stories, **values)


def save_claims(
    prediction_powered: pd.DataFrame, verdicts: pd.DataFrame | None
) -> Iterator[ClaimText]:
    """Yield what the leading metric of each question saves, in two sentences at most.

    The first is on the question where it saves most. It is shown if the interval is
    above 0. Without any value, the reasons are given.
    """
    every = prediction_powered[prediction_powered["statistic"] == SAVED]
    title = question_names(every)
    rows: list[dict[str, Any]] = []
    found: dict[tuple[str, str], list[str]] = {}
    for (question, source), own in every.groupby(BOTH, sort=True):
        for metric in leading_metrics(verdicts, question, source)[:1]:
            for row in records(own[own["metric"] == metric]):
                row["question"] = title(question, source)
                if is_missing(row, "value"):
                    key = "undefined", retold(row["reason"])
                    found.setdefault(key, []).append(metric_of(metric, row["question"]))
                else:
                    rows.append(row)
    rows.sort(key=lambda row: -row["value"])
    if not rows:
        yield from _sentences(SAVED, found, ("undefined",), shown=())
    for row in rows[: 1 if len(rows) > 2 else 2]:
        values = {"metric": row["metric"], "question": row["question"]}
        if math.isnan(row["low"]):
            yield False, word(SAVED, "untested", share=share(row), **values)
        else:
            yield claim(SAVED, row["low"] > 0, share=share(row), **values)
    others = [row["high"] for row in rows[1:] if not math.isnan(row["high"])]
    if len(rows) > 2 and others:
        questions = counted(len(others), "other question")
        most = per_cent(max(others))
        yield False, word(SAVED, "others", questions=questions, share=most)
