"""Shares of items with a yes or a tick, by majority and by Dawid and Skene."""

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
UNKNOWN = sentence("the answers do not determine the annotators' errors")


def aggregation_rows(ratings: pd.DataFrame, confidence: float | None) -> list[TableRow]:
    """Return how often each question of two answers is true, and annotators' errors.

    Parameters
    ----------
    ratings
        Kept ratings. Boxes of checklists enter, and questions with answers of 0 and 1.
    confidence
        That of intervals over new stories, with these annotators; None for none.

    Returns
    -------
    list of dict
        A row a question, then a row an annotator over all questions that are fitted.
        An even split of votes counts as half in the share by majority.
    """
    names = _questions(ratings)
    if not names or are_means(ratings):
        return []
    found: list[TableRow] = []
    fitted = []
    for name, own in ratings[ratings["dimension"].isin(names)].groupby("dimension"):
        asked = _Question(own)
        row: TableRow = {"question": str(name), "annotator": ""} | asked.majority(
            confidence
        )
        if len(asked.people) < LEAST_ANNOTATORS:
            row["reason"] = sentence("fewer than {n} annotators", n=LEAST_ANNOTATORS)
        elif np.ptp(asked.label) == 0:
            row["reason"] = ALL_SAME
        else:
            row |= asked.estimated(confidence)
            fitted += [] if row["reason"] else [asked.by_person()]
        found.append(row)
    return found + (_by_annotator(pd.concat(fitted)) if fitted else [])


def _questions(ratings: pd.DataFrame) -> list[str]:
    """Return the boxes of checklists, and the questions with answers of 0 and 1."""
    least, most = (
        ratings.groupby("dimension")["rating"].agg(how) for how in ("min", "max")
    )
    whole = (ratings["rating"] % 1 == 0).groupby(ratings["dimension"]).all()
    binary = set(map(str, least.index[whole & (least == 0) & (most == 1)]))
    return sorted(binary | set(box_dimensions(ratings)))


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
    """The answers of 0 and 1 to one question."""

    def __init__(self, rows: pd.DataFrame) -> None:
        item = combined([rows[key] for key in ITEM if key in rows])
        _, first, self.item = np.unique(item, return_index=True, return_inverse=True)
        self.story = pd.factorize(rows["story"].iloc[first])[0]
        self.person, self.people = pd.factorize(
            rows["annotator"].astype(str), sort=True
        )
        self.label = rows["rating"].to_numpy(int)
        self.votes = np.bincount(self.item, self.label) / np.bincount(self.item)
        self.chance = np.zeros(len(first))

    def majority(self, confidence: float | None) -> TableRow:
        """Return the columns of the majority."""
        decided = (1 + np.sign(self.votes - 0.5)) / 2
        value = float(decided.mean())
        adds = (decided - value) / len(decided)
        low, high = _interval(value, adds, self.story, confidence)
        return {
            "n": len(decided),
            "n_answers": len(self.label),
            "n_annotators": len(self.people),
            "majority": value,
            "majority_low": low,
            "majority_high": high,
        }

    def estimated(self, confidence: float | None) -> TableRow:
        """Return the columns of the model, or why there are none."""
        found = dawid_skene(LabelAnswers(self.item, self.person, self.label, 2))
        self.chance, share = found.chance[:, 1], float(found.share[1])
        table = np.full((len(self.votes), len(self.people)), np.nan)
        table[self.item, self.person] = self.label
        adds = share_influence(table, self.chance, share, found.errors[:, :, 1])
        if adds is None or not found.converged:
            return {"reason": UNKNOWN}
        low, high = _interval(share, adds, self.story, confidence)
        differ = (self.votes > 0.5) != (self.chance > 0.5)
        return {
            "dawid_skene": share,
            "dawid_skene_low": low,
            "dawid_skene_high": high,
            "n_differ": int((differ & (self.votes != 0.5)).sum()),
            **_rates(self.by_person().sum()),
            "reason": "",
        }

    def by_person(self) -> pd.DataFrame:
        """Return how much of the items each annotator calls what."""
        true, yes = self.chance[self.item], self.label
        counts = pd.DataFrame(
            {
                "n_answers": 1,
                "true": true,
                "untrue": 1 - true,
                "rightly": true * yes,
                "rightly_not": (1 - true) * (1 - yes),
            }
        )
        return counts.groupby(self.people[self.person]).sum()


def _by_annotator(counts: pd.DataFrame) -> list[TableRow]:
    """Return the errors of each annotator over all questions that are fitted."""
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
