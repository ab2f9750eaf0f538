"""Choice of the free slot that best balances an annotator's sides. Pure."""

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple


@dataclass
class ShownSides:
    """Left minus right by method, and of the first method by pair of methods."""

    of_method: Counter[Hashable] = field(default_factory=Counter)
    of_pair: Counter[tuple[Hashable, ...]] = field(default_factory=Counter)

    def add(
        self, methods: tuple[Hashable, ...], a_is_left: bool | None, times: int = 1
    ) -> None:
        """Count slots that show these methods."""
        if a_is_left is None or len(methods) != 2:
            return
        step = times if a_is_left else -times
        self.of_method[methods[0]] += step
        self.of_method[methods[1]] -= step
        self.of_pair[methods] += step

    def cost(self, methods: tuple[Hashable, ...], a_is_left: bool | None) -> int:
        """Return the imbalance after another slot, relative to other slots."""
        if a_is_left is None or len(methods) != 2:
            return 0
        apart = self.of_method[methods[0]] - self.of_method[methods[1]]
        return (2 * apart + self.of_pair[methods]) * (1 if a_is_left else -1)


class Candidate(NamedTuple):
    """A free slot: its unit's story and methods, its level, and its sides."""

    slot: int
    story: Hashable
    methods: tuple[Hashable, ...]
    level: int
    a_is_left: bool | None = None
    round: int = 1


# A method that was added late is shown once in so many slots and one more, at most,
# until it has caught up with the others.
APART = 3


@dataclass
class SeenSoFar:
    """Stories, methods and sides that an annotator has had so far."""

    stories: set[Hashable] = field(default_factory=set)
    methods: Counter[Hashable] = field(default_factory=Counter)
    sides: ShownSides = field(default_factory=ShownSides)
    recent: list[tuple[Hashable, ...]] = field(default_factory=list)

    @property
    def catching_up(self) -> set[Hashable]:
        """Return the methods of the last slots that are far behind the others."""
        counts = sorted(self.methods.values())
        usual = counts[len(counts) // 2] if counts else 0
        shown = {method for methods in self.recent for method in methods}
        return {method for method in shown if self.methods[method] < usual - 1}

    def add(self, candidate: Candidate) -> None:
        """Count a slot that the annotator was given, after those before it."""
        self.stories.add(candidate.story)
        self.recent = [*self.recent, candidate.methods][-APART:]
        for method in candidate.methods:
            self.methods[method] += 1
        self.sides.add(candidate.methods, candidate.a_is_left)


def best(candidates: Sequence[Candidate], seen: SeenSoFar) -> Candidate | None:
    """Return the candidate that keeps the annotator's share most balanced."""
    late = seen.catching_up
    return min(candidates, key=lambda c: _cost(c, seen, late), default=None)


def keeps_even(candidate: Candidate, seen: SeenSoFar) -> bool:
    """Return whether a slot shows a new story and no overused method."""
    highest = max(seen.methods.values(), default=0)
    met = max(seen.methods[method] for method in candidate.methods)
    return candidate.story not in seen.stories and (met < highest or highest == 0)


def _cost(
    candidate: Candidate, seen: SeenSoFar, late: set[Hashable]
) -> tuple[bool, int, bool, int, int, int, int]:
    met = [seen.methods[method] for method in candidate.methods]
    side = seen.sides.cost(candidate.methods, candidate.a_is_left)
    again = candidate.story in seen.stories
    is_late = not late.isdisjoint(candidate.methods)
    return again, candidate.round, is_late, max(met), sum(met), candidate.level, side
