"""Sentences on groups of stories, on sample size, and on what a study needs."""

import math
from collections.abc import Iterator

import pandas as pd

from analysis.correlations.metric_differences import SIGNIFICANT
from analysis.inference.resampling import EXACT_BELOW
from analysis.options import KNOWN_COEFFICIENTS
from analysis.report.language import SPACE, counted, listed, retold
from analysis.report.wording import (
    FEW_STORIES,
    LEVELS,
    MOST_SENTENCES,
    NAMES,
    ClaimText,
    ResultTables,
    Row,
    board,
    claim,
    first_row,
    interval,
    name_of,
    number,
    p_text,
    per_cent,
    records,
    with_interval,
    word,
)
from analysis.verdicts import FEW_METHODS

# Resamples of fewer methods repeat the same few.
FEW_DRAWN = 10
# Below, tests that generalise to other annotators reject too often
# (docs/explanation/intervals.md).
FEW_ANNOTATORS = 5


def few_methods(correlations: pd.DataFrame) -> Iterator[str]:
    """Warn that the means of few methods can show little."""
    over_methods = (correlations["level"] == "method") & correlations["value"].notna()
    methods = correlations.loc[over_methods, "n"].max()
    if 0 < methods < EXACT_BELOW:
        kind = "no methods" if methods < FEW_METHODS else "methods"
        yield word("sample", kind, methods=counted(methods, "method"))


def few_stories(tables: ResultTables) -> Iterator[str]:
    """Warn that resampled intervals over few stories are too narrow."""
    counts = [
        tables[name]["n_stories"].max()
        for name in ("method_means", "win_rates", "ranking_leaderboard")
        if name in tables
    ]
    most = max((int(count) for count in counts if not pd.isna(count)), default=0)
    if _have_intervals(tables) and 1 < most < FEW_STORIES:
        yield word("sample", "stories", stories=counted(most, "story"))


def few_annotators(
    method_verdicts: pd.DataFrame, agreement: pd.DataFrame | None
) -> Iterator[str]:
    """Warn that few annotators do not represent others well."""
    if agreement is None:
        return
    drawn = method_verdicts["drawn"].str.contains("annotators")
    n = int(agreement["n_annotators"].fillna(0).max())
    if drawn.any() and 1 < n < FEW_ANNOTATORS:
        yield word("sample", "annotators", annotators=counted(n, "annotator"))


def interval_limits(tables: ResultTables) -> Iterator[str]:
    """Yield what intervals cover, or that there are none."""
    if _have_intervals(tables):
        yield word("sample", "intervals")
    elif any("low" in table for table in tables.values()):
        yield word("sample", "no intervals")


def _have_intervals(tables: ResultTables) -> bool:
    known = [table["low"] for table in tables.values() if "low" in table]
    return any(bool(low.notna().any()) for low in known)


def variance_claims(
    variance: pd.DataFrame, power: pd.DataFrame | None
) -> Iterator[ClaimText]:
    """Yield the sources of a pilot's variance, the largest three shares first."""
    if power is None:
        return
    for question, rows in variance.groupby("question", sort=False):
        known = rows[rows["share"].notna()]
        if known.empty:
            continue
        largest = known.sort_values("share", ascending=False, kind="stable").head(3)
        if "method" not in set(largest["component"]):
            largest = pd.concat([largest, known[known["component"] == "method"]])
        *before, shares = [
            word(
                "variance-shares",
                "one",
                share=per_cent(row["share"]),
                component=word("components", row["component"]),
            )
            for row in records(largest)
        ]
        if before:
            ends = {"parts": listed(before), "last": shares}
            shares = word("variance-shares", "last", **ends)
        yield claim("variance-shares", True, question=question, shares=shares)


# Subsets ------------------------------------------------------------------------------


