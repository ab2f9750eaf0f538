"""A study as the values of a form, and back.

A value's name is its path in the study file, such as `questions.0.title.en`, so that
what the schema says of a path belongs to the field of that name. Parts that are rarely
written by hand (training units, gold units, rules) are one field each, with YAML in it.
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
    r"training\.units|composites|checks\.gold|rules\.own|questions\.\d+\.stories"
)
# What is asked for in every study: left empty it is a mistake, not a default.
WANTED = ("redundancy", "rounds", "session_size", "lease_minutes", "seed")
# What a question that is added has in common with the last one.
COPIED = ("kind", "scale", "allow", "category")
QUESTION = re.compile(r"questions\.(\d{1,4})\.(.+)")
# No value lies deeper; a browser may send any name.
PATH = re.compile(r"[^.]+(\.[^.]+){0,5}")
ROOTS = StudyDefinition.model_fields.keys() - {"name", "scale", "questions"}


# From a definition to a form


def to_values(definition: StudyDefinition) -> FormValues:
    data = definition.model_dump() | {
        "checks": definition.checks.model_dump(),
        "presentation": definition.presentation.model_dump(),
    }
    values = FormValues()
    for name, found in _leaves(data, ""):
        values.setlist(name, found)
    for index, question in enumerate(definition.questions):
        for name in switches(type(question)):
            if getattr(question, name):
                values[f"questions.{index}.{name}"] = "1"
    values["presentation.sent"] = "1"
    return values


def switches(part: type[Part]) -> list[str]:
    """Return the fields that are ticked or not: no tick is not sent."""
    return [key for key, one in part.model_fields.items() if one.annotation is bool]


def _leaves(value: Any, name: str) -> Iterator[tuple[str, list[str]]]:
    if name in ("pairs", "sets"):
        yield from ((f"{name}.{part}", one) for part, one in _sets_to_values(value))
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
            yield from _leaves(part, f"{name}.{key}" if name else str(key))
    elif isinstance(value, bool):
        yield from [(name, ["1"])] * value
    else:
        # A number is written as short as somebody would; a text as it is.
        yield name, [str(value).removesuffix(".0" if type(value) is float else "")]


def _sets_to_values(sets: Any) -> Iterator[tuple[str, list[str]]]:
    if isinstance(sets, dict):
        yield "kind", ["cells"]
        yield "number", [str(sets["number"])]
        yield "by", [", ".join(sets["by"])]
    elif isinstance(sets, tuple):
        yield "kind", ["chosen"]
        yield "chosen", ["\n".join(" | ".join(together) for together in sets)]
    else:
        yield "kind", [sets]


# From a form to a definition


def to_data(values: FormValues, problems: list[DefinitionError]) -> Data:
    """Return what the schema reads that says the same as the form.

    Fields for YAML that hold something else are left out and added to the problems.
    """
    data: Data = {}
    yaml_fields = [name for name in values if AS_YAML.fullmatch(name)]
    if sum(len(values.get(name, "")) for name in yaml_fields) > LONGEST:
        reason = f"at most {LONGEST:,} characters in all fields for YAML together"
        problems.append(DefinitionError(yaml_fields[0], None, reason, [yaml_fields[0]]))
        values = values.copy()
        for name in yaml_fields:
            values.pop(name)
    for name in filter(PATH.fullmatch, list(values)):
        try:
            found = _value(name, values)
        except DefinitionError as error:
            problems.append(error)
            continue
        is_part = QUESTION.fullmatch(name) or name.partition(".")[0] in ROOTS
        if is_part and (found != "" or name in WANTED):
            _put(data, name.split("."), found)
    data["questions"] = [
        _question(question, kind_named(question.get("kind") or data.get("kind")))
        for _index, question in sorted(
            data.get("questions", {}).items(), key=lambda item: int(item[0])
        )
    ]
    key, given = sets_key(values), {n: _taken(data, n) for n in ("pairs", "sets")}
    if key:
        data[key] = _sets(given[key])
    rules = _taken(data, "rules")
    data["rules"] = {"default": "default", "own": rules.get("own")}.get(
        _text(rules, "kind")
    )
    adaptive = _taken(data, "adaptive")
    if adaptive.pop("on", None):
        data["adaptive"] = adaptive
    training = _taken(data, "training")
    if training.get("twins") or training.get("units"):
        data["training"] = training
    checks = _taken(data, "checks")
    is_sent = checks.pop("sent", None)  # what is not ticked is not sent
    data["checks"] = ({"kinds": [], "degradations": []} if is_sent else {}) | checks
    shown = _taken(data, "presentation")
    if shown.pop("sent", None):
        shown |= {key: key in shown for key in switches(Presentation)}
    data["presentation"] = shown
    return {key: value for key, value in data.items() if value not in (None, {})}


def _value(name: str, values: FormValues) -> Any:
    if name in SEVERAL:
        return values.getlist(name)
    text = values.get(name, "").replace("\r\n", "\n").strip()
    if not (AS_YAML.fullmatch(name) and text):
        return text
    from annotate.studies.yaml_text import Document

    try:
        return Document(text, name).data
    except DefinitionError as error:
        reason = f"line {error.line}: {error.reason}"
        raise DefinitionError(name, None, reason, [name]) from error


def _put(data: Data, path: list[str], value: Any) -> None:
    """Put a value at its place, unless a browser sends two that contradict."""
    *steps, last = path
    part: Any = data
    for step in steps:
        part = part.setdefault(step, {})
        if not isinstance(part, dict):
            return
    if last and not isinstance(part.get(last), dict):
        part[last] = value


def _taken(data: Data, key: str) -> Data:
    """Take a part out of the data; anything else in its place is lost."""
    part = data.pop(key, None)
    return part if isinstance(part, dict) else {}


def _text(part: Data, key: str, default: str = "") -> str:
    """Return a value that is a text; a browser may have sent parts of it."""
    value = part.get(key, default)
    return value if isinstance(value, str) else default


def kind_named(name: object) -> Kind:
    """Return a kind by its name; what no kind is named the schema refuses."""
    return KINDS.get(str(name), next(iter(KINDS.values())))


def kind_at(values: FormValues, index: int = 0) -> Kind:
    own = values.get(f"questions.{index}.kind")
    return kind_named(own or values.get("kind"))


def sets_key(values: FormValues) -> str:
    """Return what a study file calls that which is shown at once; empty: one output."""
    return {"1": "", "2": "pairs"}.get(outputs(values), "sets")


def outputs(values: FormValues) -> str:
    """Return how many outputs are shown at once."""
    asked = range(max(len(questions(values)), 1))
    least = max(kind_at(values, index).least for index in asked)
    return values.get("outputs") or str(least)


def _question(given: Data, kind: Kind) -> Data:
    """Return the part of a question that its kind has."""
    fields = kind.definition.model_fields
    given = {key: value for key, value in given.items() if key in fields}
    given |= {name: bool(given.get(name)) for name in switches(kind.definition)}
    if "scale" not in fields:
        return given
    ends = _taken(given, "scale")
    given["scale"] = [_text(ends, "0"), _text(ends, "1")]
    inside = {str(value) for value in steps(given["scale"])}
    anchors = _taken(given, "anchors").items()
    given["anchors"] = {v: texts for v, texts in anchors if v in inside}
    return given


def steps(ends: Iterable[str | None]) -> range:
    """Return the values of a scale as far as its ends make sense."""
    try:
        low, high = (int((text or "")[:9]) for text in ends)
    except ValueError:
        return range(0)
    return range(low, high + 1) if low < high <= low + 100 else range(0)


def _sets(given: Data) -> Any:
    kind = _text(given, "kind", "all")
    if kind == "cells":
        by = [part.strip() for part in _text(given, "by").split(",")]
        return {"number": _text(given, "number"), "by": list(filter(None, by))}
    if kind == "chosen":
        lines = _text(given, "chosen").splitlines()
        return [[name.strip() for name in line.split("|")] for line in lines if line]
    return kind


def spoken(values: FormValues) -> list[str]:
    """Return the languages in which every unit is to be judged."""
    return [
        name.removeprefix("languages.")
        for name in values
        if name.startswith("languages.") and values.get(name, "").strip()
    ]


# Questions


def questions(values: FormValues) -> list[dict[str, list[str]]]:
    """Return the values of each question, without the question's own path."""
    found: dict[int, dict[str, list[str]]] = {}
    for name, given in values.lists():
        match = QUESTION.fullmatch(name)
        if match:
            found.setdefault(int(match[1]), {})[match[2]] = given
    return [found[index] for index in sorted(found)]


def with_questions(
    values: FormValues, wanted: list[dict[str, list[str]]]
) -> FormValues:
    """Return the values with these questions instead of those that are there."""
    kept = FormValues(
        {name: given for name, given in values.lists() if not QUESTION.fullmatch(name)}
    )
    for index, question in enumerate(wanted):
        for name, given in question.items():
            kept.setlist(f"questions.{index}.{name}", given)
    return kept


def rearranged(
    values: FormValues, action: str, index: int, kind: str = ""
) -> FormValues:
    """Return the values with a question added, removed, or moved up or down.

    One that is added is of the kind, or without it of the last one's.
    """
    listed = questions(values)
    if action == "add":
        last = listed[-1] if listed else {}
        copied = {n: v for n, v in last.items() if n.startswith(COPIED)}
        listed.append({"key": [""], **copied, **({"kind": [kind]} if kind else {})})
    elif 0 <= index < len(listed):
        question = listed.pop(index)
        if action != "remove":
            step = {"up": -1, "down": 1}[action]
            listed.insert(max(0, index + step), question)
    return with_questions(values, listed)
