"""Figures of metrics on pairs, and of what tells metrics apart."""

from collections.abc import Mapping

import pandas as pd

from analysis.page.drawing import (
    MOST_ROWS,
    PALETTE,
    Figure,
    Panel,
    Trace,
    as_text,
    column_axis,
    dot_panel,
    row_axis,
    said,
    vertical,
)
from analysis.page.layout import LEVEL_NAMES, by_value, main_coefficient
from analysis.reading.scores import BASELINE

SECTION = "metrics"
Tables = Mapping[str, pd.DataFrame]


def pair_figures(tables: Tables) -> list[Figure]:
    """Return the figures of pairs, clusters and weighted metrics."""
    found: list[Figure] = []
    for name, draw in (
        ("pairwise_accuracy", pair_dots),
        ("spa", spa_dots),
        ("clusters", cluster_strips),
        ("calibration", calibration_dots),
    ):
        if len(tables.get(name, ())):
            found += draw(tables[name])
    return found


def pair_dots(pairwise: pd.DataFrame) -> list[Figure]:
    """Draw pairwise accuracy, half and strict, with chance and VISTAR's line."""
    panels, told = [], []
    for (question, source), rows in pairwise.groupby(["question", "source"], sort=True):
        real = rows[rows["metric"] != BASELINE].dropna(subset=["ppa_half"])
        if real.empty:
            continue
        real = real.sort_values(["ppa_half", "metric"], ascending=[False, True])
        order = list(real["metric"])[:MOST_ROWS]
        parts = [
            pd.DataFrame(
                {"metric": real["metric"], "kind": label, "value": 100 * real[column],
                 "low": 100 * real[f"{column}_low"],
                 "high": 100 * real[f"{column}_high"]}
            )
            for column, label in (
                ("ppa_half", "a tie is half"), ("ppa_strict", "a tie is a miss")
            )
        ]  # fmt: skip
        known = pd.concat(parts)
        known = known[known["metric"].isin(order)]
        panels.append(
            dot_panel(
                f"{question} ({source})", known, names="metric", groups="kind",
                axis="per cent of pairs as people prefer", order=order,
                shapes=[vertical(50), vertical(75, dash="dot")], span=(45, 80),
            )
        )  # fmt: skip
        told.append(f"{question}: {said(parts[0], 'metric')}")
    if not panels:
        return []
    return [
        Figure(
            "pairs", SECTION, "How often a metric prefers what people prefer",
            "Right of the line at 50 per cent is better than chance, where the "
            "constant "
            "baseline stands if a tie is half. The dotted line is VISTAR's demand of "
            "75 per cent. The further the two marks of a metric lie apart, the more "
            "pairs it cannot tell apart.",
            f"Pairwise accuracy in per cent, ties half. {'; '.join(told)}.",
            tuple(panels), 26,
        )
    ]  # fmt: skip


def spa_dots(spa: pd.DataFrame) -> list[Figure]:
    """Draw soft pairwise accuracy, question by question."""
    return _dots_by_question(
        spa, "spa", "Soft pairwise accuracy",
        "Whether a metric is as sure as people are of which method is better; 1 is the "
        "same certainty for every pair of methods.", "SPA",
    )  # fmt: skip


def _dots_by_question(
    frame: pd.DataFrame, key: str, title: str, caption: str, axis: str
) -> list[Figure]:
    known = frame[frame["value"].notna() & (frame["metric"] != BASELINE)]
    panels, told = [], []
    for question, rows in known.groupby("question", sort=True):
        rows = rows.sort_values(["value", "metric"], ascending=[False, True])
        rows = rows.head(MOST_ROWS)
        panels.append(dot_panel(str(question), rows, names="metric", axis=axis))
        told.append(f"{question}: {said(rows, 'metric')}")
    if not panels:
        return []
    return [Figure(key, SECTION, title, caption, f"{title}. {'; '.join(told)}.",
                   tuple(panels), 22)]  # fmt: skip


