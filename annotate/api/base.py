"""Views of the API: what they check before, and keep after, a request."""

from typing import Any, ClassVar

from django.http import FileResponse, HttpResponse, HttpResponseBase
from django.urls import reverse
from django.utils.translation import gettext as _
from rest_framework import serializers
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

SAFE = ("GET", "HEAD", "OPTIONS")


class ApiView(APIView):
    """A view whose POST is carried out once for each `Idempotency-Key`."""

    takes_key: ClassVar[bool] = True
    _kept: KeptAnswer | None = None

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        self.check_access(request)
        if request.method == "POST" and idempotency.HEADER in request.headers:
            if not self.takes_key:
                raise Refused(
                    {idempotency.HEADER: "This address takes no key: leave it out."}
                )
            self._kept = idempotency.reserve(request)

    def check_access(self, request: Request) -> None:
        """Refuse what the token does not allow."""

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


class Listed(APIView):
    """A view that lists rows in pages."""

    pagination_class = Pages

    def page(
        self, rows: Any, shown: type[serializers.BaseSerializer], **context: Any
    ) -> Response:
        """Return the page that the request asks for."""
        pages = self.pagination_class()
        found = pages.paginate_queryset(rows, self.request, self)
        return pages.get_paginated_response(
            shown(found, many=True, context=context).data
        )


class AnyType(BaseContentNegotiation):
    """Negotiation of files, which have one type."""

    def select_parser(self, request: Request, parsers: Any) -> Any:
        kind = (request.content_type or "").partition(";")[0]
        return next((one for one in parsers if one.media_type == kind), None)

    def select_renderer(
        self, request: Request, renderers: Any, suffix: Any = None
    ) -> Any:
        return renderers[0], renderers[0].media_type


WANTED: tuple[tuple[type[serializers.Field], type | tuple[type, ...], str], ...] = (
    (serializers.BooleanField, bool, "true or false"),
    (serializers.IntegerField, int, "a whole number"),
    (serializers.FloatField, (int, float), "a number"),
    (serializers.CharField, str, "text"),
    (serializers.ChoiceField, str, "text"),
    (serializers.DateField, str, "a day, such as 2026-12-31"),
)


class Body(serializers.Serializer):
    """The JSON body of a request; it has no other keys, and no other types."""

    def to_internal_value(self, data: Any) -> Any:
        if isinstance(data, dict):
            fields = {n: f for n, f in self.fields.items() if not f.read_only}
            problems = {
                str(name): [f"Unknown key. Known: {', '.join(fields)}."]
                for name in data.keys() - fields.keys()
            }
            for name in data.keys() & fields.keys():
                if text := _wrong_type(fields[name], data[name]):
                    problems[name] = [text]
            if problems:
                raise serializers.ValidationError(problems)
        return super().to_internal_value(data)


def _wrong_type(field: serializers.Field, value: Any) -> str:
    if value is None:
        return ""  # the field says whether it may be
    if isinstance(field, serializers.ListField) and isinstance(value, list):
        return next(filter(None, (_wrong_type(field.child, v) for v in value)), "")
    if isinstance(field, serializers.DictField) and isinstance(value, dict):
        return next(
            filter(None, (_wrong_type(field.child, v) for v in value.values())), ""
        )
    for kind, types, words in WANTED:
        if isinstance(field, kind):
            is_right = isinstance(value, types) and (
                types is bool or not isinstance(value, bool)
            )
            return "" if is_right else _("Write %(what)s.") % {"what": words}
    return ""


PAGING = {"limit", "offset"}


class Query(serializers.Serializer):
    """The query of an address, which has no other parameters."""

    def to_internal_value(self, data: Any) -> Any:
        known = self.fields.keys() | PAGING
        if unknown := sorted(data.keys() - known):
            text = f"Unknown parameter. Known: {', '.join(sorted(known))}."
            raise serializers.ValidationError({unknown[0]: [text]})
        return super().to_internal_value(data)


def asked(query: type[Query], request: Request) -> dict[str, Any]:
    """Return the checked query of a request."""
    given = query(data=request.query_params)
    given.is_valid(raise_exception=True)
    found: dict[str, Any] = given.validated_data
    return found


def attachment(name: str, content: Any, kind: str) -> HttpResponseBase:
    """Return a file to store under a name."""
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    answer = FileResponse if hasattr(content, "read") else HttpResponse
    return answer(content, headers=headers, content_type=kind)


def created(body: Any, name: str, *args: object, status: int = 201) -> Response:
    """Return what was made, or the job that makes it, with its address."""
    return Response(body, status=status, headers={"Location": reverse(name, args=args)})


def read(body: type[Body], request: Request) -> dict[str, Any]:
    """Return the checked body of a request."""
    given = body(data=request.data)
    given.is_valid(raise_exception=True)
    found: dict[str, Any] = given.validated_data
    return found
