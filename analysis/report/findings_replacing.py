"""Sentences on whether metrics may take an annotator's place."""

from collections.abc import Iterator, Sequence

import pandas as pd

from analysis.reliability.annotator_replacement import DOES_NOT, REPLACES, STORIES
from analysis.report.findings_verdicts import chosen_of, named_metric
from analysis.report.language import AND, counted, listed, retold
from analysis.report.wording import (
    ClaimText,
    Row,
    claim_of,
    epsilon_text,
    is_missing,
    of_answers,
    records,
    word,
)
from analysis.verdicts import ABOVE

# Of more questions there is one sentence.
MOST_QUESTIONS = 3
# An epsilon that is written as 0.
NO_EPSILON = 0.005
TABLE = "replacing"
# Annotators are replaced by a metric that may be no better than chance.
NO_BETTER = "chance"


def replacement_claims(
    alternative_annotator: pd.DataFrame, verdicts: pd.DataFrame | None
) -> Iterator[ClaimText]:
    """Yield whether the leading metric of each question may replace an annotator."""
    of_all = alternative_annotator[
        (alternative_annotator["annotator"] == "")
        & (alternative_annotator["drawn"] == STORIES)
    ]
    both = of_all.groupby("question")["source"].nunique()
    leading = []
    for (question, source), rows in of_all.groupby(["question", "source"], sort=True):
        metric = named_metric(verdicts, str(question), str(source))
        for row in records(rows[rows["metric"] == metric]):
            if both[str(question)] > 1:
                row["question"] = of_answers(question, source)
            beside = _beside(verdicts, str(question), str(source), metric)
            leading.append({**row, **beside})
    if len(leading) > MOST_QUESTIONS:
        yield _counts(leading)
        return
    for row in leading:
        is_shown = _verdict(row) == REPLACES
        texts = [_sentence(row), *(chosen_of(row["n_explored"]) if is_shown else ())]
        yield claim_of(is_shown, row["question"], *texts)


def _beside(
    verdicts: pd.DataFrame | None, question: str, source: str, metric: str
) -> Row:
    """Return whether the metric is above chance, and of how many it was chosen."""
    if verdicts is None:
        return {"is_above": False, "n_explored": 0}
    here = (verdicts["question"] == question) & (verdicts["source"] == source)
    leading = verdicts[here & verdicts["leads"]]
    own = leading[leading["metric"] == metric]
    explored = leading["role"] == "exploratory"
    is_explored = (own["role"] == "exploratory").any()
    return {
        "is_above": bool((own["verdict"] == ABOVE).any()),
        "n_explored": int(explored.sum()) if is_explored else 0,
    }


def _verdict(row: Row) -> str:
    is_chance = row["verdict"] == REPLACES and not row["is_above"]
    return NO_BETTER if is_chance else str(row["verdict"])


def _sentence(row: Row) -> str:
    values = {"metric": row["metric"]}
    is_asked = not is_missing(row, "epsilon")
    if row["reason"] and (is_asked or is_missing(row, "epsilon_needed")):
        return word(TABLE, "untested", reason=retold(row["reason"]), **values)
    if row["reason"]:
        needed = float(row["epsilon_needed"])
        kind = "any" if needed < NO_EPSILON else "needed"
        return word(TABLE, kind, epsilon=epsilon_text(needed), **values)
    values |= {
        "n": f"{row['wins']:.0f}",
        "annotators": counted(row["n_annotators"], "annotator"),
        "epsilon": epsilon_text(float(row["epsilon"])),
    }
    if (verdict := _verdict(row)) in (REPLACES, DOES_NOT, NO_BETTER):
        return word(TABLE, verdict, **values)
    kind = "open" if is_missing(row, "n_more_stories") else "more"
    stories = "" if kind == "open" else counted(row["n_more_stories"], "more story")
    return word(TABLE, kind, stories=stories, **values)


def _counts(leading: Sequence[Row]) -> ClaimText:
    """Return one sentence on the leading metrics of many questions."""
    tested = [row for row in leading if not row["reason"]]
    asked = [row for row in leading if not is_missing(row, "epsilon")]
    if not asked:
        text = word(TABLE, "none of many", n=len(leading))
        return False, text
    replacing = [str(row["question"]) for row in tested if _verdict(row) == REPLACES]
    worse = sum(row["verdict"] == DOES_NOT for row in tested)
    values = {
        "n": len(replacing),
        "total": len(leading),
        "worse": worse,
        "open": len(leading) - len(replacing) - worse,
    }
    kind = "many" if replacing else "many none"
    return bool(replacing), word(TABLE, kind, names=listed(replacing, AND), **values)
