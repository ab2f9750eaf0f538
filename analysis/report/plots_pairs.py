"""Figures of metrics on pairs, and of what tells metrics apart."""

from collections.abc import Mapping

import pandas as pd

from analysis.reading.scores import BASELINES
from analysis.report.claims_pairs import ONE_ANNOTATOR
from analysis.report.figure_layout import LEVEL_NAMES, by_value, main_coefficient
from analysis.report.figure_parts import (
    MOST_ROWS,
    PALETTE,
    Figure,
    Panel,
    Trace,
    as_text,
    column_axis,
    dot_panel,
    figure_of,
    of_table,
    row_axis,
    said,
    vertical,
)
from analysis.report.wording import interval, number

SECTION = "metrics"
ResultTables = Mapping[str, pd.DataFrame]


def pair_figures(tables: ResultTables) -> list[Figure]:
    """Return the figures of pairs, clusters and weighted metrics."""
    found: list[Figure] = []
    for name, draw in (
        ("pairwise_accuracy", pair_dots),
        ("human_pairs", human_pair_dots),
        ("accuracy_levels", accuracy_dots),
        ("spa", spa_dots),
        ("clusters", cluster_strips),
        ("calibration", calibration_dots),
    ):
        if len(tables.get(name, ())):
            found += of_table(name, draw(tables[name]))
    return found


def pair_dots(pairwise: pd.DataFrame) -> list[Figure]:
    """Draw pairwise accuracy, half and strict, with chance and VISTAR's line."""
    panels, told = [], []
    for (question, source), rows in pairwise.groupby(["question", "source"], sort=True):
        real = rows[~rows["metric"].isin(BASELINES)].dropna(subset=["ppa_half"])
        if real.empty:
            continue
        real = real.sort_values(["ppa_half", "metric"], ascending=[False, True])
        order = list(real["metric"])[:MOST_ROWS]
        parts = [
            pd.DataFrame(
                {
                    "metric": real["metric"],
                    "kind": label,
                    "value": 100 * real[column],
                    "low": 100 * real[f"{column}_low"],
                    "high": 100 * real[f"{column}_high"],
                }
            )
            for column, label in (
                ("ppa_half", "a tie is half"),
                ("ppa_strict", "a tie is a miss"),
            )
        ]
        known = pd.concat(parts)
        known = known[known["metric"].isin(order)]
        panels.append(
            dot_panel(
                f"{question} ({source})",
                known,
                names="metric",
                groups="kind",
                axis="per cent of pairs",
                order=order,
                shapes=[vertical(50), vertical(75, dash="dot")],
                span=(45, 80),
            )
        )
        told.append(f"{question}: {said(parts[0], 'metric')}")
    return figure_of(
        "pairs",
        SECTION,
        "How often a metric prefers what people prefer",
        "The line at 50 per cent is chance, where a metric that guesses stands, "
        "and a constant one if a tie is half. The dotted line is VISTAR's demand "
        "of 75 per cent. The further the two marks of a metric lie apart, the more "
        "pairs it cannot tell apart.",
        f"Pairwise accuracy in per cent, ties half. {'; '.join(told)}.",
        panels,
        26,
    )


