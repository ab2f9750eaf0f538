"""Views of the API: access, lookups and replies."""

from collections.abc import Callable
from typing import Any, ClassVar

from django.http import FileResponse, HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404
from django.urls import reverse
from rest_framework.exceptions import PermissionDenied
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotate.access.permissions import get_study_for
from annotate.api import idempotency
from annotate.api.pagination import Pages
from annotate.api.refusals import Conflict, Refused
from annotate.models import ApiToken, KeptAnswer, Study
from annotate.studies.lifecycle import ARCHIVED
from annotate.tasks import ring

SAFE = ("GET", "HEAD", "OPTIONS")


class OneType(BaseContentNegotiation):
    """Negotiation where every reply has one type."""

    def select_parser(self, request: Request, parsers: Any) -> Any:
        kind = (request.content_type or "").partition(";")[0]
        return next((one for one in parsers if one.media_type == kind), None)

    def select_renderer(
        self, request: Request, renderers: Any, suffix: Any = None
    ) -> Any:
        return renderers[0], renderers[0].media_type


class ApiView(APIView):
    """A view whose POST is carried out once for each `Idempotency-Key`.

    `tag` is the heading in the documentation, the module's name if empty.
    """

    content_negotiation_class = OneType
    tag: ClassVar[str] = ""
    takes_key: ClassVar[bool] = True
    # Returns the rows that the user may see, where the address has a `pk`.
    rows: Callable[[], Any]
    _kept: KeptAnswer | None = None

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        self.check_access(request)
        if request.method not in SAFE:
            self.check_change()
            self.check_row()
        if request.method == "POST" and idempotency.HEADER in request.headers:
            self.reserve(request)

    def reserve(self, request: Request) -> None:
        """Note the key of a request, or answer as before."""
        if not self.takes_key:
            text = "This address takes no key: leave it out."
            raise Refused({idempotency.HEADER: text})
        self._kept = idempotency.reserve(request)

    def check_access(self, request: Request) -> None:
        """Refuse what the token does not allow."""

    def check_change(self) -> None:
        """Refuse a change that needs other rights, before its body is read."""

    def check_row(self) -> None:
        """Refuse an unknown row with 404, before its body is read."""

    @property
    def user(self) -> Any:
        """Return the account that asks."""
        return self.request.user

    def row(self, **of: Any) -> Any:
        """Return the row of the address, which is one of `rows`."""
        return get_object_or_404(self.rows(), pk=self.kwargs["pk"], **of)

    def locate(self, name: str, *args: object) -> None:
        """Name the address of what the reply is about in its header `Location`."""
        self.headers["Location"] = reverse(f"api-{name}", args=args)

    def queue(self, bell: Callable[[], object], name: str, *args: object) -> None:
        """Wake a worker for a job, and name the job's address."""
        ring(bell)
        self.locate(name, *args)

    def reply(
        self, found: Any, gives: Any, status: int = 200, *, many: bool = False
    ) -> HttpResponseBase:
        """Return what an operation returned as its serializer shows it."""
        context = {"request": self.request}
        if isinstance(found, HttpResponseBase):
            response = found
        elif found is None:
            response = Response(status=204)
        elif many:
            pages = Pages()
            rows = pages.paginate_queryset(found, self.request, self)
            shown = gives(rows, many=True, context=context)
            response = pages.get_paginated_response(shown.data)
        else:
            shown = gives(found, context=context)
            response = Response(shown.data, status=status)
        return response

    def finalize_response(
        self, request: Request, response: Response, *args: Any, **kwargs: Any
    ) -> Response:
        response = super().finalize_response(request, response, *args, **kwargs)
        if self._kept is not None:
            idempotency.keep(self._kept, response)
        return response


class AccountView(ApiView):
    """A view for accounts; `scope` is the token's that a change needs."""

    scope: ClassVar[str] = "manage"

    def check_access(self, request: Request) -> None:
        self.check_token(request)

    def check_row(self) -> None:
        if "pk" in self.kwargs:
            get_object_or_404(self.rows(), pk=self.kwargs["pk"])

    def check_token(self, request: Request, study: Study | None = None) -> None:
        """Refuse a token of another study, or with too small a scope."""
        token = request.auth
        needed = "read" if request.method in SAFE else self.scope
        if not isinstance(token, ApiToken) or token.allows(needed, study):
            return
        if token.study is not None and token.allows(needed, token.study):
            raise PermissionDenied(
                f"The token “{token.name}” is for the study {token.study.slug} only.",
                "token-of-another-study",
            )
        raise PermissionDenied(
            f"This needs a token with the scope {needed}; the scope of “{token.name}” "
            f"is {token.scope}.",
            "scope-too-small",
        )


class StudyView(AccountView):
    """A view of one study, which only managers change, unless it says otherwise."""

    readers: ClassVar[str | None] = None
    writers: ClassVar[str | None] = "manager"
    in_archive: ClassVar[bool] = False
    study: Study

    def check_access(self, request: Request) -> None:
        is_safe = request.method in SAFE
        role = self.readers if is_safe else self.writers
        slug = self.kwargs["slug"]
        self.study = get_study_for(request.user, slug)
        self.check_token(request, self.study)
        get_study_for(request.user, slug, role)
        if not is_safe and not self.in_archive:
            self.refuse_archived()

    def refuse_archived(self) -> None:
        """Refuse to change what is in the archive."""
        if self.study.archived_at:
            raise Conflict(str(ARCHIVED))


def attachment(name: str, content: Any, kind: str) -> HttpResponseBase:
    """Return a file to store under a name."""
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    answer = FileResponse if hasattr(content, "read") else HttpResponse
    return answer(content, headers=headers, content_type=kind)


def refuse_unknown(given: Any, known: Any, field: str, text: str) -> None:
    """Refuse the first name of a field that is not known."""
    if unknown := sorted({*given} - {*known}):
        raise Refused({field: text.format(unknown[0])})
