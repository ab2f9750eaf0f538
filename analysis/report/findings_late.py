"""Sentences on a method that people judged after a study had ended."""

from collections.abc import Iterator, Sequence

import pandas as pd

from analysis.correlations.metric_differences import SIGNIFICANT
from analysis.report.language import counted, retold
from analysis.report.wording import (
    ClaimText,
    Row,
    claim_of,
    is_missing,
    p_text,
    per_cent,
    records,
    with_interval,
    word,
)

# A wider interval by less is not worth a sentence.
LEAST_EXTRA = 0.01


def late_claims(
    late_drift: pd.DataFrame,
    late_methods: pd.DataFrame | None,
    late_differences: pd.DataFrame | None,
) -> Iterator[ClaimText]:
    """Yield the late method's place by question, and whether people drifted."""
    methods = [] if late_methods is None else records(late_methods)
    gaps = [] if late_differences is None else records(late_differences)
    for row in methods:
        own = [gap for gap in gaps if _place(gap) == _place(row)]
        is_placed = not is_missing(row, "low")
        yield claim_of(is_placed, row["question"], *_sentences(row, own))
    names = {_place(row): row["method"] for row in methods}
    for row in records(late_drift):
        shown = not is_missing(row, "p_value") and row["p_value"] < SIGNIFICANT
        key = row["statistic"]
        if key == "mean":
            key = "mean shown" if shown else "mean open"
        if not is_missing(row, "p_value") and (shown or key == "mean open"):
            text = word(
                "late",
                key,
                value=with_interval(row),
                p=p_text(row["p_value"]),
                method=names.get(_place(row), ""),
            )
            yield claim_of(shown, row["question"], text)
    choices = late_drift[late_drift["source"] == "choices"]
    for question, part in choices.groupby("question", sort=False):
        # Without any test, the least p-value is missing.
        if part["p_value"].min() >= SIGNIFICANT:
            pairs = counted(part["n_linking"].max(), "pair")
            yield claim_of(False, question, word("late", "choices open", n=pairs))


def _place(row: Row) -> tuple[str, str]:
    return row["question"], row["source"]


def _sentences(row: Row, gaps: Sequence[Row]) -> list[str]:
    if is_missing(row, "low"):
        return [
            word("late", "without", method=row["method"], reason=retold(row["reason"]))
        ]
    if row["source"] == "choices":
        value = f"{row['value']:.0f} [{row['low']:.0f}, {row['high']:.0f}]"
        texts = [word("late", "placed", method=row["method"], value=value)]
    else:
        outputs = counted(row["n_linking"], "linking output")
        value = with_interval(row)
        texts = [word("late", "linked", method=row["method"], value=value, n=outputs)]
        if row["extra_error"] >= LEAST_EXTRA:
            texts.append(word("late", "extra", share=per_cent(row["extra_error"])))
    apart = [gap for gap in gaps if gap["p_adjusted"] < SIGNIFICANT]
    above = sum(gap["difference"] > 0 for gap in apart)
    others = counted(len(gaps), "older method")
    below = len(apart) - above
    texts.append(word("late", "apart", above=above, below=below, n=others))
    return texts
