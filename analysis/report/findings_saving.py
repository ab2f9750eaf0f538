"""Sentences on the ratings that metrics save."""

import math
from collections.abc import Iterator

import pandas as pd

from analysis.report.findings_verdicts import named_metric
from analysis.report.wording import ClaimText, claim, per_cent, records, share, word

SAVED = "saved"


def save_claims(
    prediction_powered: pd.DataFrame, verdicts: pd.DataFrame | None
) -> Iterator[ClaimText]:
    """Yield what the named metric of each question saves, in two sentences at most.

    The first is on the question where it saves most. It is shown if the interval is
    above 0.
    """
    known = prediction_powered[
        (prediction_powered["statistic"] == SAVED) & prediction_powered["value"].notna()
    ]
    rows = [
        row
        for (question, source), own in known.groupby(["question", "source"], sort=True)
        for metric in [named_metric(verdicts, str(question), str(source))]
        for row in records(own[own["metric"] == metric])
    ]
    rows.sort(key=lambda row: -row["value"])
    if not rows:
        return
    for row in rows[: 1 if len(rows) > 2 else 2]:
        values = {"metric": row["metric"], "question": row["question"]}
        if math.isnan(row["low"]):
            yield False, word(SAVED, "untested", share=share(row), **values)
        else:
            yield claim(SAVED, row["low"] > 0, share=share(row), **values)
    if len(rows) > 2:
        others = [row["high"] for row in rows[1:] if not math.isnan(row["high"])]
        if others:
            most = per_cent(max(others))
            yield False, word(SAVED, "others", n=len(others), share=most)
