"""Conversion of a study definition to form values and back.

A value's name is its path in the study file, such as `questions.0.title.en`, so that
an error of the schema belongs to the field of that name. Parts that are rarely edited
(training units, gold units, rules) are one field each, which contains YAML.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Any

from django.utils.datastructures import MultiValueDict

from annotate.kinds.base import Kind
from annotate.kinds.registry import KINDS
from annotate.schema import LONGEST, DefinitionError, Part
from annotate.studies.definition import StudyDefinition
from annotate.studies.parts import Presentation
from annotate.studies.study_file import write_data

FormValues = MultiValueDict[str, str]
Data = dict[str, Any]

SEVERAL = ("checks.kinds", "checks.degradations")
AS_YAML = re.compile(
    r"training\.units|trained_on|late_entry|composites|checks\.gold|rules\.own"
    r"|questions\.\d+\.(stories|labels)"
)
# Values that every study needs: an empty one is an error, not the default.
REQUIRED = ("redundancy", "rounds", "session_size", "lease_minutes", "seed")
# Fields that a new question copies from the last one.
COPIED = ("kind", "scale", "allow", "category")
QUESTION = re.compile(r"questions\.(\d{1,4})\.(.+)")
# No value is nested deeper. A browser may send any name.
PATH = re.compile(r"[^.]+(\.[^.]+){0,5}")
ROOTS = StudyDefinition.model_fields.keys() - {"name", "scale", "questions"}
# Parts whose form fields differ from the keys of the file.
SHAPED = ("pairs", "sets", "rules", "adaptive", "training", "checks", "presentation")


# From a definition to a form


def to_values(definition: StudyDefinition) -> FormValues:
    data = definition.model_dump() | {
        "checks": definition.checks.model_dump(),
        "presentation": definition.presentation.model_dump(),
    }
    values = FormValues(dict(leaves(data, "")))
    for index, question in enumerate(definition.questions):
        for name in switches(type(question)):
            if getattr(question, name):
                values[f"questions.{index}.{name}"] = "1"
    values["presentation.sent"] = "1"
    return values


def switches(part: type[Part]) -> list[str]:
    """Return the boolean fields; browsers do not send those without a tick."""
    return [key for key, one in part.model_fields.items() if one.annotation is bool]


def leaves(value: Any, name: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the form values below a part of a definition."""
    if name in ("pairs", "sets"):
        if isinstance(value, dict):
            yield f"{name}.number", [str(value["number"])]
            yield f"{name}.by", [", ".join(value["by"])]
            value = "cells"
        elif isinstance(value, tuple):
            yield f"{name}.chosen", ["\n".join(" | ".join(one) for one in value)]
            value = "chosen"
        yield f"{name}.kind", [value]
    elif name == "rules":
        yield "rules.kind", ["default" if value == "default" else "own"]
        if value != "default":
            yield "rules.own", [write_data(value)]
    elif AS_YAML.fullmatch(name):
        if value:
            yield name, [write_data(value)]
    elif name in SEVERAL:
        yield name, list(value)
    elif isinstance(value, dict | tuple):
        if name == "adaptive":
            yield "adaptive.on", ["1"]
        parts = value.items() if isinstance(value, dict) else enumerate(value)
        for key, part in parts:
            yield from leaves(part, f"{name}.{key}" if name else str(key))
    elif isinstance(value, bool):
        yield from [(name, ["1"])] * value
    else:
        # Numbers lose a trailing .0; text stays as it is.
        yield name, [str(value).removesuffix(".0" if type(value) is float else "")]


# From a form to a definition


def to_data(values: FormValues, problems: list[DefinitionError]) -> Data:
    """Return the form's values as data for the schema.

    Fields with invalid YAML are left out and added to `problems`.
    """
    data = nested(values, problems)
    by_index = data.get("questions", {}).items()
    data["questions"] = [
        _question(question, kind_named(question.get("kind") or data.get("kind")))
        for _index, question in sorted(by_index, key=lambda item: int(item[0]))
    ]
    parts = {name: _take(data, name) for name in SHAPED}
    if key := sets_key(values):
        data[key] = _sets(parts[key])
    rules = {"default": "default", "own": parts["rules"].get("own")}
    data["rules"] = rules.get(_text(parts["rules"], "kind"))
    if parts["adaptive"].pop("on", None):
        data["adaptive"] = parts["adaptive"]
    if parts["training"].get("twins") or parts["training"].get("units"):
        data["training"] = parts["training"]
    # Browsers do not send boxes without a tick.
    data["checks"], data["presentation"] = parts["checks"], parts["presentation"]
    if parts["checks"].pop("sent", None):
        data["checks"] = {"kinds": [], "degradations": []} | parts["checks"]
    if parts["presentation"].pop("sent", None):
        for name in switches(Presentation):
            data["presentation"][name] = name in data["presentation"]
    return {key: value for key, value in data.items() if value not in (None, {})}


def nested(values: FormValues, problems: list[DefinitionError]) -> Data:
    """Return the values whose names are paths of a study file, nested by path."""
    data: Data = {}
    left_out: list[str] = []
    yaml_fields = [name for name in values if AS_YAML.fullmatch(name)]
    if sum(len(values.get(name, "")) for name in yaml_fields) > LONGEST:
        reason = f"at most {LONGEST:,} characters in all YAML fields together"
        problems.append(DefinitionError(yaml_fields[0], None, reason, [yaml_fields[0]]))
        left_out = yaml_fields
    for name in values:
        is_part = QUESTION.fullmatch(name) or name.partition(".")[0] in ROOTS
        if not (is_part and PATH.fullmatch(name)) or name in left_out:
            continue
        try:
            value = _value(name, values)
        except DefinitionError as error:
            problems.append(error)
            continue
        if value != "" or name in REQUIRED:
            _put(data, name.split("."), value)
    return data


