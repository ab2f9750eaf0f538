"""What can be claimed of methods: which stands first, and whether that is settled."""

import math
from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd

from analysis.report.language import counted, listed, say
from analysis.report.wording import ClaimText, drawn_units, first_row, number


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
            text = say(
                "{question}: {methods} share the highest mean rating, {mean}.",
                question=question,
                methods=listed(leading),
                mean=mean,
            )
            yield False, text
            continue
        if not math.isnan(first["mean_low"]):
            mean += f" [{number(first['mean_low'])}, {number(first['mean_high'])}]"
        text = say(
            "{question}: {method} has the highest mean rating, {mean}",
            question=question,
            method=first["method"],
            mean=mean,
        )
        low, high = first["mean_rank_low"], first["mean_rank_high"]
        yield _settled(text, low, high, first["drawn"]) or (
            False,
            say(
                "{first}, but its rank may be {low} to {high}.",
                first=text,
                low=f"{low:.0f}",
                high=f"{high:.0f}",
            ),
        )


def _settled(text: str, low: Any, high: Any, drawn: str) -> ClaimText | None:
    """Say that a rank has no interval, or that it is the first; else nothing.

    `drawn` are the clusters that its interval draws.
    """
    if pd.isna(low) or pd.isna(high):
        return False, say("{first}, but its rank has no interval.", first=text)
    if low == high == 1:
        return True, say(
            "{first}, and is shown to be ahead of every other method, for other "
            "{units}.",
            first=text,
            units=drawn_units(drawn.split("+")),
        )
    return None


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
                say(
                    "{question}: no method stands first alone; {methods} share the "
                    "first place with a rating of {rating}.",
                    question=criterion,
                    methods=listed(leading),
                    rating=_rating(first),
                ),
            )
            continue
        values = {
            "question": criterion,
            "method": first["method"],
            "rating": _rating(first),
            "answers": counted(first[n], noun),
        }
        text = say(
            "{question}: {method} stands first with a rating of {rating} from "
            "{answers}",
            **values,
        )
        low, high = first["rank_low"], first["rank_high"]
        if settled := _settled(text, low, high, first["drawn"]):
            yield settled
        else:
            ranks = {"low": f"{low:.0f}", "high": f"{high:.0f}"}
            unsettled.append(
                say(
                    "{question} ({method} {rating}, rank {low} to {high}, {answers})",
                    **values,
                    **ranks,
                )
            )
    if unsettled:
        names = listed(unsettled)
        yield False, say("The first place is not settled in {names}.", names=names)


def _rating(row: Mapping[str, Any]) -> str:
    text = f"{row['rating']:.0f}"
    if not math.isnan(row["low"]):
        text += f" [{row['low']:.0f}, {row['high']:.0f}]"
    return text.replace("-", "\N{MINUS SIGN}")
