"""What the request of a page has beyond Django's own; these are types only."""

from django.http import HttpRequest
from django_htmx.middleware import HtmxDetails

from annotate.models import User


class PageRequest(HttpRequest):
    """A request as the middleware hands it on."""

    htmx: HtmxDetails


class UserRequest(PageRequest):
    """A request to a page behind a login."""

    user: User


class SeatRequest(PageRequest):
    """A request under an invitation link, after its annotator was looked up."""

    token: str
