"""Composites: one number of several questions or metrics a method."""

from collections.abc import Callable, Iterable, Iterator, Mapping

import numpy as np
import pandas as pd

from analysis.inference.resampling import (
    DECIMALS,
    cluster_counts,
    divided,
    interval,
    stream,
    unit_of,
)
from analysis.options import Scale
from analysis.rankings.composite_weights import (
    Composite,
    by_name,
    inside,
    leaves,
    split_part,
)
from analysis.rankings.standings import rank_intervals, ranks
from analysis.reading.story_tags import tagged
from analysis.reading.texts import contained
from analysis.results import NAN, Array, TableRow
from analysis.sentences import sentence

# Values that differ by less are equal up to rounding.
SAME = 1e-9
# Numbers held at once while resampling: resamples x cells.
CHUNK = 4_000_000


def part_cells(
    cells: pd.DataFrame, known: Mapping[str, Composite], tags: pd.DataFrame | None
) -> pd.DataFrame:
    """Return the cells of questions or metrics as parts of composites."""
    names = tuple(cells["part"].unique())
    found = [cells]
    for text in dict.fromkeys(part for one in known.values() for part in one.weights):
        name, tag = split_part(text, (*names, *known))
        if tag:
            own = (cells["part"] == name) & cells["story"].isin(list(tagged(tags, tag)))
            found.append(cells[own].assign(part=text))
    return pd.concat(found, ignore_index=True)


