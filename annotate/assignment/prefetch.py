"""What will probably come after a story, so that a browser can fetch it beforehand."""

from annotate.assignment import choosing
from annotate.assignment.slot_selection import Candidate, best
from annotate.models import Annotator, Purpose, Slot
from annotate.responses import leasing

# A session is worked through without network if need be; more would load for nothing.
MOST = 8


def foreseen(annotator: Annotator, row: Slot) -> list[Slot]:
    """Return what comes after a slot in its session, in order."""
    if row.purpose == Purpose.TRAINING or not leasing.may_work(annotator):
        return []
    here = leasing.waiting(annotator).filter(session=row.session)
    own = list(here.exclude(pk=row.pk).exclude(purpose=Purpose.TRAINING))
    free = [] if len(own) >= MOST else _free(annotator, row)
    return _in_order(own, free, leasing.next_position(annotator))[:MOST]


def _free(annotator: Annotator, row: Slot) -> list[Slot]:
    """Return free slots that may join the session, the most suitable first."""
    if (
        annotator.study.adaptive
        or annotator.state == Annotator.State.FINISHED
        or not leasing.has_room(annotator)
    ):
        return []
    room = min(MOST, choosing.session_room(annotator, row.session))
    candidates, seen, place = choosing.suitable(annotator)
    chosen: list[Candidate] = []
    while len(chosen) < room:
        following = best(candidates, seen)
        if following is None or following.story in seen.stories:
            break
        if place.session_for(following.story) != row.session:
            break
        chosen.append(following)
        seen.add(following)
    slots = Slot.objects.in_bulk([candidate.slot for candidate in chosen])
    return [slots[candidate.slot] for candidate in chosen]


def _in_order(own: list[Slot], free: list[Slot], position: int) -> list[Slot]:
    """Lay free slots before the checks that wait further on, as they are handed out."""
    order = []
    for slot in own:
        laid = slot.purpose != Purpose.REAL and slot.started_at is None
        assert slot.position is not None
        while laid and free and position < slot.position:
            order.append(free.pop(0))
            position += leasing.SPACING
        order.append(slot)
    return order + free
