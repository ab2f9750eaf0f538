"""Checklists: what the text asks for held against what is shown, label by label."""

import numpy as np
import pandas as pd

from analysis.inference.resampling import cluster_counts, divided, estimate, stream
from analysis.reading.kept_answers import are_means
from analysis.results import Array, Estimate, TableRow, undefined
from analysis.sentences import chained, sentence

ALL = "all labels"
BOXES = TEXT, VIDEO = "|text", "|video"
KEYS = ("story", "method", "shot", "round", "annotator")


def box_dimensions(ratings: pd.DataFrame) -> list[str]:
    """Return the dimensions that are boxes of a label with both its boxes."""
    names = set(map(str, ratings["dimension"].unique()))
    labels = {name.removesuffix(TEXT) for name in names if name.endswith(TEXT)}
    both = sorted(label for label in labels if label + VIDEO in names)
    return [label + box for label in both for box in (TEXT, VIDEO)]


def label_rows(
    ratings: pd.DataFrame, *, resamples: int, confidence: float, seed: int
) -> list[TableRow]:
    """Hold the video against the text, for every label and method."""
    boxes = box_dimensions(ratings)
    if not boxes or are_means(ratings):
        return []
    answers = _answers(ratings[ratings["dimension"].isin(boxes)])
    if answers.empty:
        return []
    methods = sorted(answers["method"].unique())
    labels = [ALL, *sorted(answers["label"].unique())]
    counts = _by_story(answers, methods, labels)
    rng = stream(seed, "labels")
    drawn = cluster_counts(len(counts), resamples, rng) if len(counts) > 1 else None
    if drawn is None:
        drawn = np.empty((0, len(counts)), np.int64)
    # Resamples x methods x labels x (n, text, video, both).
    resampled = np.tensordot(drawn.astype(float), counts, axes=1)
    total = counts.sum(axis=0)
    return [
        _row(label, method, total[j, i], resampled[:, j, i], confidence)
        for i, label in enumerate(labels)
        for j, method in enumerate(methods)
        if total[j, i, 0]
    ]


def _answers(ratings: pd.DataFrame) -> pd.DataFrame:
    """Return one row an answer: label, and whether each box is ticked."""
    keys = [key for key in KEYS if key in ratings]
    names = ratings["dimension"].astype(str)
    rows = (
        ratings[keys]
        .astype(str)
        .assign(
            label=names.str.rpartition("|")[0],
            box=names.str.rpartition("|")[2],
            rating=ratings["rating"].astype(float),
        )
    )
    wide = rows.pivot_table(index=[*keys, "label"], columns="box", values="rating")
    return wide.dropna().reset_index()


def _by_story(answers: pd.DataFrame, methods: list[str], labels: list[str]) -> Array:
    """Count answers by story, method and label: all, in text, in video, in both."""
    stories = sorted(answers["story"].unique())
    counts = np.zeros((len(stories), len(methods), len(labels), 4))
    story, method, label = (
        pd.Categorical(answers[column], categories=names).codes.astype(np.int64)
        for column, names in (
            ("story", stories),
            ("method", methods),
            ("label", labels),
        )
    )
    text, video = answers["text"].to_numpy(float), answers["video"].to_numpy(float)
    for i, ticked in enumerate((np.ones(len(text)), text, video, text * video)):
        np.add.at(counts[..., i], (story, method, label), ticked)
    counts[:, :, 0] = counts.sum(axis=2)
    return counts


def _row(
    label: str, method: str, total: Array, resampled: Array, confidence: float
) -> TableRow:
    n, text, video, both = total
    recall = _share(both, text, resampled[:, [3, 1]], confidence, "text")
    precision = _share(both, video, resampled[:, [3, 2]], confidence, "video")
    reasons = [*dict.fromkeys(filter(None, (recall.reason, precision.reason)))]
    return {
        "label": label,
        "method": method,
        "n": int(n),
        "in_text": text / n,
        "in_video": video / n,
        "in_both": both / n,
        **recall.bounds("recall"),
        **precision.bounds("precision"),
        "reason": chained("{first}; {second}", reasons) if reasons else "",
    }


def _share(
    both: float, of: float, drawn: Array, confidence: float, box: str
) -> Estimate:
    if not of:
        return undefined(sentence("nobody ticked it in the {box}", box=box))
    shares = divided(drawn[:, 0], drawn[:, 1])
    return estimate(float(both / of), shares, confidence, n=int(of))
