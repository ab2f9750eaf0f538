"""Middleware that refuses requests, prevents caching and opens frames."""

from collections.abc import Callable, Container, Iterator
from http.cookies import Morsel

from csp.constants import SELF
from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseBadRequest, QueryDict
from django.utils.cache import patch_cache_control

from evalcore.object_store import StoreError

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


class ReportStore:
    """Answers 503 to requests for media while their object store cannot be reached.

    A page shows that in place of the picture, and answers are stored as always.
    """

    def __init__(self, get_response: Respond) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)

    def process_exception(
        self, request: HttpRequest, exception: Exception
    ) -> HttpResponse | None:
        if not isinstance(exception, StoreError):
            return None
        text = "The media cannot be reached. Try again in some seconds."
        return HttpResponse(
            text, status=503, headers={"Retry-After": "5"}, content_type="text/plain"
        )


# Frames of crowd platforms

# Addresses under a link, whose secret is the right to use them, and the language.
UNDER_LINK = ("/join/", "/rate/", "/i18n/")


def allow_frame(request: HttpRequest, origins: tuple[str, ...]) -> None:
    """Let pages of these origins show the answer to a request in a frame."""
    setattr(request, "frame_origins", origins)  # noqa: B010


def allow_form(request: HttpRequest, origins: tuple[str, ...]) -> None:
    """Let a form on the page that answers a request be posted to these origins."""
    setattr(request, "form_origins", origins)  # noqa: B010


def open_frames(get_response: Respond) -> Respond:
    """Let a study's platform, and nobody else, show its annotators' pages in a frame.

    Some browsers keep no cookie there. The browser's own word that a page of this
    server sent a form then replaces the token in the cookie.
    """

    def middleware(request: HttpRequest) -> HttpResponse:
        is_own = request.headers.get("Sec-Fetch-Site") == "same-origin"
        if is_own and request.path_info.startswith(UNDER_LINK):
            setattr(request, "_dont_enforce_csrf_checks", True)  # noqa: B010
        response = get_response(request)
        frames = getattr(request, "frame_origins", ())
        if frames:
            del response["X-Frame-Options"]
            setattr(response, "_csp_replace", {"frame-ancestors": frames})  # noqa: B010
        if forms := getattr(request, "form_origins", ()):
            update = {"form-action": [SELF, *forms]}
            setattr(response, "_csp_update", update)  # noqa: B010
        if frames or request.headers.get("Sec-Fetch-Dest") == "iframe":
            _open_cookies(response)
        return response

    return middleware


class _Partitioned(Morsel[str]):
    """A cookie of a framed page, kept apart for each site around the frame.

    Python 3.14 knows the attribute by itself.
    """

    def OutputString(self, attrs: Container[str] | None = None) -> str:  # noqa: N802
        return f"{super().OutputString(attrs)}; Partitioned"


def _open_cookies(response: HttpResponse) -> None:
    """Mark cookies so that browsers keep them in a frame; without HTTPS none does."""
    if not settings.SESSION_COOKIE_SECURE:
        return
    for name, cookie in list(response.cookies.items()):
        partitioned = _Partitioned()
        partitioned.set(cookie.key, cookie.value, cookie.coded_value)
        partitioned.update(cookie)
        partitioned["secure"], partitioned["samesite"] = True, "None"
        response.cookies[name] = partitioned
