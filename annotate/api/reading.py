"""The contract as people read it: operations by subject, with fields and examples."""

import json
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from typing import Any

from annotate.api.contract import METHODS, contract

DEEPEST = 4


@dataclass(frozen=True)
class Field:
    """A parameter, or a field of a body, as a row of a table."""

    name: str
    kind: str
    is_required: bool
    text: str


@dataclass(frozen=True)
class Shape:
    """A body or an answer: its media type, its fields and an example."""

    media_type: str
    fields: list[Field]
    example: str


@dataclass(frozen=True)
class Documented:
    """One operation, as the page shows it."""

    name: str
    method: str
    path: str
    text: str
    scope: str
    parameters: list[Field]
    body: Shape | None
    answer: Shape | None
    statuses: list[tuple[str, str]]


@cache
def operations() -> list[tuple[str, list[Documented]]]:
    """Return the operations by tag, in the order of their addresses."""
    found = [
        (operation["tags"][0], _documented(path, method, operation))
        for path, methods in contract()["paths"].items()
        for method, operation in methods.items()
        if method in METHODS
    ]
    found.sort(key=lambda one: one[0])
    return [
        (tag, [one for _tag, one in group])
        for tag, group in groupby(found, lambda one: one[0])
    ]


def _documented(path: str, method: str, operation: dict[str, Any]) -> Documented:
    scopes = [
        scope for way in operation.get("security", []) for scope in way.get("token", [])
    ]
    good = [
        response
        for status, response in sorted(operation["responses"].items())
        if status < "300"
    ]
    return Documented(
        name=operation["operationId"],
        method=method.upper(),
        path=path,
        text=operation.get("description", ""),
        scope="".join(scopes[:1]),
        parameters=[
            Field(
                one["name"],
                _kind(one["schema"]),
                one.get("required", False),
                one.get("description", ""),
            )
            for one in operation.get("parameters", [])
        ],
        body=_shape(operation.get("requestBody", {})),
        answer=_shape(good[0]) if good else None,
        statuses=[
            (status, _response(response).get("description", ""))
            for status, response in operation["responses"].items()
        ],
    )


def _response(response: dict[str, Any]) -> dict[str, Any]:
    if "$ref" not in response:
        return response
    name = response["$ref"].rpartition("/")[2]
    found: dict[str, Any] = contract()["components"]["responses"][name]
    return found


def _shape(described: dict[str, Any]) -> Shape | None:
    for media_type, content in described.get("content", {}).items():
        schema = content.get("schema", {})
        examples = [one["value"] for one in content.get("examples", {}).values()]
        example = examples[0] if examples else _example(schema)
        is_json = "json" in media_type
        return Shape(
            media_type,
            list(_fields(schema)),
            json.dumps(example, indent=2, ensure_ascii=False) if is_json else "",
        )
    return None


def _resolved(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a schema with what it refers to."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        found: dict[str, Any] = contract()["components"]["schemas"][name]
        return {**found, **{k: v for k, v in schema.items() if k != "$ref"}}
    for several in ("allOf", "oneOf", "anyOf"):
        if several in schema:
            return {**_resolved(schema[several][0]), **schema}
    return schema


def _kind(schema: dict[str, Any]) -> str:
    schema = _resolved(schema)
    if values := schema.get("enum"):
        return " | ".join(str(value) for value in values if value not in ("", None))
    kind = schema.get("type", "any")
    kinds = [kind] if isinstance(kind, str) else list(kind)
    if "array" in kinds:
        return f"list of {_kind(schema.get('items', {}))}"
    return " or ".join(kinds)


def _fields(schema: dict[str, Any], before: str = "", depth: int = 0) -> Any:
    """Yield the fields of an object, and of objects in it."""
    schema = _resolved(schema)
    if schema.get("type") == "array":
        yield from _fields(schema["items"], f"{before}[].", depth + 1)
    for name, inner in schema.get("properties", {}).items():
        found = _resolved(inner)
        text = inner.get("description") or found.get("description", "")
        is_required = name in schema.get("required", ())
        yield Field(f"{before}{name}", _kind(inner), is_required, text)
        if depth < DEEPEST:
            if found.get("type") == "array":
                yield from _fields(found["items"], f"{before}{name}[].", depth + 1)
            elif found.get("type") == "object":
                yield from _fields(found, f"{before}{name}.", depth + 1)


EXAMPLES = {
    "string": "text",
    "integer": 1,
    "number": 0.5,
    "boolean": True,
    "date-time": "2026-11-29T09:30:00Z",
    "date": "2026-12-31",
}


def _example(schema: dict[str, Any], depth: int = 0) -> Any:
    """Return a made-up value of a schema."""
    schema = _resolved(schema)
    for given in ("example", "default"):
        if given in schema:
            return schema[given]
    if schema.get("enum"):
        return schema["enum"][0]
    kind = schema.get("type", "string")
    kind = kind if isinstance(kind, str) else kind[0]
    if kind == "array":
        return [_example(schema.get("items", {}), depth + 1)] if depth < 6 else []
    if kind == "object":
        return {
            name: _example(inner, depth + 1)
            for name, inner in schema.get("properties", {}).items()
            if depth < 6
        }
    return EXAMPLES.get(schema.get("format", ""), EXAMPLES.get(kind, "text"))
