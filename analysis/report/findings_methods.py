"""What can be claimed of methods: which one people prefer to which others.

Sentences word rows of ``method_verdicts`` and decide nothing; the rules are in
`analysis.rankings.method_verdicts`.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd

from analysis.rankings.method_verdicts import APART, PREFERRED, not_told_apart
from analysis.reliability.checklist_labels import ALL
from analysis.report.language import counted, listed, say, texts
from analysis.report.wording import (
    MINUS,
    ClaimText,
    claim,
    claim_of,
    drawn_units,
    p_text,
    per_cent,
    records,
    share,
    with_interval,
)

# More methods, or pairs, than this are counted instead of named.
MOST_NAMED = 3
AHEAD = texts(
    choices="{method} is preferred to all {n} others",
    rankings="{method} is ranked above all {n} others",
    ratings="{method} is rated above all {n} others",
)
AHEAD_OF_ONE = texts(
    choices="{method} is preferred to the other one",
    rankings="{method} is ranked above the other one",
    ratings="{method} is rated above the other one",
)
VALUES = texts(
    win_rate="it wins {value} against the others on average, ties being half",
    mean="its mean is {value}",
    rating="its rating is {value}",
)
NOUNS = {"choices": "answer", "ratings": "rating", "rankings": "ranking"}
Untold = list[tuple[str, str]]


def preferred_claims(
    method_verdicts: pd.DataFrame,
    method_comparisons: pd.DataFrame | None,
    top_methods: pd.DataFrame | None,
    confidence: float,
) -> Iterator[ClaimText]:
    """Say of each question which method people prefer, and what is not told apart.

    Whether the best few are the best follows, where it was asked. Where that is shown
    and a first method is not, it is the answer: the one is asked of a set, the other,
    adjusted, of all pairs.
    """
    parts = method_verdicts.groupby(["question", "source"])["part"].nunique()
    best = [] if top_methods is None else records(top_methods)
    sets = {_place(row): row for row in best}
    for row in records(method_verdicts):
        question = row["question"]
        if parts[question, row["source"]] > 1:
            question = say("{question} (part {n})", question=question, n=row["part"])
        preferred, asked = row["verdict"] == PREFERRED, sets.get(_place(row))
        apart = asked is not None and asked["verdict"] == APART
        if preferred or not apart:
            untold: Untold = []
            if method_comparisons is not None:
                untold = [*not_told_apart(method_comparisons, row, confidence)]
            yield claim_of(preferred, question, _text(row, untold))
        if asked is not None:
            yield claim_of(apart, question, _set_text(asked))


def _place(row: Mapping[str, Any]) -> tuple[str, str, int]:
    return row["question"], row["source"], row["part"]


def _set_text(row: Mapping[str, Any]) -> str:
    """Say whether the best few methods are told from all others."""
    n, methods = row["size"], row["methods"]
    if not methods:
        return say(
            "no {n} methods stand before all others, since some share a place", n=n
        )
    values = {"n": n, "methods": methods}
    if pd.isna(row["p_value"]):
        return say(
            "whether the best {n}, {methods}, are the best has no test", **values
        )
    shown = row["verdict"] == APART
    units = drawn_units(str(row["drawn"]).split("+"))
    p = p_text(float(row["p_value"]))
    values["others"] = counted(row["n_methods"] - n, "other method")
    values["evidence"] = say("{p}, for other {units}", p=p, units=units)
    if n == 1:
        return say(
            "{methods} is ahead of the {others} ({evidence})"
            if shown
            else "{methods} is not shown to be ahead of all of the {others} "
            "({evidence})",
            **values,
        )
    text = say(
        "the best {n}, {methods}, are all ahead of the {others} ({evidence})"
        if shown
        else "the best {n}, {methods}, are not all shown to be ahead of the {others} "
        "({evidence})",
        **values,
    )
    return listed([text, _inside(row)], "; ") if shown else text


def _inside(row: Mapping[str, Any]) -> str:
    """Say whether the best few are told apart from one another."""
    apart = row["n_inside_apart"]
    if row["n_inside"] == 1:
        return say(
            "the two are told apart, too" if apart else "the two are not told apart"
        )
    pairs = counted(row["n_inside"], "pair")
    return say("among them {told} of {pairs} are told apart", told=apart, pairs=pairs)


def label_claims(labels: pd.DataFrame) -> Iterator[ClaimText]:
    """Say how much of what the text asks for each method shows, over all labels."""
    known = labels[(labels["label"] == ALL) & labels["recall"].notna()]
    if known.empty:
        return
    rows = records(known.sort_values(["recall", "method"], ascending=[False, True]))
    told = rows if len(rows) <= MOST_NAMED else [rows[0], rows[-1]]
    yield claim(
        not pd.isna(rows[0]["recall_low"]),
        "Of what the text asks for is shown: {shares}."
        if len(told) == len(rows)
        else "Of what the text asks for is shown, from most to least of {n} methods: "
        "{shares}.",
        shares=listed(_shown_of(row) for row in told),
        n=len(rows),
    )


def _shown_of(row: Mapping[str, Any]) -> str:
    share = per_cent(row["recall"], row["recall_low"], row["recall_high"])
    return say("{share} by {method}", share=share, method=row["method"])


def _text(row: Mapping[str, Any], untold: Untold) -> str:
    if row["reason"] == "shared":
        clauses = [say("no method stands first alone"), *_told_apart(row)]
    elif row["verdict"] == PREFERRED:
        n = row["n_methods"] - 1
        template = (AHEAD_OF_ONE if n == 1 else AHEAD)[row["source"]]
        head = say(template, method=row["method"], n=n)
        clauses = [_evidence(row, head), *_others(row, untold)]
    else:
        clauses = [_evidence(row, _open(row, untold)), *_told_apart(row)]
    return listed(clauses, "; ")


def _open(row: Mapping[str, Any], untold: Untold) -> str:
    """Say that the first place is open, and between whom."""
    first = row["method"]
    if row["reason"] == "untested":
        return say("{method} ranks first, without a test", method=first)
    rivals = [b if a == first else a for a, b in untold if first in (a, b)]
    others = listed(rivals)
    if len(rivals) > MOST_NAMED:
        total = row["n_methods"] - 1
        others = say("{n} of the {total} others", n=len(rivals), total=total)
    return say(
        "{method} ranks first, but not distinguishably from {others}",
        method=first,
        others=others,
    )


def _evidence(row: Mapping[str, Any], head: str) -> str:
    """Add the value of the first method, the test, and of what it speaks."""
    words = {"win_rate": share, "rating": _points}.get(row["statistic"], with_interval)
    told = say(VALUES[row["statistic"]], value=words(row))
    if not pd.isna(row["n"]):
        answers = counted(row["n"], NOUNS[row["source"]])
        told = say("{first} ({second})", first=told, second=answers)
    if row["verdict"] == PREFERRED:
        # The largest p-value, and of which other answers the tests speak.
        tested = say(
            "{p} adjusted over {pairs}, for other {units}",
            p=p_text(float(row["p_adjusted"])),
            pairs=counted(row["n_pairs"], "pair of methods"),
            units=drawn_units(str(row["drawn"]).split("+")),
        )
        told = say("{first}, {second}", first=told, second=tested)
    return say("{head}: {evidence}", head=head, evidence=told)


def _others(row: Mapping[str, Any], untold: Untold) -> list[str]:
    """Say which of the other methods are not told apart."""
    others = row["n_methods"] - 1
    if others < 2:
        return []
    if not untold:
        return [say("the others are told apart, too")]
    if len(untold) <= MOST_NAMED:
        pairs = listed(
            say("{first} and {second}", first=a, second=b) for a, b in untold
        )
        return [say("not distinguishable among the others: {pairs}", pairs=pairs)]
    return [
        say(
            "of the {total} pairs of the others {n} are not told apart",
            total=others * (others - 1) // 2,
            n=len(untold),
        )
    ]


def _told_apart(row: Mapping[str, Any]) -> list[str]:
    """Say of how many pairs the order is shown."""
    if row["n_pairs"] < 2:
        return []
    pairs = counted(row["n_pairs"], "pair of methods")
    return [say("of {pairs} {n} are told apart", pairs=pairs, n=row["n_apart"])]


def _points(row: Mapping[str, Any]) -> str:
    text = f"{row['value']:.0f}"
    if not pd.isna(row["low"]):
        text += f" [{row['low']:.0f}, {row['high']:.0f}]"
    return text.replace("-", MINUS)
