"""Figures of metrics on pairs, and of what tells metrics apart."""

import math

import pandas as pd

from analysis.reading.scores import BASELINES
from analysis.report.claims_pairs import ONE_ANNOTATOR
from analysis.report.figure_layout import (
    LEVEL_NAMES,
    at_level,
    by_value,
    main_coefficient,
)
from analysis.report.figure_parts import (
    MOST_ROWS,
    PALETTE,
    Figure,
    Panel,
    Trace,
    as_text,
    best_first,
    figure_of,
    said,
    vertical,
)
from analysis.report.language import headed, listed, say, texts
from analysis.report.panels import dot_panel, heat_panel
from analysis.report.wording import ANSWERS, interval, number, per_cent, records

SECTION = "metrics"
# What stands among metrics without being one.
NO_METRICS = texts(
    {
        ONE_ANNOTATOR: "one annotator",
        "composite": "composite",
        "mean of components": "mean of components",
    }
)


def pair_dots(
    pairwise: pd.DataFrame, verdicts: pd.DataFrame | None = None
) -> list[Figure]:
    """Draw pairwise accuracy, half and strict, with chance and what is demanded."""
    demanded = math.nan if verdicts is None else float(verdicts["demanded"].max())
    lines = [vertical(50)]
    about = say(
        "The line at 50 per cent is chance, where a metric that guesses stands, and a "
        "constant one if a tie is half. The further the two marks of a metric lie "
        "apart, the more pairs it cannot tell apart."
    )
    if not math.isnan(demanded):
        lines.append(vertical(100 * demanded, dash="dot"))
        also = say(
            "The dotted line is the {share} that are demanded.",
            share=per_cent(demanded),
        )
        about = f"{about} {also}"
    drawn = []
    for (question, source), rows in pairwise.groupby(["question", "source"], sort=True):
        real = rows[~rows["metric"].isin(BASELINES)].dropna(subset=["ppa_half"])
        if real.empty:
            continue
        real = real.sort_values(["ppa_half", "metric"], ascending=[False, True])
        half, strict = (
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
                ("ppa_half", say("a tie is half")),
                ("ppa_strict", say("a tie is a miss")),
            )
        )
        panel = dot_panel(
            _of_answers(question, source),
            pd.concat([half.head(MOST_ROWS), strict.head(MOST_ROWS)]),
            names="metric",
            groups="kind",
            axis=say("per cent of pairs"),
            shapes=lines,
            span=(45, 80),
        )
        drawn.append((panel, headed(question, said(half, "metric"))))
    return figure_of(
        "pairs",
        SECTION,
        say("How often a metric prefers what people prefer"),
        about,
        say("Pairwise accuracy in per cent, ties half."),
        drawn,
        26,
    )


def human_pair_dots(human_pairs: pd.DataFrame) -> list[Figure]:
    """Draw how well one annotator, and each metric, predicts the other annotators."""
    drawn = []
    for (question, source), rows in _of_metrics(human_pairs).groupby(
        ["question", "source"], sort=True
    ):
        one = rows[rows["metric"] == ONE_ANNOTATOR]
        if one.empty or len(rows) == len(one):
            continue
        rows = best_first(rows)
        scaled = rows.assign(**{c: 100 * rows[c] for c in ("value", "low", "high")})
        ceiling = 100 * float(one["value"].iloc[0])
        panel = dot_panel(
            _of_answers(question, source),
            _named(scaled),
            names="metric",
            bold=[metric == ONE_ANNOTATOR for metric in rows["metric"]],
            span=(45, ceiling),
            axis=say("per cent of pairs"),
            shapes=[vertical(50), vertical(ceiling, dash="dash")],
        )
        drawn.append((panel, headed(question, said(_named(scaled), "metric"))))
    return figure_of(
        "human-pairs",
        SECTION,
        say("Does a metric predict people as well as one of them does?"),
        say(
            "How often each predicts what all other annotators prefer, on the same "
            "pairs and against the same people; a tie is half. The dashed line is one "
            "annotator, the human ceiling; the solid one is chance."
        ),
        say("Pairwise accuracy against all other annotators."),
        drawn,
        24,
    )


def _of_answers(question: object, source: object) -> str:
    answers = say(ANSWERS.get(str(source), str(source)))
    return say("{question} ({answers})", question=question, answers=answers)


def _named(rows: pd.DataFrame) -> pd.DataFrame:
    """Name what is no metric in the language of the report."""
    return rows.assign(metric=[_name(name) for name in rows["metric"]])


def _name(metric: str) -> str:
    return say(NO_METRICS.get(metric, metric))


