"""A study file as the values of a form, and back.

A value's name is its path in the file, such as `questions.0.title.en`, so that what the
reader says of a path belongs to the field of that name. Parts that are rarely written
by hand (training units, gold units, rules) are one field each, with YAML in it.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Any

from django.utils.datastructures import MultiValueDict

from annotate.kinds.base import Kind
from annotate.kinds.registry import KINDS
from annotate.studies.definition import Presentation, StudyDefinition
from annotate.studies.study_writing import checks_data, definition_data, write_data
from annotate.studies.yaml_lines import DefinitionError, parse

FormValues = MultiValueDict[str, str]
Data = dict[str, Any]

# Everything else that a browser sends is no part of a study file.
NAMES = re.compile(
    r"title|kind|outputs|assignment|redundancy|rounds|session_size|cap|lease_minutes|seed"
    r"|(languages|consent|instructions)\.[^.]+|composites"
    r"|training\.(twins|pass_mark|attempts|units)"
    r"|rules\.(kind|own)"
    r"|(subset\.)?stories\.(number|by)|subset\.redundancy"
    r"|(pairs|sets)\.(kind|chosen|number|by)"
    r"|checks\.(sent|per_session|share|kinds|degradations|gold)"
    r"|presentation\.(sent|same_size|must_watch|must_see|(shot_)?comments"
    r"|shuffle_questions|skip_share)"
    r"|adaptive\.(on|top|confidence|least|explore|question)"
    r"|questions\.\d{1,4}\.(key|kind|metric|degradation|allow_tie|stories|(title|text|help|category)\.[^.]+"
    r"|scale\.[01]|anchors\.-?\d+\.[^.]+)"
)
SEVERAL = re.compile(r"checks\.(kinds|degradations)")
AS_YAML = re.compile(
    r"training\.units|composites|checks\.gold|rules\.own|questions\.\d+\.stories"
)
NUMBERS = re.compile(
    r"outputs|redundancy|rounds|session_size|cap|lease_minutes|seed|languages\..*"
    r"|(.*\.)?(number|redundancy)|checks\.(per_session|share)"
    r"|presentation\.(must_see|skip_share)"
    r"|training\.(twins|pass_mark|attempts)"
    r"|adaptive\.(top|confidence|least|explore)|questions\.\d+\.scale\.[01]"
)
# What is asked for in every study: left empty it is a mistake, not a default.
WANTED = ("redundancy", "rounds", "session_size", "lease_minutes", "seed")
# What a question that is added has in common with the last one.
COPIED = ("kind", "scale", "allow", "category")
QUESTION = re.compile(r"questions\.(\d{1,4})\.(.+)")


# From a file to a form


def to_values(definition: StudyDefinition) -> FormValues:
    data = definition_data(definition) | {
        "checks": checks_data(definition.checks),
        "presentation": dict(vars(definition.presentation)),
    }
    values = FormValues()
    for name, found in _leaves(data, ""):
        values.setlist(name, found)
    for index, question in enumerate(definition.questions):
        if question.allow_tie:
            values[f"questions.{index}.allow_tie"] = "1"
    values["presentation.sent"] = "1"
    return values


def _leaves(value: Any, name: str) -> Iterator[tuple[str, list[str]]]:
    if name in ("pairs", "sets"):
        yield from ((f"{name}.{part}", one) for part, one in _sets_to_values(value))
    elif name == "rules":
        own = value != "default"
        yield "rules.kind", ["own" if own else "default"]
        if own:
            yield "rules.own", [write_data(value)]
    elif SEVERAL.fullmatch(name):
        yield name, value
    elif AS_YAML.fullmatch(name):
        if value:
            yield name, [write_data(value)]
    elif isinstance(value, dict | list):
        if name == "adaptive":
            yield "adaptive.on", ["1"]
        parts = value.items() if isinstance(value, dict) else enumerate(value)
        for key, part in parts:
            yield from _leaves(part, f"{name}.{key}" if name else str(key))
    elif name.startswith("presentation.") and isinstance(value, bool):
        yield from [(name, ["1"])] * value
    elif name in ("presentation.must_see", "presentation.skip_share"):
        yield name, [f"{value:g}"]
    elif not isinstance(value, bool):
        yield name, [str(value)]


def _sets_to_values(sets: Any) -> Iterator[tuple[str, list[str]]]:
    if isinstance(sets, dict):
        yield "kind", ["cells"]
        yield "number", [str(sets["number"])]
        yield "by", [", ".join(sets["by"])]
    elif isinstance(sets, list):
        yield "kind", ["chosen"]
        yield "chosen", ["\n".join(" | ".join(together) for together in sets)]
    else:
        yield "kind", [sets]


# From a form to a file


def to_data(values: FormValues, problems: list[DefinitionError]) -> Data:
    """Return what the study file holds that says the same as the form.

    Fields for YAML that hold something else are left out and added to the problems.
    """
    data: Data = {}
    for name in values:
        if not NAMES.fullmatch(name):
            continue
        try:
            found = _converted(name, values)
        except DefinitionError as error:
            problems.append(error)
            continue
        if found != "" or name in WANTED:
            _put(data, name.split("."), found)
    data["questions"] = [
        _question(question, kind_named(question.get("kind") or data.get("kind")))
        for _index, question in sorted(
            data.get("questions", {}).items(), key=lambda item: int(item[0])
        )
    ]
    key, given = sets_key(values), {n: data.pop(n, {}) for n in ("pairs", "sets")}
    if key:
        data[key] = _sets(given[key])
    rules = data.get("rules", {})
    data["rules"] = {"default": "default", "own": rules.get("own")}.get(
        rules.get("kind")
    )
    if not data.get("adaptive", {}).pop("on", None):
        data.pop("adaptive", None)
    training = data.get("training", {})
    if not (training.get("twins") or training.get("units")):
        data.pop("training", None)
    checks = data.get("checks", {})
    if checks.pop("sent", None):
        data["checks"] = {"kinds": [], "degradations": [], **checks}
    shown = data.get("presentation", {})
    if shown.pop("sent", None):
        usual = vars(Presentation())
        data["presentation"] = {
            key: key in shown if type(value) is bool else shown.get(key, value)
            for key, value in usual.items()
        }
    return {key: value for key, value in data.items() if value not in (None, {})}


def _converted(name: str, values: FormValues) -> Any:
    if SEVERAL.fullmatch(name):
        return values.getlist(name)
    text = values.get(name, "").replace("\r\n", "\n").strip()
    if AS_YAML.fullmatch(name) and text:
        return _yaml(name, text)
    return _number(text) if NUMBERS.fullmatch(name) else text


def _yaml(name: str, text: str) -> Any:
    try:
        _root, value = parse(text, name)
    except DefinitionError as error:
        reason = f"line {error.line}: {error.reason}"
        raise DefinitionError(name, None, reason, [name]) from error
    return value


def _number(text: str) -> int | float | str:
    """Return the number that was typed, or the text, which the reader refuses."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _put(data: Data, path: list[str], value: Any) -> None:
    for step in path[:-1]:
        data = data.setdefault(step, {})
    data[path[-1]] = value


