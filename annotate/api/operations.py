"""Operations of the API: what each takes, returns and says in the contract."""

from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, TypeVar, cast

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request

from annotate.api.fields import Query

Handler = TypeVar("Handler", bound=Callable[..., Any])
FILE_TYPES = {
    "application/json": OpenApiTypes.OBJECT,
    "application/octet-stream": OpenApiTypes.BINARY,
    "application/yaml": OpenApiTypes.ANY,
    "application/zip": OpenApiTypes.BINARY,
    "image/webp": OpenApiTypes.BINARY,
}


def operation(
    name: str,
    gives: Any = None,
    *,
    takes: Any = None,
    query: type[Query] | None = None,
    many: bool = False,
    status: int = 200,
    other: Mapping[Any, Any] | None = None,
    **about: Any,
) -> Callable[[Handler], Handler]:
    """Describe a method of a view, check what it takes, and show what it returns.

    Parameters
    ----------
    name : str
        The operation's name in the contract.
    gives : serializer class or media types
        What shows the result; the types of a file; nothing for an empty reply.
    takes, query : serializer class
        The body or query, which the method gets checked.
    many : bool
        Whether to show a page of the result, which is a list.
    status : int
        The status of the reply.
    other : mapping
        Further replies of the contract, by status.
    **about
        As `extend_schema` takes it.
    """
    reply = gives(many=True) if many else gives
    responses = {status if gives else 204: reply, **(other or {})}
    if isinstance(gives, str):
        kinds = gives.split()
        responses = {
            (status, kind): FILE_TYPES.get(kind, OpenApiTypes.STR) for kind in kinds
        }
    parameters = [*([query] if query else []), *about.pop("parameters", [])]
    described = extend_schema(
        operation_id=name,
        request=takes,
        responses=responses,
        parameters=parameters or None,
        **about,
    )

    def decorate(handler: Handler) -> Handler:
        @wraps(handler)
        def handle(view: Any, request: Request, **_address: object) -> Any:
            given = []
            if query is not None:
                given = [checked(query, request.query_params)]
            elif isinstance(takes, type):
                given = [checked(takes, request.data)]
            found = handler(view, *given)
            return view.reply(found, gives, status, many=many)

        handle.is_paged = many  # type: ignore[attr-defined]  # the contract asks
        return cast(Handler, described(handle))

    return decorate


def list_operation(name: str, gives: Any, text: str) -> Callable[..., Any]:
    """Return an operation that lists the rows of its view."""

    def get(view: Any) -> Any:
        return view.rows()

    return operation(name, gives, many=True, description=text)(get)


def show_operation(name: str, gives: Any, text: str) -> Callable[..., Any]:
    """Return an operation that shows the row of its address."""

    def get(view: Any) -> Any:
        return view.row()

    return operation(name, gives, description=text)(get)


def checked(serializer: type[serializers.Serializer], given: Any) -> dict[str, Any]:
    """Return what was sent if it is right."""
    sent = serializer(data=given)
    sent.is_valid(raise_exception=True)
    found: dict[str, Any] = sent.validated_data
    return found
