"""Sentences on verdicts.

They word rows of one table and decide nothing; the rules are in `analysis.verdicts`.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import pandas as pd

from analysis.reliability.annotator_replacement import HALF, REPLACES
from analysis.report.language import SEMICOLON, counted, listed
from analysis.report.language import gettext as _
from analysis.report.wording import (
    WORDS,
    ClaimText,
    claim_of,
    drawn_units,
    epsilon_text,
    is_missing,
    name_of,
    p_text,
    per_cent,
    records,
    share,
    with_interval,
    word,
)
from analysis.verdicts import ABOVE, BELOW, EXACT, FEW_METHODS, OPEN

UNDEFINED = "undefined"
# Metrics with these roles have a sentence each.
NAMED = ("declared", "composite")
# Clusters of tests that generalise to new stories and new methods.
CROSSED = "stories+methods"
COUNTED = {
    "method": "method",
    "story": "story",
    "within_method": "method",
    "residual": "story",
    "pooled": "output",
}
VerdictRow = dict[str, Any]


def question_claims(
    verdicts: pd.DataFrame,
    accuracy_comparisons: pd.DataFrame | None = None,
    metric_comparisons: pd.DataFrame | None = None,
) -> Iterator[tuple[list[ClaimText], list[ClaimText]]]:
    """Yield the claims of each question: on declared metrics and composites, on others.

    Only rows of the leading statistic of a question are worded. Declared metrics
    without a value, and questions without any, are named. Without comparisons, all
    tested metrics count as compared.
    """
    real = verdicts[verdicts["role"] != "baseline"]
    real = _with_compared(real, accuracy_comparisons, metric_comparisons)
    for question, own in real.groupby("question", sort=True):
        yield _of_question(str(question), own)


def _with_compared(
    verdicts: pd.DataFrame,
    accuracy_comparisons: pd.DataFrame | None,
    metric_comparisons: pd.DataFrame | None,
) -> pd.DataFrame:
    """Add `n_compared`: with how many others a metric was compared, by statistic."""
    found = []
    if accuracy_comparisons is not None:
        found.append(accuracy_comparisons.assign(level="pairs"))
    if metric_comparisons is not None:
        names = {"dimension": "question", "coefficient": "statistic"}
        own = metric_comparisons.rename(columns=names)
        found.append(own.assign(source="ratings"))
    if not found:
        return verdicts.assign(n_compared=None)
    tested = pd.concat(found).dropna(subset="p_adjusted")
    keys = ["question", "source", "level", "statistic"]
    sides = [
        tested[keys].assign(metric=tested[side]) for side in ("metric_a", "metric_b")
    ]
    counts = pd.concat(sides).value_counts()
    here = pd.MultiIndex.from_frame(verdicts[[*keys, "metric"]])
    return verdicts.assign(n_compared=counts.reindex(here).to_numpy())


def _of_question(
    question: str, own: pd.DataFrame
) -> tuple[list[ClaimText], list[ClaimText]]:
    leading = own[own["leads"]]
    if leading.empty:
        return [(False, word("verdicts", "none", question=question))], []
    named_claims, explored_claims = [], []
    for _source, rows in leading.groupby("source", sort=True):
        named, explored = _roles(rows)
        for row in named:
            if row["reason"] == UNDEFINED:
                continue
            texts = _head(row), *_evidence(row), *_why(row), *_place(row), *_demand(row)
            named_claims.append(claim_of(row["verdict"] == ABOVE, question, *texts))
        if explored:
            shown, texts = _explored(explored, named)
            explored_claims.append(claim_of(shown, question, *texts))
    known = leading[leading["reason"] != UNDEFINED]
    missing = {*own.loc[own["role"].isin(NAMED), "metric"]} - {*known["metric"]}
    if missing:
        names = listed(sorted(missing))
        text = word("verdicts", "without value", metrics=names)
        named_claims.append(claim_of(False, question, text))
    return named_claims, explored_claims


def tie_claims(verdicts: pd.DataFrame) -> Iterator[str]:
    """Yield the metrics that do worse than chance if people's ties count."""
    below = verdicts[
        (verdicts["statistic"] == "acc_eq") & (verdicts["verdict"] == BELOW)
    ]
    for (question, source), rows in below.groupby(["question", "source"], sort=True):
        metrics = listed(
            word("verdicts", "tied", metric=row["metric"], **_accuracy(row))
            for row in records(rows)
        )
        values = {"question": question, "source": word("answers", source)}
        yield word("verdicts", "below chance", metrics=metrics, **values)


def _roles(rows: pd.DataFrame) -> tuple[list[VerdictRow], list[VerdictRow]]:
    """Return rows of named and of explored metrics, the highest first."""
    family = records(rows.sort_values(["value", "metric"], ascending=[False, True]))
    named = [row for role in NAMED for row in family if row["role"] == role]
    return named, [row for row in family if row["role"] == "exploratory"]


def _head(row: VerdictRow) -> str:
    """Return whether a metric is better than chance."""
    verdict = row["verdict"] if row["verdict"] in (ABOVE, BELOW) else OPEN
    role = word("roles", row["role"])
    return word("against-chance", verdict, metric=row["metric"], role=role)


