"""Checks of a table of scores, alone and beside people's answers."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from analysis.commands.direction_hints import direction_hints
from analysis.commands.doctor.findings import Finding, Kind
from analysis.options import AlignOptions, OptionError
from analysis.pairwise.output_pairs import rating_pairs
from analysis.problems import listed
from analysis.questions import QuestionData, chosen_questions, kept_scores
from analysis.reading.cells import annotator_cells, rated_grid
from analysis.reading.identities import one_identity
from analysis.reading.kept_answers import KeptAnswers
from analysis.reading.scores import COMMON_SHARE, ScoreTable
from analysis.reading.shared_names import FILE
from analysis.results import Array, Mask
from analysis.sentences import Notes, counted

MANY_TIES = 0.5
# Outputs that are named of those without a score.
MOST_NAMED = 3


@dataclass(frozen=True)
class Judged:
    """Outputs that people judged, and their scores; NaN where there is none."""

    stories: tuple[str, ...]
    methods: tuple[str, ...]
    outputs: Mask
    metrics: tuple[str, ...]
    scores: Array

    @property
    def covered(self) -> Mask:
        """Return which judged outputs each metric scores, shape (K, S, M)."""
        return np.isfinite(self.scores) & self.outputs


def of_scores(scores: pd.DataFrame, people: KeptAnswers) -> Iterator[Finding]:
    """Yield what scores support beside people's answers, and what looks wrong."""
    file = str(scores.attrs[FILE])
    try:
        scores, remarks = one_identity(scores, AlignOptions())
    except OptionError as error:
        yield Finding(file, Kind.CHECK, str(error), 1)
        scores, remarks = one_identity(scores, AlignOptions(compare_identities=True))
    try:
        table = kept_scores(scores, ())
    except OptionError as error:
        yield Finding(file, Kind.UNUSABLE, str(error), len(scores))
        return
    alike = [note.removeprefix(f"{file}: ") for note in table.notes]
    for note in (*remarks, *alike):
        yield Finding(file, Kind.CHECK, note, 1)
    cells = table.cells
    n = {part: cells[part].nunique() for part in ("metric", "story", "method")}
    what = f"{len(scores):,} scores: {counted(n['metric'], 'metric')}, "
    what += f"{counted(n['story'], 'story')} x {counted(n['method'], 'method')}."
    yield Finding(file, Kind.TABLE, what, len(scores))
    judged = judged_outputs(people, table)
    if judged is None:
        yield from _constant(_all_cells(table), file)
        return
    yield from _coverage(judged, file)
    yield from _constant(judged, file)
    for hint in direction_hints(_questions(people, table, judged), table):
        yield Finding(file, Kind.CHECK, hint, 1)


def judged_outputs(people: KeptAnswers, table: ScoreTable) -> Judged | None:
    """Lay out the scores of all outputs that people judged; None without answers."""
    parts = [
        rows[["story", method]].set_axis(["story", "method"], axis=1)
        for rows in (people.ratings, people.choices, people.rankings)
        if rows is not None
        for method in ("method", "method_a", "method_b")
        if method in rows
    ]
    if not parts:
        return None
    return _laid_out(pd.concat(parts).drop_duplicates(), table)


def _all_cells(table: ScoreTable) -> Judged:
    return _laid_out(table.cells[["story", "method"]].drop_duplicates(), table)


def _laid_out(outputs: pd.DataFrame, table: ScoreTable) -> Judged:
    cells = table.cells
    if (outputs["story"] == "").all():  # people judged whole methods
        keys = ["metric", "method"]
        cells = cells.groupby(keys)["score"].mean().reset_index().assign(story="")
    stories, methods = (pd.Index(sorted(set(outputs[c]))) for c in outputs)
    shape = len(stories), len(methods)
    there = np.zeros(shape, bool)
    rows = stories.get_indexer(pd.Index(outputs["story"]))
    there[rows, methods.get_indexer(pd.Index(outputs["method"]))] = True
    metrics = pd.Index(table.metrics)
    scores = np.full((len(metrics), *shape), np.nan)
    k = metrics.get_indexer(pd.Index(cells["metric"]))
    s = stories.get_indexer(pd.Index(cells["story"]))
    m = methods.get_indexer(pd.Index(cells["method"]))
    values = cells["score"].to_numpy(float)
    own = (s >= 0) & (m >= 0)
    # Scores of whole methods stand for each of their outputs.
    of_method = (cells["story"] == "").to_numpy() & (m >= 0)
    scores[k[of_method], :, m[of_method]] = values[of_method, None]
    scores[k[own], s[own], m[own]] = values[own]
    return Judged(tuple(stories), tuple(methods), there, table.metrics, scores)


def _coverage(judged: Judged, file: str) -> Iterator[Finding]:
    """Yield which metrics lack scores of judged outputs, alike ones together."""
    covered, total = judged.covered, int(judged.outputs.sum())
    most = int(covered.sum(axis=(1, 2)).max(initial=0))
    alike: dict[bytes, list[int]] = {}
    for k, own in enumerate(covered):
        alike.setdefault(own.tobytes(), []).append(k)
    for members in alike.values():
        names = listed(judged.metrics[k] for k in members)
        if len(members) == len(judged.metrics) > 1:
            names = f"all {len(members)} metrics"
        verb = "scores" if len(members) == 1 else "score"
        own = covered[members[0]]
        n = int(own.sum())
        what = f"{names} {verb} {n:,} of {total:,} judged outputs"
        if n == total:
            yield Finding(file, Kind.SUPPORT, f"{what}.", n)
            continue
        lacking = judged.outputs & ~own
        what += f" (missing: {_named(judged, lacking)})."
        advice = f"Needed: {int(lacking.sum()):,} more."
        if 0 < n < COMMON_SHARE * most:
            advice += " Too few to compare it with the other metrics."
        yield Finding(file, Kind.CHECK, what, int(lacking.sum()), advice)


