"""The contract of the API as OpenAPI, completed by what every operation shares."""

from functools import cache
from typing import Any

from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.renderers import OpenApiYamlRenderer

from annotate.api.idempotency import HEADER, LONGEST_KEY
from annotate.api.pagination import Pages
from annotate.api.problems import MEDIA_TYPE, OF_STATUS, TITLES

METHODS = ("get", "post", "put", "patch", "delete")
REPEATED = "Idempotency-Replayed"
REFUSALS = "#/components/responses/"
CODES = {**OF_STATUS, 410: "gone", 422: "key-of-another-request", 507: "not-stored"}


class Operation(AutoSchema):
    """An operation, with its heading and the scope that its token needs."""

    def get_operation(self, *args: Any, **kwargs: Any) -> Any:
        operation = super().get_operation(*args, **kwargs)
        if operation is not None:
            scope = getattr(self.view, "scope", None)
            is_safe = self.method in ("GET", "HEAD")
            operation["x-scope"] = "read" if is_safe and scope else scope
            operation["x-key"] = getattr(self.view, "takes_key", False)
        return operation

    def get_tags(self) -> list[str]:
        module = type(self.view).__module__.rpartition(".")[2]
        return [getattr(self.view, "tag", "") or module]

    def _get_paginator(self) -> Pages | None:
        method = getattr(self.view, str(self.method).lower(), None)
        return Pages() if getattr(method, "is_paged", False) else None


def _object(required: str, /, **fields: Any) -> dict[str, Any]:
    return {"type": "object", "properties": fields, "required": required.split()}


def _text(about: str = "") -> dict[str, str]:
    return {"type": "string", **({"description": about} if about else {})}


NUMBER = {"type": "integer"}
PLACE = "The column of a table, or the path to a field."
PROBLEM = {
    "description": "A refusal (RFC 9457).",
    **_object(
        "type title status detail",
        type=_text("Address that explains this kind of problem."),
        title=_text(),
        status=NUMBER,
        detail=_text(),
        problems={
            "type": "array",
            "description": "Every problem of the input.",
            "items": _object(
                "text",
                text=_text(),
                file=_text(),
                line=NUMBER,
                column=_text(PLACE),
                value=_text(),
                expected=_text(),
            ),
        },
    ),
}


def complete(result: dict[str, Any], **_how: object) -> dict[str, Any]:
    """Add refusals, scopes and idempotency keys to every operation."""
    result["components"]["schemas"]["Problem"] = PROBLEM
    result["components"]["responses"] = {
        str(status): _refusal(status, code) for status, code in CODES.items()
    }
    for operations in result["paths"].values():
        for method in METHODS:
            if method in operations:
                _complete(operations[method], method)
    return result


def _complete(operation: dict[str, Any], method: str) -> None:
    scope, takes_key = operation.pop("x-scope"), operation.pop("x-key")
    if scope:
        operation["security"] = [{"token": [scope]}, {"cookieAuth": []}]
    parameters = operation.setdefault("parameters", [])
    statuses = {429} | ({401, 403, 404} if operation.get("security") else set())
    statuses |= {400} if parameters or "requestBody" in operation else set()
    statuses |= {415} if "requestBody" in operation else set()
    statuses |= {409} if method != "get" else set()
    statuses |= {413} if method == "post" else set()
    if method == "post" and takes_key:
        statuses |= {400, 422}
        parameters.append(
            {
                "name": HEADER,
                "in": "header",
                "description": "A new name for this request. Repeated within 24 hours "
                f"it gets the same answer again, with `{REPEATED}`.",
                "schema": {
                    "type": "string",
                    "minLength": 1,
                    "maxLength": LONGEST_KEY,
                    "pattern": "^[ -~]+$",
                },
            }
        )
    for status in statuses:
        operation["responses"].setdefault(str(status), {})
    operation["responses"] = {
        status: response if int(status) < 400 else {"$ref": f"{REFUSALS}{status}"}
        for status, response in sorted(operation["responses"].items())
    }


def _refusal(status: int, code: str) -> dict[str, Any]:
    example = {
        "type": f"/api/docs/#{code}",
        "title": TITLES[code],
        "status": status,
        "detail": f"{TITLES[code]}.",
    }
    schema = {"$ref": "#/components/schemas/Problem"}
    content = {MEDIA_TYPE: {"schema": schema, "example": example}}
    return {"description": TITLES[code], "content": content}


@cache
def contract() -> dict[str, Any]:
    """Return the whole schema; it is the same for everybody."""
    found: dict[str, Any] = SchemaGenerator().get_schema(  # type: ignore[no-untyped-call]
        request=None, public=True
    )
    return found


@cache
def contract_file() -> bytes:
    """Return the schema as YAML, as the documentation has it."""
    renderer = OpenApiYamlRenderer()
    text: bytes = renderer.render(contract(), None, {})  # type: ignore[no-untyped-call]
    return text
