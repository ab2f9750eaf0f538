"""Write the types and defaults of docs/reference/study-file.md from its JSON Schema.

    python -m tests.study_fields_page

A table of fields stands between `<!-- fields of NAME -->` and `<!-- end -->`. The first
three columns come from the schema, the last one is written by hand and kept.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

PAGE = Path(__file__).resolve().parents[1] / "docs/reference/study-file.md"
SCHEMA = PAGE.with_name("study-file.schema.json")
MARKED = re.compile(r"(<!-- fields of (\w+) -->\n)(.*?)(<!-- end -->\n)", re.S)
ROW = re.compile(r"^\| `(\w+)` \|.*\| (.*) \|$", re.M)
HEAD = "| key | type | default | meaning |\n|---|---|---|---|"
WIDEST = 2**31 - 1
TEXT = "text"
TEXTS = "text, or `{en, zh}`"
# The schema is too long, or too short, for a table about these keys.
TYPES = {
    "adaptive": "[keys](#adaptive-selection)",
    "checks": "[keys](#checks)",
    "composites": "[names with keys](#composites)",
    "consent": "[keys](#consent)",
    "deadline": "a day: `2026-12-31`",
    "expected": "answers by question",
    "goals": "[keys](#goals)",
    "kind": "`likert`, `choice`, `checklist`, `ranking`, `text`, `marks`",
    "labels": "texts by key",
    "languages": "integers by language",
    "late_entry": "`{method, linking}`",
    "pairs": "`all`, `ring`, a list of pairs, or `{number, by}`",
    "outcomes": "`{code, url}` by outcome",
    "presentation": "[keys](#presentation)",
    "questions": "list of [questions](#questions)",
    "recruitment": "[keys](#recruitment)",
    "rules": "`default`, or a list of [rules](#rules)",
    "sets": "`all`, `ring`, or a list of sets",
    "subset": "`{redundancy, stories}`",
    "trained_on": "metrics by method",
    "training": "[keys](#training)",
}
SAMPLE = "integer, or `{number, by, spread_of}`"
OF_TAGS = "values by tag"


def schema_of(name: str, schema: dict[str, Any]) -> dict[str, Any]:
    """Return the properties of a part; those of `Question` are of all kinds."""
    if name == "Study":
        return dict(schema)
    if name != "Question":
        return dict(schema["$defs"][name])
    kinds = [one["$ref"].rpartition("/")[2] for one in _kinds(schema)]
    found: dict[str, Any] = {}
    for kind in kinds:
        for key, value in schema["$defs"][kind]["properties"].items():
            found.setdefault(key, (value, []))[1].append(kind)
    return {
        "required": ["key"],
        "properties": {
            key: value if len(of) == len(kinds) else value | {"kinds": of}
            for key, (value, of) in found.items()
        },
    }


def _kinds(schema: dict[str, Any]) -> list[dict[str, str]]:
    return list(schema["properties"]["questions"]["items"]["anyOf"])


def type_words(key: str, field: dict[str, Any]) -> str:
    """Return the type of a field in words."""
    one, *more = [each for each in _alternatives(field) if each.get("type") != "null"]
    kind = one.get("type")
    if key in TYPES:
        return TYPES[key]
    if "additionalProperties" in (more[0] if more else {}):
        return TEXTS
    if key == "stories":
        return SAMPLE if kind == "integer" else OF_TAGS
    if "enum" in one:
        return ", ".join(f"`{word}`" for word in filter(None, one["enum"]))
    if kind in ("integer", "number"):
        number = "integer" if kind == "integer" else "number"
        if one.get("le", WIDEST) < WIDEST:
            return f"{number} from {one['ge']} to {one['le']}"
        return f"{number} from {one['ge']}"
    if "prefixItems" in one:
        return "`[lowest, highest]`"
    if kind == "array":
        known = str(one["items"].get("$ref")).endswith("KnownUnit")
        return "list of [known answers](#known-answers)" if known else "list"
    words = {"boolean": "`true`, `false`", "object": "texts by value"}
    return words.get(str(kind), TEXT)


def _alternatives(field: dict[str, Any]) -> list[dict[str, Any]]:
    return list(field.get("anyOf", [field]))


def default_words(key: str, field: dict[str, Any], required: list[str]) -> str:
    """Return the value that a field has when it is left out."""
    if key in required:
        return "required"
    value = field.get("default")
    if isinstance(value, dict) or value in (None, "", []):
        return ""
    text = ", ".join(value) if isinstance(value, list) else json.dumps(value)
    return f"`{text.strip(chr(34)).removesuffix('.0')}`"


def rows(name: str, before: str, schema: dict[str, Any]) -> Iterator[str]:
    """Yield the rows of a part's fields, with the meanings that the page has."""
    meanings = dict(ROW.findall(before))
    part = schema_of(name, schema)
    for key, field in part["properties"].items():
        words = type_words(key, field)
        default = default_words(key, field, part.get("required", []))
        yield f"| `{key}` | {words} | {default} | {meanings.get(key, '')} |"


def with_fields(page: str) -> str:
    """Return a page whose tables have the types and defaults of the schema."""
    schema = json.loads(SCHEMA.read_text("utf-8"))

    def written(found: re.Match[str]) -> str:
        start, name, before, end = found.groups()
        return "\n".join([start + HEAD, *rows(name, before, schema), end])

    return MARKED.sub(written, page)


if __name__ == "__main__":
    PAGE.write_text(with_fields(PAGE.read_text("utf-8")), encoding="utf-8")
