"""Sentences on methods: which one people prefer, and to which others.

They word rows of ``method_verdicts`` and decide nothing; the rules are in
`analysis.rankings.method_verdicts`.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd

from analysis.rankings.method_verdicts import APART, PREFERRED, not_told_apart
from analysis.reliability.checklist_labels import ALL
from analysis.report.language import counted, listed
from analysis.report.language import gettext as _
from analysis.report.wording import (
    MINUS,
    NOUNS,
    ClaimText,
    claim_of,
    drawn_units,
    is_missing,
    p_text,
    per_cent,
    records,
    share,
    with_interval,
    word,
)

# More methods or pairs than this are counted, not named.
MOST_NAMED = 3
MethodRow = Mapping[str, Any]
Pairs = list[tuple[str, str]]


def preferred_claims(
    method_verdicts: pd.DataFrame,
    method_comparisons: pd.DataFrame | None,
    top_methods: pd.DataFrame | None,
    confidence: float,
) -> Iterator[ClaimText]:
    """Yield the preferred method of each question, and the best few if requested.

    If the best few are shown to be ahead but no first method is, the former is the
    answer: it is one test of a set, the latter is adjusted over all pairs.
    """
    parts = method_verdicts.groupby(["question", "source"])["part"].nunique()
    best = [] if top_methods is None else records(top_methods)
    sets = {_place(row): row for row in best}
    for row in records(method_verdicts):
        question = row["question"]
        if parts[question, row["source"]] > 1:
            question = word("methods", "part", question=question, n=row["part"])
        preferred, top = row["verdict"] == PREFERRED, sets.get(_place(row))
        apart = top is not None and top["verdict"] == APART
        if preferred or not apart:
            open_pairs: Pairs = []
            if method_comparisons is not None:
                open_pairs = [*not_told_apart(method_comparisons, row, confidence)]
            yield claim_of(preferred, question, *_sentences(row, open_pairs))
        if top is not None:
            yield claim_of(apart, question, *_of_best(top))


def _place(row: MethodRow) -> tuple[str, str, int]:
    return row["question"], row["source"], row["part"]


def _sentences(row: MethodRow, open_pairs: Pairs) -> list[str]:
    if row["reason"] == "shared":
        return [word("methods", "shared"), *_significant(row)]
    if row["verdict"] != PREFERRED:
        return [_open(row, open_pairs), *_evidence(row), *_significant(row)]
    n = row["n_methods"] - 1
    table = "ahead-of-one" if n == 1 else "ahead"
    head = word(table, row["source"], method=row["method"], n=n)
    return [head, *_evidence(row), *_others(n, open_pairs)]


def _open(row: MethodRow, open_pairs: Pairs) -> str:
    """Return the sentence on an undecided first place and its rivals."""
    first = row["method"]
    if row["reason"] == "untested":
        return word("methods", "untested", method=first)
    rivals = [b if a == first else a for a, b in open_pairs if first in (a, b)]
    others, total = listed(rivals), row["n_methods"] - 1
    if len(rivals) > MOST_NAMED:
        others = word("methods", "others", n=len(rivals), total=total)
    return word("methods", "open", method=first, others=others)


def _evidence(row: MethodRow) -> list[str]:
    """Return the value of the first method, and its test against the others."""
    words = {"win_rate": share, "rating": _points}.get(row["statistic"], with_interval)
    value = word("values", row["statistic"], value=words(row))
    if not is_missing(row, "n"):
        answers = counted(row["n"], NOUNS[row["source"]])
        value = _("{first} ({second})", first=value, second=answers)
    texts = [_("{text}.", text=value)]
    if row["verdict"] == PREFERRED:
        # The largest p-value, and the units that the tests treat as sampled.
        test = {
            "p": p_text(float(row["p_adjusted"])),
            "pairs": counted(row["n_pairs"], "pair of methods"),
            "units": drawn_units(str(row["drawn"])),
        }
        texts.append(word("methods", "tested", **test))
    return texts


def _others(others: int, open_pairs: Pairs) -> list[str]:
    """Return the sentence on other methods that are not distinguishable."""
    if others < 2:
        return []
    if not open_pairs:
        return [word("methods", "others apart")]
    if len(open_pairs) <= MOST_NAMED:
        named = (word("methods", "both", first=a, second=b) for a, b in open_pairs)
        return [word("methods", "others few", pairs=listed(named))]
    total = others * (others - 1) // 2
    return [word("methods", "others many", total=total, n=len(open_pairs))]


def _significant(row: MethodRow) -> list[str]:
    """Return the number of pairs that differ significantly."""
    if row["n_pairs"] < 2:
        return []
    pairs = counted(row["n_pairs"], "pair of methods")
    return [word("methods", "apart", pairs=pairs, n=row["n_apart"])]


def _points(row: MethodRow) -> str:
    text = f"{row['value']:.0f}"
    if not is_missing(row, "low"):
        text += f" [{row['low']:.0f}, {row['high']:.0f}]"
    return text.replace("-", MINUS)


def _of_best(row: MethodRow) -> list[str]:
    """Return sentences on whether the best few methods are ahead of all others."""
    n, methods = row["size"], row["methods"]
    if not methods:
        return [word("best-methods", "none")]
    if is_missing(row, "p_value"):
        return [word("best-methods", "untested", methods=methods)]
    p, units = p_text(float(row["p_value"])), drawn_units(str(row["drawn"]))
    evidence = word("best-methods", "evidence", p=p, units=units)
    others = counted(row["n_methods"] - n, "other method")
    values = {"n": n, "methods": methods, "others": others, "evidence": evidence}
    shown = row["verdict"] == APART
    kind = f"{'one ' if n == 1 else ''}{'shown' if shown else 'open'}"
    text = word("best-methods", kind, **values)
    if n == 1 or not shown:
        return [text]
    apart = row["n_inside_apart"]
    if row["n_inside"] == 1:
        return [text, word("best-methods", "two apart" if apart else "two alike")]
    pairs = counted(row["n_inside"], "pair")
    return [text, word("best-methods", "inside", n=apart, pairs=pairs)]


def label_claims(labels: pd.DataFrame) -> Iterator[ClaimText]:
    """Yield how much of the requested content each method shows, over all labels."""
    known = labels[(labels["label"] == ALL) & labels["recall"].notna()]
    if known.empty:
        return
    rows = records(known.sort_values(["recall", "method"], ascending=[False, True]))
    few = len(rows) <= MOST_NAMED
    shares = [
        word(
            "labels",
            "one",
            share=per_cent(row["recall"], row["recall_low"], row["recall_high"]),
            method=row["method"],
        )
        for row in (rows if few else [rows[0], rows[-1]])
    ]
    shown = not pd.isna(rows[0]["recall_low"])
    kind = "few" if few else "many"
    yield shown, word("labels", kind, shares=listed(shares), n=len(rows))
