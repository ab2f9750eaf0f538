"""Tables of what metrics save, and of estimates that use their scores."""

from collections.abc import Iterator, Mapping

import numpy as np
import pandas as pd

from analysis.options import supported_parts
from analysis.questions import QuestionData
from analysis.rankings.choice_votes import with_weights
from analysis.rankings.method_means import scaled_intervals
from analysis.rankings.prediction_powered import (
    Study,
    chosen_study,
    pair_contrasts,
    rank_sets,
    rated_study,
)
from analysis.rankings.saved_ratings import LEAST_STORIES, saved_ratings
from analysis.reading.cells import NO_CELL
from analysis.reading.scores import ScoreTable
from analysis.result_tables.contract import TableCollector
from analysis.result_tables.leaderboards import CLUSTERS, parts_drawn
from analysis.results import NAN, Array, Counts, TableRow
from analysis.sentences import counted, sentence
from analysis.verdicts import leading_metrics

TABLE = "prediction_powered"
SAVED = "saved"
DIFFERENCE = "difference"
OWN = {"ratings": "mean", "choices": "win_rate"}
UNKNOWN = sentence("how the rated stories were drawn is unknown")
CONSTANT = sentence("the metric is constant within methods, and saves nothing")
AGAINST = sentence("the metric goes against people within methods")
NOT_SHOWN = sentence("no positive correlation is shown within methods")
BOUNDS = ("low", "high", "classical_low", "classical_high")
NUMBERS = ("value", "lambda", "classical", "saved", "rho_squared")
EMPTY: TableRow = {
    **dict.fromkeys(("method", "other", "reason", "drawn"), ""),
    **dict.fromkeys((*NUMBERS, *BOUNDS, "rank_low", "rank_high"), NAN),
}
Probabilities = pd.Series | None


def add_predictions(
    questions: list[QuestionData],
    table: ScoreTable,
    probabilities: Probabilities,
    found: TableCollector,
) -> None:
    """Add what each metric saves, and estimates by the declared or leading metric."""
    known_verdicts = found.rows.get("verdicts")
    verdicts = pd.DataFrame(known_verdicts) if known_verdicts else None
    cells = table.cells[table.cells["story"] != ""]
    of_metric = {str(name): rows for name, rows in cells.groupby("metric", sort=False)}
    for question in questions:
        if question.is_method_level:
            continue
        source = question.pairs.source
        rated = frozenset(map(str, question.answers["story"].unique()))
        frames = {
            name: Frame(
                of_metric[name],
                rated,
                probabilities,
                higher_is_better=table.higher_is_better[name],
            )
            for name in _metrics(question)
        }
        saved = [*_saved(question, frames, found.options.confidence)]
        if not found.options.resamples:
            bounds = {"low": NAN, "high": NAN, "drawn": ""}
            tests = (AGAINST, NOT_SHOWN)
            saved = [
                row | bounds | ({"reason": ""} if row["reason"] in tests else {})
                for row in saved
            ]
        found.extend(TABLE, saved, ("stories",))
        if source not in OWN:
            continue
        known = {str(row["metric"]): row["rho_squared"] for row in saved}
        for metric in leading_metrics(verdicts, question.name, source):
            if metric in frames:
                about = {"metric": metric, "rho_squared": known[metric]}
                rows = _estimates(question, frames[metric], found)
                found.extend(TABLE, [row | about for row in rows])


class Frame:
    """The stories with a metric's scores, which might have been drawn."""

    def __init__(
        self,
        cells: pd.DataFrame,
        rated: frozenset[str],
        probabilities: Probabilities,
        *,
        higher_is_better: bool,
    ) -> None:
        self._cells, self._sign = cells, 1 if higher_is_better else -1
        stories = pd.unique(cells["story"].to_numpy(object))
        judged = np.array([story in rated for story in stories], bool)
        self.reason = ""
        weight = np.ones(len(stories))
        if probabilities is not None:
            chance = probabilities.reindex(stories).to_numpy(float)
            by_hand = int((judged & np.isnan(chance)).sum())
            if by_hand:
                self.reason = sentence(
                    "{stories} without a drawing probability: picked by hand",
                    stories=counted(by_hand, "rated story", "rated stories"),
                )
            else:
                drawable = np.isfinite(chance)
                stories, judged = stories[drawable], judged[drawable]
                weight = 1 / chance[drawable]
        elif not judged.all():
            self.reason = UNKNOWN
        self.weight = pd.Series(weight, stories)
        self.n_drawn, self.n_stories = int(judged.sum()), len(stories)

    def scores(self, methods: tuple[str, ...]) -> pd.DataFrame:
        """Return scores by story and method, larger being better."""
        found = self._cells.pivot(index="story", columns="method", values="score")
        found = found.reindex(index=self.weight.index, columns=list(methods))
        return self._sign * found

    @property
    def size(self) -> TableRow:
        """The columns of the numbers of stories."""
        return {"n_drawn": self.n_drawn, "n_stories": self.n_stories}


