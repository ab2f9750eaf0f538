"""What a figure shows, in which order and where; it draws nothing."""

from collections.abc import Mapping

import pandas as pd

from analysis.hypotheses import declared
from analysis.reading.scores import BASELINES
from analysis.report.language import listed, say, texts

COEFFICIENT_NAMES = texts(
    {
        "kendall": "Kendall's tau-b",
        "spearman": "Spearman",
        "pearson": "Pearson",
        "kendall_c": "Kendall's tau-c",
    }
)
LEVEL_NAMES = texts(
    {
        "method": "method level",
        "story": "story level",
        "pooled": "pooled",
        "within_method": "within methods",
    }
)
# Ways of ranking metrics, whose letters are those of coefficients.
WAYS = texts(
    {
        "method": "method {letter}",
        "story": "story {letter}",
        "pooled": "pooled {letter}",
        "within methods": "within methods {letter}",
    }
)
SCATTER_METRICS = 6
# With more plots than this only the best metric of each question is drawn.
MOST_SCATTERS = 24


def main_coefficient(correlations: pd.DataFrame) -> str:
    """Return the coefficient that figures show: Kendall's where it was computed."""
    present = set(correlations["coefficient"])
    return next((c for c in COEFFICIENT_NAMES if c in present), min(present))


def human_ceiling(
    agreement: pd.DataFrame | None, question: str, coefficient: str
) -> float | None:
    """Return how well one annotator agrees with the rest, where it is known."""
    if agreement is None or coefficient == "pearson":
        return None
    rows = agreement[
        (agreement["question"] == question)
        & (agreement["statistic"] == f"rater_vs_rest_{coefficient}")
    ]
    if rows.empty or pd.isna(rows["value"].iloc[0]):
        return None
    return float(rows["value"].iloc[0])


def by_value(rows: pd.DataFrame) -> list[str]:
    """Return the metrics, best first, by their mean over levels."""
    order = (
        rows.groupby("metric")["value"]
        .mean()
        .sort_values(ascending=False, kind="stable")
    )
    return [str(metric) for metric in order.index]


def forest_caption(
    rows: pd.DataFrame, ceilings: Mapping[str, float], *, bold: bool
) -> str:
    """Say what to see in coefficients with intervals, of what is there."""
    told = [say("Right of 0 means agreement.")]
    if rows["low"].notna().any():
        told.append(say("Bars are intervals; one that crosses 0 shows no agreement."))
    if len(ceilings) == 1:
        told.append(
            say(
                "The dashed line at {ceiling} is one annotator against the rest, the "
                "human ceiling.",
                ceiling=f"{next(iter(ceilings.values())):.2f}",
            )
        )
    elif ceilings:
        told.append(
            say(
                "Dashed lines are one annotator against the rest, the human ceiling: "
                "{ceilings}.",
                ceilings=listed(f"{name} {x:.2f}" for name, x in ceilings.items()),
            )
        )
    if bold:
        told.append(say("Metrics in bold were declared to measure this question."))
    return listed(told, " ")


def drawn_metrics(
    question: str,
    cells: pd.DataFrame,
    correlations: pd.DataFrame | None,
    hypotheses: pd.DataFrame | None,
    *,
    most: int = SCATTER_METRICS,
) -> list[str]:
    """Return the metrics to draw, best first: declared ones, and the best others."""
    metrics = sorted(cells["metric"].unique())
    if correlations is not None and len(correlations):
        own = correlations[correlations["dimension"] == question]
        metrics = [m for m in by_value(own.dropna(subset=["value"])) if m in metrics]
    first = [m for m in metrics if m in declared(hypotheses, question)]
    chosen = list(dict.fromkeys([*first, *metrics]))[:most]
    return [m for m in metrics if m in chosen]


def of_ratings(pairwise: pd.DataFrame | None, question: str) -> pd.DataFrame | None:
    """Return the rows that were derived from ratings, without the baselines."""
    if pairwise is None:
        return None
    rows = pairwise[
        (pairwise["question"] == question)
        & (pairwise["source"] == "ratings")
        & ~pairwise["metric"].isin(BASELINES)
    ]
    return rows if len(rows) else None


def metric_ranks(
    correlations: pd.DataFrame, pairwise: pd.DataFrame | None
) -> pd.DataFrame:
    """Rank the metrics of one question in every column, 1 being best.

    Parameters
    ----------
    correlations
        Rows of one question.
    pairwise
        Its rows of pairwise accuracy, or None.

    Returns
    -------
    DataFrame
        Metrics in rows, ways of asking in columns; metrics that are undefined in one
        of them are left out, equal ones share the best rank.
    """
    columns: dict[str, pd.Series[float]] = {}
    for level, title in LEVEL_NAMES.items():
        for name in [c for c in COEFFICIENT_NAMES if c != "spearman"]:
            here = (correlations["level"] == level) & (
                correlations["coefficient"] == name
            )
            own = correlations[here].set_index("metric")["value"]
            if own.notna().any():
                letter = {"kendall": "τ", "pearson": "r"}.get(name, name)
                columns[f"{title.removesuffix(' level')} {letter}"] = own
    if pairwise is not None:
        pairs = pairwise.set_index("metric")
        for column, title in (("ppa_half", "PPA half"), ("acc_eq", "acc_eq")):
            if pairs[column].notna().any():
                columns[title] = pairs[column]
    known = pd.DataFrame(columns).dropna()
    return known.rank(ascending=False, method="min").astype(int)


def at_level(question: object, level: str) -> str:
    """Name a question and the level at which it is asked."""
    return say("{question}, {level}", question=question, level=say(LEVEL_NAMES[level]))


def way_text(way: str) -> str:
    """Return a column of `metric_ranks` in the language of the report.

    Examples
    --------
    >>> way_text("within methods τ"), way_text("PPA half")
    ('within methods τ', 'PPA half')
    """
    level, _space, letter = way.rpartition(" ")
    return say(WAYS[level], letter=letter) if level in WAYS else way
