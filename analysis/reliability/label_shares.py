"""Shares of items where yes is true, by majority and by Dawid and Skene."""

import numpy as np
import pandas as pd

from analysis.inference.crossed_clusters import crossed_covariance, share_intervals
from analysis.reading.column_cleaning import combined
from analysis.reading.kept_answers import are_means
from analysis.reliability.checklist_labels import box_dimensions
from analysis.reliability.label_aggregation import (
    LabelAnswers,
    dawid_skene,
    share_influence,
)
from analysis.reliability.random_responding import ALL_QUESTIONS, ALL_SAME
from analysis.results import NAN, Array, Counts, TableRow
from analysis.sentences import sentence

ITEM = ("story", "method", "shot", "round")
# With fewer annotators, their errors cannot be told from what is true.
LEAST_ANNOTATORS = 3
# Scales of so few steps might be taken for labels.
MOST_STEPS = 4
UNKNOWN = sentence("the answers do not determine the annotators' errors")
ORDINAL = sentence(
    "its answers are steps of a scale, not labels; averages and agreement describe them"
)


def aggregation_rows(ratings: pd.DataFrame, confidence: float | None) -> list[TableRow]:
    """Return how often yes is true in each question, and annotators' errors.

    Parameters
    ----------
    ratings
        Kept ratings. Boxes of checklists enter, and questions with two answers, 0 and
        1. The model has labels without an order: questions with three or four answers
        are refused.
    confidence
        That of intervals over new stories, with these annotators; None for none.

    Returns
    -------
    list of dict
        A row a question, then a row an annotator over all questions that are fitted.
        The votes of an even split are shared. Questions without a value have a reason.
    """
    if are_means(ratings):
        return []
    boxes = set(box_dimensions(ratings))
    found: list[TableRow] = []
    fitted = []
    for name, own in ratings.groupby("dimension"):
        values = own["rating"].unique()
        is_binary = name in boxes or set(values) == {0, 1}
        if not is_binary and not 2 < len(values) <= MOST_STEPS:
            continue
        asked = _Question(own)
        row: TableRow = {"question": str(name), "annotator": "", **asked.size}
        found.append(row)
        if not is_binary:
            row["reason"] = ORDINAL
            continue
        row |= asked.majority(confidence)
        if len(asked.people) < LEAST_ANNOTATORS:
            row["reason"] = sentence("fewer than {n} annotators", n=LEAST_ANNOTATORS)
        elif len(values) == 1:
            row["reason"] = ALL_SAME
        else:
            known = asked.estimate(confidence)
            row |= known or {"reason": UNKNOWN}
            if known:
                fitted.append(asked.by_person())
    return found + (_by_annotator(pd.concat(fitted)) if fitted else [])


def _interval(
    value: float, adds: Array, story: Counts, confidence: float | None
) -> tuple[float, float]:
    """Return the bounds of a share over new stories; NaN where nothing varies."""
    if confidence is None:
        return NAN, NAN
    clusters = [(story, int(story.max()) + 1)]
    each = np.arange(len(adds))
    covariance = crossed_covariance(adds[:, None], each, clusters, rank=1)
    if covariance is None:
        return NAN, NAN
    errors = covariance.of(np.eye(1))
    if not (errors.variance[0] > 0 and 0 < value < 1):
        return NAN, NAN
    n = value * (1 - value) / errors.variance
    low, high = share_intervals(np.array([value]), n, errors.quantiles(confidence))
    return float(low[0]), float(high[0])


class _Question:
    """The answers to one question; the second of the labels 0 and 1 is yes."""

    def __init__(self, rows: pd.DataFrame) -> None:
        item = combined([rows[key] for key in ITEM if key in rows])
        _, first, self.item = np.unique(item, return_index=True, return_inverse=True)
        self.story = pd.factorize(rows["story"].iloc[first])[0]
        self.person, self.people = pd.factorize(
            rows["annotator"].astype(str), sort=True
        )
        self.label = rows["rating"].to_numpy(int)
        self.chance = np.zeros(len(first))

    @property
    def size(self) -> TableRow:
        """The columns of the numbers of items, answers and annotators."""
        return {
            "n": len(self.chance),
            "n_answers": len(self.label),
            "n_annotators": len(self.people),
            "reason": "",
        }

    def _votes(self) -> Array:
        """Return the share of its answers that say yes, by item."""
        return np.asarray(np.bincount(self.item, self.label) / np.bincount(self.item))

    def majority(self, confidence: float | None) -> TableRow:
        """Return the columns of the majority."""
        decided = (np.sign(self._votes() - 0.5) + 1) / 2
        value = float(decided.mean())
        adds = (decided - value) / len(decided)
        low, high = _interval(value, adds, self.story, confidence)
        return {"majority": value, "majority_low": low, "majority_high": high}

    def estimate(self, confidence: float | None) -> TableRow:
        """Return the columns of the model; none where it is not determined."""
        answers = LabelAnswers(self.item, self.person, self.label, 2)
        found = dawid_skene(answers)
        adds = share_influence(answers, found)
        if adds is None or not found.converged:
            return {}
        self.chance = found.chance[:, 1]
        votes, share = self._votes(), float(found.share[1])
        differ = (votes != 0.5) & ((votes > 0.5) != (self.chance > 0.5))
        low, high = _interval(share, adds[:, 1], self.story, confidence)
        return {
            "dawid_skene": share,
            "dawid_skene_low": low,
            "dawid_skene_high": high,
            "n_differ": int(differ.sum()),
            **_rates(self.by_person().sum()),
        }

    def by_person(self) -> pd.DataFrame:
        """Return how many true and untrue items each annotator calls so."""
        true, yes = self.chance[self.item], self.label == 1
        counts = pd.DataFrame(
            {
                "n_answers": 1,
                "true": true,
                "untrue": 1 - true,
                "rightly": true * yes,
                "rightly_not": (1 - true) * ~yes,
            }
        )
        return counts.groupby(self.people[self.person]).sum()


def _by_annotator(counts: pd.DataFrame) -> list[TableRow]:
    """Return the errors of each annotator over all questions."""
    return [
        {
            "question": ALL_QUESTIONS,
            "annotator": str(name),
            "n": int(row["n_answers"]),
            "n_answers": int(row["n_answers"]),
            "n_annotators": 1,
            **_rates(row),
            "reason": "",
        }
        for name, row in counts.groupby(level=0).sum().iterrows()
    ]


def _rates(counts: "pd.Series[float]") -> TableRow:
    """Return how often true and untrue items are called so."""
    true, untrue = float(counts["true"]), float(counts["untrue"])
    return {
        "sensitivity": float(counts["rightly"]) / true if true else NAN,
        "specificity": float(counts["rightly_not"]) / untrue if untrue else NAN,
    }
