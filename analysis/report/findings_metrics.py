"""Write sentences on metrics beside verdicts: stability, selection, ties, judges.

Sentences word rows of tables and decide nothing.
"""

import math
from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd

from analysis.options import KNOWN_COEFFICIENTS
from analysis.pairwise.metric_errors import MISSES
from analysis.reading.scores import BASELINES
from analysis.report.language import counted, listed, say, texts
from analysis.report.metric_order import metric_ranks
from analysis.report.wording import (
    LEVELS,
    NAMES,
    PEOPLE,
    ClaimText,
    claim,
    claim_of,
    nth,
    records,
    share,
    with_interval,
)
from analysis.verdicts import AGREES, FEW_METHODS

ResultTables = Mapping[str, pd.DataFrame]
# A metric that is best in one way and at least this rank in another flips.
FLIP = 3
INSIDE = "story τ"
# The way that leads a question, or else the first of these.
LEADING = ("PPA half", "method τ")
WAYS = texts(
    {
        "method τ": "over method means",
        INSIDE: "inside stories",
        "pooled τ": "over all cells together",
        "within methods τ": "within methods",
        "PPA half": "by pairwise accuracy (half)",
        "acc_eq": "by acc_eq",
    }
)
# What twins show, by the names of `evalcore.perturbations`.
SHOWN = texts(
    shuffled="shuffled shots",
    foreign_shot="shots of another story",
    repeated_shot="repeated shots",
    blurred="blurred pictures",
    swapped_characters="swapped characters",
)
# By whether all, some or none of those that it misses score alike.
MISSED = texts(
    alike="gives {twins} the same score in {n} of {outputs} ({share})",
    some="prefers {twins}, or scores them the same, in {n} of {outputs} ({share})",
    none="prefers {twins} in {n} of {outputs} ({share})",
)


def coverage_limits(correlations: pd.DataFrame, tables: ResultTables) -> Iterator[str]:
    """Say where a coefficient inside stories leaves out many of them."""
    for name, rows in correlations.groupby("dimension", sort=True):
        here, stories = _inside_stories(rows), _n_stories(tables, str(name))
        few = here[here["n_groups"] < stories / 2]
        if few.empty:
            continue
        metrics = zip(few["metric"], few["n_groups"], strict=True)
        yield say(
            "{question}: inside stories, a metric that gives all methods of a story "
            "the same score, or none, has no coefficient there. Of {stories} these are "
            "defined in fewer than half: {metrics}. Their coefficients say nothing of "
            "the others, and are not over the same stories as one another.",
            question=name,
            stories=counted(stories, "story"),
            metrics=listed(f"{metric} {n:.0f}" for metric, n in metrics),
        )