def subset_claims(subset: pd.DataFrame) -> Iterator[ClaimText]:
    """Yield whether a subset of stories keeps the order and the means of methods."""
    for name, rows in subset.groupby("subset", sort=False):
        order = rows[(rows["statistic"] == "kendall") & rows["value"].notna()]
        yield from _order_claims(str(name), order)
        yield from _random_claims(str(name), rows, order)
        yield from _mean_claims(str(name), rows)


def _order_claims(name: str, order: pd.DataFrame) -> Iterator[ClaimText]:
    """Yield the claims about how similarly a subset ranks the methods.

    An interval above 0 shows similarity, not an unchanged order; and with few methods
    every resample repeats the same few.
    """
    like = order[(order["low"] > 0) & (order["n"] >= FEW_DRAWN)]
    for shown, own in ((True, like), (False, order.drop(like.index))):
        if own.empty:
            continue
        evidence = _from_to(own.sort_values("value", kind="stable"))
        if own["n"].max() < FEW_DRAWN:
            evidence = word("subset-order", "few", evidence=evidence)
        scores = _of(len(own), len(order))
        values = {"subset": name, "scores": scores, "evidence": evidence}
        yield claim("subset-order", shown, **values)


def _from_to(rows: pd.DataFrame) -> str:
    """Return the lowest and the highest of sorted coefficients in words."""
    ends = records(rows.iloc[[0, -1]])
    low, high = (
        word("subset-order", "end", value=with_interval(row), scores=board(row))
        for row in ends
    )
    n = counted(int(ends[0]["n"]), "method")
    kind = "one" if len(rows) == 1 else "several"
    return word("subset-order", kind, value=low, low=low, high=high, n=n)


def _random_claims(
    name: str, rows: pd.DataFrame, order: pd.DataFrame
) -> Iterator[ClaimText]:
    """Yield whether a subset beats nearly all random ones of its size."""
    keys = ["question", "metric"]
    random = rows[rows["statistic"] == "kendall_random"].set_index(keys)["high"]
    own = order.set_index(keys)["value"]
    both = pd.concat([own, random], axis=1, keys=["own", "random"]).dropna()
    better = int((both["own"] > both["random"]).sum())
    for shown, n in ((True, better), (False, len(both) - better)):
        if n:
            scores = _of(n, len(both))
            yield claim("subset-random", shown, subset=name, scores=scores)


def _mean_claims(name: str, rows: pd.DataFrame) -> Iterator[ClaimText]:
    moved = rows[(rows["statistic"] == "difference_percent") & rows["low"].notna()]
    apart = moved[(moved["low"] > 0) | (moved["high"] < 0)]
    values = {"subset": name, "scores": _of(len(apart), len(moved))}
    if len(apart):
        far = first_row(apart.loc[[apart["value"].abs().idxmax()]])
        most = f"{number(far['value'])} %{interval(far)}"
        yield claim("subset-means", True, most=most, score=board(far), **values)
    if len(apart) < len(moved):
        bounds = moved.drop(apart.index)[["low", "high"]].abs().max(axis=1)
        values["scores"] = _of(len(moved) - len(apart), len(moved))
        most = f"{number(float(bounds.max()))} %"
        yield claim("subset-means", False, most=most, **values)


def _of(n: int, total: int) -> str:
    all_of_them = "both" if total == 2 else "all"
    kind = "one" if total == 1 else "some" if n < total else all_of_them
    return word("scores", kind, n=n, total=total)


def choice_claims(best_subset: pd.DataFrame) -> Iterator[ClaimText]:
    """Yield whether chosen stories beat random ones for other methods."""
    gain = best_subset[
        (best_subset["source"] == "gain")
        & (best_subset["statistic"] == "kendall")
        & best_subset["value"].notna()
    ]
    if gain.empty:
        undefined = best_subset.loc[best_subset["value"].isna(), "reason"]
        for reason in undefined.unique():
            yield False, word("choice", "none", reason=retold(reason))
        return
    better = gain[gain["low"] > 0]
    for row in records(better):
        stories = counted(row["size"], "chosen story")
        values = {"stories": stories, "scores": board(row)}
        yield claim("choice", True, value=with_interval(row), **values)
    if rest := len(gain) - len(better):
        total = counted(len(gain), "combination")
        yield claim("choice", False, n=rest, total=total)


