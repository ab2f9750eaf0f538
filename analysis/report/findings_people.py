"""Write sentences on annotators: agreement, chance answers, position bias."""

import math
from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd

from analysis.reliability.random_responding import ALL_QUESTIONS, MARKED
from analysis.report.language import counted, listed, retold, say, texts
from analysis.report.wording import (
    MOST_SENTENCES,
    NAMES,
    ClaimText,
    claim,
    first_row,
    is_clear,
    number,
    per_cent,
    records,
    share,
    with_interval,
)

ANSWERS = texts(
    {"like chance": "answers like chance", "below chance": "answers against the others"}
)
QUESTIONS = texts({ALL_QUESTIONS: "All questions together"})
# What tells how well people agree: the first of these that there is.
AGREEMENT = ("alpha_ordinal", "alpha_nominal", "kendall_between_annotators")
# Of many annotators, those whose answers agree least are named.
NAMED = 3
CHANCE = 0.5
BIAS = {"value": "value", "low": "low", "high": "high"}
ADJUSTED = {"value": "adjusted", "low": "adjusted_low", "high": "adjusted_high"}


def agreement_claims(agreement: pd.DataFrame) -> Iterator[ClaimText]:
    """Say in which questions people agree beyond chance."""
    undefined: dict[str, list[str]] = {}
    told: dict[bool, list[tuple[float, str, str]]] = {True: [], False: []}
    for question, rows in agreement.groupby("question", sort=True):
        name = next(x for x in AGREEMENT if (rows["statistic"] == x).any())
        alpha = first_row(rows[rows["statistic"] == name])
        if math.isnan(alpha["value"]):
            undefined.setdefault(str(alpha["reason"]), []).append(str(question))
            continue
        evidence = say(
            "{value} ({annotators}, {units} with two or more answers)",
            value=f"{say(NAMES[name])} {with_interval(alpha)}",
            annotators=counted(alpha["n_annotators"], "annotator"),
            units=counted(alpha["n_units"], "unit"),
        )
        if math.isnan(alpha["low"]):
            evidence = say("for want of an interval: {evidence}", evidence=evidence)
        one = float(alpha["value"]), str(question), evidence
        told[bool(alpha["low"] > 0)].append(one)
    for shown, own in told.items():
        yield from _agreeing(own, shown=shown)
    for reason, questions in undefined.items():
        yield claim(
            False,
            "{questions}: agreement of people beyond chance is undefined, since "
            "{reason}.",
            questions=listed(questions),
            reason=retold(reason),
        )


def _agreeing(
    told: list[tuple[float, str, str]], *, shown: bool
) -> Iterator[ClaimText]:
    if len(told) > MOST_SENTENCES:
        ends = (pick(told, key=lambda one: one[0]) for pick in (min, max))
        (_, low, low_evidence), (_, high, high_evidence) = ends
        yield claim(
            shown,
            "People agree beyond chance in {n} questions, from {low}, {low_evidence}, "
            "to {high}, {high_evidence}."
            if shown
            else "People are not shown to agree beyond chance in {n} questions, from "
            "{low}, {low_evidence}, to {high}, {high_evidence}.",
            n=len(told),
            low=low,
            low_evidence=low_evidence,
            high=high,
            high_evidence=high_evidence,
        )
        return
    for _value, question, evidence in told:
        yield claim(
            shown,
            "{question}: people agree beyond chance, {evidence}."
            if shown
            else "{question}: people are not shown to agree beyond chance, {evidence}.",
            question=question,
            evidence=evidence,
        )


def side_claims(position_bias: pd.DataFrame, confidence: float) -> Iterator[ClaimText]:
    """Say where the side on which an output stands moves people.

    The share counts once strong methods are taken into account that stood on one side
    more often. Its interval has to say it, which draws clusters: the binomial test
    takes answers as independent.
    """
    known = position_bias[position_bias["value"].notna()]
    if known.empty:
        return
    is_adjusted = "adjusted" in known and known["adjusted"].notna().all()
    names = ADJUSTED if is_adjusted else BIAS
    moved = []
    for row in records(known):
        own = {key: row[name] for key, name in names.items()}
        turned = {"value": 1 - own["value"], "low": 1 - own["high"]}
        if any(
            is_clear(x, CHANCE, choices=len(known), confidence=confidence)
            for x in (own, turned)
        ):
            moved.append(
                say(
                    "{question} (left wins {share} of {answers} that choose)",
                    question=row["question"],
                    share=share(own),
                    answers=counted(row["n"], "answer"),
                )
            )
    unmoved = len(known) - len(moved)
    if moved:
        yield claim(
            True,
            "The side matters in {names}; intervals draw clusters of answers.",
            names=listed(moved),
        )
    if not moved:
        yield claim(False, "No question shows a side preference.")
    elif unmoved:
        yield claim(
            False,
            "{n} of {total} does not show a preference for a side."
            if unmoved == 1
            else "{n} of {total} do not show a preference for a side.",
            n=unmoved,
            total=counted(len(known), "question"),
        )


# Answers like chance ------------------------------------------------------------------


