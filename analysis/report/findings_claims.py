"""Sentences on what a metric may be used for: favoured methods, equals, all questions.

They word rows of tables and decide nothing.
"""

from collections.abc import Callable, Iterator

import pandas as pd

from analysis.correlations.equivalence import EQUIVALENT
from analysis.correlations.metric_differences import SIGNIFICANT
from analysis.inference.meta_analysis import ALL, CHANCES
from analysis.report.language import SEMICOLON, counted, headed, listed, retold
from analysis.report.wording import (
    BOTH,
    MOST_SENTENCES,
    ClaimText,
    Row,
    interval,
    is_missing,
    metric_of,
    name_of,
    names_of,
    number,
    question_names,
    records,
    share,
    with_interval,
    word,
)
from analysis.sentences import sentence
from analysis.verdicts import leading_metrics

# A value without a reason lacks nothing but these: none were asked for, or nothing
# varies.
NO_INTERVALS = sentence("no intervals")
# The most favoured methods that a sentence names.
MOST_FAVOURED = 2


def favour_claims(
    method_deviation: pd.DataFrame, verdicts: pd.DataFrame | None
) -> Iterator[ClaimText]:
    """Yield the method that the leading metric of each question favours most.

    Methods that were declared as trained on any metric follow.
    """
    favoured, none = [], []
    undefined: dict[str, list[str]] = {}
    title = question_names(method_deviation)
    for (name, source), rows in method_deviation.groupby(BOTH, sort=True):
        metric = "".join(leading_metrics(verdicts, name, source)[:1])
        own, question = rows[rows["metric"] == metric], title(name, source)
        if own["p_value"].isna().all():
            for reason in own["reason"][:1]:
                why = reason or NO_INTERVALS
                undefined.setdefault(why, []).append(metric_of(metric, question))
            continue
        apart = own[own["p_adjusted"] <= SIGNIFICANT]
        apart = apart.sort_values("value", ascending=False, kind="stable")
        down, apart = apart[apart["value"] < 0], apart[apart["value"] > 0]
        if len(apart):
            keys = {"question": question, "metric": metric}
            first = float(apart["value"].iloc[0]), apart.index[0]
            favoured.append((*first, _favoured(apart, keys)))
            continue
        last = [
            word("favour", "down", method=row["method"], value=with_interval(row))
            for row in records(down[-1:])
        ]
        none.append(metric_of(metric, question, *last))
    favoured.sort(key=lambda one: -one[0])
    if favoured:
        names = listed((text for *_, text in favoured[:MOST_FAVOURED]), SEMICOLON)
        rest = len(favoured) - MOST_FAVOURED
        kind = "shown more" if rest > 0 else "shown"
        questions = counted(rest, "other question")
        yield True, word("favour", kind, names=names, questions=questions)
    if none:
        yield False, word("favour", "open", names=names_of(none))
    if not (favoured or none):
        for reason, without in undefined.items():
            values = {"names": names_of(without), "reason": retold(reason)}
            yield False, word("favour", "undefined", **values)
    trained = method_deviation[method_deviation["trained_on"].astype(bool)]
    named = [row for _value, row, _text in favoured[:MOST_FAVOURED]]
    yield from _declared_claims(trained[~trained.index.isin(named)], title)


def _declared_claims(
    trained: pd.DataFrame, title: Callable[[object, object], str]
) -> Iterator[ClaimText]:
    """Yield which metrics favour the methods that were trained on them."""
    shown, others = [], dict[tuple[str, str, str], list[str]]()
    for row in records(trained):
        keys = {"metric": row["metric"], "method": row["method"]}
        question = title(row["question"], row["source"])
        if row["p_adjusted"] <= SIGNIFICANT and row["value"] > 0:
            value = with_interval(row)
            text = word("favour", "one", question=question, value=value, **keys)
            shown.append(text)
            continue
        kind = "unknown" if is_missing(row, "p_value") else "not shown"
        value = "" if kind == "unknown" else with_interval(row)
        names = others.setdefault((kind, row["metric"], row["method"]), [])
        names.append(headed(question, value) if value else question)
    if shown:
        yield True, word("favour", "declared", pairs=names_of(shown))
    texts = [
        word("favour", kind, metric=metric, method=method, questions=listed(names))
        for (kind, metric, method), names in others.items()
    ]
    if texts:
        yield False, word("favour", "declared", pairs=names_of(texts))


def _favoured(rows: pd.DataFrame, keys: dict[str, str]) -> str:
    """Name the method that a metric favours most, by how much, and how many more."""
    first, *others = records(rows)
    values = keys | {
        "method": first["method"],
        "value": with_interval(first),
        "score": number(first["score"]),
        "human": number(first["human"]),
    }
    text = word("favour", "one", **values)
    if not is_missing(first, "difference"):
        text = word("favour", "gives", text=text, **values)
    if first["trained_on"]:
        text = word("favour", "trained", text=text)
    if others:
        text = word(
            "favour", "others", text=text, n=counted(len(others), "other method")
        )
    return text


def equivalence_claims(
    equivalence: pd.DataFrame, verdicts: pd.DataFrame | None
) -> Iterator[ClaimText]:
    """Yield which metrics are equally good by the leading statistic of a question."""
    rows = equivalence
    if verdicts is not None:
        keys = ["question", "source", "level", "statistic"]
        leads = verdicts.loc[verdicts["leads"].astype(bool), keys].drop_duplicates()
        rows = equivalence.merge(leads, on=keys)
    for question, own in rows.groupby("question", sort=True):
        equal = own[own["verdict"] == EQUIVALENT]
        margin = number(own["margin"].iloc[0])
        values = {"question": question, "margin": margin}
        values["statistic"] = name_of(own["statistic"].iloc[0])
        if equal.empty:
            yield False, word("equivalence", "open", **values)
            continue
        pairs = [
            word("equivalence", "pair", value=_difference(row), **row)
            for row in records(equal[:MOST_SENTENCES])
        ]
        yield True, word("equivalence", "shown", pairs=listed(pairs), **values)


def _difference(row: Row) -> str:
    return f"{number(row['difference'])}{interval(row)}"


def whole_claims(meta_analysis: pd.DataFrame) -> Iterator[ClaimText]:
    """Yield each metric's value over all questions, or studies, by one statistic."""
    wholes = meta_analysis["part"] == ALL
    rows = meta_analysis[wholes & meta_analysis["value"].notna()]
    if rows.empty:
        return
    rows = rows[rows["statistic"] == rows["statistic"].iloc[0]]
    rows = rows[rows["level"] == rows["level"].iloc[0]]
    best = rows.sort_values("value", ascending=False, kind="stable")
    metrics = counted(rows["p_value"].notna().sum(), "metric")
    for row in records(best[:MOST_SENTENCES]):
        half = row["statistic"] in CHANCES
        noun = "study" if row["over"] == "studies" else "question"
        chance = CHANCES.get(row["statistic"], 0.0)
        shown = row["p_adjusted"] <= SIGNIFICANT and row["value"] > chance
        kind = "untested" if is_missing(row, "p_adjusted") else "open"
        yield (
            bool(shown),
            word(
                "whole",
                "shown" if shown else kind,
                metric=row["metric"],
                statistic=name_of(row["statistic"]),
                value=share(row) if half else with_interval(row),
                parts=counted(row["n"], noun),
                metrics=metrics,
            ),
        )
