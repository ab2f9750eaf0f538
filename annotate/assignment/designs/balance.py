"""Balance of a plan."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from annotate.assignment.designs.planned_slots import (
    Assignment,
    Assignments,
    DesignUnit,
    Floats,
    Ints,
    Layout,
    ranks,
    run_numbers,
    runs,
)

__all__ = [
    "Assignment",
    "Assignments",
    "BalanceReport",
    "DesignUnit",
    "measure",
    "method_spread",
    "overlaps",
]


@dataclass(frozen=True)
class BalanceReport:
    """The measured balance of a plan; pairs are minimum and maximum."""

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
    group_loads: tuple[tuple[str, int, int], ...] = ()
    connected: bool | None = None
    overlap: tuple[int, int] = (-1, -1)
    overlap_mean: float = -1.0
    overlap_ideal: float = -1.0
    position_spread: float = -1.0
    left_spread_method: int = -1
    left_spread_own_pair: int = -1

    @classmethod
    def read(cls, stored: Mapping[str, Any]) -> "BalanceReport":
        """Return a stored report, without measures of older versions."""
        known = {field.name for field in fields(cls)}
        return cls(**{name: stored[name] for name in stored if name in known})

    def as_dict(self) -> dict[str, object]:
        """Return the numbers for storage."""
        return dict(vars(self))

    def lines(self) -> list[str]:
        """Return the report as sentences, one a line."""
        values = {
            name: _span(value) if isinstance(value, (tuple, list)) else value
            for name, value in vars(self).items()
            if name != "group_loads"
        }
        text = [one.format(**values) for one in ALWAYS]
        text[3:3] = [
            f"ratings per annotator of group {name}: {_span(limits)}"
            for name, *limits in self.group_loads
        ]
        values["joined"] = "all" if self.connected else "not all"
        for name, sentence in WHERE_MEASURED.items():
            number = getattr(self, name)
            if number is not None and number >= 0:
                text.append(sentence.format(**values))
        return text


ALWAYS = (
    "{units} items, {annotators} annotators, {slots} ratings",
    "ratings per item and round: {redundancy}",
    "ratings per annotator: {load}",
    "sittings per annotator: {sessions}, of {session_size} stories",
    "an annotator's counts of equally frequent methods differ by at most "
    "{method_spread}",
    "items shown twice to one annotator: {repeated_units}",
    "stories shown twice in a sitting: {stories_twice_in_session}",
)
# Sentences on numbers that not every plan has.
WHERE_MEASURED = {
    "left_spread_pair": "shown left minus right: at most {left_spread_unit} per item, "
    "{left_spread_pair} per pair of methods",
    "left_spread_method": "shown left minus right for any annotator: at most "
    "{left_spread_method} per method, {left_spread_own_pair} per pair of methods",
    "connected": "shared items connect {joined} annotators",
    "overlap_ideal": "two annotators share {overlap} items; every annotator shares at "
    "least {overlap_mean:.1f} with another on average ({overlap_ideal:.1f} if even)",
    "position_spread": "mean positions of methods within sittings deviate by at most "
    "{position_spread:.1%} from the overall mean",
}


def measure(
    units: Sequence[DesignUnit],
    assignments: Iterable[Assignment],
    *,
    annotators: int,
    groups: Sequence[str] = (),
) -> BalanceReport:
    """Measure the balance of a plan."""
    slots = Assignments.of(assignments)
    layout = Layout(units)
    place = layout.places(slots.unit)
    load = np.bincount(slots.annotator, minlength=annotators)
    order = np.lexsort((slots.position, slots.session, slots.annotator))
    pairs = slots.annotator * (slots.session.max(initial=0) + 1) + slots.session
    session = run_numbers(pairs[order])
    starts, sizes = runs(session)
    own = np.bincount(slots.annotator[order][starts], minlength=annotators)
    known = place >= 0
    person, unit, round_ = slots.annotator[known], place[known], slots.round[known]
    kind = layout.kind[unit]
    rounds, which = np.unique(round_, return_inverse=True)
    per_unit = np.bincount(
        unit * len(rounds) + which, minlength=len(layout) * len(rounds)
    )
    left = np.where(slots.a_is_left[known], 1, -1)
    shared, connected = overlaps(unit, person, annotators)
    ordered = place[order]
    seen = ordered >= 0
    overlap, mean, ideal = _overlap(shared)
    return BalanceReport(
        units=len(units),
        annotators=annotators,
        slots=len(slots),
        redundancy=_limits(per_unit),
        load=_limits(load),
        sessions=_limits(own),
        session_size=_limits(sizes),
        method_spread=method_spread(_met(layout, person, kind, annotators)),
        repeated_units=_repeats(person, unit, which),
        stories_twice_in_session=_repeats(
            session[seen], layout.story[ordered[seen]], np.zeros(seen.sum(), np.int64)
        ),
        left_spread_unit=_lean(unit, left) if layout.sided else -1,
        left_spread_pair=_lean(kind, left) if layout.sided else -1,
        group_loads=_group_loads(groups, load),
        connected=connected,
        overlap=overlap,
        overlap_mean=mean,
        overlap_ideal=ideal,
        position_spread=_position_spread(layout, ordered, session),
        left_spread_method=_method_lean(layout, person, kind, left),
        left_spread_own_pair=_lean(person * len(layout.kinds) + kind, left)
        if layout.sided
        else -1,
    )


def method_spread(met: Ints) -> int:
    """Return the largest difference between one person's counts of two methods."""
    return int(spreads(met).max(initial=0))


