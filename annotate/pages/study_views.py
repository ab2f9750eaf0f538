"""Shared parts of pages: request types, access checks, answers to buttons."""

from collections.abc import Callable, Iterable
from functools import wraps

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods
from django_htmx.middleware import HtmxDetails

from annotate.access.permissions import can_manage, get_study_for
from annotate.models import Study, User
from annotate.studies import lifecycle


class PageRequest(HttpRequest):
    """A request after the middleware."""

    htmx: HtmxDetails


class UserRequest(PageRequest):
    """A request to a page behind a login."""

    user: User


class SeatRequest(PageRequest):
    """A request under an invitation link, with the link's token."""

    token: str


View = Callable[..., HttpResponseBase]


def attachment(
    name: str, content_type: str = "text/csv; charset=utf-8"
) -> dict[str, str]:
    """Return the headers of a download, by default of a CSV file."""
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
    """Render a page of the study, with whether the user may manage it."""
    context |= {"study": study, "can_manage": can_manage(request.user, study)}
    return render(request, template, context, status=status)


def study_page(
    *methods: str, role: str | None = None, of: str = "", in_archive: bool = False
) -> Callable[[View], View]:
    """Pass the view the study in the address, if the user may see it.

    If `of` names a relation of the study, also pass its row with the address's `pk`.
    An archived study is changed only by what is allowed `in_archive`.
    """

    def decorate(view: View) -> View:
        @require_http_methods(methods or ("GET", "HEAD"))
        @login_required
        @wraps(view)
        def wrapped(
            request: UserRequest, slug: str, **kwargs: object
        ) -> HttpResponseBase:
            study = get_study_for(request.user, slug, role)
            if study.archived_at and request.method == "POST" and not in_archive:
                messages.error(request, str(lifecycle.ARCHIVED))
                return redirect("study-settings", study.slug)
            rows = (
                [get_object_or_404(getattr(study, of), pk=kwargs.pop("pk"))]
                if of
                else []
            )
            return view(request, study, *rows, **kwargs)

        return wrapped

    return decorate


def study_button(
    back_to: str, *errors: type[Exception], of: str = "", in_archive: bool = False
) -> Callable[[Callable[..., str | HttpResponseBase]], View]:
    """Run a manager's action, show its message, and redirect to a page of the study.

    A form on the page of people names it in `back`; the query of its address is kept.
    """

    def decorate(view: Callable[..., str | HttpResponseBase]) -> View:
        @study_page("POST", role="manager", of=of, in_archive=in_archive)
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
            page = "annotator-list" if request.POST.get("back") == "people" else back_to
            query = f"?{request.GET.urlencode()}" if request.GET else ""
            return redirect(reverse(page, args=[study.slug]) + query)

        return wrapped

    return decorate


def whole_number(text: str) -> int | None:
    """Parse a number; return None if empty, -1 if invalid."""
    text = text.strip()
    if not text:
        return None
    return int(text) if text.isdecimal() and text.isascii() and len(text) < 7 else -1


def row_numbers(texts: Iterable[str]) -> list[int]:
    """Return the row ids in a form, without invalid ones."""
    return [
        int(text)
        for text in texts
        if text.isascii() and text.isdecimal() and len(text) < 18
    ]


def query_without(request: HttpRequest, name: str) -> str:
    """Return the query of an address without one of its parameters."""
    query = request.GET.copy()
    query.pop(name, None)
    return query.urlencode()
