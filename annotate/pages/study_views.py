"""What the pages share: their requests, who is let in, how a button is answered."""

from collections.abc import Callable, Iterable
from functools import wraps

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods
from django_htmx.middleware import HtmxDetails

from annotate.access.permissions import can_manage, get_study_for
from annotate.models import Study, User


class PageRequest(HttpRequest):
    """A request as the middleware hands it on."""

    htmx: HtmxDetails


class UserRequest(PageRequest):
    """A request to a page behind a login."""

    user: User


class SeatRequest(PageRequest):
    """A request under an invitation link, after its annotator was looked up."""

    token: str


View = Callable[..., HttpResponseBase]


def attachment(
    name: str, content_type: str = "text/csv; charset=utf-8"
) -> dict[str, str]:
    """Return the headers of a file to be stored, a table unless said otherwise."""
    return {
        "Content-Type": content_type,
        "Content-Disposition": f'attachment; filename="{name}"',
    }


def render_page(
    request: UserRequest,
    study: Study,
    template: str,
    status: int = 200,
    **context: object,
) -> HttpResponse:
    """Return a page of the study, which says whether the user may change it."""
    context |= {"study": study, "can_manage": can_manage(request.user, study)}
    return render(request, template, context, status=status)


def study_page(
    *methods: str, role: str | None = None, of: str = ""
) -> Callable[[View], View]:
    """Hand the view the study that the address names, if the user may see it.

    And one of the study's rows, where `of` names them and the address has a `pk`.
    """

    def decorate(view: View) -> View:
        @require_http_methods(methods or ("GET", "HEAD"))
        @login_required
        @wraps(view)
        def wrapped(
            request: UserRequest, slug: str, **kwargs: object
        ) -> HttpResponseBase:
            study = get_study_for(request.user, slug, role)
            rows = (
                [get_object_or_404(getattr(study, of), pk=kwargs.pop("pk"))]
                if of
                else []
            )
            return view(request, study, *rows, **kwargs)

        return wrapped

    return decorate


def study_button(
    back_to: str, *errors: type[Exception], of: str = ""
) -> Callable[[Callable[..., str | HttpResponseBase]], View]:
    """Do what a manager's button says, tell it, and return to a page of the study."""

    def decorate(view: Callable[..., str | HttpResponseBase]) -> View:
        @study_page("POST", role="manager", of=of)
        @wraps(view)
        def wrapped(
            request: UserRequest, study: Study, *rows: object, **kwargs: object
        ) -> HttpResponseBase:
            try:
                answer = view(request, study, *rows, **kwargs)
            except errors as error:
                messages.error(request, str(error))
                answer = ""
            if isinstance(answer, HttpResponseBase):
                return answer
            if answer:
                messages.success(request, answer)
            return redirect(back_to, study.slug)

        return wrapped

    return decorate


def whole_number(text: str) -> int | None:
    """Return a number that somebody typed; None for nothing, -1 for anything else."""
    text = text.strip()
    if not text:
        return None
    return int(text) if text.isdecimal() and text.isascii() and len(text) < 7 else -1


def row_numbers(texts: Iterable[str]) -> list[int]:
    """Return the keys of rows that a form names; what is no key is left out."""
    return [
        int(text)
        for text in texts
        if text.isascii() and text.isdecimal() and len(text) < 18
    ]


def query_without(request: HttpRequest, name: str) -> str:
    """Return the query of an address without one of its parameters."""
    kept = request.GET.copy()
    kept.pop(name, None)
    return kept.urlencode()
