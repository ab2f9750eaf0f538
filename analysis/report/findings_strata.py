"""What can be claimed of groups of stories, and what a next study would need."""

import math
from collections.abc import Iterator

import pandas as pd

from analysis.correlations.metric_differences import SIGNIFICANT
from analysis.options import KNOWN_COEFFICIENTS
from analysis.report.language import counted, listed, retold, say
from analysis.report.wording import (
    LEVELS,
    MOST_SENTENCES,
    NAMES,
    ClaimText,
    Row,
    claim,
    first_row,
    p_text,
    records,
    with_interval,
)


def stratum_claims(strata_differences: pd.DataFrame) -> Iterator[ClaimText]:
    """Say which groups of stories differ: by the adjusted test and by the interval."""
    known = strata_differences[strata_differences["p_adjusted"].notna()]
    clear = (known["low"] > 0) | (known["high"] < 0)
    apart = known[(known["p_adjusted"] <= SIGNIFICANT) & clear]
    apart = apart.sort_values("p_adjusted", kind="stable")
    for row in records(apart.head(MOST_SENTENCES)):
        yield True, _stratum(row)
    if len(apart) > MOST_SENTENCES:
        yield claim(
            True,
            "{n} further differences between groups of stories are shown; the "
            "table strata_differences has them.",
            n=len(apart) - MOST_SENTENCES,
        )
    if rest := len(known) - len(apart):
        text = say(
            "{n} of {total} between groups of stories is not shown (adjusted p > .05, "
            "or an interval with 0 or none): groups that look apart need not be."
            if rest == 1
            else "{n} of {total} between groups of stories are not shown (adjusted "
            "p > .05, or an interval with 0 or none): groups that look apart need not "
            "be.",
            n=rest,
            total=counted(len(known), "difference"),
        )
        yield False, listed([text, *_families(known)], " ")


def _families(known: pd.DataFrame) -> list[str]:
    """Say how many differences adjustment lets pass by chance, of many families."""
    n = known.groupby(["question", "tag", "statistic", "level"], dropna=False).ngroups
    by_chance = round(SIGNIFICANT * n)
    if not by_chance:
        return []
    return [
        say(
            "p-values are adjusted inside each of {n} families (question, tag, "
            "statistic and level); in about {by_chance} of these one would pass by "
            "chance.",
            n=n,
            by_chance=by_chance,
        )
    ]


def _stratum(row: Row) -> str:
    what = NAMES.get(str(row["statistic"]), str(row["statistic"]))
    about = row["question"]
    named: tuple[str, ...] = ("metric", "method")
    if not _is_named(about):
        # Scores themselves: there is nobody's question, and the method is what differs.
        about, named, what = row["metric"], ("method",), NAMES["score"]
    who = next((str(row[key]) for key in named if _is_named(row.get(key))), "")
    by = with_interval(row)
    if row["statistic"] == "drop_percent":
        by = say("{n} % of {stratum}", n=by, stratum=row["stratum_a"])
    return say(
        "{question}: {what} differs between {tag} {first} and {second}: by {by}, "
        "n = {n} (adjusted {p}).",
        question=about,
        what=_statistic(what, who, str(row.get("level") or "")),
        tag=row["tag"],
        first=row["stratum_a"],
        second=row["stratum_b"],
        by=by,
        n=f"{row['n']:.0f}",
        p=p_text(float(row["p_adjusted"])),
    )


def _statistic(name: str, who: str, level: str) -> str:
    """Name a statistic, of whom it is, and its level, where it has these."""
    text = say(name)
    if who:
        text = say("{statistic} of {who}", statistic=text, who=who)
    if level in LEVELS:
        text = say("{statistic} {where}", statistic=text, where=say(LEVELS[level]))
    return text


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
        kind = (str(question), str(level), statistic in KNOWN_COEFFICIENTS)
        if len(told) >= MOST_SENTENCES or grows != "stories" or kind in told:
            continue
        told.add(kind)
        name = NAMES.get(str(statistic), str(statistic).replace("_", " "))
        who = row["metric"] if _is_named(row["metric"]) else ""
        what = _statistic(name, who, str(level))
        values = {"question": question, "target": f"{target:.2g}", "what": what}
        if pd.isna(row["value"]):
            yield say(
                "{question}: a half-width of {target} for {what} cannot be promised: "
                "{reason}.",
                reason=retold(row["reason"]),
                **values,
            )
        else:
            yield say(
                "{question}: a half-width of {target} for {what} would need about "
                "{stories}, all else as here.",
                stories=counted(math.ceil(row["value"]), "story"),
                **values,
            )