def composites(
    cells: pd.DataFrame,
    known: Mapping[str, Composite],
    *,
    lower_is_better: frozenset[str] = frozenset(),
    resamples: int = 1000,
    confidence: float = 0.95,
    seed: int = 0,
) -> list[TableRow]:
    r"""Join several questions or metrics into one number a method.

    With :math:`v_p` a method's mean of part p over its stories, or its value of the
    composite p: ``mean`` is :math:`\sum_p w_p v_p / \sum_p w_p`, ``ranks`` the same
    mean of the method's ranks over the parts, ties sharing the middle (ViStoryBench's
    leaderboard), and ``drop`` :math:`100 (v_1 - v_2) / |v_1|` of the two parts in their
    order (VISTAR). A method that lacks a part has no value, and a reason that names
    what it lacks.
    """
    methods = tuple(sorted(cells["method"].unique()))
    names = tuple(sorted(cells["part"].unique()))
    turned = frozenset(lower_is_better)
    cube = _Cube(cells, names, methods)
    parts = cube.means(np.ones((1, cube.n_stories)))
    values = _evaluated(known, parts, turned)
    drawn: dict[str, list[Array]] = {name: [] for name in known}
    rng = stream(seed, "composites")
    step = max(1, CHUNK // cube.size)
    for start in range(0, resamples if cube.n_stories > 1 else 0, step):
        b = min(step, resamples - start)
        means = cube.means(cluster_counts(cube.n_stories, b, rng).astype(float))
        for name, found in _evaluated(known, means, turned).items():
            drawn[name].append(found)
    rows: list[TableRow] = []
    for name, composite in known.items():
        draws = np.concatenate(drawn[name]) if drawn[name] else None
        lacking = _lacking(known, name, parts, methods)
        rows += _rows(
            name, composite, values[name][0], draws, methods, lacking, confidence
        )
    return rows


class _Cube:
    """Values of parts by story and method."""

    def __init__(
        self, cells: pd.DataFrame, names: tuple[str, ...], methods: tuple[str, ...]
    ) -> None:
        self._names = names
        stories = sorted(set(cells["story"]) - {""})
        self.n_stories = len(stories)
        P, M = len(names), len(methods)
        place = [
            pd.Index(labels).get_indexer(pd.Index(cells[column]))
            for labels, column in (
                (names, "part"),
                (["", *stories], "story"),
                (methods, "method"),
            )
        ]
        values = np.full((P, 1 + self.n_stories, M), np.nan)
        values[place[0], place[1], place[2]] = cells["value"].to_numpy(float)
        self._whole = values[:, 0]
        by_story = values[:, 1:].transpose(1, 0, 2).reshape(self.n_stories, P * M)
        self._known = np.isfinite(by_story)
        self._values = np.where(self._known, by_story, 0.0)
        self.size = max(by_story.size, P * M)

    def means(self, weights: Array) -> dict[str, Array]:
        """Return the mean of every part under weights of stories (b, S): (b, M)."""
        total = weights @ self._known
        found = divided(weights @ self._values, total)
        found = found.reshape(len(weights), *self._whole.shape)
        # A part of whole methods has no stories to draw.
        found = np.where(np.isnan(self._whole), found, self._whole)
        return {name: found[:, k] for k, name in enumerate(self._names)}


def _evaluated(
    known: Mapping[str, Composite], parts: Mapping[str, Array], lower: frozenset[str]
) -> dict[str, Array]:
    """Return each composite by resample and method, (b, M)."""
    absent = np.full(next(iter(parts.values())).shape, np.nan)

    def signed(part: str) -> Array:
        """Return a part so that more is better."""
        if part in known:
            composite = known[part]
            return formed(composite) if composite.kind == "mean" else -formed(composite)
        found = parts.get(part, absent)
        return -found if part in lower else found

    def formed(composite: Composite) -> Array:
        found = np.stack([signed(part) for part in composite.weights])
        if composite.kind == "drop":
            return divided(100 * (found[0] - found[1]), np.abs(found[0]))
        if composite.kind == "ranks":
            found[:, np.isnan(found).any(axis=0)] = np.nan
            found = np.stack([part / unit_of(part) for part in found])
            found = ranks(found, tolerance=SAME, ties="middle")
        weights = np.array(list(composite.weights.values()))
        return np.asarray(np.tensordot(weights, found, 1) / weights.sum())

    return {name: formed(composite) for name, composite in known.items()}


def _lacking(
    known: Mapping[str, Composite],
    name: str,
    parts: Mapping[str, Array],
    methods: tuple[str, ...],
) -> list[str]:
    leaves = [part for part in sorted(inside(known, name)) if part not in known]
    found = []
    for i in range(len(methods)):
        gone = [p for p in leaves if p not in parts or np.isnan(parts[p][0, i])]
        found.append(sentence("no value of {names}", names=[*gone]) if gone else "")
    return found


def _rows(
    name: str,
    composite: Composite,
    values: Array,
    draws: Array | None,
    methods: tuple[str, ...],
    lacking: list[str],
    confidence: float,
) -> list[TableRow]:
    """Return the rows of one composite, best first."""
    sign = 1.0 if composite.kind == "mean" else -1.0
    if draws is None:
        draws = np.empty((0, len(methods)))
    unit = unit_of(values)
    values, draws = values / unit, draws / unit
    place = ranks(sign * values, tolerance=SAME)
    best, worst = rank_intervals(
        sign * values, sign * draws, confidence, tolerance=SAME
    )
    rows: list[TableRow] = []
    for i in np.lexsort((np.arange(len(methods)), place)):
        low, high, reason = interval(draws[:, i], confidence)
        if np.isnan(values[i]):
            low, high = NAN, NAN
            reason = lacking[i] or sentence("its first part is 0")
        value = round(float(values[i]), DECIMALS)
        rows.append(
            {
                "composite": name,
                "over": composite.over,
                "method": methods[i],
                "value": unit * value,
                "low": unit * low,
                "high": unit * high,
                "rank": float(place[i]),
                "rank_low": float(best[i]),
                "rank_high": float(worst[i]),
                "n_parts": len(composite.weights),
                "reason": reason,
            }
        )
    return rows


# Ranges that were seen differ by chance; those of scales that are known do not.
SEEN_TIMES, KNOWN_TIMES = 2.0, 1.0


def range_remarks(
    values: pd.DataFrame,
    known: Mapping[str, Composite],
    scale_of: Callable[[str], Scale | None] | None = None,
) -> Iterator[tuple[str, str]]:
    """Yield the composites whose weights do not say what decides, with a remark."""
    seen = values.groupby("part")["value"].agg(["min", "max"])
    for name in known:
        weights: dict[str, float] = {}
        ranges: dict[str, tuple[float, float]] = {}
        for text, weight in leaves(known, name).items():
            part, _tag = split_part(text, (*seen.index, *known))
            if part in seen.index:
                weights[text] = weight
                scale = scale_of(part) if scale_of else None
                low, high = scale or seen.loc[part].to_numpy(float)
                ranges[part] = float(low), float(high)
        widths = {part: high - low for part, (low, high) in ranges.items()}
        if not widths or min(widths.values()) <= 0:
            continue
        is_known = scale_of is not None and all(map(scale_of, widths))
        times = KNOWN_TIMES if is_known else SEEN_TIMES
        if max(widths.values()) > times * min(widths.values()):
            yield name, _remark(weights, ranges, widths, (*seen.index, *known))


def _remark(
    weights: Mapping[str, float],
    ranges: Mapping[str, tuple[float, float]],
    widths: Mapping[str, float],
    names: tuple[str, ...],
) -> str:
    on_one_scale = {
        text: weight / widths[split_part(text, names)[0]]
        for text, weight in weights.items()
    }
    total = sum(on_one_scale.values())
    return sentence(
        "its parts have different ranges ({ranges}), so that weights do not say how "
        "much each counts: the widest decides most. Weights {weights} make up for "
        "that; kind: ranks takes ranks.",
        ranges=[
            sentence(
                "{name} from {low} to {high}", name=part, low=f"{a:g}", high=f"{b:g}"
            )
            for part, (a, b) in ranges.items()
        ],
        weights=[
            f"{text}: {value / total:.3g}" for text, value in on_one_scale.items()
        ],
    )


def counted_once(metrics: Iterable[str]) -> tuple[list[str], list[str]]:
    """Return the metrics that an average of ranks counts, and remarks on the others."""
    metrics = list(metrics)
    left: set[str] = set()
    remarks = []
    for metric in metrics:
        parts, is_whole = contained(metric, metrics)
        if parts:
            out = [metric] if is_whole else parts
            left.update(out)
            remarks.append(
                sentence(
                    "{metric} contains {parts}. Left out, so that nothing counts "
                    "twice: {left}. A composite of kind ranks counts all it names.",
                    metric=metric,
                    parts=parts,
                    left=out,
                )
            )
    return [metric for metric in metrics if metric not in left], remarks


def counted_twice(composites: Iterable[Composite]) -> Iterator[tuple[str, str]]:
    """Yield averages of ranks that count a part beside what is in it, and remarks."""
    known = by_name(composites)
    for name, composite in known.items():
        parts = [*composite.weights] if composite.kind == "ranks" else []
        for part in parts:
            within = inside(known, part) if part in known else set()
            if composite.over == "metrics":
                means = {part, *within}
                within = within.union(*(contained(one, parts)[0] for one in means))
            if twice := [other for other in parts if other in within]:
                yield (
                    name,
                    sentence(
                        "counts {part} and also what it contains: {parts}.",
                        part=part,
                        parts=twice,
                    ),
                )