def kind_named(name: str | None) -> Kind:
    """Return a kind by its name; what no kind is named the reader refuses."""
    return KINDS.get(name or "", KINDS["likert"])


def kind_at(values: FormValues, index: int = 0) -> Kind:
    own = values.get(f"questions.{index}.kind")
    return kind_named(own or values.get("kind"))


def sets_key(values: FormValues) -> str:
    """Return what a study file calls that which is shown at once; empty: one output."""
    outputs = values.get("outputs") or str(kind_at(values).least)
    return {"1": "", "2": "pairs"}.get(outputs, "sets")


def _question(given: Data, kind: Kind) -> Data:
    if "tie" in kind.form_parts:
        given["allow_tie"] = bool(given.get("allow_tie"))
    else:
        given.pop("allow_tie", None)
    if "scale" not in kind.form_parts:
        return given
    ends = given.get("scale", {})
    given["scale"] = [ends.get("0", ""), ends.get("1", "")]
    inside = {str(value) for value in steps(given["scale"])}
    given["anchors"] = {
        int(value): texts
        for value, texts in given.get("anchors", {}).items()
        if value in inside
    }
    return given


def steps(ends: Iterable[Any]) -> range:
    """Return the values of a scale as far as its ends make sense."""
    low, high = ends
    fits = type(low) is int and type(high) is int and low < high <= low + 100
    return range(low, high + 1) if fits else range(0)


def _sets(given: Data) -> Any:
    kind = given.get("kind", "all")
    if kind == "cells":
        by = [part.strip() for part in given.get("by", "").split(",")]
        return {"number": given.get("number", ""), "by": list(filter(None, by))}
    if kind == "chosen":
        lines = given.get("chosen", "").splitlines()
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


def rearranged(values: FormValues, action: str, index: int) -> FormValues:
    """Return the values with a question added, removed, or moved up or down."""
    listed = questions(values)
    if action == "add":
        last = listed[-1] if listed else {}
        copied = {n: v for n, v in last.items() if n.startswith(COPIED)}
        listed.append({"key": [""], **copied})
    elif 0 <= index < len(listed):
        question = listed.pop(index)
        if action != "remove":
            step = {"up": -1, "down": 1}[action]
            listed.insert(max(0, index + step), question)
    return with_questions(values, listed)
