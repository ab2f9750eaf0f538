"""What can be claimed of annotators: who answers like chance, and what that changes."""

import math
from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd

from analysis.reliability.like_chance import ALL_QUESTIONS, MARKED
from analysis.report.language import counted, listed, say, texts
from analysis.report.wording import (
    MOST_SENTENCES,
    ClaimText,
    interval,
    number,
    per_cent,
    records,
)

ANSWERS = texts(
    {
        "like chance": "answers like chance",
        "below chance": "answers against the others",
    }
)
QUESTIONS = texts({ALL_QUESTIONS: "All questions together"})
AGREEMENT = texts(
    {
        "alpha_ordinal": "ordinal alpha",
        "alpha_nominal": "nominal alpha",
        "kendall_between_annotators": "Kendall's tau of two annotators",
    }
)
# Of many annotators, those whose answers agree least are named.
NAMED = 3


def chance_claims(
    annotators: pd.DataFrame, without: pd.DataFrame | None
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
        yield (
            True,
            say(
                "{annotators} answer like chance or against the others, as column "
                "verdict of the table annotators says, most of all {names}.",
                annotators=counted(marked["annotator"].nunique(), "annotator"),
                names=listed(list(dict.fromkeys(map(str, lowest)))[:NAMED]),
            ),
        )
    if without is not None:
        yield from _changes(without)


def _evidence(row: Mapping[str, Any], annotators: pd.DataFrame) -> str:
    values = {
        "question": say(QUESTIONS.get(row["question"], row["question"])),
        "annotator": row["annotator"],
        "answers": say(ANSWERS[row["verdict"]]),
        "value": f"{number(row['value'])}{interval(row)}",
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
    yield (
        True,
        say(
            "Without those who are marked, methods change their rank in {n} of "
            "{questions}; agreement moves most here. {example}",
            n=sum(len(_moved(rows)) > 0 for rows in questions),
            questions=counted(len(questions), "question"),
            example=_change(questions[int(change.argmax())]),
        ),
    )


def _change(rows: pd.DataFrame) -> str:
    """Say what is another number in one question."""
    (agreed,) = records(rows[rows["statistic"].isin(AGREEMENT)])
    standing = rows[rows["statistic"] == "rank"]
    moved = _moved(rows)
    values = {
        "question": agreed["question"],
        "annotators": agreed["left_out"],
        "statistic": say(AGREEMENT[agreed["statistic"]]),
        "value": _known(agreed["value"]),
        "all": _known(agreed["value_all"]),
    }
    first = _first(standing, "value_all"), _first(standing, "value")
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
    values["methods"] = counted(len(standing), "method")
    values["n"] = len(moved)
    if first[0] != first[1]:
        return say(
            "{question}, without {annotators}: {statistic} is {value} instead of "
            "{all}, the first place goes from {before} to {after}, and {n} of "
            "{methods} change their rank.",
            before=listed(first[0]),
            after=listed(first[1]),
            **values,
        )
    farthest = records(
        moved.loc[[(moved["value"] - moved["value_all"]).abs().idxmax()]]
    )
    return say(
        "{question}, without {annotators}: {statistic} is {value} instead of {all}, "
        "and {n} of {methods} change their rank, {method} most, from {before} to "
        "{after}.",
        method=farthest[0]["method"],
        before=f"{farthest[0]['value_all']:.0f}",
        after=f"{farthest[0]['value']:.0f}",
        **values,
    )


def _moved(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the methods that have another rank."""
    ranked = rows[rows["statistic"] == "rank"].dropna(subset=["value", "value_all"])
    return ranked[ranked["value"] != ranked["value_all"]]


def _first(standing: pd.DataFrame, column: str) -> list[str]:
    return sorted(standing.loc[standing[column] == 1, "method"].astype(str))


def _known(value: float) -> str:
    return say("undefined") if math.isnan(value) else number(value)
