"""Distribution of units that spreads stories and shared units evenly. Pure."""

from dataclasses import dataclass

import numpy as np

from analysis.options import Progress, silent
from annotate.assignment.designs.balance import method_spread, overlaps
from annotate.assignment.designs.planned_slots import Bools, Ints, Layout, runs

# Limits on trades: per slot, in all, and to connect the annotators.
SWEEPS = 6
BATCHES = 6_000
JOINING = 400

# Evenly spread stories have this much more weight than even overlaps, because a
# repeated story may cost a person another session.
STORY_WEIGHT = 20


def deal(
    layout: Layout, redundancy: Ints, count: Ints, rng: np.random.Generator
) -> Ints | None:
    """Give each kind's units to the people who need most of them."""
    need = count.copy()
    people = need.shape[1]
    holders: Ints = np.full((len(layout), redundancy.max()), -1, dtype=np.int64)
    seen = np.zeros((people, layout.stories), dtype=np.int32)
    order = np.lexsort((rng.random(len(layout)), layout.kind))
    starts, sizes = runs(layout.kind[order])
    for step in range(int(sizes.max())):
        units = order[starts[sizes > step] + step]
        kinds, story = layout.kind[units], layout.story[units]
        view = seen[:, story].T
        score = view / (2.0 * (1 + view.max())) - need[kinds]
        score += 0.4 * rng.random(score.shape, dtype=np.float32)
        taken = redundancy[units].max()
        if taken < people:
            best = np.argpartition(score, taken - 1, axis=1)[:, :taken]
        else:
            best = np.broadcast_to(np.arange(people), score.shape)
        if redundancy[units].min() < taken:
            at = np.argsort(np.take_along_axis(score, best, axis=1), axis=1)
            best = np.take_along_axis(best, at, axis=1)
        wanted = np.arange(taken) < redundancy[units][:, None]
        if (need[kinds[:, None], best][wanted] < 1).any():
            return None
        np.subtract.at(need, (np.repeat(kinds, wanted.sum(axis=1)), best[wanted]), 1)
        np.add.at(seen, (best[wanted], np.repeat(story, wanted.sum(axis=1))), 1)
        holders[units, :taken] = np.where(wanted, best, -1)
    return holders