def spreads(met: Ints) -> Ints:
    """Return each person's largest difference between equally frequent methods."""
    total = met.sum(axis=0)
    result: Ints = np.zeros(len(met), dtype=np.int64)
    for count in np.unique(total):
        result = np.maximum(result, np.ptp(met[:, total == count], axis=1))
    return result


def overlaps(unit: Ints, person: Ints, people: int) -> tuple[Ints, bool]:
    """Return the units that two people share, and whether these connect everybody."""
    pairs = np.unique(unit * people + person)
    unit, person = np.divmod(pairs, max(people, 1))
    shared: Ints = np.zeros((people, people), dtype=np.int64)
    for shift in range(1, len(unit)):
        together = unit[shift:] == unit[:-shift]
        if not together.any():
            break
        key = person[:-shift][together] * people + person[shift:][together]
        shared += np.bincount(key, minlength=people * people).reshape(people, people)
    shared += shared.T
    return shared, joined(shared)


def joined(shared: Ints) -> bool:
    """Return whether shared units connect all people."""
    reached = np.zeros(len(shared), dtype=bool)
    fresh = reached.copy()
    fresh[:1] = True
    while fresh.any():
        reached |= fresh
        fresh = (shared[fresh] > 0).any(axis=0) & ~reached
    return bool(reached.all())


def _overlap(shared: Ints) -> tuple[tuple[int, int], float, float]:
    """Return minimum, maximum, smallest mean of a person, and mean of overlaps."""
    people = len(shared)
    if people < 2:
        return (-1, -1), -1.0, -1.0
    others = shared[~np.eye(people, dtype=bool)].reshape(people, people - 1)
    means = others.mean(axis=1)
    return _limits(others.ravel()), float(means.min()), float(means.mean())


def _met(layout: Layout, person: Ints, kind: Ints, people: int) -> Ints:
    kinds = len(layout.kinds)
    count = np.bincount(person * kinds + kind, minlength=people * kinds)
    result: Ints = count.reshape(people, kinds) @ layout.shown.astype(np.int64)
    return result


def _group_loads(groups: Sequence[str], load: Ints) -> tuple[tuple[str, int, int], ...]:
    """Return name, minimum and maximum load of each group, in order."""
    of = np.array(groups)
    named = (name for name in dict.fromkeys(groups) if name)
    return tuple((name, *_limits(load[of == name])) for name in named)


def _position_spread(layout: Layout, unit: Ints, session: Ints) -> float:
    """Return the largest relative deviation of a method's mean scaled position."""
    _starts, sizes = runs(session)
    scaled = (ranks(session) + 0.5) / np.repeat(sizes, sizes)
    known = unit >= 0
    if not known.any():
        return -1.0
    kind, scaled = layout.kind[unit[known]], scaled[known]
    shown = layout.shown.astype(float)
    count = np.bincount(kind, minlength=len(shown)) @ shown
    total: Floats = np.bincount(kind, weights=scaled, minlength=len(shown)) @ shown
    means = total[count > 0] / count[count > 0]
    return float(np.abs(means / (total.sum() / count.sum()) - 1).max())


def _repeats(*columns: Ints) -> int:
    """Return the number of rows that repeat an earlier one."""
    order = np.lexsort(columns)
    same = np.ones(max(len(order) - 1, 0), dtype=bool)
    for column in columns:
        same &= column[order][1:] == column[order][:-1]
    return int(same.sum())


def _lean(group: Ints, left: Ints) -> int:
    """Return the largest difference between left and right in any group."""
    difference = np.bincount(group, weights=left)
    return int(np.abs(difference).max(initial=0))


def _method_lean(layout: Layout, person: Ints, kind: Ints, left: Ints) -> int:
    """Return the largest difference between left and right of a person's method."""
    if not layout.sided:
        return -1
    spots = person[:, None] * len(layout.methods) + layout.ends[kind]
    return _lean(spots.ravel(), np.c_[left, -left].ravel())


def _limits(values: Ints) -> tuple[int, int]:
    return (int(values.min()), int(values.max())) if len(values) else (0, 0)


def _span(limits: Sequence[int]) -> str:
    low, high = limits
    return str(low) if low == high else f"{low} to {high}"
