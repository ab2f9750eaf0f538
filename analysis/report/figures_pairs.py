"""Figures of metrics and judges on pairs, beside people and over trials."""

import math
from collections.abc import Iterator

import pandas as pd

from analysis.reading.scores import BASELINES
from analysis.report import metric_order
from analysis.report.figure import (
    MOST_ROWS,
    Part,
    best_first,
    by_value,
    figure,
    grouped,
    said,
)
from analysis.report.findings_pairs import ONE_ANNOTATOR
from analysis.report.language import headed, listed, say, texts
from analysis.report.metric_order import level_texts, title_of, without_baselines
from analysis.report.panels import dots, in_per_cent
from analysis.report.wording import (
    PEOPLE,
    board,
    of_answers,
    per_cent,
    records,
    with_interval,
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
BOTH = ["question", "source"]


@figure("pairs")
def pair_dots(
    pairwise_accuracy: pd.DataFrame, verdicts: pd.DataFrame | None = None
) -> Iterator[Part]:
    """Draw pairwise accuracy, half and strict, with chance and what is demanded."""
    demanded = math.nan if verdicts is None else float(verdicts["demanded"].max())
    is_demanded = not math.isnan(demanded)
    for (question, source), rows in pairwise_accuracy.groupby(BOTH, sort=True):
        real = rows[~rows["metric"].isin(BASELINES)].dropna(subset=["ppa_half"])
        if real.empty:
            continue
        real = real.sort_values(["ppa_half", "metric"], ascending=[False, True])
        half, strict = (in_per_cent(real, "metric", *kind) for kind in KINDS.items())
        yield dots(
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
    yield is_demanded and say(
        "The dotted line is the {share} that are demanded.", share=per_cent(demanded)
    )


@figure("human-pairs")
def human_pair_dots(human_pairs: pd.DataFrame) -> Iterator[Part]:
    """Draw how well one annotator, and each metric, predicts the other annotators."""
    for (question, source), rows in without_baselines(human_pairs).groupby(BOTH):
        one = rows[rows["metric"] == ONE_ANNOTATOR]
        if one.empty or len(rows) == len(one):
            continue
        rows = best_first(rows)
        shares = {c: 100 * rows[c] for c in ("value", "low", "high")}
        scaled = _named(rows.assign(**shares))
        ceiling = 100 * float(one["value"].iloc[0])
        yield dots(
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


def _named(rows: pd.DataFrame) -> pd.DataFrame:
    """Name what is no metric in the language of the report."""
    return rows.assign(metric=[_name(name) for name in rows["metric"]])


def _name(metric: str) -> str:
    return say(NO_METRICS.get(metric, metric))


@figure("spa")
def spa_dots(spa: pd.DataFrame) -> Iterator[Part]:
    """Draw soft pairwise accuracy, question by question."""
    for question, rows in grouped(without_baselines(spa)):
        yield dots(question, best_first(rows), "metric", "SPA")


@figure("calibration")
def calibration_dots(calibration: pd.DataFrame) -> Iterator[Part]:
    """Draw held-out accuracy of the weighted metrics beside each one, and weights."""
    for question, rows in grouped(calibration[calibration["value"].notna()]):
        held_out = _named(rows[rows["statistic"] == "ppa_half"])
        if held_out.empty:
            continue
        order = by_value(held_out)
        told = [said(held_out, "metric")]
        for row in records(rows[rows["statistic"] == "gain"]):
            against, gain = _name(row["against"]), with_interval(row)
            told.append(say("gain over {metric} {gain}", metric=against, gain=gain))
        yield dots(
            say("{question}: held out", question=question),
            held_out,
            "metric",
            say("accuracy, a tie is half"),
            order=order,
            lines=[0.5],
            words=headed(question, listed(told)),
        )
        weights = rows[rows["statistic"] == "weight"]
        if len(weights):
            yield dots(
                say("{question}: weights", question=question),
                weights,
                "metric",
                say("weight (shares of 1)"),
                lines=[0.0],
                order=[m for m in order if m in set(weights["metric"])],
                words="",
            )


@figure("stability")
def stability_dots(stability: pd.DataFrame) -> Iterator[Part]:
    """Draw what repeated trials of a judge give, statistic by statistic."""
    known = stability[
        stability["value"].notna() & (stability["method"].fillna("") == "")
    ]
    known = known.assign(board=[board(row) for row in records(known)])
    for statistic, title in TRIALS.items():
        if len(rows := known[known["statistic"] == statistic]):
            yield dots(say(title), rows.head(MOST_ROWS), "board", "", span=(0.0,))


@figure("judges")
def judge_dots(judges: pd.DataFrame) -> Iterator[Part]:
    """Draw how judges agree with people and with one another."""
    known = judges[judges["value"].notna()]
    if known.empty:
        return
    name = metric_order.main_coefficient(known)
    for question, rows in grouped(known[known["coefficient"] == name]):
        rows = rows.assign(
            pair=[
                listed(say(PEOPLE.get(name, name)) for name in names)
                for names in zip(rows["metric_a"], rows["metric_b"], strict=True)
            ],
            at=level_texts(rows),
        )
        order = list(dict.fromkeys(rows["pair"]))[:MOST_ROWS]
        own = rows[rows["pair"].isin(order)]
        yield dots(
            question, own, "pair", title_of(name), groups="at", order=order, lines=[0]
        )
