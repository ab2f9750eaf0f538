"""Scores averaged into one value a metric, story and method."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import pandas as pd

from analysis.options import OptionError
from analysis.reading.column_cleaning import coded, combined, key_texts, true_flags
from analysis.results import Array, Mask
from analysis.sentences import chained, counted, sentence

# Beside the metrics stand one that ties every pair, and what a metric that guesses
# would reach on average; no metric of that name is drawn.
BASELINE = "constant"
RANDOM = "random (expected)"
BASELINES = (BASELINE, RANDOM)
OTHER_NAME = "another name, since a baseline has this one"
# Metrics are compared on outputs that all of them score: at least this share of what
# the metric with most scores has.
COMMON_SHARE = 0.5
CELL = ("metric", "story", "method")


@dataclass(frozen=True)
class ScoreTable:
    """Scores averaged over shots, and what is known of each metric."""

    cells: pd.DataFrame
    higher_is_better: Mapping[str, bool]
    notes: tuple[str, ...] = ()
    composites: frozenset[str] = frozenset()
    mixed: frozenset[str] = frozenset()

    @property
    def metrics(self) -> tuple[str, ...]:
        return tuple(sorted(self.higher_is_better))

    def only(self, metric: str) -> "ScoreTable":
        """Return the scores of one metric, as if there were no others."""
        return replace(
            self,
            cells=self.cells[self.cells["metric"] == metric],
            higher_is_better={metric: self.higher_is_better[metric]},
            composites=frozenset(),
        )


def score_table(scores: pd.DataFrame) -> ScoreTable:
    """Average scores over identities, where several are pooled, then over shots."""
    rows = scores.dropna(subset=["score"]).copy()
    # Pandas copies them in every step; some name all metrics.
    rows.attrs.clear()
    if rows.empty:
        raise OptionError("scores: no row has a score")
    # Identities may make such a name, and a table that was not read may have it.
    for name in BASELINES:
        if (rows["metric"] == name).any():
            raise OptionError(f"scores: metric: {name!r}: expected {OTHER_NAME}")
    better = directions(rows)
    rows, notes = _one_kind_of_score(rows)
    keys = [*CELL]
    if "shot" in rows and rows.duplicated([*keys, "shot"]).any():
        rows = exact_means(rows, [*keys, "shot"])
    if rows.duplicated(keys).any():
        cells = exact_means(rows, keys)
    else:
        cells = rows[[*keys, "score"]].sort_values(keys, ignore_index=True)
    return ScoreTable(cells, better, tuple(notes))


def _one_kind_of_score(rows: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
    """Leave out shots beside their whole output, and methods beside their stories."""
    notes = []
    named = rows["story"] != ""
    beside = ~named & named.groupby(rows["metric"]).transform("any")
    for metric, count in beside.groupby(rows["metric"]).sum().items():
        if count:
            notes.append(
                sentence(
                    "Metric {metric}: {scores} without a story left out, since "
                    "others name one.",
                    metric=metric,
                    scores=counted(count, "score"),
                )
            )
    if "shot" in rows:
        whole = key_texts(rows["shot"]) == ""
        keys = [rows["metric"], rows["story"], rows["method"]]
        shots = ~whole & whole.groupby(keys).transform("any")
        for metric, count in shots.groupby(rows["metric"]).sum().items():
            if count:
                notes.append(
                    sentence(
                        "Metric {metric}: {scores} of shots left out, since their "
                        "outputs have a score as a whole.",
                        metric=metric,
                        scores=counted(count, "score"),
                    )
                )
        beside |= shots
    return rows[~beside], notes


def exact_means(rows: pd.DataFrame, keys: list[str]) -> pd.DataFrame:
    """Average scores with the same keys; rows come back sorted by them."""
    group = combined(rows[key] for key in keys)
    order = np.argsort(group, kind="stable")
    starts = np.flatnonzero(np.diff(group[order], prepend=-1))
    scores = rows["score"].to_numpy(float)[order].tolist()
    means = [
        math.fsum(scores[start:end]) / (end - start)
        for start, end in pairwise([*starts.tolist(), len(scores)])
    ]
    return rows[keys].take(order[starts]).reset_index(drop=True).assign(score=means)


def directions(rows: pd.DataFrame) -> dict[str, bool]:
    if "higher_is_better" not in rows:
        return dict.fromkeys(rows["metric"].unique(), True)
    given = rows["higher_is_better"]
    empty = coded(given).mask(lambda value: value == "")
    better = pd.Series(true_flags(given) | empty, rows.index)
    found = {}
    for metric, values in better.groupby(rows["metric"]):
        if values.nunique() > 1:
            raise OptionError(
                f"scores: higher_is_better: metric {metric!r} is marked both "
                "true and false: one of them is expected in all its rows"
            )
        found[str(metric)] = bool(values.iloc[0])
    return found


def compared_metrics(table: ScoreTable, covered: Mask) -> tuple[Mask, Mask]:
    flat = covered.reshape(len(covered), math.prod(covered.shape[1:]))
    made = np.array([metric in table.composites for metric in table.metrics], bool)
    counts = np.where(made, 0, flat.sum(axis=1))
    least = max(COMMON_SHARE * counts.max(initial=0), 1)
    metrics = np.zeros(len(flat), bool)
    kept = np.ones(flat.shape[1], bool)
    for k in np.argsort(-counts, kind="stable"):
        if not made[k] and (kept & flat[k]).sum() >= least:
            metrics[k] = True
            kept &= flat[k]
    kept &= metrics.any()
    metrics |= made & kept.any() & (flat == kept).all(axis=1)
    return metrics, kept.reshape(covered.shape[1:])


def score_cube(
    table: ScoreTable,
    metrics: tuple[str, ...],
    stories: tuple[str, ...],
    methods: tuple[str, ...],
) -> tuple[Array, frozenset[str]]:
    """Lay scores out as metrics x stories x methods."""
    cube = np.full((len(metrics), len(stories), len(methods)), np.nan)
    has_story = table.cells["story"] != ""
    rows, whole = table.cells[has_story], table.cells[~has_story]
    method_level = frozenset({*metrics}.difference(rows["metric"].unique()))
    if stories == ("",):
        rows = exact_means(rows, ["metric", "method"]).assign(story="")
    whole = whole[whole["metric"].isin(method_level)]
    # Scores of a method are those of all its stories.
    rows = pd.concat([rows, *(whole.assign(story=story) for story in stories)])
    k, s, m = (
        pd.Index(labels).get_indexer(pd.Index(rows[name]))
        for name, labels in zip(CELL, (metrics, stories, methods), strict=True)
    )
    known = (k >= 0) & (s >= 0) & (m >= 0)
    cube[k[known], s[known], m[known]] = rows["score"].to_numpy(float)[known]
    return cube, method_level


def laid_out(
    rows: pd.DataFrame, value: str, stories: tuple[str, ...], methods: tuple[str, ...]
) -> Array:
    """Lay one column out as stories x methods; NaN where there is no row."""
    table = rows.pivot(index="story", columns="method", values=value)
    return table.reindex(index=stories, columns=methods).to_numpy(float)


OUTPUT, METHOD = "rated output", "rated method"


def coverage_notes(
    rated: Mask,
    methods: tuple[str, ...],
    metrics: tuple[str, ...],
    covered: Mask,
    cells: Mask,
    noun: str = OUTPUT,
) -> list[str]:
    """Say which metrics and cells no comparison uses, and which methods it loses."""
    notes = [
        sentence(
            "metric {metric} has no score for any rated method."
            if noun == METHOD
            else "metric {metric} has no score for any rated output.",
            metric=metric,
        )
        for k, metric in enumerate(metrics)
        if not covered[k].any()
    ]
    lacking = lacking_scores(metrics, covered[:, rated])
    if lacking:
        several = bool(covered.any(axis=(1, 2)).sum() > 1)
        note = common_note(
            int(cells.sum()), counted(int(rated.sum()), noun), lacking, several=several
        )
        lost = rated.any(axis=0) & ~cells.any(axis=0)
        if lost.any() and not lost.all():
            note = sentence(
                "{text} Methods in no comparison: {methods}.",
                text=note,
                methods=[*np.array(methods, object)[lost]],
            )
        notes.append(note)
    return notes


def common_note(n: int, rated: str, lacking: str, *, several: bool) -> str:
    """Say on how many of what is rated one metric is judged, or several compared."""
    return sentence(
        "metrics are compared with each other on {n} of {rated}, which all of them "
        "score ({lacking}); each is held against people on all that it scores."
        if several
        else "{n} of {rated} used, those with a score ({lacking}).",
        n=n,
        rated=rated,
        lacking=lacking,
    )


def few_scores(
    names: "np.typing.NDArray[np.object_]", covered: Mask, few: Mask, noun: str
) -> list[str]:
    """Say which metrics share too little with others to be compared with them."""
    return [
        sentence(
            "metric {metric} has scores of {n} and is held against people on these; it "
            "is not compared with other metrics, which score too few of them.",
            metric=names[k],
            n=counted(int(covered[k].sum()), noun),
        )
        for k in np.flatnonzero(few)
    ]


def lacking_scores(metrics: tuple[str, ...], covered: Mask) -> str:
    """Say how many scores each metric lacks; those that lack the same ones together."""
    alike: dict[bytes, list[int]] = {}
    for k, row in enumerate(covered):
        if row.any() and not row.all():
            alike.setdefault(row.tobytes(), []).append(k)
    parts = []
    for rows in alike.values():
        n = int((~covered[rows[0]]).sum())
        if len(rows) == len(metrics) > 1:
            parts.append(sentence("all {k} lack the same {n}", k=len(metrics), n=n))
        else:
            names = [metrics[k] for k in rows]
            parts.append(
                sentence(
                    "{names} lacks {n}" if len(rows) == 1 else "{names} lack {n}",
                    names=names,
                    n=n,
                )
            )
    return chained("{first}; {second}", parts) if parts else ""