def human_pair_dots(human_pairs: pd.DataFrame) -> list[Figure]:
    """Draw how well one annotator, and each metric, predicts the other annotators."""
    known = human_pairs[
        human_pairs["value"].notna() & ~human_pairs["metric"].isin(BASELINES)
    ]
    panels, told = [], []
    for (question, source), rows in known.groupby(["question", "source"], sort=True):
        one = rows[rows["metric"] == ONE_ANNOTATOR]
        rows = rows.sort_values(["value", "metric"], ascending=[False, True])
        if one.empty or len(rows) == len(one):
            continue
        rows = rows.head(MOST_ROWS)
        scaled = rows.assign(**{c: 100 * rows[c] for c in ("value", "low", "high")})
        ceiling = 100 * float(one["value"].iloc[0])
        panel = dot_panel(
            f"{question} ({source})",
            scaled,
            names="metric",
            span=(45, ceiling),
            axis="per cent of pairs",
            shapes=[vertical(50), vertical(ceiling, dash="dash")],
        )
        panel.layout["yaxis"] |= row_axis(
            list(rows["metric"]), bold=[m == ONE_ANNOTATOR for m in rows["metric"]]
        )
        panels.append(panel)
        told.append(f"{question}: {said(scaled, 'metric')}")
    return figure_of(
        "human-pairs",
        SECTION,
        "Does a metric predict people as well as one of them does?",
        "How often each predicts what all other annotators prefer, on the same "
        "pairs and against the same people; a tie is half. The dashed line is one "
        "annotator, the human ceiling; the solid one is chance.",
        f"Pairwise accuracy against all other annotators. {'; '.join(told)}.",
        panels,
        24,
    )


def accuracy_dots(accuracies: pd.DataFrame) -> list[Figure]:
    """Draw acc_eq by level, where two levels and two metrics or more have it."""
    known = accuracies[
        accuracies["value"].notna() & ~accuracies["metric"].isin(BASELINES)
    ]
    panels, told = [], []
    for question, rows in known.groupby("question", sort=True):
        levels = [level for level in LEVEL_NAMES if level in set(rows["level"])]
        order = by_value(rows)[:MOST_ROWS]
        if len(levels) < 2 or len(order) < 2:
            continue
        parts = [
            rows[rows["level"] == level].assign(level=LEVEL_NAMES[level])
            for level in levels
        ]
        own = pd.concat(parts)
        panels.append(
            dot_panel(
                str(question),
                own[own["metric"].isin(order)],
                names="metric",
                groups="level",
                order=order,
                axis="accuracy with ties",
            )
        )
        told.append(
            f"{question}, {parts[0]['level'].iloc[0]}: {said(parts[0], 'metric')}"
        )
    return figure_of(
        "accuracy-levels",
        SECTION,
        "Accuracy with ties, by level",
        "Share of pairs that metric and people order alike, or both tie (acc_eq), "
        "with equal scores alone as ties of a metric. Pairs are those of method "
        "means, of outputs of one story, of all outputs, of outputs of one method. "
        "Compare metrics inside a level, not levels with one another.",
        f"acc_eq. {'; '.join(told)}.",
        panels,
        24,
    )


def spa_dots(spa: pd.DataFrame) -> list[Figure]:
    """Draw soft pairwise accuracy, question by question."""
    return _dots_by_question(
        spa,
        "spa",
        "Soft pairwise accuracy",
        "Whether a metric is as sure as people are of which method is better; 1 is the "
        "same certainty for every pair of methods.",
        "SPA",
    )


def _dots_by_question(
    frame: pd.DataFrame, key: str, title: str, caption: str, axis: str
) -> list[Figure]:
    known = frame[frame["value"].notna() & ~frame["metric"].isin(BASELINES)]
    panels, told = [], []
    for question, rows in known.groupby("question", sort=True):
        rows = rows.sort_values(["value", "metric"], ascending=[False, True])
        rows = rows.head(MOST_ROWS)
        panels.append(dot_panel(str(question), rows, names="metric", axis=axis))
        told.append(f"{question}: {said(rows, 'metric')}")
    return figure_of(
        key,
        SECTION,
        title,
        caption,
        f"{title}. {'; '.join(told)}.",
        panels,
        22,
    )


