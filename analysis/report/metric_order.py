"""Order of the metrics in figures and sentences, and ranks by every statistic."""

from collections.abc import Iterable

import pandas as pd

from analysis.options import KNOWN_COEFFICIENTS
from analysis.questions import declared
from analysis.reading.scores import BASELINES
from analysis.report.language import gettext as _
from analysis.report.wording import WORDS, word

# Levels in reading order.
LEVELS = tuple(WORDS["level-titles"])


def main_coefficient(correlations: pd.DataFrame) -> str:
    """Return the coefficient that figures show: Kendall's if it was computed."""
    present = set(correlations["coefficient"])
    return next((c for c in KNOWN_COEFFICIENTS if c in present), min(present))


def levels_in(rows: pd.DataFrame) -> list[str]:
    """Return the levels of some rows in reading order."""
    return [level for level in LEVELS if level in set(rows["level"])]


def level_titles(levels: Iterable[str]) -> list[str]:
    """Return the titles of levels over figures."""
    return [word("level-titles", level) for level in levels]


def by_value(rows: pd.DataFrame, name: str = "metric") -> list[str]:
    """Return the metrics, best first, by their mean over levels."""
    means = rows.groupby(name)["value"].mean()
    return [str(x) for x in means.sort_values(ascending=False, kind="stable").index]


def without_baselines(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows with a value, without those of the baselines."""
    return rows[rows["value"].notna() & ~rows["metric"].isin(BASELINES)]


def human_ceiling(
    agreement: pd.DataFrame | None, question: str, coefficient: str
) -> float | None:
    """Return how well one annotator agrees with the rest, if known."""
    if agreement is None or coefficient == "pearson":
        return None
    rows = agreement[
        (agreement["question"] == question)
        & (agreement["statistic"] == f"rater_vs_rest_{coefficient}")
    ]
    known = rows["value"][:1].dropna()
    return None if known.empty else float(known.iloc[0])


def nearest_metrics(
    question: str,
    cells: pd.DataFrame,
    correlations: pd.DataFrame | None,
    hypotheses: pd.DataFrame | None,
    most: int,
) -> list[str]:
    """Return the metrics to draw, best first: declared ones and the best others."""
    metrics = sorted(cells["metric"].unique())
    if correlations is not None and correlations["value"].notna().any():
        own = correlations[correlations["dimension"] == question]
        metrics = [m for m in by_value(own.dropna(subset=["value"])) if m in metrics]
    first = [m for m in metrics if m in declared(hypotheses, question)]
    chosen = list(dict.fromkeys([*first, *metrics]))[:most]
    return [m for m in metrics if m in chosen]


def metric_ranks(
    correlations: pd.DataFrame, pairwise: pd.DataFrame | None, question: str
) -> pd.DataFrame:
    """Rank the metrics of one question by Kendall's tau and accuracies, 1 being best.

    Columns are levels (not the residual one), and accuracies of ratings. Metrics with
    an undefined value are left out; equal ones share the best rank.
    """
    rows = correlations[correlations["coefficient"] == "kendall"]
    columns = {
        level: rows[rows["level"] == level].set_index("metric")["value"]
        for level in LEVELS
        if level != "residual"
    }
    if pairwise is not None:
        rows = pairwise[
            (pairwise["question"] == question)
            & (pairwise["source"] == "ratings")
            & ~pairwise["metric"].isin(BASELINES)
        ].set_index("metric")
        columns |= {name: rows[name] for name in ("ppa_half", "acc_eq")}
    defined = {way: own for way, own in columns.items() if own.notna().any()}
    known = pd.DataFrame(defined).dropna()
    return known.rank(ascending=False, method="min").astype(int)


def highest_drawn(n: int) -> str:
    """Return the caption of a figure that leaves out metrics."""
    return _("Only the {n} highest metrics are drawn; the table has all.", n=n)
