"""What can be claimed of pairs: one annotator, weighted metrics, and sides."""

import math
from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd

from analysis.printing import counted
from analysis.reading.scores import BASELINES
from analysis.report.verdict_claims import named_metric
from analysis.report.wording import (
    ClaimText,
    first_row,
    is_clear,
    per_cent,
    records,
    some_have,
)

CHANCE = 0.5
ONE_ANNOTATOR = "one annotator"


def human_pair_claims(
    human_pairs: pd.DataFrame, verdicts: pd.DataFrame | None
) -> Iterator[ClaimText]:
    """Hold the metric that verdicts name against one annotator, on the same pairs."""
    unsettled = []
    for (name, source), rows in human_pairs.groupby(["question", "source"], sort=True):
        question = _asked(str(name), str(source), human_pairs)
        known = rows[rows["value"].notna()]
        one = known[known["metric"] == ONE_ANNOTATOR]
        first = named_metric(verdicts, str(name), str(source))
        metrics = known[known["metric"] == first]
        if one.empty or metrics.empty:
            continue
        person, named = first_row(one), first_row(metrics)
        points = -100 * named["difference"], -100 * named["difference_high"]
        text = (
            f"{question}: one annotator predicts the others in "
            f"{per_cent(person['value'], person['low'], person['high'])} of "
            f"{counted(person['n'], 'judgement')} of pairs (ties half), "
            f"{named['metric']} in "
            f"{per_cent(named['value'], named['low'], named['high'])}: "
        )
        if math.isnan(named["difference_low"]):
            yield False, f"{text}the difference has no interval."
            continue
        least, most = sorted((points[1], -100 * named["difference_low"]))
        away = f"{abs(points[0]):.0f} points"
        if least > 0:
            yield True, f"{text}{away} [{least:.0f}, {most:.0f}] lower."
        elif most < 0:
            yield True, f"{text}{away} [{-most:.0f}, {-least:.0f}] higher."
        else:
            unsettled.append(
                f"{question} ({named['metric']} {_signed(-points[0])} points "
                f"[{_signed(-most)}, {_signed(-least)}])"
            )
    if unsettled:
        yield (
            False,
            "Whether a metric predicts people as well as one annotator predicts the "
            f"others is open in {', '.join(unsettled)}.",
        )


def disagreement_claims(
    disagreement: pd.DataFrame, verdicts: pd.DataFrame | None
) -> Iterator[ClaimText]:
    """Say on which pair the metric that verdicts name and people differ most."""
    pairs = disagreement[disagreement["kind"] == "pair"]
    for (name, source), rows in pairs.groupby(["question", "source"], sort=True):
        metric = named_metric(verdicts, str(name), str(source))
        own = rows[rows["metric"] == metric]
        if own.empty:
            continue
        row = first_row(own.sort_values("value", ascending=False, kind="stable"))
        yield (
            True,
            f"{_asked(str(name), str(source), disagreement)}: {metric} and people "
            f"differ most on {row['method']} and {row['other_method']} in story "
            f"{row['story']}: the metric prefers the first "
            f"({row['score']:.3g} against {row['score_other']:.3g}), people the other "
            f"({row['human_other']:.3g} against {row['human']:.3g}).",
        )


def _asked(question: str, source: str, table: pd.DataFrame) -> str:
    """Name the question, and the answers where there are two kinds of them."""
    own = table[table["question"] == question]
    return f"{question} ({source})" if own["source"].nunique() > 1 else question


def _signed(value: float, decimals: int = 0) -> str:
    return f"{value + 0.0:+.{decimals}f}".replace("-", "\N{MINUS SIGN}")


def _gain(row: Mapping[str, Any]) -> str:
    value, low, high = (_signed(100 * row[key], 1) for key in ("value", "low", "high"))
    return f"{value} points" + ("" if math.isnan(row["low"]) else f" [{low}, {high}]")


def calibration_claims(calibration: pd.DataFrame) -> Iterator[ClaimText]:
    """Say whether weighted metrics beat the best single one on held-out stories."""
    gains = calibration[
        (calibration["statistic"] == "gain") & calibration["value"].notna()
    ]
    # The best component's gain stands first; the other one is against their mean.
    gains = gains[gains["against"] != "mean of components"]
    within = []
    for row in records(gains):
        row["question"] = _asked(row["question"], row.get("source", ""), calibration)
        gain = f"gain {_gain(row)} over {row['against']}"
        if row["low"] > 0:
            yield (
                True,
                f"{row['question']}: metrics weighted to fit people predict them "
                f"better than the best single one on stories held out: {gain}, "
                f"n = {counted(row['n'], 'pair')}.",
            )
        else:
            within.append(f"{row['question']} ({gain}, {counted(row['n'], 'pair')})")
    if within:
        yield (
            False,
            "Metrics weighted to fit people are not shown to predict them better than "
            f"the best single one on stories held out: {', '.join(within)}.",
        )


def side_claims(
    bias: pd.DataFrame, side_effect: pd.DataFrame | None, confidence: float
) -> Iterator[ClaimText]:
    """Say where the side on which an output stands moves people.

    The share counts once strong methods are taken into account that stood on one side
    more often. Its interval has to say it, which draws clusters: the binomial test
    takes answers as independent.
    """
    known = bias[bias["value"].notna()]
    if known.empty:
        return
    names = {"value": "value", "low": "low", "high": "high"}
    if "adjusted" in known and known["adjusted"].notna().all():
        names = {"value": "adjusted", "low": "adjusted_low", "high": "adjusted_high"}
    moved, unmoved = [], 0
    for row in records(known):
        own = {key: row[name] for key, name in names.items()}
        turned = {"value": 1 - own["value"], "low": 1 - own["high"]}
        if any(
            is_clear(x, CHANCE, choices=len(known), confidence=confidence)
            for x in (own, turned)
        ):
            moved.append((row, own))
        else:
            unmoved += 1
    if moved:
        listed = ", ".join(
            f"{row['question']} (left wins "
            f"{per_cent(own['value'], own['low'], own['high'])} of "
            f"{counted(row['n'], 'answer')} that choose"
            f"{_points(row['question'], side_effect)})"
            for row, own in moved
        )
        yield True, f"The side matters in {listed}; intervals draw clusters of answers."
    if unmoved:
        yield (
            False,
            f"{unmoved} of {counted(len(known), 'question')} "
            f"{'does' if unmoved == 1 else 'do'} not show a preference for a side.",
        )


def _points(question: object, side_effect: pd.DataFrame | None) -> str:
    if side_effect is None:
        return ""
    own = side_effect[side_effect["question"] == question]
    if own.empty or pd.isna(own["elo"].iloc[0]):
        return ""
    return f", worth {_signed(own['elo'].iloc[0])} points of a rating"


def tie_limits(pairwise: pd.DataFrame) -> Iterator[str]:
    """Say where metrics tie often."""
    real = pairwise[~pairwise["metric"].isin(BASELINES)]
    tied = int((real["metric_tie_rate"] > 0.2).sum())
    if tied:
        rows = "row of pairwise accuracy", "rows of pairwise accuracy"
        yield (
            f"{some_have(tied, len(real), *rows)} more than 20 % metric ties: strict "
            "and half accuracy differ, so quote both."
        )