def cluster_strips(clusters: pd.DataFrame) -> list[Figure]:
    """Draw which metrics the tests cannot tell from the best."""
    known = clusters[clusters["value"].notna() & clusters["cluster"].notna()]
    if known.empty:
        return []
    name = main_coefficient(known)
    known = known[known["coefficient"] == name]
    levels = [level for level in LEVEL_NAMES if level in set(known["level"])]
    panels, told, alike = [], [], []
    for level in levels:
        rows = known[known["level"] == level]
        if rows["cluster"].astype(float).max() < 2:
            # A block of ones shows nothing that a sentence does not say.
            alike.append(LEVEL_NAMES[level])
            continue
        order = by_value(rows.rename(columns={"dimension": "question"}))[:MOST_ROWS]
        panels.append(_strip(rows, order, level))
        for question, own in rows.groupby("question", sort=True):
            best = own[own["not_worse_than_best"].astype(bool)]["metric"]
            told.append(f"{question}, {LEVEL_NAMES[level]}: {', '.join(best)}")
    if not panels:
        return []
    caption = (
        "Numbers are clusters of significance: a metric opens a new one where tests "
        "(Holm) show it to be worse than every metric of the cluster above. Dark cells "
        "are not shown to be worse than the best of their column."
    )
    if alike:
        caption += f" No two metrics are told apart at: {', '.join(alike)}."
    return figure_of(
        "clusters",
        SECTION,
        "Which metrics the tests can tell apart",
        caption,
        f"Significance clusters. Not worse than the best are, {'; '.join(told[:8])}.",
        panels,
        20,
    )


def _strip(rows: pd.DataFrame, order: list[str], level: str) -> Panel:
    questions = sorted(rows["question"].unique())
    at = rows.set_index(["metric", "question"])
    shade, texts = [], []
    for metric in order:
        own = [
            at.loc[(metric, q)] if (metric, q) in at.index else None for q in questions
        ]
        shade.append(
            [None if c is None else int(bool(c["not_worse_than_best"])) for c in own]
        )
        texts.append(["" if c is None else _cluster_name(c["cluster"]) for c in own])
    data: list[Trace] = [
        {
            "type": "heatmap",
            "z": shade,
            "text": texts,
            "texttemplate": "%{text}",
            "zmin": 0,
            "zmax": 1,
            "showscale": False,
            "xgap": 2,
            "ygap": 2,
            "colorscale": [[0, "#d9dedc"], [1, PALETTE[0]]],
            "hoverinfo": "text",
        }
    ]
    layout = {
        "yaxis": row_axis(order) | {"showgrid": False},
        "xaxis": column_axis(questions),
    }
    return Panel(LEVEL_NAMES[level], 110 + 22 * len(order), data, layout)


def _cluster_name(cluster: object) -> str:
    if isinstance(cluster, float):
        return f"{cluster:.0f}"
    return as_text(cluster)


def calibration_dots(calibration: pd.DataFrame) -> list[Figure]:
    """Draw held-out accuracy of the weighted metrics beside each one, and weights."""
    known = calibration[calibration["value"].notna()]
    panels, told = [], []
    for question, rows in known.groupby("question", sort=True):
        held_out = rows[rows["statistic"] == "ppa_half"]
        if held_out.empty:
            continue
        order = by_value(held_out)
        panels.append(
            dot_panel(
                f"{question}: held out",
                held_out,
                names="metric",
                order=order,
                axis="accuracy, a tie is half",
                span=(0.5,),
                shapes=[vertical(0.5)],
            )
        )
        text = f"{question}: {said(held_out, 'metric')}"
        for row in rows[rows["statistic"] == "gain"].to_dict("records"):
            ends = interval({str(key): value for key, value in row.items()})
            text += f", gain over {row['against']} {number(row['value'])}{ends}"
        told.append(text)
        weights = rows[rows["statistic"] == "weight"]
        if len(weights):
            panels.append(
                dot_panel(
                    f"{question}: weights",
                    weights,
                    names="metric",
                    axis="weight (shares of 1)",
                    shapes=[vertical(0)],
                    order=[m for m in order if m in set(weights["metric"])],
                    span=(0.0,),
                )
            )
    return figure_of(
        "calibration",
        SECTION,
        "Metrics weighted to fit people",
        "Accuracy on stories that had no part in fitting the weights. Intervals "
        "of rows that share their pairs may overlap while their difference is "
        "clear: the gain of the composite has an interval of its own (rows gain "
        "of the table).",
        f"Held-out accuracy. {'; '.join(told)}.",
        panels,
        24,
    )
