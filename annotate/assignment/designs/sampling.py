"""Samples of stories and sets of methods for a study. Pure."""

from collections import defaultdict
from collections.abc import Hashable, Mapping, Sequence
from itertools import combinations
from typing import TypeVar

import numpy as np

Key = TypeVar("Key", bound=Hashable)
MethodSet = tuple[str, ...]
# No story is drawn with less than this share of the probability of equal chances.
FLOOR = 0.2


def sample(
    stories: Sequence[Key],
    n: int,
    seed: int,
    strata: Mapping[Key, Hashable] | None = None,
    sizes: Mapping[Key, float] | None = None,
) -> list[Key]:
    """Draw exactly n stories with the probabilities of `inclusion_probabilities`.

    The sample is systematic in random order, group after group, so that the number
    from each group differs by less than one from its expectation.

    Source: Madow 1949; Hartley and Rao 1962; Tillé 2006, section 7.2.
    """
    chances = inclusion_probabilities(stories, n, sizes)
    rng = np.random.default_rng(seed % 2**64)
    parts = _strata(stories, strata)
    shuffled = [part[i] for part in parts for i in rng.permutation(len(part))]
    drawn = {key for key in stories if chances[key] == 1}
    rest = [key for key in shuffled if key not in drawn]
    ends = np.cumsum([chances[key] for key in rest])
    # Rounding may leave the last end below or above a whole number.
    ends[-1:] = n - len(drawn)
    points = rng.random() + np.arange(n - len(drawn))
    drawn.update(rest[i] for i in np.searchsorted(ends, points, side="right"))
    return [story for story in stories if story in drawn]


def inclusion_probabilities(
    stories: Sequence[Key], n: int, sizes: Mapping[Key, float] | None = None
) -> dict[Key, float]:
    """Return each story's probability of being in a sample of n; their sum is n.

    Without sizes they are equal. With sizes they are proportional to a mixture: FLOOR
    of the mean size and the rest of the own size. Stories whose probability would
    exceed 1 are drawn for certain, and the rest shares what is left.

    Source: Särndal, Swensson and Wretman 1992, section 3.6.2; Hesterberg 1995.
    """
    if not 0 <= n <= len(stories):
        raise ValueError(f"{n} of {len(stories)} stories cannot be drawn.")
    own = np.array([1.0 if sizes is None else sizes[key] for key in stories])
    if not (np.isfinite(own) & (own >= 0)).all():
        raise ValueError("A size is negative or no number.")
    if not own.any():
        own[:] = 1
    mixed = FLOOR * own.mean() + (1 - FLOOR) * own if len(own) else own
    chances, is_open = np.zeros(len(own)), np.full(len(own), n < len(own))
    chances[~is_open] = 1
    while is_open.any():
        chances[is_open] = mixed[is_open] * (
            (n - (~is_open).sum()) / mixed[is_open].sum()
        )
        certain = is_open & (chances >= 1)
        if not certain.any():
            break
        chances[certain], is_open = 1, is_open & ~certain
    return dict(zip(stories, chances.tolist(), strict=True))


def method_sets(
    methods: Sequence[str], kind: str | Sequence[MethodSet] = "all", size: int = 2
) -> list[MethodSet]:
    """Return the sets of methods to compare: pairs, or sets of `size`."""
    ordered = sorted(methods)
    if kind == "all" or (kind == "ring" and len(ordered) <= size):
        return list(combinations(ordered, size))
    if kind == "ring":
        around = [*ordered, *ordered[: size - 1]]
        ring = (around[i : i + size] for i in range(len(ordered)))
        return [tuple(sorted(together)) for together in ring]
    assert not isinstance(kind, str)
    return _checked(kind, set(ordered), size)


def cell_pairs(
    cells: Sequence[Key], pairs: Sequence[MethodSet], n: int, seed: int
) -> dict[Key, list[MethodSet]]:
    """Draw n different pairs of methods for each prompt cell."""
    rng = np.random.default_rng(seed % 2**64)
    drawn = np.zeros(len(pairs), dtype=np.int64)
    result: dict[Key, list[MethodSet]] = {}
    for index in rng.permutation(len(cells)):
        chosen = np.lexsort((rng.random(len(pairs)), drawn))[:n]
        drawn[chosen] += 1
        result[cells[index]] = [pairs[i] for i in sorted(chosen)]
    return {cell: result[cell] for cell in cells}


def _strata(
    keys: Sequence[Key], strata: Mapping[Key, Hashable] | None
) -> list[list[Key]]:
    if strata is None:
        return [list(keys)]
    parts: dict[Hashable, list[Key]] = defaultdict(list)
    for key in keys:
        parts[strata[key]].append(key)
    return list(parts.values())


def _checked(
    listed: Sequence[MethodSet], methods: set[str], size: int
) -> list[MethodSet]:
    """Return the listed sets in alphabetical order, or raise if they are invalid."""
    result: list[MethodSet] = []
    for together in listed:
        unknown = sorted(set(together) - methods)
        if unknown:
            raise ValueError(
                f"Unknown method {', '.join(unknown)}. There are: "
                f"{', '.join(sorted(methods))}."
            )
        ordered = tuple(sorted(together))
        named = " and ".join(ordered)
        if len(ordered) != size:
            raise ValueError(f"{named}: name {size} methods that are compared.")
        if len(set(ordered)) != size:
            raise ValueError(f"{named}: no method is compared with itself.")
        if ordered in result:
            raise ValueError(f"{named} are compared twice.")
        result.append(ordered)
    return result
