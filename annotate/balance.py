"""The words of an assignment, and how well balanced a plan is.

Pure: `annotate.design` makes plans of these parts; `measure` judges any plan, also one
that was changed by hand.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class DesignUnit:
    """What is shown at once: one output, or a pair of outputs of one story.

    Parameters
    ----------
    id
        Names the unit in the plan.
    story
        The story that is shown.
    methods
        One method (Likert) or two different ones in the unit's order (pairwise).
    """

    id: int
    story: str
    methods: tuple[str, ...]


@dataclass(frozen=True)
class Assignment:
    """One planned slot: who judges which unit, when, and which method stands left."""

    annotator: int
    unit: int
    round: int
    session: int
    position: int
    a_is_left: bool


@dataclass(frozen=True)
class BalanceReport:
    """The measured balance of a plan, each as (smallest, largest)."""

    units: int
    annotators: int
    slots: int
    redundancy: tuple[int, int]
    load: tuple[int, int]
    sessions: tuple[int, int]
    session_size: tuple[int, int]
    method_spread: int
    repeated_units: int
    stories_twice_in_session: int
    left_spread_unit: int
    left_spread_pair: int
    left_spread_annotator: int

    def as_dict(self) -> dict[str, object]:
        """Return the numbers for storage."""
        return dict(vars(self))

    def lines(self) -> list[str]:
        """Return the report as sentences, one a line."""
        text = [
            f"{self.units} units, {self.annotators} annotators, {self.slots} slots",
            f"slots per unit and round: {_span(self.redundancy)}",
            f"slots per annotator: {_span(self.load)}",
            f"sessions per annotator: {_span(self.sessions)}, "
            f"of {_span(self.session_size)} slots",
            "an annotator's counts of equally frequent methods differ by at most "
            f"{self.method_spread}",
            f"units seen twice by one annotator: {self.repeated_units}",
            f"stories seen twice in a session: {self.stories_twice_in_session}",
        ]
        if self.left_spread_pair >= 0:
            text.append(
                "left minus right differs by at most "
                f"{self.left_spread_unit} per unit, {self.left_spread_pair} per pair "
                f"of methods, {self.left_spread_annotator} per annotator"
            )
        return text


def measure(
    units: Sequence[DesignUnit],
    assignments: Sequence[Assignment],
    *,
    annotators: int,
) -> BalanceReport:
    """Measure the balance of any plan, made here or elsewhere."""
    by_id = {unit.id: unit for unit in units}
    per_unit = Counter((a.unit, a.round) for a in assignments)
    load = Counter(a.annotator for a in assignments)
    sessions = Counter((a.annotator, a.session) for a in assignments)
    met: dict[int, Counter[str]] = {a: Counter() for a in range(annotators)}
    stories = Counter(
        (a.annotator, a.session, by_id[a.unit].story) for a in assignments
    )
    repeats = Counter((a.annotator, a.unit, a.round) for a in assignments)
    for a in assignments:
        met[a.annotator].update(by_id[a.unit].methods)
    loads = [load[a] for a in range(annotators)]
    own = Counter(annotator for annotator, _session in sessions)
    pairwise = any(len(unit.methods) == 2 for unit in units)
    rounds = {a.round for a in assignments}
    return BalanceReport(
        units=len(units),
        annotators=annotators,
        slots=len(assignments),
        redundancy=_limits(per_unit[u.id, r] for u in units for r in rounds),
        load=_limits(loads),
        sessions=_limits(own[a] for a in range(annotators)),
        session_size=_limits(sessions.values()),
        method_spread=method_spread(met.values()),
        repeated_units=sum(count - 1 for count in repeats.values()),
        stories_twice_in_session=sum(count - 1 for count in stories.values()),
        left_spread_unit=_lean(assignments, lambda a: a.unit) if pairwise else -1,
        left_spread_pair=(
            _lean(assignments, lambda a: by_id[a.unit].methods) if pairwise else -1
        ),
        left_spread_annotator=(
            _lean(assignments, lambda a: a.annotator) if pairwise else -1
        ),
    )


def method_spread(met: Collection[Counter[str]]) -> int:
    """Return the largest difference between one person's counts of two methods.

    Only methods with equally many slots are compared.
    """
    total: Counter[str] = Counter()
    for counts in met:
        total.update(counts)
    alike: dict[int, list[str]] = defaultdict(list)
    for method, count in total.items():
        alike[count].append(method)
    return max(
        (
            max(counts[m] for m in methods) - min(counts[m] for m in methods)
            for counts in met
            for methods in alike.values()
        ),
        default=0,
    )


def _lean(
    assignments: Sequence[Assignment], key: Callable[[Assignment], Hashable]
) -> int:
    """Return the largest difference between left and right in any group."""
    balance: Counter[Hashable] = Counter()
    for a in assignments:
        balance[key(a)] += 1 if a.a_is_left else -1
    return max((abs(value) for value in balance.values()), default=0)


def _limits(values: Iterable[int]) -> tuple[int, int]:
    listed = list(values)
    return min(listed, default=0), max(listed, default=0)


def _span(limits: tuple[int, int]) -> str:
    low, high = limits
    return str(low) if low == high else f"{low} to {high}"