def cluster_strips(clusters: pd.DataFrame) -> list[Figure]:
    """Draw which metrics the tests cannot tell from the best."""
    known = clusters[clusters["value"].notna() & clusters["cluster"].notna()]
    if known.empty:
        return []
    name = main_coefficient(known)
    known = known[known["coefficient"] == name]
    levels = [level for level in LEVEL_NAMES if level in set(known["level"])]
    panels, told = [], []
    for level in levels:
        rows = known[known["level"] == level]
        order = by_value(rows.rename(columns={"dimension": "question"}))[:MOST_ROWS]
        panels.append(_strip(rows, order, level))
        for question, own in rows.groupby("question", sort=True):
            best = own[own["not_worse_than_best"].astype(bool)]["metric"]
            told.append(f"{question}, {LEVEL_NAMES[level]}: {', '.join(best)}")
    return [
        Figure(
            "clusters", SECTION, "Which metrics the tests can tell apart",
            "Numbers are clusters of significance: inside one, no metric is shown to "
            "be "
            "better than another. Dark cells are not shown to be worse than the best "
            "of their column.",
            "Significance clusters. Not worse than the best are, "
            f"{'; '.join(told[:8])}.",
            tuple(panels), 20,
        )
    ]  # fmt: skip


def _strip(rows: pd.DataFrame, order: list[str], level: str) -> Panel:
    questions = sorted(rows["question"].unique())
    at = rows.set_index(["metric", "question"])
    shade, texts = [], []
    for metric in order:
        own = [at.loc[(metric, q)] if (metric, q) in at.index else None
               for q in questions]  # fmt: skip
        shade.append(
            [None if c is None else int(bool(c["not_worse_than_best"])) for c in own]
        )
        texts.append(["" if c is None else _cluster_name(c["cluster"]) for c in own])
    data: list[Trace] = [
        {"type": "heatmap", "z": shade, "text": texts, "texttemplate": "%{text}",
         "zmin": 0, "zmax": 1, "showscale": False, "xgap": 2, "ygap": 2,
         "colorscale": [[0, "#d9dedc"], [1, PALETTE[0]]], "hoverinfo": "text"}
    ]  # fmt: skip
    layout = {"yaxis": row_axis(order) | {"showgrid": False},
              "xaxis": column_axis(questions)}  # fmt: skip
    return Panel(LEVEL_NAMES[level], 110 + 22 * len(order), data, layout)


def _cluster_name(cluster: object) -> str:
    if isinstance(cluster, float):
        return f"{cluster:.0f}"
    return as_text(cluster)


def calibration_dots(calibration: pd.DataFrame) -> list[Figure]:
    """Draw held-out accuracy of the weighted metrics beside each one alone."""
    accuracy = calibration["statistic"].astype(str).str.contains("ppa|acc")
    known = calibration[accuracy & calibration["value"].notna()]
    weights = calibration[
        (calibration["statistic"] == "weight") & calibration["value"].notna()
    ]
    panels, told = [], []
    for question, rows in known.groupby("question", sort=True):
        order = by_value(rows)
        panels.append(
            dot_panel(f"{question}: held out", rows, names="metric", order=order,
                      groups="statistic", axis="accuracy", span=(0.5,),
                      shapes=[vertical(0.5)])
        )  # fmt: skip
        told.append(f"{question}: {said(rows, 'metric')}")
        own = weights[weights["question"] == question]
        if len(own):
            panels.append(
                dot_panel(f"{question}: weights", own, names="metric", axis="weight",
                          order=[m for m in order if m in set(own["metric"])],
                          shapes=[vertical(0)], span=(0.0,))
            )  # fmt: skip
    if not panels:
        return []
    return [
        Figure(
            "calibration", SECTION, "Metrics weighted to fit people",
            "Accuracy on stories that had no part in fitting the weights. A gain over "
            "the best single metric counts only where the intervals stand apart.",
            f"Held-out accuracy. {'; '.join(told)}.", tuple(panels), 24,
        )
    ]  # fmt: skip