def _value(name: str, values: FormValues) -> Any:
    if name in SEVERAL:
        return values.getlist(name)
    text = values.get(name, "").replace("\r\n", "\n").strip()
    if not (AS_YAML.fullmatch(name) and text):
        return text
    # The YAML reader is loaded only for a form that contains YAML.
    from annotate.studies.yaml_text import Document

    try:
        return Document(text, name).data
    except DefinitionError as error:
        reason = f"line {error.line}: {error.reason}"
        raise DefinitionError(name, None, reason, [name]) from error


def _put(data: Data, path: list[str], value: Any) -> None:
    """Store a value at its path, unless another value contradicts it."""
    *steps, last = path
    part: Any = data
    for step in steps:
        part = part.setdefault(step, {})
        if not isinstance(part, dict):
            return
    if last and not isinstance(part.get(last), dict):
        part[last] = value


def _take(data: Data, key: str) -> Data:
    """Remove a part from the data and return it, empty if it is no mapping."""
    part = data.pop(key, None)
    return part if isinstance(part, dict) else {}


def _text(part: Data, key: str) -> str:
    """Return a value if it is text; a browser may have sent a mapping."""
    value = part.get(key)
    return value if isinstance(value, str) else ""


def kind_named(name: object) -> Kind:
    """Return a kind by its name; the schema refuses unknown names later."""
    return KINDS.get(str(name), next(iter(KINDS.values())))


def kind_at(values: FormValues, index: int = 0) -> Kind:
    return kind_named(values.get(f"questions.{index}.kind") or values.get("kind"))


def sets_key(values: FormValues) -> str:
    """Return the key of sets in a study file; empty for single outputs."""
    return {"1": "", "2": "pairs"}.get(outputs(values), "sets")


def outputs(values: FormValues) -> str:
    """Return the number of outputs that are shown at once."""
    indexes = range(max(len(questions(values)), 1))
    least = max(kind_at(values, index).least for index in indexes)
    return values.get("outputs") or str(least)


def _question(data: Data, kind: Kind) -> Data:
    """Return the fields of a question that its kind has."""
    fields = kind.definition.model_fields
    data = {key: value for key, value in data.items() if key in fields}
    data |= {name: bool(data.get(name)) for name in switches(kind.definition)}
    if "scale" in fields:
        ends = _take(data, "scale")
        data["scale"] = [_text(ends, "0"), _text(ends, "1")]
        inside = {str(value) for value in steps(data["scale"])}
        anchors = _take(data, "anchors").items()
        data["anchors"] = {v: texts for v, texts in anchors if v in inside}
    return data


def steps(ends: Iterable[str | None]) -> range:
    """Return the values of a scale; none if its ends are invalid."""
    try:
        low, high = (int((text or "")[:9]) for text in ends)
    except ValueError:
        return range(0)
    return range(low, high + 1) if low < high <= low + 100 else range(0)


def _sets(data: Data) -> Any:
    kind = _text(data, "kind")
    if kind == "cells":
        by = [part.strip() for part in _text(data, "by").split(",")]
        return {"number": _text(data, "number"), "by": list(filter(None, by))}
    if kind == "chosen":
        lines = _text(data, "chosen").splitlines()
        return [[name.strip() for name in line.split("|")] for line in lines if line]
    return kind or "all"


# Questions


def usual(kind: Kind) -> dict[str, list[str]]:
    """Return the values that a new question begins with: examples and ticks."""
    fields = kind.definition.model_fields
    ticks = {name: ["1"] for name in switches(kind.definition) if fields[name].default}
    texts = {name: [*one.examples] for name, one in fields.items() if one.examples}
    return ticks | texts


def questions(values: FormValues) -> list[dict[str, list[str]]]:
    """Return the values of each question, without the question's own path."""
    listed: dict[int, dict[str, list[str]]] = {}
    for name, texts in values.lists():
        if match := QUESTION.fullmatch(name):
            listed.setdefault(int(match[1]), {})[match[2]] = texts
    return [listed[index] for index in sorted(listed)]


def with_questions(
    values: FormValues, wanted: list[dict[str, list[str]]]
) -> FormValues:
    """Return the values with these questions instead of the current ones."""
    result = {n: texts for n, texts in values.lists() if not QUESTION.fullmatch(n)}
    for index, question in enumerate(wanted):
        result |= {f"questions.{index}.{name}": one for name, one in question.items()}
    return FormValues(result)


def rearranged(
    values: FormValues, action: str, index: int, kind: str = ""
) -> FormValues:
    """Return the values with a question added, removed, or moved up or down.

    A new question has the given kind, or the kind of the last question.
    """
    listed = questions(values)
    if action == "add":
        last = listed[-1] if listed else {}
        copied = {n: v for n, v in last.items() if n.startswith(COPIED)}
        chosen = {"kind": [kind]} if kind else {}
        given = usual(kind_named(kind)) if chosen != {"kind": last.get("kind")} else {}
        listed.append({"key": [""], **given, **copied, **chosen})
    elif 0 <= index < len(listed):
        question = listed.pop(index)
        if action != "remove":
            step = {"up": -1, "down": 1}[action]
            listed.insert(max(0, index + step), question)
    return with_questions(values, listed)
