"""Sentences on annotators: agreement, chance-level answers, side preference."""

import math
from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd

from analysis.reliability.random_responding import ALL_QUESTIONS, MARKED
from analysis.report.language import counted, listed, retold
from analysis.report.wording import (
    MOST_SENTENCES,
    ClaimText,
    claim,
    first_row,
    is_clear,
    name_of,
    number,
    per_cent,
    records,
    share,
    with_interval,
    word,
)

# Statistics of agreement; the first that was computed is quoted.
AGREEMENT = ("alpha_ordinal", "alpha_nominal", "kendall_between_annotators")
# Of many annotators, this many with the lowest agreement are named.
NAMED = 3
CHANCE = 0.5
# Shares of true labels that differ by less change no conclusion.
MUCH = 0.1
BIAS = {"value": "value", "low": "low", "high": "high"}
ADJUSTED = {"value": "adjusted", "low": "adjusted_low", "high": "adjusted_high"}


def agreement_claims(agreement: pd.DataFrame) -> Iterator[ClaimText]:
    """Yield in which questions people agree beyond chance."""
    undefined: dict[str, list[str]] = {}
    defined: dict[bool, list[tuple[float, str, str]]] = {True: [], False: []}
    for question, rows in agreement.groupby("question", sort=True):
        name = next(x for x in AGREEMENT if (rows["statistic"] == x).any())
        alpha = first_row(rows[rows["statistic"] == name])
        if math.isnan(alpha["value"]):
            undefined.setdefault(str(alpha["reason"]), []).append(str(question))
            continue
        evidence = word(
            "agreement",
            "evidence",
            value=f"{name_of(name)} {with_interval(alpha)}",
            annotators=counted(alpha["n_annotators"], "annotator"),
            units=counted(alpha["n_units"], "item"),
        )
        if math.isnan(alpha["low"]):
            evidence = word("agreement", "no interval", evidence=evidence)
        one = float(alpha["value"]), str(question), evidence
        defined[bool(alpha["low"] > 0)].append(one)
    for shown, own in defined.items():
        if len(own) > MOST_SENTENCES:
            low, high = (pick(own, key=lambda one: one[0]) for pick in (min, max))
            ends = {"low": low[1], "low_evidence": low[2]}
            ends |= {"high": high[1], "high_evidence": high[2]}
            yield claim("agreement-of-many", shown, n=len(own), **ends)
            continue
        for _value, name, evidence in own:
            yield claim("agreement", shown, question=name, evidence=evidence)
    for reason, questions in undefined.items():
        values = {"questions": listed(questions), "reason": retold(reason)}
        yield False, word("agreement", "undefined", **values)


