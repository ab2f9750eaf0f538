"""Metrics that are means of others in one average of ranks: found, counted once."""

from collections.abc import Iterable, Iterator

from analysis.rankings.composite_weights import Composite, by_name, inside
from analysis.reading.metric_names import contained
from analysis.sentences import sentence


def counted_once(metrics: Iterable[str]) -> tuple[list[str], list[str]]:
    """Return the metrics that an average of ranks counts, and remarks on the others.

    A known mean (`metric_names.MEANS`) whose parts have all scores is left out: so
    ViStoryBench counts twelve metrics of thirteen columns. Where only some of its parts
    have scores, the mean counts and these are left out. That a column looks like the
    mean of others decides nothing: printed means miss that of their parts by up to .23.
    """
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
