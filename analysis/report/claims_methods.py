"""What can be claimed of methods: which stands first, and whether that is settled."""

import math
from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd

from analysis.printing import counted
from analysis.report.wording import ClaimText, first_row, number


def rated_claims(board: pd.DataFrame) -> Iterator[ClaimText]:
    """Say whose mean rating is highest, and whether its rank is settled."""
    for question, rows in board.groupby("question", sort=True):
        known = rows.dropna(subset=["mean"])
        if len(known) < 2:
            continue
        first = first_row(known.sort_values(["mean_rank", "method"]))
        leading = sorted(known.loc[known["mean_rank"] == 1, "method"])
        mean = number(first["mean"])
        if len(leading) > 1:
            names = ", ".join(leading)
            yield False, f"{question}: {names} share the highest mean rating, {mean}."
            continue
        if not math.isnan(first["mean_low"]):
            mean += f" [{number(first['mean_low'])}, {number(first['mean_high'])}]"
        text = f"{question}: {first['method']} has the highest mean rating, {mean}"
        low, high = first["mean_rank_low"], first["mean_rank_high"]
        if pd.isna(low) or pd.isna(high):
            yield False, f"{text}, but its rank has no interval."
        elif low == high == 1:
            yield True, f"{text}, and is shown to be ahead of every other method."
        else:
            yield False, f"{text}, but its rank may be {low:.0f} to {high:.0f}."


def leader_claims(
    board: pd.DataFrame, n: str = "n_comparisons", noun: str = "comparison"
) -> Iterator[ClaimText]:
    """Say who stands first; column `n` counts a method's answers, `noun` names one."""
    unsettled = []
    for criterion, rows in board.groupby("criterion", sort=True):
        rows = rows.dropna(subset=["rating"])
        if rows.empty:
            continue
        first = first_row(rows.sort_values(["rank", "method"]))
        leading = sorted(rows.loc[rows["rank"] == 1, "method"])
        if len(leading) > 1:
            yield (
                False,
                f"{criterion}: no method stands first alone; {', '.join(leading)} "
                f"share the first place with a rating of {_rating(first)}.",
            )
            continue
        text = (
            f"{criterion}: {first['method']} stands first with a rating of "
            f"{_rating(first)} from {counted(first[n], noun)}"
        )
        low, high = first["rank_low"], first["rank_high"]
        if pd.isna(low) or pd.isna(high):
            yield False, f"{text}, but its rank has no interval."
        elif low == high == 1:
            yield True, f"{text}, and is shown to be ahead of every other method."
        else:
            unsettled.append(
                f"{criterion} ({first['method']} {_rating(first)}, rank {low:.0f} to "
                f"{high:.0f}, {counted(first[n], noun)})"
            )
    if unsettled:
        yield False, f"The first place is not settled in {', '.join(unsettled)}."


def _rating(row: Mapping[str, Any]) -> str:
    text = f"{row['rating']:.0f}"
    if not math.isnan(row["low"]):
        text += f" [{row['low']:.0f}, {row['high']:.0f}]"
    return text.replace("-", "\N{MINUS SIGN}")