def _metrics(question: QuestionData) -> tuple[str, ...]:
    """Return the metrics with scores by story of judged outputs."""
    every = (question, *question.alone)
    names = (
        name
        for one in every
        for name in one.metrics
        if one.grid is None or name not in one.grid.method_level
    )
    return tuple(dict.fromkeys(names))


def _saved(
    question: QuestionData, frames: Mapping[str, Frame], confidence: float
) -> Iterator[TableRow]:
    """Yield what each metric saves, on the cells on which it is judged."""
    apart = question.pairs.apart if question.grid is None else question.grid.apart
    for one in (question, *question.alone):
        names = [
            name
            for name in one.metrics
            if name in frames and (one is not question or name not in apart)
        ]
        if names:
            yield from _saved_on(one, names, frames, confidence)


def _saved_on(
    question: QuestionData,
    names: list[str],
    frames: Mapping[str, Frame],
    confidence: float,
) -> Iterator[TableRow]:
    grid, pairs = question.grid, question.pairs
    story: Counts
    group: Counts
    if grid is not None:
        story, group = np.nonzero(grid.cells)
        stories, human = grid.stories, grid.human[story, group]
        kept = [grid.metrics.index(name) for name in names]
        scores = grid.scores[kept][:, story, group]
    else:
        story, stories = pairs.story, pairs.stories
        both = pairs.first * len(pairs.methods) + pairs.second
        group = np.unique(both, return_inverse=True)[1]
        human = (pairs.sides[0] - pairs.sides[1]) / 2
        scores = np.sign(pairs.scores[[pairs.metrics.index(name) for name in names]])
    # Metrics on the same cells have the same drawable stories, or are not weighted.
    of_story = frames[names[0]].weight.reindex(stories).fillna(1.0)
    weight = np.asarray(of_story, float)[story]
    found = saved_ratings(human, scores, group, story, weight, confidence)
    few = len(np.unique(story)) < LEAST_STORIES
    for k, name in enumerate(names):
        r = float(found.correlation[k])
        row = EMPTY | {
            "question": question.name,
            "metric": name,
            "source": pairs.source,
            "statistic": SAVED,
            "n": len(story),
            **frames[name].size,
            "rho_squared": max(r, 0.0) ** 2 if np.isfinite(r) else NAN,
            "drawn": "stories",
        }
        if grid is not None and not grid.has_level("within_method", name):
            yield row | {"rho_squared": NAN, "reason": grid.why_no_level(name)}
        elif not len(story):
            yield row | {"reason": NO_CELL}
        elif few:
            yield row | {"reason": _few(len(np.unique(story)))}
        elif np.isnan(r):
            yield row | {"reason": _why_constant(scores[k], group)}
        else:
            row |= {"value": float(found.value[k])}
            row |= {"low": float(found.low[k]), "high": float(found.high[k])}
            if r < 0:
                # The upper bound of r is at most 0.
                row["reason"] = AGAINST if row["high"] == 0 else NOT_SHOWN
            yield row


def _few(n: int) -> str:
    return sentence(
        "{stories}, fewer than {few}",
        stories=counted(n, "rated story", "rated stories"),
        few=LEAST_STORIES,
    )


def _why_constant(scores: Array, group: Counts) -> str:
    values = pd.Series(scores).groupby(group)
    same = bool((values.max() == values.min()).all())
    return CONSTANT if same else sentence("people's values are constant within methods")


def _estimates(
    question: QuestionData, frame: Frame, found: TableCollector
) -> Iterator[TableRow]:
    """Yield the estimates of methods, or the reason why there are none."""
    source = question.pairs.source
    about = EMPTY | {"question": question.name, "source": source, **frame.size}
    about |= {"statistic": OWN[source], "n": 0}
    if frame.reason:
        yield about | {"reason": frame.reason}
        return
    if frame.n_drawn == frame.n_stories:
        return
    study = _study(question, frame)
    if frame.n_drawn < LEAST_STORIES:
        yield about | {"reason": _few(frame.n_drawn)}
        return
    if study.values.is_constant:
        yield about | {"reason": CONSTANT}
        return
    options = found.options
    parts = supported_parts(options.resample, "stories+annotators", tuple(CLUSTERS))
    # Stories without an answer are there for others: stories are always drawn.
    parts = tuple(dict.fromkeys(("stories", *parts))) if options.resamples else ()
    about["drawn"] = parts_drawn(question.answers, parts)
    scale = options.scale_of(question.name) if source == "ratings" else (0, 1)
    yield from estimate_rows(study, about, parts, options.confidence, scale)


