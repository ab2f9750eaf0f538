"""What verdicts say in words: sentences word rows of one table, and decide nothing.

The rules are in `analysis.verdicts`.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import pandas as pd

from analysis.report.language import counted, listed, say, texts
from analysis.report.wording import (
    ANSWERS,
    NAMES,
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
from analysis.verdicts import AGREES, DOES_NOT, EXACT, FEW_METHODS, OPEN

SOURCES = texts(
    ratings="what mean ratings prefer",
    choices="what the majority of annotators prefers",
    rankings="what the majority of annotators ranks higher",
)
REASONS = texts(
    undefined="it has no value for what was judged",
    in_sample="its threshold of ties was tuned on the same pairs",
    untested="it has no test",
    few_methods="of fewer than {few} methods not even a perfect order can be "
    "told from chance",
    below_chance="it is below chance",
    not_apart="it cannot be distinguished from chance",
    not_adjusted="it cannot be distinguished from chance after Holm adjustment",
)
DECLARED = texts(
    {
        AGREES: "{metric}, declared for this question, agrees with people",
        DOES_NOT: "{metric}, declared for this question, does not agree with people",
        OPEN: "{metric}, declared for this question, is not shown to agree with people",
    }
)
COMPOSITE = texts(
    {
        AGREES: "{metric}, a composite, agrees with people",
        DOES_NOT: "{metric}, a composite, does not agree with people",
        OPEN: "{metric}, a composite, is not shown to agree with people",
    }
)
ONLY = texts(
    {
        AGREES: "{metric}, the only metric explored, agrees with people",
        DOES_NOT: "{metric}, the only metric explored, does not agree with people",
        OPEN: "{metric}, the only metric explored, is not shown to agree with people",
    }
)
# Roles of metrics that are told one by one.
NAMED = {"declared": DECLARED, "composite": COMPOSITE}
# What a test speaks of, where it is not new stories and new methods.
POPULATIONS = texts(
    stories="for these methods, in other stories",
    methods="for these stories, by other methods",
    units="for these stories and methods",
    annotators="for these stories and methods, as rated by other annotators",
)
CROSSED = "stories+methods"
# The statistics that may lead a question.
LEADING = {**NAMES, **texts({"ppa_half": "half accuracy in pairs"})}
OVER = texts(
    method="{value} over the means of {n}",
    story="{value} inside {n}",
    within_method="{value} inside {n}",
    pooled="{value} over {n}",
)
COUNTED = {
    "method": "method",
    "story": "story",
    "within_method": "method",
    "pooled": "output",
}
FAMILIES = texts(
    declared="{p} adjusted over the {n} hypotheses of all questions",
    composite="{p} adjusted over {n} composites of this question",
    exploratory="{p} adjusted over {n} metrics of this question",
)
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
        yield claim(
            False,
            "{question}: no metric has a value of a statistic that could lead it.",
            question=question,
        )
        return
    for _source, rows in leading.groupby("source", sort=True):
        named, explored = _roles(rows)
        for row in named:
            template = NAMED[row["role"]][_verdict(row)]
            head = say(template, metric=row["metric"])
            clauses = _evidence(row, head), *_why(row), *_demand(row)
            yield claim_of(row["verdict"] == AGREES, question, *clauses)
        if explored:
            shown, clauses = _explored(explored, named)
            yield claim_of(shown, question, *clauses)
    meant = asked[asked["role"] == "declared"]
    for metric in sorted({*meant["metric"]} - {*leading["metric"]}):
        head = say(DECLARED[OPEN], metric=metric)
        yield claim_of(False, question, head, say(REASONS["undefined"]))


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
        told = [
            say(
                "{metric} {share} of {pairs} ({chance})",
                metric=row["metric"],
                share=share(row),
                pairs=counted(row["n"], "pair"),
                chance=_chance(row),
            )
            for row in records(rows)
        ]
        yield say(
            "{question}: where people's ties count too (acc_eq, {source}), fewer pairs "
            "are right than by chance with as many ties: {metrics}.",
            question=question,
            source=say(ANSWERS.get(str(source), str(source))),
            metrics=listed(told),
        )


def _roles(rows: pd.DataFrame) -> tuple[list[VerdictRow], list[VerdictRow]]:
    """Return rows that are told one by one, and of explored metrics, highest first."""
    family = records(rows.sort_values(["value", "metric"], ascending=[False, True]))
    named = [row for role in NAMED for row in family if row["role"] == role]
    return named, [row for row in family if row["role"] == "exploratory"]


def _verdict(row: VerdictRow) -> str:
    return row["verdict"] if row["verdict"] in (AGREES, DOES_NOT) else OPEN


def _has(row: VerdictRow, name: str) -> bool:
    return not pd.isna(row[name])


def _explored(
    rows: Sequence[VerdictRow], named: Sequence[VerdictRow]
) -> tuple[bool, tuple[str, ...]]:
    """Say how many of the explored metrics agree, and what the highest does.

    It is held against `named` ones too.
    """
    agreeing = [row for row in rows if row["verdict"] == AGREES]
    first = (agreeing or rows)[0]
    metric, total, n = first["metric"], len(rows), len(agreeing)
    if total == 1:
        head = say(ONLY[_verdict(first)], metric=metric)
    elif not agreeing:
        head = say(
            "of {total} metrics explored none is shown to agree with people by "
            "{statistic}; {metric} has the highest value",
            total=total,
            statistic=say(LEADING[first["statistic"]]),
            metric=metric,
        )
    else:
        head = say(
            "of {total} metrics explored {n} agrees with people; it is {metric}"
            if n == 1
            else "of {total} metrics explored {n} agree with people; the highest of "
            "them is {metric}",
            total=total,
            n=n,
            metric=metric,
        )
    after = _apart(first, [*named, *rows]) if agreeing and total > 1 else _why(first)
    return bool(agreeing), (_evidence(first, head), *after, *_demand(first))


def _why(row: VerdictRow) -> list[str]:
    return [say(REASONS[row["reason"]], few=FEW_METHODS)] if row["reason"] else []


def _apart(first: VerdictRow, rows: Sequence[VerdictRow]) -> list[str]:
    """Say of how many of the others the tests show that they are worse, or better."""
    if not _has(first, "n_worse"):
        return []
    total = sum(_has(row, "n_worse") for row in rows) - 1
    worse, better = int(first["n_worse"]), int(first["n_better"])
    text = _better_than(worse, total)
    if better:
        text = say("{first}, {second}", first=text, second=_worse_than(better, total))
    return [text]


def _better_than(n: int, total: int) -> str:
    if n == 0:
        return say(
            "it is not shown to be better than the other"
            if total == 1
            else "it is not shown to be better than any of the other {total}",
            total=total,
        )
    if total == 1:
        return say("it is shown to be better than the other")
    return say(
        "it is shown to be better than the {total} others"
        if n == total
        else "it is shown to be better than {n} of the {total} others",
        n=n,
        total=total,
    )


def _worse_than(n: int, total: int) -> str:
    if total == 1:
        return say("and worse than the other")
    return say(
        "and worse than the {total} others"
        if n == total
        else "and worse than {n} of the {total} others",
        n=n,
        total=total,
    )


def _evidence(row: VerdictRow, head: str) -> str:
    """Add the value, what it rests on, and the test that decided."""
    if not _has(row, "value"):
        return head
    told = _preferred(row) if row["statistic"] == "ppa_half" else _coefficient(row)
    if population := _population(str(row["decided_by"])):
        told = say("{first}, {second}", first=told, second=population)
    return say("{head}: {evidence}", head=head, evidence=told)


def _coefficient(row: VerdictRow) -> str:
    grouped = row["level"] in ("story", "within_method")
    value = f"{say(NAMES[row['statistic']])} {with_interval(row)}"
    n = counted(row["n_groups" if grouped else "n"], COUNTED[row["level"]])
    return _with_p(row, say(OVER[row["level"]], value=value, n=n))


def _preferred(row: VerdictRow) -> str:
    source = str(row["source"])
    return say(
        "it prefers {what} in {share} of {pairs} that people do not tie, counting its "
        "own ties as half ({chance})",
        what=say(SOURCES.get(source, source)),
        share=share(row),
        pairs=counted(row["n"], "pair"),
        chance=_chance(row),
    )


def _chance(row: VerdictRow) -> str:
    return _with_p(row, say("chance is {share}", share=per_cent(row["chance"])))


def _population(drawn: str) -> str:
    """Say of what the test speaks, where that is not new stories and methods."""
    if drawn in ("", CROSSED):
        return ""
    if drawn == EXACT:
        return say("by the exact test of all orders of the methods")
    if drawn in POPULATIONS:
        return say(POPULATIONS[drawn])
    return say("where {units} are drawn", units=drawn_units(drawn.split("+"), "+"))


def _with_p(row: VerdictRow, text: str) -> str:
    """Add the adjusted p-value and over how many metrics it is adjusted."""
    if not _has(row, "p_adjusted"):
        return text
    p_value = p_text(float(row["p_adjusted"]))
    if row["n_family"] > 1:
        p_value = say(FAMILIES[row["role"]], p=p_value, n=f"{row['n_family']:.0f}")
    return say("{first}, {second}", first=text, second=p_value)


def _demand(row: VerdictRow) -> list[str]:
    """Hold a metric that agrees, in new stories and methods, against what is asked."""
    if row["verdict"] != AGREES or row["decided_by"] != CROSSED:
        return []
    if not _has(row, "demanded"):
        return []
    demanded = float(row["demanded"])
    return [
        say(
            "it lies above the threshold of {share}"
            if row["low"] > demanded
            else "it lies below the threshold of {share}"
            if row["high"] < demanded
            else "the data do not settle whether it reaches the threshold of {share}",
            share=per_cent(demanded),
        )
    ]
