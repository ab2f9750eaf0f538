"""What no page ever accepts."""

from collections.abc import Callable, Iterator

from django.http import HttpRequest, HttpResponse, HttpResponseBadRequest, QueryDict

FORMS = ("application/x-www-form-urlencoded", "multipart/form-data")


def refuse_nul(
    get_response: Callable[[HttpRequest], HttpResponse],
) -> Callable[[HttpRequest], HttpResponse]:
    """Answer 400 to text with a NUL character, which PostgreSQL cannot store."""

    def middleware(request: HttpRequest) -> HttpResponse:
        if any("\0" in text for text in _texts(request)):
            return HttpResponseBadRequest("Text must not hold a NUL character.")
        return get_response(request)

    return middleware


def _texts(request: HttpRequest) -> Iterator[str]:
    yield request.path
    yield from _fields(request.GET)
    if request.content_type in FORMS:
        yield from _fields(request.POST)


def _fields(given: QueryDict) -> Iterator[str]:
    for name, values in given.lists():
        yield name
        yield from values