def _study(question: QuestionData, frame: Frame) -> Study:
    """Return the answers about outputs that have a score."""
    rated = question.by_annotator
    grid, pairs = question.grid, question.pairs
    methods = pairs.methods if grid is None else grid.methods
    answers = with_weights(question.answers)[0] if rated is None else rated
    scores = frame.scores(methods)
    known = np.isfinite(scores.to_numpy(float))
    at = scores.index.get_indexer(pd.Index(answers["story"]))
    judged = at >= 0
    for side in ("method_a", "method_b") if rated is None else ("method",):
        judged &= known[at, scores.columns.get_indexer(pd.Index(answers[side]))]
    answers, weight = answers[judged], np.asarray(frame.weight, float)
    if rated is None:
        return chosen_study(answers, scores, weight)
    here = set(answers["method"])
    scores = scores[[method for method in methods if method in here]]
    return rated_study(answers, scores, weight)


def estimate_rows(
    study: Study,
    about: TableRow,
    parts: tuple[str, ...],
    confidence: float,
    scale: tuple[int, int] | None,
) -> Iterator[TableRow]:
    """Yield the estimates of methods, and their differences.

    Differences, and the ranks from them, have the metric's weight that minimises their
    own variances (arXiv 2311.01453 tunes each estimand): what a metric knows of stories
    helps means and cancels in differences. Value, interval, test and ranks of a
    difference rest on that one weight, which is in its row; so it is not the difference
    of two estimates of means.

    Parameters
    ----------
    about
        What all rows have.
    parts
        What is drawn; nothing leaves intervals out.
    scale
        The bounds of means, where they are known.
    """
    methods, M = study.methods, len(study.methods)
    own, pairs = np.eye(M), pair_contrasts(M)
    classical = study.estimates(parts, powered=None)
    found = study.estimates(parts, powered=own)
    apart = study.estimates(parts, powered=pairs)
    gaps, ranks = rank_sets(apart, confidence)
    n, weight = _counted(study), study.weight(own)
    bounds, saved = np.full((4, M), NAN), np.full(M, NAN)
    if found.errors is not None and classical.errors is not None:
        errors = found.errors, classical.errors
        ends = [
            scaled_intervals(one.value, of_one, confidence, scale)
            for one, of_one in zip((found, classical), errors, strict=True)
        ]
        bounds = np.concatenate(ends)
        saved = 1 - errors[0].variance / errors[1].variance
    for m, method in enumerate(methods):
        yield about | {
            "method": method,
            "n": int(n[m]),
            "lambda": weight,
            "value": float(found.value[m]),
            "classical": float(classical.value[m]),
            **dict(zip(BOUNDS, map(float, bounds[:, m]), strict=True)),
            "saved": float(saved[m]),
            "rank_low": float(ranks[0, m]),
            "rank_high": float(ranks[1, m]),
        }
    about = about | {"statistic": DIFFERENCE, "lambda": study.weight(pairs)}
    first, second = np.triu_indices(M, 1)
    value, before = (pairs @ one.value for one in (apart, classical))
    bounds, saved = np.full((4, len(first)), NAN), np.full(len(first), NAN)
    if gaps is not None and apart.covariance and classical.covariance:
        errors = apart.covariance.of(pairs), classical.covariance.of(pairs)
        ends = [(gaps.low, gaps.high), errors[1].intervals(before, confidence)]
        bounds = np.concatenate(ends)
        saved = 1 - errors[0].variance / errors[1].variance
    for k, (i, j) in enumerate(zip(first, second, strict=True)):
        yield about | {
            "method": methods[i],
            "other": methods[j],
            "n": int(n[i] + n[j]),
            "value": float(value[k]),
            "classical": float(before[k]),
            **dict(zip(BOUNDS, map(float, bounds[:, k]), strict=True)),
            "saved": float(saved[k]),
        }


def _counted(study: Study) -> Array:
    """Return the number of judged cells of each method."""
    rated = study.values.rated.sum(axis=0).astype(float)
    return np.asarray((study.contrasts != 0) @ rated)