# Groups of stories, and what a next study would need ----------------------------------


def group_claims(strata_differences: pd.DataFrame) -> Iterator[ClaimText]:
    """Yield the groups of stories that differ, by adjusted test and by interval."""
    known = strata_differences[strata_differences["p_adjusted"].notna()]
    clear = (known["low"] > 0) | (known["high"] < 0)
    apart = known[(known["p_adjusted"] <= SIGNIFICANT) & clear]
    apart = apart.sort_values("p_adjusted", kind="stable")
    for row in records(apart.head(MOST_SENTENCES)):
        yield True, _difference(row)
    if len(apart) > MOST_SENTENCES:
        yield True, word("groups", "more", n=len(apart) - MOST_SENTENCES)
    if rest := len(known) - len(apart):
        total = counted(len(known), "difference")
        text = word("groups", "open", n=rest, total=total)
        yield False, listed([text, *_families(known)], SPACE)


def _families(known: pd.DataFrame) -> list[str]:
    """Return how many families of tests would show a difference by chance."""
    n = known.groupby(["question", "tag", "statistic", "level"], dropna=False).ngroups
    by_chance = round(SIGNIFICANT * n)
    return [word("groups", "families", n=n, by_chance=by_chance)] if by_chance else []


def _difference(row: Row) -> str:
    statistic, question = str(row["statistic"]), row["question"]
    named: tuple[str, ...] = ("metric", "method")
    if not _is_named(question):
        # Rows of scores have no question: the metric takes its place.
        question, named, statistic = row["metric"], ("method",), "score"
    who = next((str(row[key]) for key in named if _is_named(row.get(key))), "")
    by = with_interval(row)
    if row["statistic"] == "drop_percent":
        by = word("groups", "drop", n=by, group=row["stratum_a"])
    values = {
        "question": question,
        "what": _statistic(name_of(statistic), who, str(row.get("level") or "")),
        "tag": row["tag"],
        "first": row["stratum_a"],
        "second": row["stratum_b"],
        "by": by,
        "n": f"{row['n']:.0f}",
        "p": p_text(float(row["p_adjusted"])),
    }
    return word("groups", "shown", **values)


def _statistic(text: str, who: str, level: str) -> str:
    """Name a statistic, with its metric or method and its level if it has them."""
    if who:
        text = word("groups", "of", statistic=text, who=who)
    if level in LEVELS:
        text = word("groups", "at", statistic=text, where=word("levels", level))
    return text


def _is_named(value: object) -> bool:
    return isinstance(value, str) and value != ""


def needed_limits(needed: pd.DataFrame) -> Iterator[str]:
    """Yield what a narrow interval needs, by the first statistic of each question."""
    named: set[tuple[str, str, bool]] = set()
    for (question, statistic, level, grows, target), rows in needed.groupby(
        ["question", "statistic", "level", "grows", "target"], sort=False, dropna=False
    ):
        row, name = first_row(rows), str(statistic)
        # One coefficient represents the others of its level.
        kind = (str(question), str(level), statistic in KNOWN_COEFFICIENTS)
        if len(named) >= MOST_SENTENCES or grows != "stories" or kind in named:
            continue
        named.add(kind)
        who = row["metric"] if _is_named(row["metric"]) else ""
        text = name_of(name if name in NAMES else name.replace("_", " "))
        what = _statistic(text, who, str(level))
        values = {"question": question, "target": f"{target:.2g}", "what": what}
        if pd.isna(row["value"]):
            reason = retold(row["reason"])
            yield word("needed", "unpromised", reason=reason, **values)
        else:
            stories = counted(math.ceil(row["value"]), "story")
            yield word("needed", "stories", stories=stories, **values)
