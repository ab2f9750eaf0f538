"""Remarks on composites: ranges of different widths, and parts that count twice."""

from collections.abc import Callable, Iterable, Iterator, Mapping

import pandas as pd

from analysis.options import Scale
from analysis.rankings.composite_weights import (
    Composite,
    by_name,
    inside,
    leaves,
    split_part,
)
from analysis.reading.metric_names import contained
from analysis.sentences import sentence

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
