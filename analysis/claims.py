"""What can be claimed, and what cannot: sentences generated from the numbers."""

import math
from collections.abc import Mapping
from typing import Any

import pandas as pd

NAMES = {"kendall": "Kendall's tau-b", "spearman": "Spearman's rho",
         "pearson": "Pearson's r"}  # fmt: skip
LEVELS = {
    "story": "inside stories",
    "pooled": "over all cells together",
    "method": "over method means",
}
FEW_METHODS = 10


def number(value: float) -> str:
    """Return a coefficient as text: two decimals, a true minus sign.

    Examples
    --------
    >>> number(-0.456)
    '−0.46'
    """
    return f"{value:.2f}".replace("-", "\N{MINUS SIGN}")


def interval(row: Mapping[str, Any]) -> str:
    """Return [low, high], or nothing where there is none."""
    if math.isnan(row["low"]) or math.isnan(row["high"]):
        return ""
    return f" [{number(row['low'])}, {number(row['high'])}]"


def _first(rows: pd.DataFrame) -> dict[str, Any]:
    """Return the first row by column name."""
    return {str(column): rows[column].iloc[0] for column in rows.columns}


def sentences(tables: Mapping[str, pd.DataFrame]) -> tuple[str, ...]:
    """Return what the data support, one sentence each."""
    found: list[str] = []
    if "correlations" in tables:
        found += _best_metrics(tables["correlations"])
    if "agreement" in tables:
        found += _people(tables["agreement"])
    if "leaderboard" in tables:
        found += _leaders(tables["leaderboard"])
    return tuple(found)


def _best_metrics(correlations: pd.DataFrame) -> list[str]:
    text = []
    for question, rows in correlations.groupby("dimension", sort=True):
        defined = rows[rows["value"].notna()]
        known = set(zip(defined["coefficient"], defined["level"], strict=True))
        shown = [(c, x) for c in NAMES for x in LEVELS if (c, x) in known]
        if not shown:
            text.append(f"{question}: no coefficient is defined; the tables say why.")
            continue
        name, level = shown[0]
        rows = defined[(defined["coefficient"] == name) & (defined["level"] == level)]
        best = _first(rows.sort_values(["value", "metric"], ascending=[False, True]))
        sentence = (
            f"{question}: of {len(rows)} metrics, {best['metric']} agrees best with "
            f"people {LEVELS[level]}: {NAMES[name]} {number(best['value'])}"
            f"{interval(best)}, n = {int(best['n'])}."
        )
        if not math.isnan(best["low"]) and best["low"] <= 0:
            sentence += " Its interval includes 0, so even that is not established."
        text.append(sentence)
    return text


def _people(agreement: pd.DataFrame) -> list[str]:
    text = []
    for question, rows in agreement.groupby("question", sort=True):
        name = "alpha_nominal"
        if (rows["statistic"] == "alpha_ordinal").any():
            name = "alpha_ordinal"
        alpha = _first(rows[rows["statistic"] == name])
        kind = name.removeprefix("alpha_")
        if math.isnan(alpha["value"]):
            why = alpha["reason"]
            text.append(f"{question}: agreement of people is undefined: {why}.")
            continue
        text.append(
            f"{question}: people agree with {kind} alpha {number(alpha['value'])}"
            f"{interval(alpha)} ({int(alpha['n_annotators'])} annotators, "
            f"{int(alpha['n_units'])} units with two or more answers)."
        )
    return text


def _leaders(board: pd.DataFrame) -> list[str]:
    text = []
    for criterion, rows in board.groupby("criterion", sort=True):
        rows = rows.dropna(subset=["rating"])
        if rows.empty:
            continue
        first = _first(rows.sort_values(["rank", "method"]))
        text.append(
            f"{criterion}: {first['method']} stands first with a rating of "
            f"{first['rating']:.0f}{_ranks(first['rank_low'], first['rank_high'])}."
        )
    return text


def _ranks(low: Any, high: Any) -> str:
    if pd.isna(low) or pd.isna(high):
        return ""
    if low == high == 1:
        return ", and in nearly every resample"
    return f" (rank {low:.0f} to {high:.0f})"


def limits(tables: Mapping[str, pd.DataFrame]) -> tuple[str, ...]:
    """Return what the data do not support, one sentence each."""
    found = []
    correlations = tables.get("correlations")
    if correlations is not None and len(correlations):
        methods = correlations[correlations["level"] == "method"]["n"].max()
        if methods < FEW_METHODS:
            found.append(
                f"Only {int(methods)} methods: a coefficient over method means is "
                "nearly uninformative, whatever its value."
            )
        shaky = correlations[(correlations["low"] <= 0) & (correlations["value"] > 0)]
        if len(shaky):
            share = f"{len(shaky)} of {int(correlations['value'].notna().sum())}"
            found.append(
                f"{share} coefficients have an interval that includes 0: they do not "
                "show agreement."
            )
    pairwise = tables.get("pairwise_accuracy")
    if pairwise is not None and len(pairwise):
        real = pairwise[pairwise["metric"] != "constant"]
        tied = real[real["metric_tie_rate"] > 0.2]
        if len(tied):
            found.append(
                f"{len(tied)} of {len(real)} rows of pairwise accuracy have more than "
                "20 % metric ties: strict and half accuracy differ, so quote both."
            )
    if any(table["low"].notna().any() for table in tables.values() if "low" in table):
        found.append(
            "Intervals come from resampling this study's own answers; they say nothing "
            "about stories or methods of another kind."
        )
    return tuple(found)
