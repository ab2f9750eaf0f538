"""Figures of metrics and judges on pairs, beside people and over trials."""

import math

import pandas as pd

from analysis.reading.scores import BASELINES
from analysis.report import metric_order
from analysis.report.claims_pairs import ONE_ANNOTATOR
from analysis.report.figure import (
    MOST_PANELS,
    MOST_ROWS,
    MOST_WORDS,
    Figure,
    best_first,
    by_value,
    figure_of,
    grouped,
    said,
)
from analysis.report.language import headed, listed, say, texts
from analysis.report.metric_order import (
    COEFFICIENT_NAMES,
    LEVEL_NAMES,
    without_baselines,
)
from analysis.report.panels import dots
from analysis.report.wording import (
    PEOPLE,
    board,
    interval,
    number,
    of_answers,
    per_cent,
    records,
)

# What stands among metrics without being one.
NO_METRICS = texts(
    {
        ONE_ANNOTATOR: "one annotator",
        "composite": "composite",
        "mean of components": "mean of components",
    }
)
TRIALS = texts(
    sd="standard deviation of the trials' means",
    sd_output="standard deviation of one output",
    same_share="share of outputs with one score",
    icc_2_1="ICC(2,1) of one trial",
    noise_to_methods="noise by differences of methods",
)
KINDS = texts({"ppa_half": "a tie is half", "ppa_strict": "a tie is a miss"})


def pair_dots(
    pairwise_accuracy: pd.DataFrame, verdicts: pd.DataFrame | None = None
) -> list[Figure]:
    """Draw pairwise accuracy, half and strict, with chance and what is demanded."""
    demanded = math.nan if verdicts is None else float(verdicts["demanded"].max())
    is_demanded = not math.isnan(demanded)
    drawn = []
    for (question, source), rows in pairwise_accuracy.groupby(
        ["question", "source"], sort=True
    ):
        real = rows[~rows["metric"].isin(BASELINES)].dropna(subset=["ppa_half"])
        if real.empty:
            continue
        real = real.sort_values(["ppa_half", "metric"], ascending=[False, True])
        half, strict = (
            real[["metric"]].assign(
                kind=say(label),
                value=100 * real[column],
                low=100 * real[f"{column}_low"],
                high=100 * real[f"{column}_high"],
            )
            for column, label in KINDS.items()
        )
        panel = dots(
            of_answers(question, source),
            pd.concat([half.head(MOST_ROWS), strict.head(MOST_ROWS)]),
            "metric",
            say("per cent of pairs"),
            groups="kind",
            lines=[50],
            dotted=[100 * demanded] if is_demanded else [],
            span=(45, 80),
            words=headed(question, said(half, "metric")),
        )
        drawn.append(panel)
    return figure_of(
        "pairs",
        "How often a metric prefers what people prefer",
        (
            "The line at 50 per cent is chance, where a metric that guesses stands, "
            "and a constant one if a tie is half. The further the two marks of a "
            "metric lie apart, the more pairs it cannot tell apart.",
            is_demanded
            and say(
                "The dotted line is the {share} that are demanded.",
                share=per_cent(demanded),
            ),
        ),
        "Pairwise accuracy in per cent, ties half.",
        drawn,
        26,
    )


def human_pair_dots(human_pairs: pd.DataFrame) -> list[Figure]:
    """Draw how well one annotator, and each metric, predicts the other annotators."""
    drawn = []
    known = without_baselines(human_pairs)
    for (question, source), rows in known.groupby(["question", "source"], sort=True):
        one = rows[rows["metric"] == ONE_ANNOTATOR]
        if one.empty or len(rows) == len(one):
            continue
        rows = best_first(rows)
        scaled = _named(
            rows.assign(**{c: 100 * rows[c] for c in ("value", "low", "high")})
        )
        ceiling = 100 * float(one["value"].iloc[0])
        panel = dots(
            of_answers(question, source),
            scaled,
            "metric",
            say("per cent of pairs"),
            bold=[metric == ONE_ANNOTATOR for metric in rows["metric"]],
            lines=[50],
            dashed=[ceiling],
            span=(45, ceiling),
            words=headed(question, said(scaled, "metric")),
        )
        drawn.append(panel)
    return figure_of(
        "human-pairs",
        "Does a metric predict people as well as one of them does?",
        "How often each predicts what all other annotators prefer, on the same "
        "pairs and against the same people; a tie is half. The dashed line is one "
        "annotator, the human ceiling; the solid one is chance.",
        "Pairwise accuracy against all other annotators.",
        drawn,
        24,
    )


def _named(rows: pd.DataFrame) -> pd.DataFrame:
    """Name what is no metric in the language of the report."""
    return rows.assign(metric=[_name(name) for name in rows["metric"]])


def _name(metric: str) -> str:
    return say(NO_METRICS.get(metric, metric))


