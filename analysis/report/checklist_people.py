"""What reviewers ask of the people of an evaluation: how many, and how they agree."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pandas as pd

from analysis.report.language import counted, listed, remark, say, texts
from analysis.report.metric_order import human_ceiling
from analysis.report.wording import ResultTables, Row, interval, number, records
from analysis.statistics import named

ChecklistAnswer = tuple[str, str]
# A list of questions longer than this is told as a range.
MOST_LISTED = 6
NONE_KNOWN = texts(
    annotator="no annotator known", unit="no unit known", answer="no answer known"
)


def answer(question: str, template: str, /, **values: object) -> ChecklistAnswer:
    """Return a question with its answer, of templates or of what is said already."""
    return say(question), say(template, **values)


def spread(pairs: Sequence[tuple[object, str, float]]) -> str:
    """Return each question's value, or the range of many."""
    known = [(name, text, value) for name, text, value in pairs if value == value]
    if not known:
        return ""
    if len(known) <= MOST_LISTED:
        told = [
            say("{question} {text}", question=name, text=text)
            for name, text, _value in known
        ]
        return listed(told, "; ")
    low = min(known, key=lambda one: one[2])
    high = max(known, key=lambda one: one[2])
    return say(
        "from {low} ({lowest}) to {high} ({highest}) over {questions}",
        low=low[1],
        lowest=low[0],
        high=high[1],
        highest=high[0],
        questions=counted(len(known), "question"),
    )


def values(rows: pd.DataFrame, without: str = "") -> str:
    """Return each question's value with its interval, or what is said without one."""
    known = records(rows[rows["value"].notna()])
    return spread(
        [
            (
                row["question"],
                f"{number(row['value'])}{interval(row) or without}",
                float(row["value"]),
            )
            for row in known
        ]
    )


def people(tables: ResultTables) -> Iterator[ChecklistAnswer]:
    """Say how many annotators, units and answers there are, and how they overlap."""
    agreement = tables.get("agreement")
    if agreement is None or agreement.empty:
        return
    how_many = say("How many annotators, units, answers?")
    first = agreement.drop_duplicates("question")
    if not (first["n_units"].astype(float) > 0).any():
        unknown = say("Not known: no unit has two answers that can be told apart.")
        yield how_many, unknown
        return
    rows = records(first)
    counts = [(row["question"], _counts(row), float(row["n_units"])) for row in rows]
    yield how_many, spread(counts)
    share = first["n_answers"].astype(float) / first["n_units"].astype(float)
    if share.notna().any() and share.max() < math.inf:
        low, high = share.min(), share.max()
        text = f"{low:.1f}"
        if high - low >= 0.05:
            text = say("{low} to {high}", low=text, high=f"{high:.1f}")
        yield answer(
            "How much overlap?", "{n} answers for each unit with two or more", n=text
        )


def _counts(row: Row) -> str:
    return say(
        "{annotators}, {units} with two or more answers, {answers}",
        **{f"{noun}s": _count(row[f"n_{noun}s"], noun) for noun in NONE_KNOWN},
    )


def _count(n: Any, noun: str) -> str:
    return say(NONE_KNOWN[noun]) if pd.isna(n) else counted(float(n), noun)


def exclusions(
    notes: Sequence[str], run: Mapping[str, str]
) -> Iterator[ChecklistAnswer]:
    """Say what was left out, as the remarks have it."""
    found = [remark(note) for note in notes if "left out" in note.lower()]
    methods = run.get("excluded methods", "")
    if not found and methods:
        found = [say("Methods left out: {methods}.", methods=methods)]
    found = found or [say("Nothing was left out.")]
    if "view" in run:
        view = {"view": run["view"], "moment": run["as of"]}
        found.insert(0, say("Seen through the view {view} as of {moment}.", **view))
    found.append(say("Rules belong in the paper, fixed beforehand."))
    yield say("What was excluded?"), listed(found, " ")


def agreement_of_people(tables: ResultTables) -> Iterator[ChecklistAnswer]:
    """Say how well people agree, and what the human ceiling is."""
    if "agreement" not in tables:
        return
    agreement = tables["agreement"]
    known = set(agreement.loc[agreement["value"].notna(), "statistic"])
    for statistic, asks in named("asked").items():
        if statistic == "alpha_nominal" and "alpha_ordinal" in known:
            continue
        if text := values(agreement[agreement["statistic"] == statistic]):
            yield say(asks), text
    ceilings = [
        (name, f"{value:.2f}", value)
        for name in sorted(agreement["question"].unique())
        if (value := human_ceiling(agreement, str(name), "kendall")) is not None
    ]
    if ceilings:
        yield say("The human ceiling (one against the rest, tau-b)?"), spread(ceilings)
