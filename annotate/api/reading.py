"""The contract as people read it: operations by subject, with fields and examples."""

import json
from collections.abc import Iterator
from functools import cache
from typing import Any

from annotate.api.contract import METHODS, contract

DEEPEST = 4
Schema = dict[str, Any]


@cache
def operations() -> list[tuple[str, list[Schema]]]:
    """Return the operations by tag, in the order of their addresses."""
    found: dict[str, list[Schema]] = {}
    for path, methods in contract()["paths"].items():
        for method in filter(METHODS.__contains__, methods):
            operation = methods[method]
            about = {"method": method.upper(), "path": path, **_documented(operation)}
            found.setdefault(operation["tags"][0], []).append(about)
    return sorted(found.items())


def _documented(operation: Schema) -> Schema:
    """Return an operation as the page shows it."""
    tokens = [way["token"] for way in operation.get("security", []) if "token" in way]
    answers = {
        status: contract()["components"]["responses"][_name(answer)]
        if "$ref" in answer
        else answer
        for status, answer in sorted(operation["responses"].items())
    }
    return {
        "name": operation["operationId"],
        "text": operation.get("description", ""),
        "scope": tokens[0][0] if tokens else "",
        "parameters": [
            _field(one["name"], one["schema"], one.get("required", False), one)
            for one in operation.get("parameters", [])
        ],
        "body": _shape(operation.get("requestBody", {})),
        "answer": _shape(next(iter(answers.values()))),
        "statuses": [(s, one.get("description", "")) for s, one in answers.items()],
    }


def _name(referring: Schema) -> str:
    """Return the name of what a schema refers to."""
    return str(referring["$ref"].rpartition("/")[2])


def _field(name: str, schema: Schema, is_required: bool, about: Schema) -> Schema:
    """Return a parameter, or a field of a body, as a row of a table."""
    text = about.get("description", "")
    kind = _kind(schema)
    return {"name": name, "kind": kind, "is_required": is_required, "text": text}


def _shape(described: Schema) -> Schema | None:
    """Return a body or an answer: its media type, its fields and an example."""
    for media_type, content in described.get("content", {}).items():
        schema = content.get("schema", {})
        examples = [one["value"] for one in content.get("examples", {}).values()]
        example = examples[0] if examples else _example(schema)
        text = json.dumps(example, indent=2, ensure_ascii=False)
        return {
            "media_type": media_type,
            "fields": [*_fields(schema)],
            "example": text if "json" in media_type else "",
        }
    return None


def _resolved(schema: Schema) -> Schema:
    """Return a schema with what it refers to."""
    if "$ref" in schema:
        found: Schema = contract()["components"]["schemas"][_name(schema)]
        return {**found, **{k: v for k, v in schema.items() if k != "$ref"}}
    for several in ("allOf", "oneOf", "anyOf"):
        if several in schema:
            return {**_resolved(schema[several][0]), **schema}
    return schema


def _kind(schema: Schema) -> str:
    schema = _resolved(schema)
    if values := schema.get("enum"):
        return " | ".join(str(value) for value in values if value not in ("", None))
    kind = schema.get("type", "any")
    kinds = [kind] if isinstance(kind, str) else list(kind)
    if "array" in kinds:
        return f"list of {_kind(schema.get('items', {}))}"
    return " or ".join(kinds)


def _fields(schema: Schema, before: str = "", depth: int = 0) -> Iterator[Schema]:
    """Yield the fields of an object, and of objects in it."""
    schema = _resolved(schema)
    if schema.get("type") == "array":
        yield from _fields(schema["items"], f"{before}[].", depth + 1)
    for name, inner in schema.get("properties", {}).items():
        found = _resolved(inner)
        yield _field(
            f"{before}{name}", inner, name in schema.get("required", ()), found
        )
        if depth < DEEPEST and found.get("type") == "array":
            yield from _fields(found["items"], f"{before}{name}[].", depth + 1)
        elif depth < DEEPEST and found.get("type") == "object":
            yield from _fields(found, f"{before}{name}.", depth + 1)


EXAMPLES = {
    "string": "text",
    "integer": 1,
    "number": 0.5,
    "boolean": True,
    "date-time": "2026-11-29T09:30:00Z",
    "date": "2026-12-31",
}


def _example(schema: Schema, depth: int = 0) -> Any:
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
