"""The last page, and finishing by one's own wish."""

from django.http import HttpResponse
from django.shortcuts import redirect
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from annotate.models import Annotator
from annotate.next_slot import choosing
from annotate.pages.requests import SeatRequest
from annotate.pages.seat.invitation import (
    annotator_page,
    for_annotator,
    last_answered,
)
from annotate.people import outcomes
from annotate.slots import leasing
from annotate.slots.admission import lacking
from annotate.submission import consequences

MOST_COUNTED = 100  # free slots; there may be very many


@never_cache
@require_POST
@for_annotator
def stop(request: SeatRequest, annotator: Annotator) -> HttpResponse:
    """Finish by one's own wish, after a whole sitting or where nothing is left."""
    consequences.finish_if_done(annotator, wanted=True)
    return redirect("rate-done", request.token)


@never_cache
@require_safe
@for_annotator
def done(request: SeatRequest, annotator: Annotator) -> HttpResponse:
    """Thank somebody who has finished, with the code; offer free slots."""
    if lacking(annotator):
        return redirect("rate-entry", request.token)
    consequences.finish_if_done(annotator)
    following = choosing.next_step(annotator)
    finished = annotator.state == Annotator.State.FINISHED
    if not finished and following.slot is not None:
        return redirect("rate-entry", request.token)
    begun = leasing.own_slots(annotator).filter(state__in=leasing.UNFINISHED)
    free = choosing.free_slots(annotator).values_list("pk")[: MOST_COUNTED + 1]
    more = min(begun.count() + len(free), MOST_COUNTED + 1)
    return annotator_page(
        request,
        annotator,
        "rate/done.html",
        finished=finished,
        worth=outcomes.worth(annotator),
        more=more if following.slot else 0,
        most=MOST_COUNTED,
        minutes=following.minutes,
        previous=last_answered(annotator),
    )
