"""What verdicts say in words: sentences word rows of one table, and decide nothing.

The rules are in `analysis.verdicts`.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pandas as pd

from analysis.printing import counted
from analysis.report.wording import (
    NAMES,
    ClaimText,
    interval,
    number,
    p_text,
    per_cent,
    records,
)
from analysis.verdicts import AGREES, DOES_NOT, FEW_METHODS

SOURCES = {
    "ratings": "what mean ratings prefer",
    "choices": "what the majority of annotators prefers",
    "rankings": "what the majority of annotators ranks higher",
}
REASONS = {
    "undefined": "it is defined nowhere",
    "untested": "it has no test",
    "few_methods": f"fewer than {FEW_METHODS} methods can show nothing",
    "below_chance": "it is below chance",
    "not_apart": "it is not told from chance",
    "interval": "its interval holds chance",
    "not_adjusted": "it is not told from chance once adjusted for so many metrics",
}
# VISTAR demands that a metric prefers what people prefer in so many pairs.
DEMANDED = 0.75
VerdictRow = dict[str, Any]


def verdict_claims(verdicts: pd.DataFrame) -> Iterator[ClaimText]:
    """Say of each question what its declared metrics do, then those explored.

    Only rows of the statistic by which a question is led are worded.
    """
    leading = verdicts[verdicts["leads"] & (verdicts["role"] != "baseline")]
    for (question, _), rows in leading.groupby(["question", "source"], sort=True):
        family = sorted(records(rows), key=lambda row: (-_value(row), row["metric"]))
        declared = [row for row in family if row["role"] == "declared"]
        explored = [row for row in family if row["role"] == "exploratory"]
        for row in declared:
            yield row["verdict"] == AGREES, f"{question}: {_declared(row)}."
        if explored:
            shown, text = _explored(explored)
            yield shown, f"{question}: {text}."


def tie_claims(verdicts: pd.DataFrame) -> Iterator[str]:
    """Say which metrics do worse than guessing where ties of people count."""
    below = verdicts[
        (verdicts["statistic"] == "acc_eq") & (verdicts["verdict"] == DOES_NOT)
    ]
    for (question, _), rows in below.groupby(["question", "source"], sort=True):
        told = records(rows)
        listed = ", ".join(f"{row['metric']} {_share(row)}" for row in told)
        yield (
            f"{question}: where people's ties count too (acc_eq), guessing reaches "
            f"{per_cent(told[0]['chance'])} of "
            f"{counted(told[0]['n'], 'pair')}, and fewer are right by {listed}."
        )


def _has(row: Mapping[str, Any], name: str) -> bool:
    return bool(pd.Series([row[name]]).notna().all())


def _value(row: Mapping[str, Any]) -> float:
    return float(row["value"]) if _has(row, "value") else -2.0


def _declared(row: VerdictRow) -> str:
    does = {AGREES: "agrees", DOES_NOT: "does not agree"}
    verb = does.get(row["verdict"], "is not shown to agree")
    text = f"{row['metric']}, declared for this question, {verb} with people"
    return text + _evidence(row, _why(row))


def _explored(rows: Sequence[VerdictRow]) -> ClaimText:
    """Say how many of the explored metrics agree, and what the highest does."""
    agreeing = [row for row in rows if row["verdict"] == AGREES]
    first = (agreeing or rows)[0]
    if len(rows) == 1:
        does = "agrees" if agreeing else "is not shown to agree"
        if first["verdict"] == DOES_NOT:
            does = "does not agree"
        text = f"{first['metric']}, the only metric explored, {does} with people"
        return bool(agreeing), text + _evidence(first, _why(first))
    text = f"of {len(rows)} metrics explored "
    if not agreeing:
        text += "none is shown to agree with people; the highest value has "
        return False, text + first["metric"] + _evidence(first, _why(first))
    does = "agrees" if len(agreeing) == 1 else "agree"
    text += f"{len(agreeing)} {does} with people; the highest of them is "
    text += first["metric"] + _evidence(first, _cluster(first, rows))
    return True, text


def _why(row: VerdictRow) -> str:
    return f"; {REASONS[row['reason']]}" if row["reason"] else ""


def _cluster(first: VerdictRow, rows: Sequence[VerdictRow]) -> str:
    """Say from how many of the others the tests set the highest apart."""
    if not _has(first, "cluster"):
        return ""
    clusters = [row["cluster"] for row in rows if _has(row, "cluster")]
    together = clusters.count(first["cluster"]) - 1
    others = f"the {len(rows) - 1} others" if len(rows) > 2 else "the other"
    if not together:
        return f"; it is set apart from {others}"
    if together < len(rows) - 1:
        others = f"{together} of {others}"
    elif len(rows) > 2:
        others = f"any of {others}"
    return f"; it is not set apart from {others}"


def _evidence(row: VerdictRow, after: str) -> str:
    """Return the value with what it rests on, and the test that decided."""
    if not _has(row, "value"):
        return after
    if row["statistic"] != "ppa_half":
        what = f"{NAMES.get(row['statistic'], row['statistic'])} "
        what += f"{number(row['value'])}{interval(row)}"
        return (
            f": {what} over the means of {counted(row['n'], 'method')}{_p(row)}{after}"
        )
    text = (
        f": it prefers {SOURCES.get(row['source'], row['source'])} in {_share(row)} of "
        f"{counted(row['n'], 'pair')} that people do not tie, its own ties being half "
        f"(chance is {per_cent(row['chance'])}{_p(row)})"
    )
    return text + after + _demand(row)


def _share(row: VerdictRow) -> str:
    return per_cent(row["value"], row["low"], row["high"])


def _p(row: VerdictRow) -> str:
    """Return the adjusted p-value and over how many metrics it is adjusted."""
    if not _has(row, "p_adjusted"):
        return ""
    text = p_text(float(row["p_adjusted"]))
    if row["n_family"] > 1:
        kind = "metrics" if row["role"] == "exploratory" else "declared metrics"
        text += f" adjusted over {row['n_family']:.0f} {kind}"
    return text


def _demand(row: VerdictRow) -> str:
    """Hold a metric that agrees against VISTAR's line."""
    if row["verdict"] != AGREES:
        return ""
    line = f"the {per_cent(DEMANDED)} that VISTAR demands"
    if row["low"] > DEMANDED:
        return f"; it stands above {line}"
    if row["high"] < DEMANDED:
        return f"; it stands below {line}"
    return f"; whether it reaches {line} is open"
