"""Shares of items by their true label, by majority and by Dawid and Skene."""

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
# More different answers are steps of a scale rather than labels.
MOST_LABELS = 4
UNKNOWN = sentence("the answers do not determine the annotators' errors")


def aggregation_rows(ratings: pd.DataFrame, confidence: float | None) -> list[TableRow]:
    """Return how often each label of a question is true, and annotators' errors.

    Parameters
    ----------
    ratings
        Kept ratings. Boxes of checklists enter, and questions with two answers, 0 and
        1, or with three or four of any value.
    confidence
        That of intervals over new stories, with these annotators; None for none.

    Returns
    -------
    list of dict
        A row a question, or for three and more labels a row a label; then a row an
        annotator over all questions of two answers that are fitted, and for three and
        more labels by question and label. The votes of an even split are shared.
    """
    names = _questions(ratings)
    if not names or are_means(ratings):
        return []
    found: list[TableRow] = []
    people: list[TableRow] = []
    fitted = []
    for name, own in ratings[ratings["dimension"].isin(names)].groupby("dimension"):
        asked = _Question(own)
        rows = asked.majority(confidence)
        if len(asked.people) < LEAST_ANNOTATORS:
            reason = sentence("fewer than {n} annotators", n=LEAST_ANNOTATORS)
        elif np.ptp(asked.label) == 0:
            reason = ALL_SAME
        else:
            reason = asked.estimate(rows, confidence)
        about: TableRow = {"question": str(name), "annotator": "", "reason": reason}
        found += [row | about for row in rows]
        if reason:
            continue
        if asked.is_binary:
            fitted.append(asked.by_person(1))
        else:
            people += asked.annotators(str(name))
    return found + (_by_annotator(pd.concat(fitted)) if fitted else []) + people


def _questions(ratings: pd.DataFrame) -> list[str]:
    """Return the boxes of checklists, and the questions with two to four answers."""
    given = ratings.groupby("dimension")["rating"].agg(["min", "max", "nunique"])
    binary = (given["nunique"] == 2) & (given["min"] == 0) & (given["max"] == 1)
    several = given["nunique"].between(3, MOST_LABELS)
    labelled = set(map(str, given.index[binary | several]))
    return sorted(labelled | set(box_dimensions(ratings)))


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
    """The answers to one question, each one of K labels."""

    def __init__(self, rows: pd.DataFrame) -> None:
        item = combined([rows[key] for key in ITEM if key in rows])
        _, first, self.item = np.unique(item, return_index=True, return_inverse=True)
        self.story = pd.factorize(rows["story"].iloc[first])[0]
        self.person, self.people = pd.factorize(
            rows["annotator"].astype(str), sort=True
        )
        rating = rows["rating"].to_numpy(float)
        self.is_binary = bool(np.isin(rating, (0, 1)).all())
        self.labels = np.array([0.0, 1.0]) if self.is_binary else np.unique(rating)
        self.label = np.searchsorted(self.labels, rating)
        self.answers = LabelAnswers(
            self.item, self.person, self.label, len(self.labels)
        )
        self.votes = self.answers.votes()
        self.chance = np.zeros_like(self.votes)

    @property
    def shown(self) -> list[int]:
        """Return the labels that have rows; of two, the second says it all."""
        return [1] if self.is_binary else list(range(len(self.labels)))

    def name(self, label: int) -> str:
        return "" if self.is_binary else f"{self.labels[label]:g}"

    def majority(self, confidence: float | None) -> list[TableRow]:
        """Return the columns of the majority, by label."""
        most = self.votes == self.votes.max(axis=1, keepdims=True)
        decided = most / most.sum(axis=1, keepdims=True)
        shares = decided.mean(axis=0)
        adds = (decided - shares) / len(decided)
        rows: list[TableRow] = []
        for k in self.shown:
            value = float(shares[k])
            low, high = _interval(value, adds[:, k], self.story, confidence)
            rows.append(
                {
                    "label": self.name(k),
                    "n": len(decided),
                    "n_answers": len(self.label),
                    "n_annotators": len(self.people),
                    "majority": value,
                    "majority_low": low,
                    "majority_high": high,
                }
            )
        return rows

    def estimate(self, rows: list[TableRow], confidence: float | None) -> str:
        """Add the columns of the model to the rows, or return why there are none."""
        found = dawid_skene(self.answers)
        self.chance = found.chance
        adds = share_influence(self.answers, found)
        if adds is None or not found.converged:
            return UNKNOWN
        is_clear = (self.votes == self.votes.max(axis=1, keepdims=True)).sum(
            axis=1
        ) == 1
        differ = is_clear & (self.votes.argmax(axis=1) != self.chance.argmax(axis=1))
        for k, row in zip(self.shown, rows, strict=True):
            share = float(found.share[k])
            low, high = _interval(share, adds[:, k], self.story, confidence)
            row |= {
                "dawid_skene": share,
                "dawid_skene_low": low,
                "dawid_skene_high": high,
                "n_differ": int(differ.sum()),
                **_rates(self.by_person(k).sum()),
            }
        return ""

    def by_person(self, k: int) -> pd.DataFrame:
        """Return how many items with and without a label each annotator calls so."""
        true, yes = self.chance[self.item, k], self.label == k
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

    def annotators(self, question: str) -> list[TableRow]:
        """Return the errors of each annotator by label."""
        return [
            row | {"question": question, "label": self.name(k)}
            for k in self.shown
            for row in _by_annotator(self.by_person(k))
        ]


def _by_annotator(counts: pd.DataFrame) -> list[TableRow]:
    """Return the errors of each annotator over all questions of two answers."""
    return [
        {
            "question": ALL_QUESTIONS,
            "annotator": str(name),
            "label": "",
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
