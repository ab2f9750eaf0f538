"""What a figure shows, in which order and where; it draws nothing."""

import numpy as np
import pandas as pd

COEFFICIENT_NAMES = {
    "kendall": "Kendall's tau-b",
    "spearman": "Spearman",
    "pearson": "Pearson",
}
SCATTER_METRICS = 6
# With more plots than this only the best metric of each question is drawn.
MOST_SCATTERS = 12
# Labels of points in this share of a plot's width stand towards its middle.
EDGE = 0.25
# The papers' own expectation of which metric measures which question.
NAMED_METRICS = {
    "character": ("cids_self", "cids"),
    "environment": ("csd_self", "csd"),
    "aesthetic": ("aesthetic",),
}


def is_named_metric(question: str, metric: str) -> bool:
    """Say whether the papers expect this metric to measure this question."""
    return any(
        part in question.lower() and metric.lower() in names
        for part, names in NAMED_METRICS.items()
    )


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
    order = rows.groupby("metric")["value"].mean().sort_values(
        ascending=False, kind="stable"
    )  # fmt: skip
    return [str(metric) for metric in order.index]


def forest_caption(rows: pd.DataFrame, ceiling: float | None, *, bold: bool) -> str:
    """Say what to see in coefficients with intervals, of what is there."""
    text = "Right of 0 means agreement."
    if rows["low"].notna().any():
        text += " Bars are bootstrap intervals; one that crosses 0 shows no agreement."
    if ceiling is not None:
        text += (
            f" The dashed line at {ceiling:.2f} is one annotator against the rest, the "
            "human ceiling."
        )
    if bold:
        text += " Metrics in bold are those that the papers name for this question."
    return text


def axis_range(rows: pd.DataFrame, ceiling: float | None) -> list[float]:
    """Return the ends of an axis that holds intervals, 0 and the ceiling."""
    known = [0.0, *([] if ceiling is None else [ceiling])]
    ends = pd.concat([rows["value"], rows["low"], rows["high"], pd.Series(known)])
    room = 0.06 * (ends.max() - ends.min())
    return [float(ends.min() - room), float(ends.max() + room)]


def drawn_metrics(
    question: str, cells: pd.DataFrame, correlations: pd.DataFrame | None
) -> list[str]:
    """Return the metrics to draw, best first; none without a coefficient."""
    metrics = sorted(cells["metric"].unique())
    if correlations is not None and len(correlations):
        own = correlations[correlations["dimension"] == question]
        metrics = [m for m in by_value(own.dropna(subset=["value"])) if m in metrics]
    named = [m for m in metrics if is_named_metric(question, m)]
    chosen = list(dict.fromkeys([*named, *metrics]))[:SCATTER_METRICS]
    return [m for m in metrics if m in chosen]


def label_places(part: pd.DataFrame) -> list[str]:
    """Put each label away from the nearest other point, and inside the plot."""
    points = part[["score", "human"]]
    points = ((points - points.min()) / (points.max() - points.min())).fillna(0)
    x, y = points["score"].to_numpy(), points["human"].to_numpy()
    places = []
    for i in range(len(part)):
        away = (x - x[i]) ** 2 + (y - y[i]) ** 2
        away[i] = np.inf
        nearest = away.argmin()
        above = (y[nearest], nearest) > (y[i], i)
        side = "right" if x[i] < EDGE else "left" if x[i] > 1 - EDGE else "center"
        places.append(f"{'bottom' if above else 'top'} {side}")
    return places