def accuracy_dots(accuracy_levels: pd.DataFrame) -> list[Figure]:
    """Draw acc_eq by level, where two levels and two metrics or more have it."""
    drawn = []
    for question, rows in grouped(without_baselines(accuracy_levels)):
        levels = metric_order.levels_in(rows)
        order = by_value(rows)[:MOST_ROWS]
        if len(levels) < 2 or len(order) < 2:
            continue
        parts = [rows[rows["level"] == level] for level in levels]
        own = pd.concat(parts)
        own = own[own["metric"].isin(order)]
        first = metric_order.at_level(question, levels[0])
        panel = dots(
            question,
            own.assign(level=[say(LEVEL_NAMES[level]) for level in own["level"]]),
            "metric",
            say("accuracy with ties"),
            groups="level",
            order=order,
            words=headed(first, said(parts[0], "metric")),
        )
        drawn.append(panel)
    return figure_of(
        "accuracy-levels",
        "Accuracy with ties, by level",
        "Share of pairs that metric and people order alike, or both tie (acc_eq), "
        "with equal scores alone as ties of a metric. Pairs are those of method "
        "means, of outputs of one story, of all outputs, of outputs of one method. "
        "Compare metrics inside a level, not levels with one another.",
        say("{text}.", text="acc_eq"),
        drawn,
        24,
    )


def spa_dots(spa: pd.DataFrame) -> list[Figure]:
    """Draw soft pairwise accuracy, question by question."""
    return figure_of(
        "spa",
        "Soft pairwise accuracy",
        "Whether a metric is as sure as people are of which method is better; 1 is "
        "the same certainty for every pair of methods.",
        "Soft pairwise accuracy.",
        [
            dots(question, best_first(rows), "metric", "SPA")
            for question, rows in grouped(without_baselines(spa))
        ],
        22,
    )


def calibration_dots(calibration: pd.DataFrame) -> list[Figure]:
    """Draw held-out accuracy of the weighted metrics beside each one, and weights."""
    drawn = []
    for question, rows in grouped(calibration[calibration["value"].notna()]):
        held_out = _named(rows[rows["statistic"] == "ppa_half"])
        if held_out.empty:
            continue
        order = by_value(held_out)
        told = [said(held_out, "metric")]
        for row in records(rows[rows["statistic"] == "gain"]):
            gain = f"{number(row['value'])}{interval(row)}"
            against = _name(row["against"])
            told.append(say("gain over {metric} {gain}", metric=against, gain=gain))
        panel = dots(
            say("{question}: held out", question=question),
            held_out,
            "metric",
            say("accuracy, a tie is half"),
            order=order,
            lines=[0.5],
            words=headed(question, listed(told)),
        )
        drawn.append(panel)
        weights = rows[rows["statistic"] == "weight"]
        if len(weights):
            panel = dots(
                say("{question}: weights", question=question),
                weights,
                "metric",
                say("weight (shares of 1)"),
                lines=[0.0],
                order=[m for m in order if m in set(weights["metric"])],
                words="",
            )
            drawn.append(panel)
    return figure_of(
        "calibration",
        "Metrics weighted to fit people",
        "Accuracy on stories and methods that had no part in fitting the weights. "
        "Intervals of rows that share their pairs may overlap while their "
        "difference is clear: the gain of the composite has an interval of its own "
        "(rows gain of the table).",
        "Held-out accuracy.",
        drawn,
        24,
    )


def stability_dots(stability: pd.DataFrame) -> list[Figure]:
    """Draw what repeated trials of a judge give, statistic by statistic."""
    known = stability[
        stability["value"].notna() & (stability["method"].fillna("") == "")
    ]
    known = known.assign(board=[board(row) for row in records(known)])
    return figure_of(
        "stability",
        "How steady a judge is over repeated trials",
        "The spread of trials is noise that no other story or annotator takes "
        "away. Noise by differences: what trials add to a method's mean, as a "
        "share of how far methods stand apart.",
        "Repeated trials.",
        [
            dots(say(title), rows.head(MOST_ROWS), "board", "", span=(0.0,))
            for statistic, title in TRIALS.items()
            if len(rows := known[known["statistic"] == statistic])
        ],
    )


def judge_dots(judges: pd.DataFrame) -> list[Figure]:
    """Draw how judges agree with people and with one another."""
    known = judges[judges["value"].notna()]
    if known.empty:
        return []
    name = metric_order.main_coefficient(known)
    drawn = []
    for question, rows in grouped(known[known["coefficient"] == name]):
        rows = rows.assign(
            pair=[
                listed(say(PEOPLE.get(name, name)) for name in names)
                for names in zip(rows["metric_a"], rows["metric_b"], strict=True)
            ],
            at=[say(LEVEL_NAMES[level]) for level in rows["level"]],
        )
        order = list(dict.fromkeys(rows["pair"]))[:MOST_ROWS]
        panel = dots(
            question,
            rows[rows["pair"].isin(order)],
            "pair",
            say(COEFFICIENT_NAMES[name]),
            groups="at",
            order=order,
            lines=[0],
        )
        drawn.append(panel)
    return figure_of(
        "judges",
        "Do judges agree with people and one another?",
        "Two judges that agree with each other more than with people share a "
        "taste that people do not have.",
        "Correlations between judges.",
        drawn,
        24,
        most_panels=MOST_PANELS,
        most_words=MOST_WORDS,
    )