def _of_metrics(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows with a value, without those of the baselines."""
    return rows[rows["value"].notna() & ~rows["metric"].isin(BASELINES)]


def accuracy_dots(accuracies: pd.DataFrame) -> list[Figure]:
    """Draw acc_eq by level, where two levels and two metrics or more have it."""
    drawn = []
    for question, rows in _of_metrics(accuracies).groupby("question", sort=True):
        levels = [level for level in LEVEL_NAMES if level in set(rows["level"])]
        order = by_value(rows)[:MOST_ROWS]
        if len(levels) < 2 or len(order) < 2:
            continue
        parts = [
            rows[rows["level"] == level].assign(level=say(LEVEL_NAMES[level]))
            for level in levels
        ]
        own = pd.concat(parts)
        panel = dot_panel(
            str(question),
            own[own["metric"].isin(order)],
            names="metric",
            groups="level",
            order=order,
            axis=say("accuracy with ties"),
        )
        highest = said(parts[0], "metric")
        drawn.append((panel, headed(at_level(question, levels[0]), highest)))
    return figure_of(
        "accuracy-levels",
        SECTION,
        say("Accuracy with ties, by level"),
        say(
            "Share of pairs that metric and people order alike, or both tie (acc_eq), "
            "with equal scores alone as ties of a metric. Pairs are those of method "
            "means, of outputs of one story, of all outputs, of outputs of one method. "
            "Compare metrics inside a level, not levels with one another."
        ),
        say("{text}.", text="acc_eq"),
        drawn,
        24,
    )


def spa_dots(spa: pd.DataFrame) -> list[Figure]:
    """Draw soft pairwise accuracy, question by question."""
    drawn = []
    for question, rows in _of_metrics(spa).groupby("question", sort=True):
        rows = best_first(rows)
        panel = dot_panel(str(question), rows, names="metric", axis="SPA")
        drawn.append((panel, headed(question, said(rows, "metric"))))
    return figure_of(
        "spa",
        SECTION,
        say("Soft pairwise accuracy"),
        say(
            "Whether a metric is as sure as people are of which method is better; 1 is "
            "the same certainty for every pair of methods."
        ),
        say("Soft pairwise accuracy."),
        drawn,
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
    drawn, told, alike = [], [], []
    for level in levels:
        rows = known[known["level"] == level]
        if rows["cluster"].astype(float).max() < 2:
            # A block of ones shows nothing that a sentence does not say.
            alike.append(say(LEVEL_NAMES[level]))
            continue
        best = rows[rows["not_worse_than_best"].astype(bool)]
        told += [
            headed(at_level(question, level), listed(own["metric"]))
            for question, own in best.groupby("question", sort=True)
        ]
        drawn.append((_strip(rows, by_value(rows)[:MOST_ROWS], level), ""))
    caption = [
        say(
            "Numbers are clusters of significance: a metric opens a new one where "
            "tests (Holm) show any metric of the cluster above to be better. "
            "Dark cells are not shown to be worse than the best of their column."
        )
    ]
    if alike:
        levels_alike = listed(alike)
        caption.append(
            say("No two metrics are told apart at: {levels}.", levels=levels_alike)
        )
    return figure_of(
        "clusters",
        SECTION,
        say("Which metrics the tests can tell apart"),
        listed(caption, " "),
        say(
            "Significance clusters. Not worse than the best are, {metrics}",
            metrics=listed(told[:8], "; "),
        ),
        drawn,
    )


def _strip(rows: pd.DataFrame, order: list[str], level: str) -> Panel:
    questions = sorted(rows["question"].unique())
    at = {(row["metric"], row["question"]): row for row in records(rows)}
    grid = [[at.get((metric, q)) for q in questions] for metric in order]
    cells: Trace = {
        "z": [
            [None if c is None else int(bool(c["not_worse_than_best"])) for c in row]
            for row in grid
        ],
        "text": [
            ["" if c is None else _cluster_name(c["cluster"]) for c in row]
            for row in grid
        ],
        "texttemplate": "%{text}",
        "zmin": 0,
        "zmax": 1,
        "colorscale": [[0, "#d9dedc"], [1, PALETTE[0]]],
        "hoverinfo": "text",
    }
    height = 110 + 22 * len(order)
    return heat_panel(say(LEVEL_NAMES[level]), height, order, questions, cells, gap=2)


def _cluster_name(cluster: object) -> str:
    if isinstance(cluster, float):
        return f"{cluster:.0f}"
    return as_text(cluster)


def calibration_dots(calibration: pd.DataFrame) -> list[Figure]:
    """Draw held-out accuracy of the weighted metrics beside each one, and weights."""
    known = calibration[calibration["value"].notna()]
    drawn = []
    for question, rows in known.groupby("question", sort=True):
        held_out = rows[rows["statistic"] == "ppa_half"]
        if held_out.empty:
            continue
        held_out = _named(held_out)
        order = by_value(held_out)
        panel = dot_panel(
            say("{question}: held out", question=question),
            held_out,
            names="metric",
            order=order,
            axis=say("accuracy, a tie is half"),
            span=(0.5,),
            shapes=[vertical(0.5)],
        )
        told = [said(held_out, "metric")]
        for row in records(rows[rows["statistic"] == "gain"]):
            gain = f"{number(row['value'])}{interval(row)}"
            told.append(
                say(
                    "gain over {metric} {gain}",
                    metric=_name(row["against"]),
                    gain=gain,
                )
            )
        drawn.append((panel, headed(question, listed(told))))
        weights = rows[rows["statistic"] == "weight"]
        if len(weights):
            panel = dot_panel(
                say("{question}: weights", question=question),
                weights,
                names="metric",
                axis=say("weight (shares of 1)"),
                shapes=[vertical(0)],
                order=[m for m in order if m in set(weights["metric"])],
                span=(0.0,),
            )
            drawn.append((panel, ""))
    return figure_of(
        "calibration",
        SECTION,
        say("Metrics weighted to fit people"),
        say(
            "Accuracy on stories and methods that had no part in fitting the weights. "
            "Intervals of rows that share their pairs may overlap while their "
            "difference is clear: the gain of the composite has an interval of its own "
            "(rows gain of the table)."
        ),
        say("Held-out accuracy."),
        drawn,
        24,
    )
