"""What can be claimed of metrics by their coefficients: named ones first, then all."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pandas as pd

from analysis.hypotheses import declared
from analysis.inference.significance import holm
from analysis.printing import counted
from analysis.report.figure_layout import (
    metric_ranks,
    of_ratings,
)
from analysis.report.wording import (
    FEW_METHODS,
    LEVELS,
    NAMES,
    SIGNIFICANT,
    ClaimText,
    first_row,
    interval,
    nth,
    number,
    p_text,
    per_cent,
)

ResultTables = Mapping[str, pd.DataFrame]
# A ceiling that low is none: hardly anybody agrees with anybody.
LEAST_CEILING = 0.1
# The units of the ceiling and the cells of a metric are the same to this share.
SAME_UNITS = 0.2
# Five stories that all agree do so by chance in 2 x .5^5 > .05 of studies.
FEW_STORIES = 6
# A metric that is best in one way and at least this rank in another flips.
FLIP = 3
WAYS = {
    "method τ": "over method means",
    "story τ": "inside stories",
    "pooled τ": "over all cells together",
    "within methods τ": "within methods",
    "PPA half": "by pairwise accuracy (half)",
    "acc_eq": "by acc_eq",
}


def metric_claims(tables: ResultTables, permutations: int) -> Iterator[ClaimText]:
    """Say of each question what its declared metrics do, then which metric does best.

    A metric that was declared beforehand is a hypothesis of its own: its p-value is
    adjusted over the declared ones only. The best of all was chosen by the data: its
    p-value is adjusted over all.
    """
    comparisons = tables.get("metric_comparisons")
    for name, rows in tables["correlations"].groupby("dimension", sort=True):
        question = str(name)
        here = _main_rows(rows, tables.get("groups"))
        if here.empty:
            yield False, f"{question}: no coefficient is defined; the tables say why."
            continue
        stories = _n_stories(tables, question)
        meant = declared(tables.get("hypotheses"), question)
        hypotheses = list(_declared(question, here, meant, permutations, stories))
        above = {metric for shown, _text, metric in hypotheses if shown}
        shown, text, metric = _best(question, here, comparisons, permutations, stories)
        for is_shown, told, who in hypotheses:
            if not (shown and who == metric):
                yield is_shown, told
        if shown and metric in above:
            begin = f"{question}: {metric}"
            name = f"{begin}, declared for this question,"
            text = name + text.removeprefix(begin)
        elif not shown and str(here["metric"].iloc[0]) in above:
            # It has been said that the highest one agrees.
            continue
        elif not shown and above:
            text = text.replace(": no metric is", ": no other metric is", 1)
        yield shown, text


def _main_rows(rows: pd.DataFrame, groups: pd.DataFrame | None = None) -> pd.DataFrame:
    """Return the first coefficient and level that are defined, best metric first.

    Of a table of groups, the column `left_out` says which have no coefficient.
    """
    if groups is not None:
        names = {"question": "dimension", "reason": "left_out"}
        keys = ["dimension", "metric", "level"]
        reasons = groups.rename(columns=names)[[*keys, "left_out"]]
        rows = rows.merge(reasons, how="left", on=keys)
    defined = rows[rows["value"].notna()]
    known = set(zip(defined["coefficient"], defined["level"], strict=True))
    chosen = [(c, x) for c in NAMES for x in LEVELS if (c, x) in known]
    if not chosen:
        return rows[:0]
    name, level = chosen[0]
    here = defined[(defined["coefficient"] == name) & (defined["level"] == level)]
    return here.sort_values(["value", "metric"], ascending=[False, True])


def _n_stories(tables: ResultTables, question: str) -> float:
    """Return how many stories were rated, or NaN where that is not known."""
    means = tables.get("method_means")
    if means is None or "n_stories" not in means:
        return math.nan
    return float(means.loc[means["dimension"] == question, "n_stories"].max())


def _declared(
    question: str,
    rows: pd.DataFrame,
    metrics: tuple[str, ...],
    permutations: int,
    stories: float,
) -> Iterator[tuple[bool, str, str]]:
    named = rows[rows["metric"].isin(metrics)]
    level = str(rows["level"].iloc[0])
    shown = _is_established(named, level, permutations)
    adjusted = _adjusted(named)
    for i in named.index:
        row = {str(key): value for key, value in named.loc[i].items()}
        does = "agrees" if shown[i] else "is not shown to agree"
        text = (
            f"{question}: {row['metric']}, declared for this question, {does} "
            f"with people {LEVELS[level]}: {_evidence(row, stories)}"
        )
        if len(named) > 1 and not math.isnan(adjusted[i]):
            text += f" ({_adjusted_p(adjusted[i], len(named), 'declared metrics')})"
        if len(rows) > 1:
            rank = 1 + int((rows["value"] > row["value"]).sum())
            text += f"; {nth(rank, len(rows))} of {len(rows)}"
        yield bool(shown[i]), f"{text}.", str(row["metric"])


def _best(
    question: str,
    here: pd.DataFrame,
    comparisons: pd.DataFrame | None,
    permutations: int,
    stories: float,
) -> tuple[bool, str, str]:
    level, name = str(here["level"].iloc[0]), here["coefficient"].iloc[0]
    established = here[_is_established(here, level, permutations)]
    if established.empty:
        return False, _no_metric(question, here, permutations, stories), ""
    found = first_row(established)
    text = (
        f"{question}: {found['metric']} agrees with people {LEVELS[level]}: "
        f"{_evidence(found, stories)}"
    )
    adjusted = _adjusted(here)[established.index[0]]
    if level == "method" and len(here) > 1:
        text += f" ({_adjusted_p(adjusted, len(here), 'metrics')})"
    text += _place(found, here, permutations)
    if comparisons is not None:
        same = (
            comparisons[["dimension", "level", "coefficient"]]
            == [
                question,
                level,
                name,
            ]
        ).all(axis=1)
        text += _separation(str(found["metric"]), comparisons[same])
    return True, f"{text}.", str(found["metric"])


def _is_established(
    rows: pd.DataFrame, level: str, permutations: int
) -> "pd.Series[bool]":
    """Tell which coefficients of one level are shown to be above 0.

    Resamples of a few methods repeat the same few: where two or three stand in the
    right order, they do in every resample, and the interval has no width. So over
    method means it takes enough of them and the permutation test as well, and inside
    stories enough of these. Of many metrics some agree by chance: p-values are
    adjusted over the metrics (Holm), at the other levels where the draws suffice for
    that.
    """
    shown = rows["low"] > 0
    adjusted = _adjusted(rows)
    if level == "method":
        shown &= (adjusted <= SIGNIFICANT) & (rows["n"] >= FEW_METHODS)
    elif 2 * len(rows) / (permutations + 1) <= SIGNIFICANT:
        shown &= ~(adjusted > SIGNIFICANT)
    if level == "story":
        shown &= rows["n_groups"] >= FEW_STORIES
    return shown


def _adjusted(rows: pd.DataFrame) -> "pd.Series[float]":
    if "p_value" not in rows:
        return pd.Series(math.nan, index=rows.index)
    return pd.Series(holm(rows["p_value"].to_numpy(float)), index=rows.index)


def _adjusted_p(value: float, n: int, what: str) -> str:
    return f"adjusted over {n} {what}{p_text(value).replace(',', ':')}"


def _evidence(row: Mapping[str, Any], stories: float = math.nan) -> str:
    text = f"{NAMES[row['coefficient']]} {number(row['value'])}{interval(row)}, n = "
    if row["level"] == "method":
        return text + counted(row["n"], "method") + p_text(row["p_value"])
    text += counted(row["n"], "cell")
    if row["level"] != "story":
        return text
    if row["n_groups"] < stories:
        known = f"the {row['n_groups']:.0f} of {stories:.0f} stories"
        text += f" of {known} where it is defined"
        # Empty, or absent, where stories lack a score and are in no group.
        why = str(row.get("left_out", "")).partition(": ")[2]
        return f"{text} (left out: {why})" if why else text
    return f"{text} of {counted(row['n_groups'], 'story', 'stories')}"


def _no_metric(
    question: str, here: pd.DataFrame, permutations: int, stories: float
) -> str:
    best = first_row(here)
    who = f"The highest of {len(here)} metrics, {best['metric']},"
    if len(here) == 1:
        who = f"The only metric, {best['metric']},"
    return (
        f"{question}: no metric is shown to agree with people "
        f"{LEVELS[best['level']]}. {who} {_why_not(best, len(here), permutations)} "
        f"({_evidence(best, stories)})."
    )


def _why_not(best: Mapping[str, Any], n_metrics: int, permutations: int) -> str:
    if math.isnan(best["low"]):
        return "has no interval"
    if best["high"] < 0:
        return "disagrees with people"
    if best["low"] <= 0:
        return "has an interval that includes 0"
    if best["level"] == "story" and not best["n_groups"] > 1:
        return "was compared inside one story only"
    if best["level"] == "story" and best["n_groups"] < FEW_STORIES:
        return "was compared inside few stories"
    if best["level"] != "method":
        return f"does not pass its test once adjusted over {n_metrics} metrics"
    if best["n"] < FEW_METHODS:
        return "was compared over few methods"
    if n_metrics / (permutations + 1) > SIGNIFICANT >= best["p_value"]:
        return (
            f"would need more than {permutations} permutations to allow for the choice "
            f"among {n_metrics}"
        )
    if best.get("p_value", 1.0) <= SIGNIFICANT and n_metrics > 1:
        return f"does not pass the permutation test adjusted over {n_metrics} metrics"
    return "does not pass the permutation test"


def _place(found: Mapping[str, Any], rows: pd.DataFrame, permutations: int) -> str:
    """Say where a metric stands among those compared with it, best first."""
    if len(rows) == 1:
        return ""
    best = first_row(rows)
    if found["value"] < best["value"]:
        return (
            f"; {best['metric']} is higher ({number(best['value'])}), but "
            f"{_why_not(best, len(rows), permutations)}"
        )
    equal = rows[(rows["value"] == best["value"]) & (rows["metric"] != found["metric"])]
    place = f"the highest of {len(rows)} metrics"
    if found["level"] == "story" and rows["n_groups"].nunique() > 1:
        place += " (each over the stories where it is defined)"
    if len(equal):
        place = f"together with {', '.join(equal['metric'])} {place}"
    return f", {place}"


def _separation(metric: str, comparisons: pd.DataFrame) -> str:
    """Say from how many of the others the tests tell a metric apart.

    The family of tests is this metric against each other one; the table adjusts over
    all pairs, which answers more questions than the sentence asks.
    """
    own = comparisons[
        (comparisons["metric_a"] == metric) | (comparisons["metric_b"] == metric)
    ]
    own = own[own["difference"].notna()]
    tested = own["p_value"].dropna()
    if tested.empty:
        return ""
    tested = pd.Series(holm(tested.to_numpy(float)))
    joined = int(len(own) - (tested <= SIGNIFICANT).sum())
    others = f"the {len(own)} others" if len(own) > 1 else "the other"
    if joined == 0:
        return f", separable from {others} (Holm, p ≤ .05)"
    if len(own) > 1:
        others = f"{'any' if joined == len(own) else joined} of {others}"
    return f", not separable from {others} (Holm, p > .05)"


def ceiling_claims(
    correlations: pd.DataFrame, agreement: pd.DataFrame | None
) -> Iterator[ClaimText]:
    """Say how near the best metric comes to one annotator.

    The ceiling correlates one annotator with the mean of the others over all complete
    units together. So only a metric's pooled coefficient is held against it, and only
    where both are over nearly the same units. Shots and rounds that were rated one by
    one are more units than cells, even where as few of them are complete: their means
    are surer than a single answer.
    """
    if agreement is None or "n_units" not in agreement:
        return
    for question, rows in correlations.groupby("dimension", sort=True):
        for name in ("kendall", "spearman"):
            limit = agreement[
                (agreement["question"] == question)
                & (agreement["statistic"] == f"rater_vs_rest_{name}")
            ]
            own = rows[(rows["coefficient"] == name) & (rows["level"] == "pooled")]
            own = own[own["value"] > 0].sort_values(
                ["value", "metric"], ascending=[False, True]
            )
            if limit.empty or own.empty:
                continue
            top, best = first_row(limit), first_row(own)
            answered = agreement.loc[agreement["question"] == question, "n_units"].max()
            if not _comparable(top, best, answered):
                break
            share = best["value"] / top["value"]
            reaches = (
                f"{per_cent(share)} of it" if share <= 1 else "more than one annotator"
            )
            yield (
                bool(best["low"] > 0),
                f"{question}: one annotator reaches {number(top['value'])}"
                f"{interval(top) if 'low' in top else ''} against the mean of the rest "
                f"({NAMES[name]}, {counted(top['n_units'], 'unit')}); over the same "
                f"cells together the highest metric, {best['metric']}, reaches "
                f"{number(best['value'])}{interval(best)}: {reaches}.",
            )
            break


def _comparable(
    top: Mapping[str, Any], best: Mapping[str, Any], answered: float
) -> bool:
    """Tell whether one annotator's units, and all units, are a metric's cells."""
    if pd.isna(top["value"]) or top["value"] < LEAST_CEILING or pd.isna(top["n_units"]):
        return False
    return all(
        abs(n - best["n"]) <= SAME_UNITS * best["n"] for n in (top["n_units"], answered)
    )


def flip_limits(
    correlations: pd.DataFrame, pairwise: pd.DataFrame | None
) -> Iterator[str]:
    """Say where the best metric depends on the level or the statistic."""
    for question, rows in correlations.groupby("dimension", sort=True):
        pairs = None
        if pairwise is not None and "question" in pairwise:
            pairs = of_ratings(pairwise, str(question))
        ranks = metric_ranks(rows, pairs)
        ranks = ranks[[column for column in ranks if column in WAYS]]
        if len(ranks) < FLIP or ranks.shape[1] < 2:
            continue
        main = next(
            (c for c in ("story τ", "pooled τ") if c in ranks), ranks.columns[0]
        )
        best = str(ranks[main].idxmin())
        places = {str(c): int(ranks[c].loc[best]) for c in ranks}
        moved = [c for c in places if places[c] >= FLIP]
        if not moved:
            continue
        elsewhere = ", ".join(f"{nth(places[c], len(ranks))} {WAYS[c]}" for c in moved)
        yield (
            f"{question}: which metric is best depends on how one asks: {best} stands "
            f"first of {len(ranks)} {WAYS[str(main)]}, but {elsewhere}."
        )


def coverage_limits(tables: ResultTables) -> Iterator[str]:
    """Say where a coefficient inside stories leaves out many of them."""
    for name, rows in tables["correlations"].groupby("dimension", sort=True):
        here, stories = _main_rows(rows), _n_stories(tables, str(name))
        if here.empty or here["level"].iloc[0] != "story":
            continue
        few = here[here["n_groups"] < stories / 2]
        if few.empty:
            continue
        listed = ", ".join(
            f"{metric} {n:.0f}"
            for metric, n in zip(few["metric"], few["n_groups"], strict=True)
        )
        yield (
            f"{name}: inside stories, a metric that gives all methods of a story the "
            f"same score has no coefficient there. Of {stories:.0f} stories these are "
            f"defined in fewer than half: {listed}. Their coefficients say nothing of "
            "the others, and are not over the same stories as one another."
        )


def selection_limits(tables: ResultTables, shown: Sequence[str]) -> Iterator[str]:
    """Say that the highest of many is flattered, where such a one is named."""
    if not any("the highest of " in text for text in shown):
        return
    text = (
        "A metric that is named as the highest of several was chosen by the same data "
        "that show its value: expect it to be somewhat lower in another study. "
    )
    tested = ("metric_comparisons", "accuracy_comparisons")
    if any(len(tables.get(name, ())) for name in tested):
        text += "Tests against the others are adjusted (Holm), intervals are not."
    else:
        text += "Intervals are not adjusted for that choice."
    yield text
