"""What can be claimed of groups of stories, and what a next study would need."""

import math
from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd

from analysis.correlation.metric_clusters import SIGNIFICANT
from analysis.printing import counted
from analysis.report.wording import (
    LEVELS,
    MOST_SENTENCES,
    NAMES,
    ClaimText,
    first_row,
    interval,
    number,
    p_text,
    records,
)

STATISTICS = {
    **NAMES,
    "kendall_c": "Kendall's tau-c",
    "ppa_half": "pairwise accuracy (half)",
    "ppa_strict": "pairwise accuracy (strict)",
    "mean": "mean rating",
    "drop_percent": "mean rating",
    "alpha_ordinal": "ordinal alpha",
    "alpha_nominal": "nominal alpha",
    "gap": "the difference of the two best methods",
    "rater_vs_rest_kendall": "one annotator against the rest (tau-b)",
    "rater_vs_rest_spearman": "one annotator against the rest (Spearman)",
    "ac2_quadratic": "Gwet's AC2",
    "ac1": "Gwet's AC1",
}


def stratum_claims(differences: pd.DataFrame) -> Iterator[ClaimText]:
    """Say which groups of stories differ: by the adjusted test and by the interval."""
    known = differences[differences["p_adjusted"].notna()]
    if known.empty:
        return
    clear = (known["low"] > 0) | (known["high"] < 0)
    apart = known[(known["p_adjusted"] <= SIGNIFICANT) & clear]
    apart = apart.sort_values("p_adjusted", kind="stable")
    for row in records(apart.head(MOST_SENTENCES)):
        yield True, _stratum(row)
    rest = len(known) - len(apart)
    if len(apart) > MOST_SENTENCES:
        yield (
            True,
            f"{len(apart) - MOST_SENTENCES} further differences between groups of "
            "stories are shown; the table strata_differences has them.",
        )
    if rest:
        yield (
            False,
            f"{rest} of {counted(len(known), 'difference')} between groups of stories "
            f"{'is' if rest == 1 else 'are'} not shown (adjusted p > .05, or an "
            "interval with 0 or none): groups that look apart need not be."
            f"{_families(known)}",
        )


def _families(known: pd.DataFrame) -> str:
    """Say how many differences adjustment lets pass by chance, of many families."""
    n = known.groupby(["question", "tag", "statistic", "level"], dropna=False).ngroups
    by_chance = round(SIGNIFICANT * n)
    if not by_chance:
        return ""
    return (
        f" p-values are adjusted inside each of {n} families (question, tag, statistic "
        f"and level); in about {by_chance} of these one would pass by chance."
    )


def _stratum(row: Mapping[str, Any]) -> str:
    what = STATISTICS.get(str(row["statistic"]), str(row["statistic"]))
    about = row["question"]
    named: tuple[str, ...] = ("metric", "method")
    if not _is_named(about):
        # Scores themselves: there is nobody's question, and the method is what differs.
        about, named, what = row["metric"], ("method",), "mean score"
    who = next((f" of {row[key]}" for key in named if _is_named(row.get(key))), "")
    unit = ""
    if row["statistic"] == "drop_percent":
        unit = f" % of {row['stratum_a']}"
    level = str(row.get("level") or "")
    where = f" {LEVELS[level]}" if level in LEVELS else ""
    return (
        f"{about}: {what}{who}{where} differs between {row['tag']} "
        f"{row['stratum_a']} and {row['stratum_b']}: by "
        f"{number(row['value'])}{interval(row)}{unit}, n = {row['n']:.0f}"
        f" (adjusted{p_text(float(row['p_adjusted'])).removeprefix(',')})."
    )


def _is_named(value: object) -> bool:
    return isinstance(value, str) and value != ""


def needed_limits(needed: pd.DataFrame) -> Iterator[str]:
    """Say what a narrow interval would take: the first statistic of each question."""
    told: set[tuple[str, str, bool]] = set()
    for (question, statistic, level, grows, target), rows in needed.groupby(
        ["question", "statistic", "level", "grows", "target"], sort=False, dropna=False
    ):
        row = first_row(rows)
        # One coefficient speaks for the others of its level.
        kind = (str(question), str(level), statistic in NAMES)
        if len(told) >= MOST_SENTENCES or grows != "stories" or kind in told:
            continue
        told.add(kind)
        name = STATISTICS.get(str(statistic), str(statistic).replace("_", " "))
        where = f" {LEVELS[str(level)]}" if str(level) in LEVELS else ""
        who = f" of {row['metric']}" if _is_named(row["metric"]) else ""
        what = f"{question}: a half-width of {target:.2g} for {name}{who}{where}"
        if pd.isna(row["value"]):
            yield f"{what} cannot be promised: {row['reason']}."
        else:
            stories = counted(math.ceil(row["value"]), "story", "stories")
            yield f"{what} would need about {stories}, all else as here."
