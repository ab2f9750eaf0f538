"""Where a metric and people disagree most: outputs and pairs worth looking at."""

from collections.abc import Iterator, Mapping

import numpy as np
from scipy.stats import rankdata

from analysis.inference.parallel import in_threads
from analysis.pairwise.output_pairs import Pairs
from analysis.reading.cells import CellGrid
from analysis.results import NAN, Array, Counts, TableRow

# Rows that a metric gets at most.
MOST = 10
DECIMALS = 12


def cell_disagreement(
    grid: CellGrid, higher_is_better: Mapping[str, bool]
) -> list[TableRow]:
    """Find the outputs that a metric ranks furthest from where people rank them."""
    rows: list[TableRow] = []
    story, method = np.nonzero(grid.cells)
    human = grid.human[story, method]
    for k, metric in enumerate(grid.metrics):
        scores = grid.scores[k, story, method]
        if not len(scores) or np.ptp(scores) == 0 or metric in grid.method_level:
            continue
        value = np.round(_ranks(scores) - _ranks(human), DECIMALS)
        sign = 1.0 if higher_is_better[metric] else -1.0
        for c in _largest(np.abs(value), (method, story)):
            rows.append(
                {
                    "question": grid.question,
                    "metric": metric,
                    "value": float(value[c]),
                    "n": len(value),
                    "kind": "cell",
                    "source": "ratings",
                    "story": grid.stories[story[c]],
                    "method": grid.methods[method[c]],
                    "other_method": "",
                    "human": float(human[c]),
                    "human_other": NAN,
                    "score": sign * float(scores[c]),
                    "score_other": NAN,
                }
            )
    return rows


def pair_disagreement(
    pairs: Pairs, higher_is_better: Mapping[str, bool]
) -> list[TableRow]:
    """Find the pairs in which a metric strongly prefers what people reject."""
    people = _ranks(np.abs(pairs.sides[0] - pairs.sides[1]))

    def of_metric(k: int) -> list[TableRow]:
        against = np.flatnonzero(np.sign(pairs.scores[k]) == -pairs.human)
        against = against[pairs.human[against] != 0]
        if not len(against):
            return []
        value = np.round(_ranks(np.abs(pairs.scores[k])) + people, DECIMALS)
        keys = tuple(x[against] for x in (pairs.second, pairs.first, pairs.story))
        sign = 1.0 if higher_is_better[pairs.metrics[k]] else -1.0
        return [
            _pair_row(pairs, k, int(p), float(value[p]), sign)
            for p in against[list(_largest(value[against], keys))]
        ]

    found = in_threads(of_metric, range(len(pairs.metrics)))
    return [row for rows in found for row in rows]


def _pair_row(pairs: Pairs, k: int, p: int, value: float, sign: float) -> TableRow:
    story, ends = pairs.story[p], (pairs.first[p], pairs.second[p])
    liked = 0 if pairs.scores[k, p] > 0 else 1  # by the metric
    own, other = ends[liked], ends[1 - liked]
    return {
        "question": pairs.question,
        "metric": pairs.metrics[k],
        "value": value,
        "n": len(pairs.human),
        "kind": "pair",
        "source": pairs.source,
        "story": pairs.stories[story],
        "method": pairs.methods[own],
        "other_method": pairs.methods[other],
        "human": float(pairs.sides[liked, p]),
        "human_other": float(pairs.sides[1 - liked, p]),
        "score": sign * float(pairs.cells[k, story, own]),
        "score_other": sign * float(pairs.cells[k, story, other]),
    }


def _ranks(values: Array) -> Array:
    """Return the share of values below each, ties at the middle."""
    return np.asarray((rankdata(values) - 0.5) / max(len(values), 1), float)


def _largest(values: Array, keys: tuple[Counts, ...]) -> Iterator[int]:
    """Yield where the largest values stand; among equal ones the last key decides."""
    kept = np.arange(len(values))
    if len(values) > MOST:
        kept = np.flatnonzero(values >= np.partition(values, -MOST)[-MOST])
    order = np.lexsort((*(key[kept] for key in keys), -values[kept]))
    yield from kept[order[:MOST]].tolist()
