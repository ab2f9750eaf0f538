"""A middleware that changes answers as a careless change of the product might."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse

from annotate.models import Slot
from annotate.presentation import slot_view

Plant = Callable[[HttpRequest, HttpResponse, Slot | None], HttpResponse | None]

planted: list[Plant] = []


def middleware(get_response):
    def answer(request: HttpRequest) -> HttpResponse:
        response = get_response(request)
        match = request.resolver_match
        kwargs = match.kwargs if match else {}
        slot = Slot.objects.filter(code=kwargs.get("code")).first()
        for plant in planted:
            response = plant(request, response, slot) or response
        return response

    return answer


def output_of(request: HttpRequest, slot: Slot | None):
    """Return the output whose picture was asked for."""
    side = request.resolver_match.kwargs.get("side")
    return slot_view.sides(slot).get(side) if slot else None