@dataclass
class HolderTable:
    """The holders of all groups, and the limits of trades."""

    layout: Layout
    holders: Ints
    group: Ints
    people: int

    def __post_init__(self) -> None:
        width = self.holders.shape[1]
        filled = np.flatnonzero(self.holders.ravel() >= 0)
        kinds = len(self.layout.kinds)
        key = self.group[filled % width] * kinds + self.layout.kind[filled // width]
        order = np.argsort(key, kind="stable")
        # Places in the table, grouped by kind and group.
        self.places: Ints = filled[order]
        starts, sizes = runs(key[order])
        self.start = np.repeat(starts, sizes)
        self.size = np.repeat(sizes, sizes)

    def slots(self) -> tuple[Ints, Ints]:
        """Return unit and person of every slot."""
        unit, column = np.nonzero(self.holders >= 0)
        return unit, self.holders[unit, column]

    def alike(self, pick: Ints, rng: np.random.Generator) -> Ints:
        """Return, for each given slot, a random slot of the same kind and group."""
        chance = (rng.random(len(pick)) * self.size[pick]).astype(np.int64)
        result: Ints = self.start[pick] + chance
        return result

    def can_trade(self, one: Ints, other: Ints) -> Bools:
        """Return which trades of two places give no person a unit twice."""
        width = self.holders.shape[1]
        flat = self.holders.ravel()
        possible: Bools = flat[one] != flat[other]
        possible &= ~(self.holders[one // width] == flat[other][:, None]).any(axis=1)
        possible &= ~(self.holders[other // width] == flat[one][:, None]).any(axis=1)
        return possible

    def trade(self, one: Ints, other: Ints) -> None:
        """Let the holders of two places change places."""
        flat = self.holders.reshape(-1)
        flat[one], flat[other] = flat[other], flat[one]


def spread(
    table: HolderTable, rng: np.random.Generator, progress: Progress = silent
) -> None:
    """Trade units until stories and shared units are spread evenly."""
    unit, person = table.slots()
    stories = table.layout.stories
    seen: Ints = np.bincount(
        person * stories + table.layout.story[unit], minlength=table.people * stories
    ).reshape(table.people, stories)
    shared, _ = overlaps(unit, person, table.people)
    size = max(8, table.people // 2)
    batches = min(BATCHES, -(-SWEEPS * len(unit) // size))
    for batch in range(batches):
        progress(f"spreading shared units: {100 * batch // batches} %")
        pick = rng.integers(len(table.places), size=size)
        one = table.places[pick]
        other = table.places[table.alike(pick, rng)]
        apart = table.can_trade(one, other) & _different_units(table, one, other)
        _trade_best(table, one[apart], other[apart], seen, shared)


def _different_units(table: HolderTable, one: Ints, other: Ints) -> Bools:
    """Return which trades do not share a unit with another trade."""
    width = table.holders.shape[1]
    units = np.r_[one // width, other // width]
    _names, first, code = np.unique(units, return_index=True, return_inverse=True)
    fresh = first[code] == np.arange(len(units))
    half = len(one)
    result: Bools = fresh[:half] & fresh[half:]
    return result


def _trade_best(
    table: HolderTable, one: Ints, other: Ints, seen: Ints, shared: Ints
) -> None:
    """Make the trades that lower the sum of squares."""
    width = table.holders.shape[1]
    flat = table.holders.ravel()
    a, b, u, v = flat[one], flat[other], one // width, other // width
    s, t = table.layout.story[u], table.layout.story[v]
    views = seen[a, t] - seen[a, s] + seen[b, s] - seen[b, t] + 2
    views[s == t] = 0
    with_u, with_v = table.holders[u], table.holders[v]
    near_u = (with_u >= 0) & (with_u != a[:, None])
    near_v = (with_v >= 0) & (with_v != b[:, None])
    more_u = shared[b[:, None], with_u] - shared[a[:, None], with_u] + 1
    more_v = shared[a[:, None], with_v] - shared[b[:, None], with_v] + 1
    change = (more_u * near_u).sum(axis=1) + (more_v * near_v).sum(axis=1)
    good = STORY_WEIGHT * views + change < 0
    one, other, a, b, s, t = one[good], other[good], a[good], b[good], s[good], t[good]
    for person, story, sign in ((a, s, -1), (a, t, 1), (b, t, -1), (b, s, 1)):
        np.add.at(seen, (person, story), sign)
    for near, mates, old, new in (
        (near_u[good], with_u[good], a, b),
        (near_v[good], with_v[good], b, a),
    ):
        rows, columns = np.nonzero(near)
        mate = mates[rows, columns]
        for person, sign in ((old[rows], -1), (new[rows], 1)):
            np.add.at(shared, (person, mate), sign)
            np.add.at(shared, (mate, person), sign)
    table.trade(one, other)


def join(table: HolderTable, rng: np.random.Generator) -> bool:
    """Trade units until shared units connect all annotators."""
    if len(table.places) - len(table.layout) < table.people - 1:
        return True
    parts = _parts(table)
    for attempt in range(JOINING):
        if parts.max() == 0:
            return True
        one, other = _apart(table, parts, attempt, rng)
        if one < 0:
            continue
        before = _unevenness(table)
        table.trade(np.array([one]), np.array([other]))
        now = _parts(table)
        after = _unevenness(table)
        worse = any(x > y for x, y in zip(after, before, strict=True))
        if now.max() > parts.max() or worse:
            table.trade(np.array([one]), np.array([other]))
        else:
            parts = now
    return bool(parts.max() == 0)


def _apart(
    table: HolderTable, parts: Ints, attempt: int, rng: np.random.Generator
) -> tuple[int, int]:
    """Draw two tradable places of people in different parts; -1 if none exists."""
    width = table.holders.shape[1]
    holder = table.holders.ravel()[table.places]
    largest = np.bincount(parts).argmax()
    one = rng.choice(table.places[parts[holder] != largest])
    several = (table.holders >= 0).sum(axis=1) > 1
    suits = parts[holder] != parts[table.holders.ravel()[one]]
    suits &= several[table.places // width] | several[one // width]
    suits &= table.group[table.places % width] == table.group[one % width]
    if attempt % 4:
        kind = table.layout.kind
        suits &= kind[table.places // width] == kind[one // width]
    others = table.places[suits]
    others = others[table.can_trade(np.full(len(others), one), others)]
    return (int(one), int(rng.choice(others))) if len(others) else (-1, -1)


def _parts(table: HolderTable) -> Ints:
    """Return the component of each person in the graph of shared units."""
    unit, person = table.slots()
    label: Ints = np.arange(table.people)
    while True:
        least = np.full(len(table.layout), table.people)
        np.minimum.at(least, unit, label[person])
        new = label.copy()
        np.minimum.at(new, person, least[unit])
        if np.array_equal(new, label):
            return np.unique(label, return_inverse=True)[1]
        label = new


def _unevenness(table: HolderTable) -> tuple[int, int]:
    """Return the imbalance of methods, which trades between kinds can worsen."""
    unit, column = np.nonzero(table.holders >= 0)
    person, group = table.holders[unit, column], table.group[column]
    kinds = len(table.layout.kinds)
    key = person * kinds + table.layout.kind[unit]
    count = np.bincount(key, minlength=table.people * kinds).reshape(-1, kinds)
    spread = beyond = 0
    for one in np.unique(group):
        own = count[np.unique(person[group == one])]
        spread = max(spread, method_spread(own @ table.layout.shown))
        if not table.layout.pairwise:
            beyond += int(np.ptp(own, axis=0).clip(1).sum())
    return spread, beyond
