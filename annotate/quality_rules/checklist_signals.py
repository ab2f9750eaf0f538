"""What the ticks of a checklist say about how they were given. Pure.

A shot is looked at like a unit of its own. Most boxes are rightly empty, so that two
answers are held against each other by what is ticked, not by what is left empty.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from annotate.quality_rules.judged import JudgedUnit, Signal, mean_of
from annotate.quality_rules.signals import agreement


@dataclass(frozen=True, slots=True)
class TickedShot:
    """The keys of the boxes that an annotator has ticked in one shot.

    `earlier` is, of a repeat, what the annotator had ticked before. `rest` has the
    share of the other annotators of the shot who ticked a box, for each box, by its
    key. None where there are no others.
    """

    ticked: frozenset[str]
    earlier: frozenset[str] | None = None
    rest: Mapping[str, float] | None = None


def measure_boxes(shots: Sequence[TickedShot]) -> dict[str, Signal]:
    """Return the signals that ticks have: flat, repeat, agreement; n counts shots.

    They stand beside those of answers to whole units, as `ticks_flat` and so on.
    """
    found = [blank(shots), moved(shots), with_the_rest(shots)]
    return {f"ticks_{signal.name}": replace(signal, of_ticks=True) for signal in found}


def blank(shots: Iterable[TickedShot]) -> Signal:
    """Share of shots in which nothing is ticked."""
    return mean_of(
        "flat", [float(not s.ticked) for s in shots], "no shot was looked at"
    )


def moved(shots: Iterable[TickedShot]) -> Signal:
    """Share of the boxes ticked now or earlier that were ticked only once.

    Averaged over the shots that were looked at twice; 1 less the Jaccard index of what
    was ticked. Shots in which both times nothing was ticked are left out.
    """
    parts = [
        len(s.ticked ^ s.earlier) / len(s.ticked | s.earlier)
        for s in shots
        if s.earlier is not None and s.ticked | s.earlier
    ]
    return mean_of("repeat", parts, "no shot with a tick was looked at twice")


def with_the_rest(shots: Iterable[TickedShot]) -> Signal:
    """Correlation with the shares of the others who ticked, as `agreement` has it."""
    judged = [
        JudgedUnit(
            "real",
            {box: int(box in s.ticked) for box in s.rest},
            rest=s.rest,
        )
        for s in shots
        if s.rest is not None
    ]
    return agreement(judged)