def side_claims(position_bias: pd.DataFrame, confidence: float) -> Iterator[ClaimText]:
    """Yield the questions with a side preference.

    The share is adjusted for strong methods that stood on one side more often. Its
    interval decides, which resamples clusters: the binomial test assumes independent
    answers.
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
            values = {"question": row["question"], "share": share(own)}
            values["answers"] = counted(row["n"], "answer")
            moved.append(word("sides", "one", **values))
    if not moved:
        yield claim("sides", False)
        return
    yield claim("sides", True, names=listed(moved))
    if unmoved := len(known) - len(moved):
        total = counted(len(known), "question")
        yield False, word("sides", "others", n=unmoved, total=total)


# Labels -------------------------------------------------------------------------------


def aggregation_claims(label_aggregation: pd.DataFrame) -> Iterator[ClaimText]:
    """Yield where unequal annotators change how often yes is true."""
    known = label_aggregation.dropna(subset=["dawid_skene"])
    apart = (known["dawid_skene"] - known["majority"]).abs()
    if known.empty or apart.max() < MUCH:
        return
    row = records(known.loc[[apart.idxmax()]])[0]
    text = word(
        "aggregation",
        "apart",
        question=row["question"],
        majority=per_cent(row["majority"]),
        weighted=per_cent(row["dawid_skene"]),
        differ=int(row["n_differ"]),
        items=counted(row["n"], "item"),
        n=known.loc[apart >= MUCH, "question"].nunique(),
        total=counted(known["question"].nunique(), "question"),
    )
    yield True, text


# Answers at chance level --------------------------------------------------------------


def chance_claims(
    annotators: pd.DataFrame, without_marked: pd.DataFrame | None
) -> Iterator[ClaimText]:
    """Yield the annotators at chance level, and what changes without them."""
    if "verdict" not in annotators:
        return
    marked = annotators[annotators["verdict"].isin(MARKED)]
    together = marked["question"] == ALL_QUESTIONS
    # A mark on all questions together is not repeated for each question.
    keys = marked["annotator"].astype(str) + "\0" + marked["statistic"]
    marked = marked[together | ~keys.isin(keys[together])]
    if len(marked) <= MOST_SENTENCES:
        for row in records(marked):
            yield True, _evidence(row, annotators)
    else:
        lowest = marked.sort_values(["value", "annotator"])["annotator"]
        names = listed(list(dict.fromkeys(map(str, lowest)))[:NAMED])
        n = counted(marked["annotator"].nunique(), "annotator")
        yield True, word("chance", "many", annotators=n, names=names)
    if without_marked is not None:
        yield from _changes(without_marked)


def _evidence(row: Mapping[str, Any], annotators: pd.DataFrame) -> str:
    values = {
        "question": word("questions", row["question"]),
        "annotator": row["annotator"],
        "answers": word("chance-answers", row["verdict"]),
        "value": with_interval(row),
        "others": number(row["others"]),
    }
    if row["statistic"] in ("spearman_others", "mean_kendall_others"):
        return word("chance", row["statistic"], **values)
    here = annotators[
        (annotators["question"] == row["question"])
        & (annotators["annotator"] == row["annotator"])
        & (annotators["statistic"] == "shuffled_agreement")
    ]
    shuffled = float(here["value"].iloc[0])
    observed = per_cent(shuffled + row["value"] * (1 - shuffled))
    values |= {"observed": observed, "shuffled": per_cent(shuffled)}
    return word("chance", "shuffled", **values)


def _changes(without: pd.DataFrame) -> Iterator[ClaimText]:
    # Ratings and rankings may ask the same: each begins with its agreement.
    is_first = without["statistic"].isin(AGREEMENT)
    questions = [rows for _number, rows in without.groupby(is_first.cumsum())]
    if len(questions) <= MOST_SENTENCES:
        yield from ((True, _change(rows)) for rows in questions)
        return
    agreed = without[is_first]
    change = (agreed["value"] - agreed["value_all"]).abs().fillna(0).to_numpy()
    values = {
        "n": sum(len(_moved(rows)) > 0 for rows in questions),
        "questions": counted(len(questions), "question"),
        "example": _change(questions[int(change.argmax())]),
    }
    yield True, word("without", "many", **values)


def _change(rows: pd.DataFrame) -> str:
    """Return what changes in one question."""
    (agreed,) = records(rows[rows["statistic"].isin(AGREEMENT)])
    standing = rows[rows["statistic"] == "rank"]
    moved = _moved(rows)
    values = {
        "question": agreed["question"],
        "annotators": agreed["left_out"],
        "statistic": name_of(agreed["statistic"]),
        "value": _known(agreed["value"]),
        "all": _known(agreed["value_all"]),
        "methods": counted(len(standing), "method"),
        "n": len(moved),
    }
    if standing["value"].isna().any() or moved.empty:
        unranked = standing["value"].isna().any()
        return word("without", "unranked" if unranked else "kept", **values)
    before, after = (
        sorted(standing.loc[standing[column] == 1, "method"].astype(str))
        for column in ("value_all", "value")
    )
    if before != after:
        ends = {"before": listed(before), "after": listed(after)}
        return word("without", "first", **ends, **values)
    change = (moved["value"] - moved["value_all"]).abs()
    far = first_row(moved.loc[[change.idxmax()]])
    ends = {"before": f"{far['value_all']:.0f}", "after": f"{far['value']:.0f}"}
    return word("without", "moved", method=far["method"], **ends, **values)


def _moved(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the methods whose rank changes."""
    ranked = rows[rows["statistic"] == "rank"].dropna(subset=["value", "value_all"])
    return ranked[ranked["value"] != ranked["value_all"]]


def _known(value: float) -> str:
    return word("without", "undefined") if math.isnan(value) else number(value)
