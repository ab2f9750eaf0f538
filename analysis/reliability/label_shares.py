"""Shares of items with a yes or a tick, by majority and by Dawid and Skene."""

from collections.abc import Iterator

import numpy as np
import pandas as pd

from analysis.inference.crossed_clusters import crossed_covariance, share_intervals
from analysis.reading.column_cleaning import combined
from analysis.reading.kept_answers import are_means
from analysis.reliability.checklist_labels import box_dimensions
from analysis.reliability.label_aggregation import (
    LabelAnswers,
    TrueLabels,
    dawid_skene,
    share_influence,
)
from analysis.reliability.random_responding import ALL_QUESTIONS, ALL_SAME
from analysis.results import NAN, Array, Counts, Mask, TableRow
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
    rows = ratings[ratings["dimension"].isin(names)]
    people = rows.groupby("dimension")["annotator"].nunique()
    kinds = rows.groupby("dimension")["rating"].nunique()
    fitted = [n for n in names if people[n] >= LEAST_ANNOTATORS and kinds[n] > 1]
    shares = _Shares(rows[rows["dimension"].isin(fitted)]) if fitted else None
    found = []
    for name in names:
        own = rows[rows["dimension"] == name]
        reason = ALL_SAME if kinds[name] == 1 else ""
        if people[name] < LEAST_ANNOTATORS:
            reason = sentence("fewer than {n} annotators", n=LEAST_ANNOTATORS)
        row = _by_majority(name, own, confidence)
        if shares and name in fitted:
            reason = shares.add(row, name, confidence)
        found.append(row | {"reason": reason})
    return found + list(shares.by_annotator() if shares else ())


def _questions(ratings: pd.DataFrame) -> list[str]:
    """Return the boxes of checklists, and the questions with answers of 0 and 1."""
    least, most = (
        ratings.groupby("dimension")["rating"].agg(how) for how in ("min", "max")
    )
    whole = (ratings["rating"] % 1 == 0).groupby(ratings["dimension"]).all()
    binary = set(map(str, least.index[whole & (least == 0) & (most == 1)]))
    return sorted(binary | set(box_dimensions(ratings)))


def _by_majority(name: str, rows: pd.DataFrame, confidence: float | None) -> TableRow:
    item = combined([rows[key] for key in ITEM if key in rows])
    _, first, code = np.unique(item, return_index=True, return_inverse=True)
    mean = np.bincount(code, rows["rating"]) / np.bincount(code)
    decided = (1 + np.sign(mean - 0.5)) / 2
    value = float(decided.mean())
    adds = (decided - value) / len(decided)
    story = pd.factorize(rows["story"].iloc[first])[0]
    low, high = _interval(value, adds, story, confidence)
    return {
        "question": name,
        "annotator": "",
        "n": len(mean),
        "n_answers": len(rows),
        "n_annotators": int(rows["annotator"].nunique()),
        "majority": value,
        "majority_low": low,
        "majority_high": high,
    }


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


class _Shares:
    """The labels of several questions, fitted together."""

    def __init__(self, rows: pd.DataFrame) -> None:
        question, self.names = pd.factorize(rows["dimension"].astype(str), sort=True)
        item = combined([rows["dimension"], *(rows[k] for k in ITEM if k in rows)])
        _, first, self.item = np.unique(item, return_index=True, return_inverse=True)
        self.question = question[first]
        self.story = pd.factorize(rows["story"].iloc[first])[0]
        self.person, self.people = pd.factorize(
            rows["annotator"].astype(str), sort=True
        )
        keys = question * len(self.people) + self.person
        self.annotator = np.unique(keys, return_inverse=True)[1]
        self.label = rows["rating"].to_numpy(int)
        self.asked = question
        self.answers = LabelAnswers(
            self.question, self.item, self.annotator, self.label, 2
        )
        self.found: TrueLabels = dawid_skene(self.answers)
        self.known = np.zeros(len(self.names), bool)

    def add(self, row: TableRow, name: str, confidence: float | None) -> str:
        """Add the columns of one question to its row; return why there are none."""
        q = self.names.get_loc(name)
        items, own = self.question == q, self.asked == q
        chance, share = self.found.chance[items, 1], float(self.found.share[q, 1])
        place = np.cumsum(items) - 1
        codes = np.unique(self.annotator[own], return_inverse=True)
        table = np.full((int(items.sum()), len(codes[0])), np.nan)
        table[place[self.item[own]], codes[1]] = self.label[own]
        errors = self.found.errors[codes[0]][:, :, 1]
        adds = share_influence(table, chance, share, errors)
        if adds is None or not self.found.converged[q]:
            return UNKNOWN
        self.known[q] = True
        story = pd.factorize(self.story[items])[0]
        low, high = _interval(share, adds, story, confidence)
        votes = np.nanmean(table, axis=1)
        differ = (votes > 0.5) != (chance > 0.5)
        row |= {
            "dawid_skene": share,
            "dawid_skene_low": low,
            "dawid_skene_high": high,
            "n_differ": int((differ & (votes != 0.5)).sum()),
            **self._rates(own),
        }
        return ""

    def _rates(self, own: Mask) -> TableRow:
        """Return how often true and untrue items are called so."""
        true = self.found.chance[self.item[own], 1]
        yes = self.label[own]
        return {
            "sensitivity": _share(true * yes, true),
            "specificity": _share((1 - true) * (1 - yes), 1 - true),
        }

    def by_annotator(self) -> Iterator[TableRow]:
        """Yield the errors of each annotator over all questions that are fitted."""
        for k, name in enumerate(self.people):
            own = (self.person == k) & self.known[self.asked]
            if own.any():
                yield {
                    "question": ALL_QUESTIONS,
                    "annotator": str(name),
                    "n": len(np.unique(self.item[own])),
                    "n_answers": int(own.sum()),
                    "n_annotators": 1,
                    **self._rates(own),
                    "reason": "",
                }


def _share(part: Array, whole: Array) -> float:
    return float(part.sum() / whole.sum()) if whole.sum() > 0 else NAN