def _inside_stories(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the first coefficient that is defined there, best metric first."""
    defined = rows[rows["value"].notna() & (rows["level"] == "story")]
    known = set(defined["coefficient"])
    name = next((name for name in KNOWN_COEFFICIENTS if name in known), "")
    here = defined[defined["coefficient"] == name]
    return here.sort_values(["value", "metric"], ascending=[False, True])


def _n_stories(tables: ResultTables, question: str) -> float:
    """Return how many stories were rated, or NaN where that is not known."""
    means = tables.get("method_means")
    if means is None or "n_stories" not in means:
        return math.nan
    return float(means.loc[means["dimension"] == question, "n_stories"].max())


def flip_limits(
    correlations: pd.DataFrame, pairwise_accuracy: pd.DataFrame | None
) -> Iterator[str]:
    """Say where the best metric depends on the level or the statistic."""
    for question, rows in correlations.groupby("dimension", sort=True):
        ranks = metric_ranks(rows, pairwise_accuracy, str(question))
        ways = set(WAYS)
        if _inside_stories(rows)["n_groups"].nunique() > 1:
            ways -= {INSIDE}  # over other stories for every metric
        ranks = ranks[[column for column in ranks if column in ways]]
        if len(ranks) < FLIP or ranks.shape[1] < 2:
            continue
        main = next((c for c in LEADING if c in ranks), ranks.columns[0])
        best = str(ranks[main].idxmin())
        places = {str(c): int(ranks[c].loc[best]) for c in ranks}
        elsewhere = [
            say("{place} {way}", place=nth(place, len(ranks)), way=say(WAYS[c]))
            for c, place in places.items()
            if place >= FLIP
        ]
        if elsewhere:
            yield say(
                "{question}: which metric is best depends on how one asks: {metric} "
                "stands first of {n} {way}, but {elsewhere}; places are those of "
                "values, without a test.",
                question=question,
                metric=best,
                n=len(ranks),
                way=say(WAYS[str(main)]),
                elsewhere=listed(elsewhere),
            )


def interval_limits(correlations: pd.DataFrame) -> Iterator[str]:
    """Say how many coefficients may be 0, and how many lie outside their interval."""
    known = correlations[correlations["low"].notna()]
    total = counted(len(known), "coefficient")
    around = int(((known["low"] <= 0) & (known["high"] >= 0)).sum())
    if around:
        yield say(
            "{n} of {total} has an interval that includes 0."
            if around == 1
            else "{n} of {total} have an interval that includes 0.",
            n=around,
            total=total,
        )
    value = known["value"]
    off = int(((value < known["low"]) | (value > known["high"])).sum())
    if off:
        yield say(
            "{n} of {total} has an interval that does not hold it: resamples of few "
            "clusters are noisier than the study itself, so draw other clusters."
            if off == 1
            else "{n} of {total} have an interval that does not hold it: resamples of "
            "few clusters are noisier than the study itself, so draw other clusters.",
            n=off,
            total=total,
        )


def selection_limits(verdicts: pd.DataFrame) -> Iterator[str]:
    """Say that the highest of many is flattered, where such a one is named."""
    explored = verdicts[verdicts["leads"] & (verdicts["role"] == "exploratory")]
    named = [
        len(rows) > 1 and bool((rows["verdict"] == AGREES).any())
        for _, rows in explored.groupby(["question", "source"])
    ]
    if any(named):
        yield say(
            "A metric that is named as the highest of several was chosen by the same "
            "data that show its value: expect it to be somewhat lower in another "
            "study. Its p-value is adjusted for that (Holm), its interval is not."
        )


def tie_limits(pairwise_accuracy: pd.DataFrame) -> Iterator[str]:
    """Say where metrics tie often."""
    real = pairwise_accuracy[~pairwise_accuracy["metric"].isin(BASELINES)]
    tied = int((real["metric_tie_rate"] > 0.2).sum())
    if tied:
        yield say(
            "{n} of {total} has more than 20 % metric ties: strict and half accuracy "
            "differ, so quote both."
            if tied == 1
            else "{n} of {total} have more than 20 % metric ties: strict and half "
            "accuracy differ, so quote both.",
            n=tied,
            total=counted(len(real), "row of pairwise accuracy"),
        )


def stability_claims(stability: pd.DataFrame) -> Iterator[ClaimText]:
    """Say how far the scores of a judge move from trial to trial."""
    whole = stability[stability["method"].fillna("") == ""]
    for (question, judge), rows in whole.groupby(["question", "metric"], sort=False):
        known = {row["statistic"]: row for row in records(rows[rows["value"].notna()])}
        if "sd_output" not in known:
            continue
        text = say(
            "from trial to trial {metric} moves the score of an output by {value} "
            "(standard deviation)",
            metric=judge,
            value=with_interval(known["sd_output"]),
        )
        if "same_share" in known:
            text = say(
                "{first} and gives one and the same in {share} of outputs",
                first=text,
                share=share(known["same_share"]),
            )
        clauses = [text]
        if "noise_to_methods" in known:
            noise = say(
                "of the mean of a method this is {share} of how far methods stand "
                "apart",
                share=share(known["noise_to_methods"]),
            )
            clauses.append(noise)
        yield claim_of(True, question, *clauses)


def judge_claims(judges: pd.DataFrame) -> Iterator[ClaimText]:
    """Say which judges agree with people, and with one another."""
    known = judges[(judges["coefficient"] == "kendall") & judges["value"].notna()]
    keys = ["question", "metric_a", "metric_b"]
    for (question, one, other), rows in known.groupby(keys, sort=False):
        levels = {row["level"]: row for row in records(rows)}
        level = next(level for level in LEVELS if level in levels)
        row = levels[level]
        few = level == "method" and row["n"] < FEW_METHODS
        shown = row["low"] > 0 and not few
        evidence = say(
            "{value}, n = {n}",
            value=f"{say(NAMES['kendall'])} {with_interval(row)}",
            n=f"{row['n']:.0f}",
        )
        if few:
            evidence = say("{evidence}, too few methods to show it", evidence=evidence)
        yield claim(
            shown,
            "{question}: {one} and {other} agree {where}: {evidence}."
            if shown
            else "{question}: {one} and {other} are not shown to agree {where}: "
            "{evidence}.",
            question=question,
            one=say(PEOPLE.get(str(one), str(one))),
            other=say(PEOPLE.get(str(other), str(other))),
            where=say(LEVELS[level]),
            evidence=evidence,
        )


def twin_claims(sanity: pd.DataFrame) -> Iterator[str]:
    """Say of each metric which degradations it is shown not to see."""
    missed = sanity[sanity["verdict"] == MISSES]
    for metric, rows in missed.groupby("metric", sort=True):
        yield say(
            "{metric} {clauses}, although these were made worse on purpose.",
            metric=metric,
            clauses=listed([_missed(row) for row in records(rows)], " and "),
        )


def _missed(row: Mapping[str, Any]) -> str:
    n, alike = int(row["n_missed"]), int(row["n_alike"])
    how = "none" if not alike else "alike" if alike == n else "some"
    noun = "story" if row["n"] == row["n_stories"] else "output"
    return say(
        MISSED[how],
        twins=twins_text(str(row["twin"])),
        n=n,
        outputs=counted(row["n"], noun),
        share=share(row),
    )


def twins_text(twin: str) -> str:
    """Return what is shown of outputs that were degraded in a way.

    >>> twins_text("repeated_shot"), twins_text("half_speed")
    ('repeated shots', 'twins with half speed')
    """
    if twin in SHOWN:
        return say(SHOWN[twin])
    return say("twins with {kind}", kind=twin.replace("_", " "))