def chance_claims(
    annotators: pd.DataFrame, without_marked: pd.DataFrame | None
) -> Iterator[ClaimText]:
    """Say who answers like chance, with the evidence, and what changes without them."""
    if "verdict" not in annotators:
        return
    marked = annotators[annotators["verdict"].isin(MARKED)]
    together = marked["question"] == ALL_QUESTIONS
    # Who is marked on all questions together is not told of again on each.
    keys = marked["annotator"].astype(str) + "\0" + marked["statistic"]
    marked = marked[together | ~keys.isin(keys[together])]
    if len(marked) <= MOST_SENTENCES:
        for row in records(marked):
            yield True, _evidence(row, annotators)
    else:
        lowest = marked.sort_values(["value", "annotator"])["annotator"]
        yield claim(
            True,
            "{annotators} answer like chance or against the others, as column "
            "verdict of the table annotators says, most of all {names}.",
            annotators=counted(marked["annotator"].nunique(), "annotator"),
            names=listed(list(dict.fromkeys(map(str, lowest)))[:NAMED]),
        )
    if without_marked is not None:
        yield from _changes(without_marked)


def _evidence(row: Mapping[str, Any], annotators: pd.DataFrame) -> str:
    values = {
        "question": say(QUESTIONS.get(row["question"], row["question"])),
        "annotator": row["annotator"],
        "answers": say(ANSWERS[row["verdict"]]),
        "value": with_interval(row),
        "others": number(row["others"]),
    }
    if row["statistic"] == "spearman_others":
        return say(
            "{question}: {annotator} {answers}: the ratings correlate with the others' "
            "means by {value} (Spearman's rho), those of the other annotators by "
            "{others} in the median.",
            **values,
        )
    if row["statistic"] == "mean_kendall_others":
        return say(
            "{question}: {annotator} {answers}: the orders agree with the others' by "
            "{value} in the mean (Kendall's tau, 0 for random orders), those of the "
            "other annotators by {others} in the median.",
            **values,
        )
    here = annotators[
        (annotators["question"] == row["question"])
        & (annotators["annotator"] == row["annotator"])
        & (annotators["statistic"] == "shuffled_agreement")
    ]
    shuffled = float(here["value"].iloc[0])
    return say(
        "{question}: {annotator} {answers}: agrees with the others in {observed}, and "
        "the same answers shuffled over the units would in {shuffled}. Above chance "
        "that is {value}, of the other annotators {others} in the median.",
        observed=per_cent(shuffled + row["value"] * (1 - shuffled)),
        shuffled=per_cent(shuffled),
        **values,
    )


def _changes(without: pd.DataFrame) -> Iterator[ClaimText]:
    # Ratings and rankings may ask the same: each begins with its agreement.
    is_first = without["statistic"].isin(AGREEMENT)
    questions = [rows for _number, rows in without.groupby(is_first.cumsum())]
    if len(questions) <= MOST_SENTENCES:
        for rows in questions:
            yield True, _change(rows)
        return
    agreed = without[is_first]
    change = (agreed["value"] - agreed["value_all"]).abs().fillna(0).to_numpy()
    yield claim(
        True,
        "Without those who are marked, methods change their rank in {n} of "
        "{questions}; agreement moves most here. {example}",
        n=sum(len(_moved(rows)) > 0 for rows in questions),
        questions=counted(len(questions), "question"),
        example=_change(questions[int(change.argmax())]),
    )


def _change(rows: pd.DataFrame) -> str:
    """Say what is another number in one question."""
    (agreed,) = records(rows[rows["statistic"].isin(AGREEMENT)])
    standing = rows[rows["statistic"] == "rank"]
    moved = _moved(rows)
    values = {
        "question": agreed["question"],
        "annotators": agreed["left_out"],
        "statistic": say(NAMES[agreed["statistic"]]),
        "value": _known(agreed["value"]),
        "all": _known(agreed["value_all"]),
    }
    if standing["value"].isna().any():
        return say(
            "{question}, without {annotators}: {statistic} is {value} instead of "
            "{all}, and not every method has a rank.",
            **values,
        )
    if moved.empty:
        return say(
            "{question}, without {annotators}: {statistic} is {value} instead of "
            "{all}, and every method keeps its rank.",
            **values,
        )
    values |= {"methods": counted(len(standing), "method"), "n": len(moved)}
    before, after = (
        sorted(standing.loc[standing[column] == 1, "method"].astype(str))
        for column in ("value_all", "value")
    )
    if before != after:
        return say(
            "{question}, without {annotators}: {statistic} is {value} instead of "
            "{all}, the first place goes from {before} to {after}, and {n} of "
            "{methods} change their rank.",
            before=listed(before),
            after=listed(after),
            **values,
        )
    change = (moved["value"] - moved["value_all"]).abs()
    farthest = first_row(moved.loc[[change.idxmax()]])
    return say(
        "{question}, without {annotators}: {statistic} is {value} instead of {all}, "
        "and {n} of {methods} change their rank, {method} most, from {before} to "
        "{after}.",
        method=farthest["method"],
        before=f"{farthest['value_all']:.0f}",
        after=f"{farthest['value']:.0f}",
        **values,
    )


def _moved(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the methods that have another rank."""
    ranked = rows[rows["statistic"] == "rank"].dropna(subset=["value", "value_all"])
    return ranked[ranked["value"] != ranked["value_all"]]


def _known(value: float) -> str:
    return say("undefined") if math.isnan(value) else number(value)
