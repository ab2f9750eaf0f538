"""Faults that people marked in shots, and whether metrics blame the same shots."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd

from analysis.correlations.coefficients import correlate
from analysis.inference.resampling import (
    cluster_counts,
    divided,
    estimate,
    expanded,
    holm,
    stream,
)
from analysis.options import Sampling
from analysis.reading.column_cleaning import key_texts
from analysis.reading.scores import directions, exact_means
from analysis.results import Array, Counts, Estimate, TableRow, undefined
from analysis.sentences import sentence

OUTPUT = ["story", "method"]
SHOT = [*OUTPUT, "shot"]


def share_rows(marks: pd.DataFrame, sampling: Sampling) -> Iterator[TableRow]:
    """Yield how often people marked a shot of each method, by kind of fault.

    The share is the mean of the ratings of 0 and 1, one for each person and shot. Its
    interval resamples stories.
    """
    for (question, method), rows in marks.groupby(["dimension", "method"], sort=True):
        by_story = rows.groupby("story", observed=True)["rating"].agg(["sum", "count"])
        sums, counts = (by_story[name].to_numpy(float) for name in by_story)
        found = _mean_by_story(sums, counts, sampling, f"{question} {method}")
        yield {
            "question": str(question),
            "method": str(method),
            **found.columns(),
            "n": len(rows),
            "n_shots": rows.groupby(SHOT, observed=True).ngroups,
            "n_stories": len(by_story),
            "n_annotators": int(rows["annotator"].nunique()),
        }


def blame_rows(
    marks: pd.DataFrame, scores: pd.DataFrame, sampling: Sampling
) -> Iterator[TableRow]:
    """Yield for each metric whether it gives lower scores to shots that people marked.

    Inside each output, Kendall's tau-b of two values of its shots: the share of people
    who did not mark the shot, and the metric's score, turned if lower is better. The
    value is the mean over outputs in which both sides distinguish two shots; pairs of
    shots that tie on one side count as in tau-b. The interval resamples stories, and
    `p_adjusted` follows Holm over the metrics of a question.
    """
    scored = _of_shots(scores)
    for question, rows in marks.groupby("dimension", sort=True):
        unmarked = 1 - rows.groupby(SHOT, observed=True)["rating"].mean()
        found = []
        for metric, own in scored.groupby("metric", sort=True):
            both = own[[*SHOT, "score"]].merge(unmarked.reset_index(), on=SHOT)
            if len(both):
                label = f"{question} {metric}"
                found.append((str(metric), _blame(both, sampling, label)))
        adjusted = holm(np.array([one.estimate.p_value for _metric, one in found]))
        for (metric, one), p_adjusted in zip(found, adjusted, strict=True):
            yield {
                "question": str(question),
                "metric": metric,
                "of_kind": "|" in str(question),
                **one.estimate.columns(),
                "n_outputs": one.outputs,
                "n_left_out": one.left_out,
                "n_stories": one.stories,
                "p_value": one.estimate.p_value,
                "p_adjusted": float(p_adjusted),
            }


@dataclass(frozen=True)
class Blame:
    """A mean coefficient, with the outputs and stories behind it."""

    estimate: Estimate
    outputs: int
    left_out: int
    stories: int


def _of_shots(scores: pd.DataFrame) -> pd.DataFrame:
    """Return the scores of shots, more is better."""
    if "shot" not in scores:
        return scores[:0].assign(shot="")
    rows = scores[(key_texts(scores["shot"]) != "") & scores["score"].notna()].copy()
    better = directions(rows)
    turn = np.where(rows["metric"].map(better).astype(bool), 1.0, -1.0)
    rows["score"] = rows["score"].astype(float) * turn
    keys = ["metric", *SHOT]
    return exact_means(rows, keys) if rows.duplicated(keys).any() else rows


def _blame(rows: pd.DataFrame, sampling: Sampling, label: str) -> Blame:
    """Correlate the two sides inside each output, and average over outputs."""
    groups = [own for _output, own in rows.groupby(OUTPUT, observed=True)]
    most = max(map(len, groups))
    human, score, used = (np.zeros((len(groups), most)) for _ in range(3))
    for g, own in enumerate(groups):
        human[g, : len(own)] = own["rating"]
        score[g, : len(own)] = own["score"]
        used[g, : len(own)] = 1
    weights = used[:, None, :].astype(int)
    values = correlate(human, score[None], weights, ("kendall",))["kendall"][0, :, 0]
    known = np.isfinite(values)
    names = pd.factorize(pd.Series([own["story"].iloc[0] for own in groups])[known])[0]
    n = int(used[known].sum())
    if not known.any():
        reason = sentence("in no output do both sides distinguish two shots")
        return Blame(undefined(reason), 0, len(groups), 0)
    sums = np.bincount(names, weights=values[known]).astype(float)
    counts = np.bincount(names).astype(float)
    found = _mean_by_story(sums, counts, sampling, label, n)
    return Blame(found, int(known.sum()), int((~known).sum()), len(sums))


def _mean_by_story(
    sums: Array, counts: Array, sampling: Sampling, label: str, n: int = 0
) -> Estimate:
    """Return a mean of sums and counts by story, with an interval over stories."""
    stories, value = len(sums), float(sums.sum() / counts.sum())
    if stories < 2 or not sampling["resamples"]:
        reason = sentence("no interval: a single story") if stories < 2 else ""
        return Estimate(value, n=n, reason=reason)
    rng = stream(sampling["seed"], "marked shots", label)
    drawn: Counts = cluster_counts(stories, sampling["resamples"], rng)
    draws = divided(drawn @ sums, drawn @ counts)
    coverage = expanded(sampling["confidence"], stories)
    return estimate(value, draws, coverage, n=n, drawn=("stories",))
