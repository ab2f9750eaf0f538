"""Does it hold everywhere? Means, agreement and alignment, split by tags of stories."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np
import pandas as pd

from analysis.correlations.level_estimates import level_estimates, level_spread
from analysis.inference.resampling import unit_of
from analysis.options import AlignOptions, supported_parts
from analysis.pairwise.accuracy import pair_agreement
from analysis.pairwise.output_pairs import restricted
from analysis.questions import QuestionData, restricted_grid
from analysis.rankings.choice_votes import PARTS, coded
from analysis.rankings.method_means import Answers, estimated_means, mean_estimates
from analysis.rankings.win_rates import method_win_rates
from analysis.reading.cells import NO_CELL, CellGrid
from analysis.reading.scores import ScoreTable
from analysis.reading.story_tags import stratum_order
from analysis.reliability.agreement import agreement
from analysis.reliability.matrices import Reliability
from analysis.results import NAN, Estimate, TableRow, in_unit, undefined
from analysis.sentences import counted, sentence

# A tag with more values than this names stories rather than groups of them.
MOST_STRATA = 12
OTHERS = "all others"
# What intervals of means and win rates draw by default, and where each stands.
WINS = {"stories": "story", "annotators": "annotator"}


@dataclass(frozen=True)
class Split:
    """Stories of one question by the values of one tag."""

    tag: str
    strata: dict[str, frozenset[str]]

    def comparisons(self) -> Iterator[tuple[str, frozenset[str], str, frozenset[str]]]:
        """Yield the comparisons: two subgroups, or each of several with all others."""
        names = list(self.strata)
        if len(names) == 2:
            a, b = names
            yield a, self.strata[a], b, self.strata[b]
        elif len(names) > 2:
            every = frozenset().union(*self.strata.values())
            for name in names:
                yield name, self.strata[name], OTHERS, every - self.strata[name]


@dataclass(frozen=True)
class StatisticKey:
    """Identity of a statistic: of a metric or a method, at a level."""

    statistic: str
    metric: str = ""
    method: str = ""
    level: str = ""


def splits(tags: pd.DataFrame, stories: Sequence[str]) -> tuple[list[Split], list[str]]:
    """Group the stories of a question by every tag that groups them."""
    here = tags[tags["story"].isin(list(stories))]
    every = counted(len(stories), "story")
    if here.empty:
        return [], [
            sentence(
                "not split, since the table of tags names none of {stories}.",
                stories=every,
            )
        ]
    found, notes = [], []
    for tag in tags.columns.drop("story"):
        groups = here[here[tag] != ""].groupby(tag, sort=True)["story"]
        strata = {str(value): frozenset(rows) for value, rows in groups}
        strata = {name: strata[name] for name in sorted(strata, key=stratum_order)}
        if 2 <= len(strata) <= MOST_STRATA:
            found.append(Split(str(tag), strata))
            without = len(stories) - sum(map(len, strata.values()))
            if without:
                notes.append(
                    sentence(
                        "{n} of {stories} without a value of {tag}, in no subgroup.",
                        n=without,
                        stories=every,
                        tag=tag,
                    )
                )
        else:
            has = counted(len(strata), "value") if strata else sentence("no value")
            notes.append(
                sentence(
                    "not split by {tag}, which has {values} among {stories}: 2 "
                    "to {most} values make subgroups.",
                    tag=tag,
                    values=has,
                    stories=every,
                    most=MOST_STRATA,
                )
            )
    return found, notes


def strata_rows(
    data: QuestionData, split: Split, *, parts: tuple[str, ...], options: AlignOptions
) -> list[TableRow]:
    """Compute every statistic of one question inside each subgroup."""
    whole = data.reliability
    story_of = np.array(sorted(data.answers["story"].unique()), object)[
        whole.clusters["stories"][:, 0]
    ]
    rows = []
    for stratum, stories in split.strata.items():
        own = whole.take(np.flatnonzero([story in stories for story in story_of]))
        for place, value, drawn in _inside(data, stories, own, parts, options):
            rows.append(_row(data.name, split.tag, stratum, place, value, drawn))
    return rows


def _row(
    question: str,
    tag: str,
    stratum: str,
    place: StatisticKey,
    value: Estimate,
    drawn: tuple[str, ...],
) -> TableRow:
    return {
        "question": question,
        "metric": place.metric,
        **value.columns(),
        "tag": tag,
        "stratum": stratum,
        "method": place.method,
        "statistic": place.statistic,
        "level": place.level,
        "n_groups": value.n_groups,
        # That a mean or an agreement is not 0 is no question.
        "p_value": value.p_value if place.level else NAN,
        "left_out": value.groups.why if value.groups else "",
        "drawn": "+".join(drawn) if np.isfinite(value.low) else "",
    }


def _inside(
    data: QuestionData,
    stories: frozenset[str],
    answers: Reliability,
    parts: tuple[str, ...],
    options: AlignOptions,
) -> Iterator[tuple[StatisticKey, Estimate, tuple[str, ...]]]:
    """Yield the statistics of some stories, of their answers, and what each draws."""
    sampling = options.sampling
    data = _of_stories(data, stories)
    # Of means and rates of methods, as of the whole; methods do not move them.
    asked = supported_parts(options.resample, "+".join(WINS), PARTS)
    alone = {part for part, at in WINS.items() if data.answers[at].nunique() < 2}
    own = tuple(part for part in asked if part not in alone)
    if data.by_annotator is not None:
        scale = options.scale_of(data.name)
        means = estimated_means(
            data.by_annotator,
            parts=own if options.resamples else (),
            confidence=options.confidence,
            scale=scale,
        )
        for method, mean in means.items():
            yield StatisticKey("mean", method=method), mean, own
    by_story = ("stories",)
    for row in agreement(
        answers, data.statistics, parts=by_story, question=data.name, **sampling
    ):
        yield StatisticKey(row.statistic), row.estimate, by_story
    if data.pairs.source == "choices":
        rates = _win_rates(data.answers, own, options)
        yield from ((*rate, own) for rate in rates)
    if data.grid is not None and data.grid.metrics:
        for found in _correlations(data.grid, parts, options):
            yield (*found, parts)
    if data.pairs.metrics:
        for pair in pair_agreement(data.pairs, epsilon="0", parts=parts, **sampling):
            if pair.metric in data.pairs.metrics:
                yield StatisticKey("ppa_strict", metric=pair.metric), pair.strict, parts
                yield StatisticKey("ppa_half", metric=pair.metric), pair.half, parts


def _correlations(
    grid: CellGrid, parts: tuple[str, ...], options: AlignOptions
) -> Iterator[tuple[StatisticKey, Estimate]]:
    names = options.coefficients
    for level in options.levels:
        if grid.cells.any():
            spread = level_spread(grid, level, names, parts, options.sampling)
            found = level_estimates(grid, level, names, spread, options.sampling)
        else:
            found = dict.fromkeys(product(grid.metrics, names), undefined(NO_CELL))
        for (metric, name), value in found.items():
            yield StatisticKey(name, metric=metric, level=level), value


def _of_stories(data: QuestionData, stories: frozenset[str]) -> QuestionData:
    """Return the question as if only some stories had been judged."""
    cells = data.by_annotator
    return replace(
        data,
        answers=data.answers[data.answers["story"].isin(stories)],
        by_annotator=None if cells is None else cells[cells["story"].isin(stories)],
        grid=None if data.grid is None else restricted_grid(data.grid, stories),
        pairs=restricted(data.pairs, stories),
    )


def _win_rates(
    answers: pd.DataFrame, parts: tuple[str, ...], options: AlignOptions
) -> Iterator[tuple[StatisticKey, Estimate]]:
    """Yield how often each method wins."""
    drawn = parts if options.resamples else ()
    for row in method_win_rates(answers, parts=drawn, confidence=options.confidence):
        value, low, high = (float(str(row[name])) for name in ("rate", "low", "high"))
        n = int(str(row["n_votes"]))
        yield (
            StatisticKey("win_rate", method=str(row["method"])),
            Estimate(value, low, high, n),
        )


def score_strata_rows(
    table: ScoreTable, split: Split, *, options: AlignOptions
) -> list[TableRow]:
    """Compute the mean score of every method and metric inside each subgroup."""
    rows: list[TableRow] = []
    for stratum, stories in split.strata.items():
        part = table.cells[table.cells["story"].isin(stories)]
        for metric, method, value in _score_means(part, options):
            place = StatisticKey("mean", metric, method)
            rows.append(_row("", split.tag, stratum, place, value, ("stories",)))
    return sorted(rows, key=lambda row: str(row["metric"]))


def score_mean_rows(table: ScoreTable, *, options: AlignOptions) -> list[TableRow]:
    """Compute the mean score of every method and metric over all its stories."""
    has_story = table.cells["story"] != ""
    whole = table.cells[~has_story]
    columns = [whole[name] for name in ("metric", "method", "score")]
    means = [
        *_score_means(table.cells[has_story], options),
        *(
            (str(metric), str(method), Estimate(float(score), NAN, NAN, 0))
            for metric, method, score in zip(*columns, strict=True)
        ),
    ]
    return [
        {"metric": metric, "method": method}
        | {"drawn": "stories" if np.isfinite(value.low) else ""}
        | value.columns()
        for metric, method, value in sorted(means, key=lambda mean: mean[:2])
    ]


def _score_means(
    cells: pd.DataFrame, options: AlignOptions
) -> Iterator[tuple[str, str, Estimate]]:
    """Yield the mean of each method by each metric, as if each were a method."""
    if cells.empty:
        return
    metric, metrics = coded(cells["metric"])
    method, methods = coded(cells["method"])
    story, stories = coded(cells["story"])
    used, place = np.unique(metric * len(methods) + method, return_inverse=True)
    scores = cells["score"].to_numpy(float)
    starts = np.cumsum(np.bincount(place))[:-1]
    units = np.array(
        [
            unit_of(own)
            for own in np.split(scores[np.argsort(place, kind="stable")], starts)
        ]
    )
    order = np.lexsort((place, story))
    answers = Answers(
        tuple(map(str, used)),
        len(stories),
        1,
        place[order],
        story[order],
        np.zeros_like(story),
        (scores / units[place])[order],
    )
    parts = ("stories",) if options.resamples else ()
    means = mean_estimates(answers, parts, options.confidence)
    for k, mean, unit in zip(used, means, units.tolist(), strict=True):
        m, own = divmod(int(k), len(methods))
        yield metrics[m], methods[own], in_unit(mean, unit)