def _explored(
    rows: Sequence[VerdictRow], named: Sequence[VerdictRow]
) -> tuple[bool, tuple[str, ...]]:
    """Return whether explored metrics beat chance, and sentences on the highest.

    The highest is compared with `named` metrics too.
    """
    above = [row for row in rows if row["verdict"] == ABOVE]
    first, n = (above or rows)[0], len(above)
    metric, statistic = first["metric"], str(first["statistic"])
    if len(rows) == 1:
        head = _head(first)
    else:
        is_leading = statistic in WORDS["leading"]
        name = word("leading", statistic) if is_leading else name_of(statistic)
        kind = "none" if n == 0 else "one" if n == 1 else "several"
        values = {"total": len(rows), "n": n, "metric": metric, "statistic": name}
        head = word("verdicts", f"explored {kind}", **values)
    compared = bool(above) and len(rows) > 1
    after = _differences(first, [*named, *rows]) if compared else _why(first)
    place = _place(first, n_explored=len(rows))
    texts = *_evidence(first), *after, *place, *_demand(first)
    return bool(above), (head, *texts)


def _why(row: VerdictRow) -> list[str]:
    """Return why a metric was not tested; p-values show the other reasons."""
    is_known = row["reason"] in WORDS["reasons"]
    return [word("reasons", row["reason"], few=FEW_METHODS)] if is_known else []


def _place(row: VerdictRow, n_explored: int = 0) -> list[str]:
    """Return whether the metric may take an annotator's place, if that was tested."""
    kind = row.get("in_place")
    if not kind:
        return []
    is_enough = row["n_replaced"] >= HALF * row["n_replaceable"]
    if kind == OPEN and is_enough and row["verdict"] != ABOVE:
        kind = "chance"
    values = {"n": int(row["n_replaced"]), "epsilon": epsilon_text(row["within"])}
    annotators = counted(row["n_replaceable"], "annotator")
    text = word("in-place", kind, annotators=annotators, **values)
    if kind != REPLACES or n_explored < 2:
        return [text]
    return [text, word("in-place", "chosen", n=n_explored)]


def _differences(first: VerdictRow, rows: Sequence[VerdictRow]) -> list[str]:
    """Return how many of the others are significantly worse, or better."""
    if is_missing(first, "n_worse"):
        return []
    total = sum(not is_missing(row, "n_worse") for row in rows) - 1
    n = total if is_missing(first, "n_compared") else int(first["n_compared"])
    if n < total:  # of many metrics, most are compared with the best only
        numbers = {"better": first["n_worse"], "worse": first["n_better"]}
        numbers = {name: f"{number:.0f}" for name, number in numbers.items()}
        return [word("better", "of compared", metrics=counted(n, "metric"), **numbers)]
    texts = [_compared("better", int(first["n_worse"]), total)]
    if first["n_better"]:
        texts.append(_compared("worse", int(first["n_better"]), total))
    return texts


def _compared(table: str, n: int, total: int) -> str:
    """Return the sentence on how many others a metric is better, or worse, than."""
    which = "none" if n == 0 else "all" if n == total else "some"
    of_one = " of one" if total == 1 else ""
    return word(table, f"{which}{of_one}", n=n, total=total)


def _evidence(row: VerdictRow) -> list[str]:
    """Return the value, chance with its test, and the population of the test."""
    if is_missing(row, "value"):
        return []
    if row["statistic"] == "ppa_half":
        what = word("preferences", row["source"])
        against = word("verdicts", "against", share=per_cent(row["chance"]))
        texts = [
            word("verdicts", "preferred", what=what, **_accuracy(row)),
            _("{text}.", text=_with_p(row, against)),
        ]
    else:
        is_grouped = row["level"] not in ("pooled", "method")
        n = counted(row["n_groups" if is_grouped else "n"], COUNTED[row["level"]])
        names = {"statistic": name_of(row["statistic"]), "value": with_interval(row)}
        value = word("over", row["level"], n=n, **names)
        texts = [_("{text}.", text=_with_p(row, value))]
    population = _population(str(row["decided_by"]))
    return [*texts, population] if population else texts


def _accuracy(row: VerdictRow) -> dict[str, str]:
    """Return the share of pairs, how many they are, and chance with the test."""
    chance = word("verdicts", "chance", share=per_cent(row["chance"]))
    pairs = counted(row["n"], "pair")
    return {"share": share(row), "pairs": pairs, "chance": _with_p(row, chance)}


def _population(drawn: str) -> str:
    """Return what the test generalises to, unless to new stories and methods."""
    if drawn in ("", CROSSED):
        return ""
    if drawn == EXACT:
        return word("verdicts", "exact")
    if drawn in WORDS["populations"]:
        return word("populations", drawn)
    return word("verdicts", "drawn", units=drawn_units(drawn, "+"))


def _with_p(row: VerdictRow, text: str) -> str:
    """Add the adjusted p-value and the size of its family."""
    if is_missing(row, "p_adjusted"):
        return text
    p_value = p_text(float(row["p_adjusted"]))
    if row["n_family"] > 1:
        p_value = word("families", row["role"], p=p_value, n=f"{row['n_family']:.0f}")
    return listed([text, p_value], SEMICOLON)


def _demand(row: VerdictRow) -> list[str]:
    """Compare a metric above chance with the demanded accuracy, on new stories."""
    if row["verdict"] != ABOVE or row["decided_by"] != CROSSED:
        return []
    if is_missing(row, "demanded"):
        return []
    demanded = float(row["demanded"])
    low, high = row["low"] > demanded, row["high"] < demanded
    where = "above" if low else "below" if high else "unsettled"
    return [word("verdicts", where, share=per_cent(demanded))]
