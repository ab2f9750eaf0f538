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
    "undefined": "it has no value for what was judged",
    "in_sample": "its threshold of ties was tuned on the same pairs",
    "untested": "it has no test",
    "few_methods": f"fewer than {FEW_METHODS} methods can show nothing",
    "below_chance": "it is below chance",
    "not_apart": "it is not told from chance",
    "interval": "its interval holds chance",
    "not_adjusted": "it is not told from chance once that is adjusted",
}
# VISTAR demands that a metric prefers what people prefer in so many pairs.
DEMANDED = 0.75
# What a test speaks of, where it is not new stories and new methods.
POPULATIONS = {
    "stories": "for these methods, in other stories",
    "methods": "for these stories, by other methods",
    "units": "for these stories and methods",
    "annotators": "for these stories and methods, as rated by other annotators",
}
CROSSED = "stories+methods"
OVER = {
    "method": ("over the means of ", "method", "methods"),
    "story": ("inside ", "story", "stories"),
    "within_method": ("inside ", "method", "methods"),
    "pooled": ("over ", "output", "outputs"),
}
FAMILIES = {
    "declared": "declared metrics",
    "composite": "composites",
    "exploratory": "metrics",
}
# Roles of metrics that are told one by one, in words.
NAMED = {"declared": "declared for this question", "composite": "a composite"}
VerdictRow = dict[str, Any]


def verdict_claims(verdicts: pd.DataFrame) -> Iterator[ClaimText]:
    """Say of each question what its declared metrics and composites do, then the rest.

    Only rows of the statistic by which a question is led are worded; metrics that were
    declared and have none, and questions in which no metric has any, are named.
    """
    real = verdicts[verdicts["role"] != "baseline"]
    for question, asked in real.groupby("question", sort=True):
        leading = asked[asked["leads"]]
        if leading.empty:
            yield (
                False,
                f"{question}: no metric has a value of a statistic that could lead it.",
            )
            continue
        for _source, rows in leading.groupby("source", sort=True):
            yield from _of_answers(str(question), rows)
        meant = asked[asked["role"] == "declared"]
        for metric in sorted({*meant["metric"]} - {*leading["metric"]}):
            yield (
                False,
                f"{question}: {metric}, declared for this question, is not shown to "
                f"agree with people; {REASONS['undefined']}.",
            )


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


def _roles(rows: pd.DataFrame) -> tuple[list[VerdictRow], list[VerdictRow]]:
    """Return rows that are told one by one, and of explored metrics, highest first."""
    family = sorted(records(rows), key=lambda row: (-_value(row), row["metric"]))
    named = [row for role in NAMED for row in family if row["role"] == role]
    return named, [row for row in family if row["role"] == "exploratory"]


def _of_answers(question: str, rows: pd.DataFrame) -> Iterator[ClaimText]:
    named, explored = _roles(rows)
    for row in named:
        yield row["verdict"] == AGREES, f"{question}: {_named(row)}."
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
            f"{question}: where people's ties count too (acc_eq, {told[0]['source']}), "
            f"guessing or tying every pair reaches {per_cent(told[0]['chance'])} of "
            f"{counted(told[0]['n'], 'pair')}, and fewer are right by {listed}."
        )


def _has(row: Mapping[str, Any], name: str) -> bool:
    return bool(pd.Series([row[name]]).notna().all())


def _value(row: Mapping[str, Any]) -> float:
    return float(row["value"]) if _has(row, "value") else -2.0


def _named(row: VerdictRow) -> str:
    does = {AGREES: "agrees", DOES_NOT: "does not agree"}
    verb = does.get(row["verdict"], "is not shown to agree")
    text = f"{row['metric']}, {NAMED[row['role']]}, {verb} with people"
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
    text += f"{len(agreeing)} {does} with people; "
    text += f"{'the highest of them' if len(agreeing) > 1 else 'it'} is "
    text += first["metric"] + _evidence(first, _apart(first, rows))
    return True, text


def _why(row: VerdictRow) -> str:
    return f"; {REASONS[row['reason']]}" if row["reason"] else ""


def _apart(first: VerdictRow, rows: Sequence[VerdictRow]) -> str:
    """Say of how many of the others the tests show that they are worse, or better."""
    if not _has(first, "n_worse"):
        return ""
    tested = sum(_has(row, "n_worse") for row in rows) - 1
    others = f"the {tested} others" if tested > 1 else "the other"
    worse, better = int(first["n_worse"]), int(first["n_better"])
    text = f"; it is shown to be better than {_of(worse, tested, others)}"
    if better:
        text += f", and worse than {_of(better, tested, others)}"
    return text


def _of(n: int, total: int, others: str) -> str:
    if total == 1:
        return others if n else "none"
    return {0: f"none of {others}", total: others}.get(n, f"{n} of {others}")


def _evidence(row: VerdictRow, after: str) -> str:
    """Return the value with what it rests on, and the test that decided."""
    if not _has(row, "value"):
        return after
    if row["statistic"] != "ppa_half":
        begin, noun, nouns = OVER[row["level"]]
        grouped = row["level"] in ("story", "within_method")
        n = counted(row["n_groups" if grouped else "n"], noun, nouns)
        what = f"{NAMES[row['statistic']]} {number(row['value'])}{interval(row)}"
        return f": {what} {begin}{n}{_p(row)}{_population(row)}{after}"
    text = (
        f": it prefers {SOURCES.get(row['source'], row['source'])} in {_share(row)} of "
        f"{counted(row['n'], 'pair')} that people do not tie, its own ties being half "
        f"(chance is {per_cent(row['chance'])}{_p(row)}){_population(row)}"
    )
    return text + after + _demand(row)


def _population(row: VerdictRow) -> str:
    """Say of what the test speaks, where that is not new stories and methods."""
    drawn = str(row["decided_by"])
    if not drawn or drawn in (CROSSED, "permuted methods"):
        return ""
    return f", {POPULATIONS.get(drawn, f'where {drawn} are drawn')}"


def _share(row: VerdictRow) -> str:
    return per_cent(row["value"], row["low"], row["high"])


def _p(row: VerdictRow) -> str:
    """Return the adjusted p-value and over how many metrics it is adjusted."""
    if not _has(row, "p_adjusted"):
        return ""
    text = p_text(float(row["p_adjusted"]))
    if row["n_family"] > 1:
        kind = FAMILIES[row["role"]]
        text += f" adjusted over {row['n_family']:.0f} {kind}"
    return text


def _demand(row: VerdictRow) -> str:
    """Hold a metric that agrees, in new stories and methods, against VISTAR's line."""
    if row["verdict"] != AGREES or row["decided_by"] != CROSSED:
        return ""
    line = f"the {per_cent(DEMANDED)} that VISTAR demands"
    if row["low"] > DEMANDED:
        return f"; it stands above {line}"
    if row["high"] < DEMANDED:
        return f"; it stands below {line}"
    return f"; whether it reaches {line} is open"
