"""Where coefficients of metrics deceive: few stories, many metrics, other levels."""

import math
from collections.abc import Iterator, Mapping

import pandas as pd

from analysis.report.figure_layout import (
    metric_ranks,
    of_ratings,
)
from analysis.report.language import counted, listed, say, texts
from analysis.report.wording import nth
from analysis.verdicts import AGREES, COEFFICIENTS

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


def flip_limits(
    correlations: pd.DataFrame, pairwise: pd.DataFrame | None
) -> Iterator[str]:
    """Say where the best metric depends on the level or the statistic."""
    for question, rows in correlations.groupby("dimension", sort=True):
        pairs = None
        if pairwise is not None and "question" in pairwise:
            pairs = of_ratings(pairwise, str(question))
        ranks = metric_ranks(rows, pairs)
        ways = set(WAYS)
        if _inside_stories(rows)["n_groups"].nunique() > 1:
            ways -= {INSIDE}  # over other stories for every metric
        ranks = ranks[[column for column in ranks if column in ways]]
        if len(ranks) < FLIP or ranks.shape[1] < 2:
            continue
        main = next((c for c in LEADING if c in ranks), ranks.columns[0])
        best = str(ranks[main].idxmin())
        places = {str(c): int(ranks[c].loc[best]) for c in ranks}
        moved = [c for c in places if places[c] >= FLIP]
        if not moved:
            continue
        elsewhere = (
            say("{place} {way}", place=nth(places[c], len(ranks)), way=say(WAYS[c]))
            for c in moved
        )
        yield say(
            "{question}: which metric is best depends on how one asks: {metric} stands "
            "first of {n} {way}, but {elsewhere}; places are those of values, without "
            "a test.",
            question=question,
            metric=best,
            n=len(ranks),
            way=say(WAYS[str(main)]),
            elsewhere=listed(elsewhere),
        )


def coverage_limits(tables: ResultTables) -> Iterator[str]:
    """Say where a coefficient inside stories leaves out many of them."""
    for name, rows in tables["correlations"].groupby("dimension", sort=True):
        here, stories = _inside_stories(rows), _n_stories(tables, str(name))
        few = here[here["n_groups"] < stories / 2]
        if few.empty:
            continue
        metrics = (
            f"{metric} {n:.0f}"
            for metric, n in zip(few["metric"], few["n_groups"], strict=True)
        )
        yield say(
            "{question}: inside stories, a metric that gives all methods of a story "
            "the same score, or none, has no coefficient there. Of {stories} these are "
            "defined in fewer than half: {metrics}. Their coefficients say nothing of "
            "the others, and are not over the same stories as one another.",
            question=name,
            stories=counted(stories, "story"),
            metrics=listed(metrics),
        )


def _inside_stories(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the first coefficient that is defined there, best metric first."""
    defined = rows[rows["value"].notna() & (rows["level"] == "story")]
    known = set(defined["coefficient"])
    name = next((name for name in COEFFICIENTS if name in known), "")
    here = defined[defined["coefficient"] == name]
    return here.sort_values(["value", "metric"], ascending=[False, True])


def _n_stories(tables: ResultTables, question: str) -> float:
    """Return how many stories were rated, or NaN where that is not known."""
    means = tables.get("method_means")
    if means is None or "n_stories" not in means:
        return math.nan
    return float(means.loc[means["dimension"] == question, "n_stories"].max())


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
