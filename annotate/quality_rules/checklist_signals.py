"""Quality signals of checklist ticks. Pure.

Each shot counts like a unit. Most boxes are rightly empty, so answers are compared by
what is ticked, not by what is left empty.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from annotate.quality_rules.judged import JudgedUnit, Signal, mean_of
from annotate.quality_rules.signals import agreement


@dataclass(frozen=True, slots=True)
class TickedShot:
    """The keys of the boxes that an annotator has ticked in one shot.

    `earlier` has the ticks of the first time if this is a repeat. `rest` has the share
    of other annotators who ticked each box, by its key; None without others.
    """

    ticked: frozenset[str]
    earlier: frozenset[str] | None = None
    rest: Mapping[str, float] | None = None


def measure_boxes(shots: Sequence[TickedShot]) -> dict[str, Signal]:
    """Return the signals of ticks: `ticks_flat`, `ticks_repeat`, `ticks_agreement`.

    Their n counts shots.
    """
    signals = [blank(shots), moved(shots), with_the_rest(shots)]
    return {
        f"ticks_{signal.name}": replace(signal, of_ticks=True) for signal in signals
    }


def blank(shots: Iterable[TickedShot]) -> Signal:
    """Return the share of shots in which nothing is ticked."""
    return mean_of("flat", [float(not s.ticked) for s in shots], "no shot was answered")


def moved(shots: Iterable[TickedShot]) -> Signal:
    """Return the share of boxes ticked now or earlier that were ticked only once.

    This is 1 minus the Jaccard index, averaged over the shots that were answered
    twice. Shots in which nothing was ticked both times are left out.
    """
    parts = [
        len(s.ticked ^ s.earlier) / len(s.ticked | s.earlier)
        for s in shots
        if s.earlier is not None and s.ticked | s.earlier
    ]
    return mean_of("repeat", parts, "no shot with a tick was answered twice")


def with_the_rest(shots: Iterable[TickedShot]) -> Signal:
    """Return the correlation with the shares of others who ticked (`agreement`)."""
    units = [
        JudgedUnit(
            "real",
            {box: int(box in s.ticked) for box in s.rest},
            rest=s.rest,
        )
        for s in shots
        if s.rest is not None
    ]
    return agreement(units)
