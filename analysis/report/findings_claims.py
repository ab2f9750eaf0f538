"""Sentences on what a metric may be used for: favoured methods, equals, all questions.

They word rows of tables and decide nothing.
"""

from collections.abc import Iterator

import pandas as pd

from analysis.correlations.equivalence import EQUIVALENT
from analysis.correlations.metric_differences import SIGNIFICANT
from analysis.inference.meta_analysis import ALL, CHANCES
from analysis.report.findings_verdicts import named_metric
from analysis.report.language import SEMICOLON, counted, listed
from analysis.report.wording import (
    MOST_SENTENCES,
    ClaimText,
    Row,
    interval,
    is_missing,
    name_of,
    number,
    of_answers,
    records,
    share,
    with_interval,
    word,
)

BOTH = ["question", "source"]


def favour_claims(
    method_deviation: pd.DataFrame, verdicts: pd.DataFrame | None
) -> Iterator[ClaimText]:
    """Yield the method that the leading metric of each question favours most.

    Methods that were declared as trained on any metric follow.
    """
    favoured, none, untold, named = [], [], [], set()
    several = method_deviation.groupby("question")["source"].nunique().max() > 1
    for (name, source), rows in method_deviation.groupby(BOTH, sort=True):
        metric = named_metric(verdicts, str(name), str(source))
        own = rows[rows["metric"] == metric]
        if own.empty:
            continue
        question = of_answers(name, source) if several else str(name)
        keys = {"question": question, "metric": metric}
        if own["p_value"].isna().all():
            untold.append(word("favour", "name", **keys))
            continue
        apart = own[own["p_adjusted"] <= SIGNIFICANT]
        apart = apart.sort_values("value", ascending=False, kind="stable")
        down, apart = apart[apart["value"] < 0], apart[apart["value"] > 0]
        if apart.empty and down.empty:
            none.append(word("favour", "name", **keys))
            continue
        if apart.empty:
            last = records(down)[-1]
            lowest = {"method": last["method"], "value": with_interval(last)}
            none.append(word("favour", "down", **keys, **lowest))
            continue
        named.add(apart.index[0])
        favoured.append((float(apart["value"].iloc[0]), _favoured(apart, keys)))
    texts = [text for _value, text in sorted(favoured, key=lambda one: -one[0])]
    if texts:
        names = listed(texts[:MOST_SENTENCES], SEMICOLON)
        rest = len(texts) - MOST_SENTENCES
        kind = "shown more" if rest > 0 else "shown"
        n = counted(rest, "question")
        yield True, word("favour", kind, names=names, questions=n)
    if none:
        yield False, word("favour", "open", names=listed(none))
    elif untold and not texts:
        yield False, word("favour", "undefined", names=listed(untold))
    trained = method_deviation[method_deviation["trained_on"].astype(bool)]
    yield from _declared_claims(trained[~trained.index.isin(named)], several)


def _declared_claims(trained: pd.DataFrame, several: bool) -> Iterator[ClaimText]:
    """Yield which metrics favour the methods that were trained on them."""
    texts: dict[bool, list[str]] = {True: [], False: []}
    for row in records(trained):
        is_shown = bool(row["p_adjusted"] <= SIGNIFICANT and row["value"] > 0)
        kind = "declared shown" if is_shown else "declared open"
        if is_missing(row, "p_value"):
            kind = "declared undefined"
        question = row["question"]
        question = of_answers(question, row["source"]) if several else question
        keys = {"question": question, "metric": row["metric"], "method": row["method"]}
        text = word("favour", kind, value=with_interval(row), **keys)
        texts[is_shown].append(text)
    for is_shown, known in texts.items():
        if known:
            pairs = listed(known, SEMICOLON)
            yield is_shown, word("favour", "declared", pairs=pairs)


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
        yield (
            bool(shown),
            word(
                "whole",
                "shown" if shown else "open",
                metric=row["metric"],
                statistic=name_of(row["statistic"]),
                value=share(row) if half else with_interval(row),
                parts=counted(row["n"], noun),
                metrics=metrics,
            ),
        )
