"""Pages as tests read them: without the line breaks and indentation of their templates.

A template is laid out by a formatter, and where a line breaks says nothing. Whatever
Django's test client receives is brought onto one line as a browser would: white space
inside a tag and in running text counts as one space, and beside a block as none.
"""

import re
from collections.abc import Callable

from django.http import HttpRequest, HttpResponse

KEPT = re.compile(r"(<(pre|textarea|script|style)\b.*?</\2>)", re.S)
TAG = re.compile(r"""<[a-zA-Z/!](?:"[^"]*"|'[^']*'|[^>"'])*>""")
BLOCKS = (
    "article aside body br caption col colgroup dd details div dl dt fieldset "
    "figcaption figure footer form h1 h2 h3 h4 head header html legend li link main "
    "meta nav ol optgroup option p path section select summary svg table tbody td "
    "tfoot th thead title tr ul"
)
BESIDE = re.compile(rf" ?(</?(?:{BLOCKS.replace(' ', '|')})\b[^<>]*>) ?", re.I)


def one_line(page: str) -> str:
    """Return a page with the white space that is seen, and no other."""
    parts = KEPT.split(page)
    # Every third part is the name that the pattern asks for again.
    return "".join(
        _shorten(part) if place % 3 == 0 else _opened(part)
        for place, part in enumerate(parts)
        if place % 3 != 2
    )


def _shorten(text: str) -> str:
    return BESIDE.sub(r"\1", re.sub(r"\s+", " ", TAG.sub(_tidy, text)))


def _opened(element: str) -> str:
    return TAG.sub(_tidy, element, count=1)


def _tidy(tag: re.Match) -> str:
    text = " ".join(tag[0].split())
    for end in (" />", " >"):
        if text.endswith(end):
            return text.removesuffix(end) + end.strip()
    return text


def middleware(get_response: Callable) -> Callable:
    """Bring pages that the test client asked for onto one line."""

    def answer(request: HttpRequest) -> HttpResponse:
        response = get_response(request)
        asked = request.META.get("SERVER_NAME") == "testserver"
        html = response.get("Content-Type", "").startswith("text/html")
        if asked and html and not response.streaming:
            response.content = one_line(response.content.decode())
        return response

    return answer
