"""How many units of each kind every annotator gets. Pure."""

from dataclasses import dataclass

import numpy as np

from annotate.assignment.designs.balance import spreads
from annotate.assignment.designs.planned_slots import Ints, Layout

# Exchanges that are tried to even out the methods, all annotators at a time, and how
# many without any gain once everybody meets equally frequent methods equally often.
EXCHANGES = 5_000
PATIENCE = 400


def even_shares(
    layout: Layout, redundancy: Ints, annotators: int, rng: np.random.Generator
) -> Ints | None:
    """Share the kinds out; None if some methods cannot be met equally often."""
    slots = np.bincount(
        layout.kind, weights=redundancy, minlength=len(layout.kinds)
    ).astype(np.int64)
    base, rest = np.divmod(slots, annotators)
    shown = layout.shown.astype(np.int64)
    count = np.repeat(base[:, None], annotators, axis=1)
    load = np.zeros(annotators, dtype=np.int64)
    met = np.zeros((annotators, shown.shape[1]), dtype=np.int64)
    for kind in rng.permutation(np.flatnonzero(rest)):
        methods = np.flatnonzero(shown[kind])
        # Shares of single methods are even whoever takes what is left of them.
        need = met[:, methods].sum(axis=1) * int(layout.pairwise)
        order = np.lexsort((rng.random(annotators), need, load))
        chosen = order[: rest[kind]]
        count[kind, chosen] += 1
        load[chosen] += 1
        met[np.ix_(chosen, methods)] += 1
    if not layout.pairwise:
        return count
    limits = base[:, None], (base + (rest > 0))[:, None]
    return _exchange(count, limits, shown, rng)


def _exchange(
    count: Ints, limits: tuple[Ints, Ints], shown: Ints, rng: np.random.Generator
) -> Ints | None:
    """Exchange kinds until methods are met equally often; None where they never are."""
    met = count.T @ shown
    mean = met.sum(axis=0) / max(len(met), 1)
    low, high = np.floor(mean), np.ceil(mean)
    best, fewest, since = count.copy(), _Misses.of(met, low, high), 0
    for _ in range(EXCHANGES):
        if fewest.beyond == 0 or (fewest.spread == 0 and since > PATIENCE):
            break
        uneven = ((met < low) | (met > high)).any(axis=1) | (spreads(met) > 1)
        _exchange_once(count, limits, shown, met, uneven, rng)
        misses, since = _Misses.of(met, low, high), since + 1
        if misses < fewest:
            best, fewest, since = count.copy(), misses, 0
    return best if fewest.spread == 0 else None


@dataclass(frozen=True, order=True)
class _Misses:
    """People who meet some methods too often, and encounters beyond an even share."""

    spread: int
    beyond: float

    @classmethod
    def of(cls, met: Ints, low: np.ndarray, high: np.ndarray) -> "_Misses":
        beyond = np.maximum(met - high, 0) + np.maximum(low - met, 0)
        return cls(int((spreads(met) > 1).sum()), float(beyond.sum()))


def _exchange_once(
    count: Ints,
    limits: tuple[Ints, Ints],
    shown: Ints,
    met: Ints,
    uneven: np.ndarray,
    rng: np.random.Generator,
) -> None:
    """Let each person with uneven counts exchange one kind with somebody else."""
    # Every other time only people with uneven counts meet, so that these cancel out.
    people = np.flatnonzero(uneven) if rng.random() < 0.5 else np.arange(len(met))
    half = len(people) // 2
    one, other = rng.permutation(people)[: 2 * half].reshape(2, half)
    apart = uneven[one] | uneven[other]
    one, other = one[apart], other[apart]
    if not len(one):
        return
    more = shown @ (met[one] - met[other]).T
    gives = (count[:, one] > limits[0]) & (count[:, other] < limits[1])
    takes = (count[:, other] > limits[0]) & (count[:, one] < limits[1])
    noise = rng.random((2, *more.shape)) * rng.choice([0.5, 2.0, 6.0])
    given = np.where(gives, more + noise[0], -np.inf).argmax(axis=0)
    taken = np.where(takes, more - noise[1], np.inf).argmin(axis=0)
    at = np.arange(len(one))
    change = shown[taken] - shown[given]
    gain = more[taken, at] - more[given, at] + (change * change).sum(axis=1)
    keep = gives[given, at] & takes[taken, at] & (gain <= 0)
    one, other, given, taken = one[keep], other[keep], given[keep], taken[keep]
    count[given, one] -= 1
    count[given, other] += 1
    count[taken, one] += 1
    count[taken, other] -= 1
    met[one] += change[keep]
    met[other] -= change[keep]
