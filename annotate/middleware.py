"""Middleware that refuses requests and prevents caching."""

from collections.abc import Callable, Iterator

from django.http import HttpRequest, HttpResponse, HttpResponseBadRequest, QueryDict
from django.utils.cache import patch_cache_control

FORMS = ("application/x-www-form-urlencoded", "multipart/form-data")
# An uploaded file is on the disk before the sender's permission is checked.
LARGEST_BODY = 20 * 2**20

Respond = Callable[[HttpRequest], HttpResponse]


def forbid_storing(get_response: Respond) -> Respond:
    """Forbid caching unless a view allows it.

    Pages and downloads belong to an account or a link, which a cache would outlive.
    """

    def middleware(request: HttpRequest) -> HttpResponse:
        response = get_response(request)
        if not response.has_header("Cache-Control"):
            patch_cache_control(response, private=True, no_store=True)
        return response

    return middleware


def refuse_large(get_response: Respond) -> Respond:
    """Answer 413 to more than 20 MB, before any of it is read."""

    def middleware(request: HttpRequest) -> HttpResponse:
        length = request.META.get("CONTENT_LENGTH") or "0"
        if length.isdecimal() and int(length) > LARGEST_BODY:
            told = f"Request too large: send at most {LARGEST_BODY // 2**20} MB."
            return HttpResponse(told, status=413, content_type="text/plain")
        return get_response(request)

    return middleware


def refuse_nul(get_response: Respond) -> Respond:
    """Answer 400 to text with a NUL character, which PostgreSQL cannot store."""

    def middleware(request: HttpRequest) -> HttpResponse:
        if any("\0" in text for text in _texts(request)):
            return HttpResponseBadRequest("Text must not contain NUL characters.")
        return get_response(request)

    return middleware


def _texts(request: HttpRequest) -> Iterator[str]:
    yield request.path
    yield from request.COOKIES.values()  # one may be written as an escape
    yield from _fields(request.GET)
    if request.content_type in FORMS:
        yield from _fields(request.POST)


def _fields(given: QueryDict) -> Iterator[str]:
    for name, values in given.lists():
        yield name
        yield from values