def _named(judged: Judged, lacking: Mask) -> str:
    """Return methods and stories without any score, then single outputs."""
    parts = []
    for what, names, axis in (
        ("all of method", judged.methods, 0),
        ("all of story", judged.stories, 1),
    ):
        there = judged.outputs.any(axis=axis)
        whole = (lacking == judged.outputs).all(axis=axis) & there
        if not whole.all() and whole.any():
            parts.append(f"{what} {_some([names[k] for k in np.flatnonzero(whole)])}")
            lacking = lacking & ~(whole[None, :] if axis == 0 else whole[:, None])
    if lacking.any():
        at = zip(*np.nonzero(lacking), strict=True)
        parts.append(_some([f"{judged.stories[s]} {judged.methods[m]}" for s, m in at]))
    return "; ".join(parts)


def _some(names: Sequence[str]) -> str:
    rest = len(names) - MOST_NAMED
    more = f" and {rest:,} more" if rest > 0 else ""
    return ", ".join(names[:MOST_NAMED]) + more


def _constant(judged: Judged, file: str) -> Iterator[Finding]:
    """Yield metrics that are constant, over all outputs or inside something."""
    values = np.where(judged.covered, judged.scores, np.nan)
    filled = np.isfinite(values)
    found: dict[str, list[str]] = {}
    for k, metric in enumerate(judged.metrics):
        own = values[k]
        n = int(filled[k].sum())
        if n < 2:
            continue
        if np.ptp(own[filled[k]]) == 0:
            found.setdefault("all", []).append(metric)
            continue
        tied, pairs = _pairs(own)
        several_stories = bool((filled[k].sum(axis=0) > 1).any())
        if pairs and tied == pairs:
            found.setdefault("story", []).append(metric)
        elif several_stories and _is_flat(own):
            found.setdefault("method", []).append(metric)
        elif pairs and tied > MANY_TIES * pairs:
            found.setdefault("ties", []).append(f"{metric} ({tied / pairs:.0%})")
    says = {
        "all": (Kind.CHECK, "the same score for every output: {}.", "Leave it out."),
        "story": (
            Kind.CHECK,
            "the same score for all outputs of a story: {}.",
            "It cannot tell methods apart.",
        ),
        "method": (
            Kind.LIMIT,
            "one score for each method, whatever the story: {}.",
            "Only the order of methods can be compared.",
        ),
        "ties": (
            Kind.LIMIT,
            "ties in most pairs inside stories: {}.",
            "Finer scores would decide more.",
        ),
    }
    for key, names in found.items():
        kind, what, advice = says[key]
        yield Finding(file, kind, what.format(listed(names)), len(names), advice)


def _is_flat(values: Array) -> bool:
    """Return whether every method has one value in all its stories."""
    low = np.fmin.reduce(values, axis=0)
    return bool((np.fmax.reduce(values, axis=0) == low)[np.isfinite(low)].all())


def _pairs(values: Array) -> tuple[int, int]:
    """Count pairs inside stories: ties, and all of them."""
    ordered = np.sort(values, axis=1)
    sizes = np.isfinite(ordered).sum(axis=1)
    pairs = int((sizes * (sizes - 1) // 2).sum())
    gaps = np.diff(ordered, axis=1)
    # Runs of equal values: a run of r ties r (r - 1) / 2 pairs.
    tied, run = 0, np.zeros(len(ordered), int)
    for column in gaps.T:
        run = np.where(column == 0, run + 1, 0)
        tied += int(run.sum())
    return tied, pairs


def _questions(
    people: KeptAnswers, table: ScoreTable, judged: Judged
) -> Iterator[QuestionData]:
    """Yield the questions with the outputs that all usual metrics score."""
    kept = judged.covered.sum(axis=(1, 2))
    usual = kept >= max(COMMON_SHARE * kept.max(initial=0), 1)
    if people.ratings is not None:
        by_annotator = annotator_cells(people.ratings)
        signs = np.array(
            [1 if table.higher_is_better[m] else -1 for m in judged.metrics]
        )
        for question, cells in by_annotator.groupby("dimension", sort=True):
            grid = rated_grid(str(question), cells)
            if grid.human_is_method_level:
                continue
            at = np.ix_(
                np.flatnonzero(usual),
                pd.Index(judged.stories).get_indexer(pd.Index(grid.stories)),
                pd.Index(judged.methods).get_indexer(pd.Index(grid.methods)),
            )
            scores = judged.scores[at] * signs[usual].reshape(-1, 1, 1)
            common = np.isfinite(scores).all(axis=0) & grid.cells
            grid = replace(
                grid,
                metrics=tuple(np.array(judged.metrics, object)[usual]),
                cells=common,
                human=np.where(common, grid.human, 0.0),
                scores=np.where(common, scores, 0.0),
            )
            pairs = rating_pairs(grid)
            yield QuestionData(str(question), cells, cells, grid, pairs, None)
    for source in ("choices", "rankings"):
        answers = getattr(people, source)
        if answers is not None:
            yield from chosen_questions(answers, table, Notes(), source)
