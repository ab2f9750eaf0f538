"""Which free slot suits an annotator best. Pure.

Annotators who arrive one by one have no plan. What a plan guarantees is kept by the
order in which free slots are handed out: the annotator's methods stay even, no story
comes twice in a session, the least judged units come first, and each method stands left
and right about equally often. The
limit that keeps units within two answers of each other is kept by whoever makes the
list of candidates (see `annotate.assignment.choosing`).
"""

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from annotate.assignment.designs.shown_sides import ShownSides


class Candidate(NamedTuple):
    """A free slot: its unit's story and methods, its level, and its sides."""

    slot: int
    story: Hashable
    methods: tuple[Hashable, ...]
    level: int
    a_is_left: bool | None = None
    round: int = 1


@dataclass
class SeenSoFar:
    """What an annotator has been given so far.

    `stories` are those of the session at hand. `methods` says how often each method
    was met, in all sessions; one that was never met counts zero, named or not. `sides`
    says on which side.
    """

    stories: set[Hashable] = field(default_factory=set)
    methods: Counter[Hashable] = field(default_factory=Counter)
    sides: ShownSides = field(default_factory=ShownSides)

    def add(self, candidate: Candidate) -> None:
        """Count a slot that the annotator was given."""
        self.stories.add(candidate.story)
        for method in candidate.methods:
            self.methods[method] += 1
        self.sides.add(candidate.methods, candidate.a_is_left)


def best(candidates: Sequence[Candidate], seen: SeenSoFar) -> Candidate | None:
    """Return the candidate that keeps the annotator's share most even.

    Stories of the session at hand come last; then later rounds, methods met often,
    units judged often, and methods on the side where they stood more often. Ties go to
    the earlier candidate, so that a list in random order is drawn from at random.
    """
    return min(candidates, key=lambda c: _cost(c, seen), default=None)


def keeps_even(candidate: Candidate, seen: SeenSoFar) -> bool:
    """Say whether a slot shows a fresh story and no method more often than any before.

    Otherwise it is worth looking further for one that does.
    """
    highest = max(seen.methods.values(), default=0)
    met = max(seen.methods[method] for method in candidate.methods)
    return candidate.story not in seen.stories and (met < highest or highest == 0)


def _cost(
    candidate: Candidate, seen: SeenSoFar
) -> tuple[bool, int, int, int, int, int]:
    met = [seen.methods[method] for method in candidate.methods]
    side = seen.sides.cost(candidate.methods, candidate.a_is_left)
    again = candidate.story in seen.stories
    return again, candidate.round, max(met), sum(met), candidate.level, side
