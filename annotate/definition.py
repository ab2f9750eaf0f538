"""A study as a YAML file; the papers' protocols ship as templates."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import yaml

TEMPLATES = Path(__file__).resolve().parent / "protocols"
PROTOCOLS = ("likert", "pairwise")
PAIRINGS = ("all", "ring")
KEYS = {
    "title", "protocol", "redundancy", "rounds", "session_size", "lease_minutes",
    "seed", "consent", "instructions", "scale", "pairs", "questions",
}  # fmt: skip
QUESTION_KEYS = {
    "key", "title", "text", "help", "anchors", "metric", "scale", "allow_tie",
}  # fmt: skip

Texts = dict[str, str]


class DefinitionError(ValueError):
    """The study file is wrong; the message names file and line."""


@dataclass(frozen=True)
class QuestionDefinition:
    """One dimension or criterion."""

    key: str
    titles: Texts
    texts: Texts
    help_texts: Texts
    anchors: dict[str, Texts]
    scale: tuple[int, int] | None
    allow_tie: bool
    metric: str


@dataclass(frozen=True)
class StudyDefinition:
    """Everything about a study but what it judges and who."""

    name: str
    title: str
    protocol: str
    questions: tuple[QuestionDefinition, ...]
    redundancy: int
    session_size: int
    rounds: int
    lease_minutes: int
    seed: int
    pairs: str
    consent: Texts
    consent_version: str
    instructions: Texts

    def with_changes(self, **changes: int | str | None) -> "StudyDefinition":
        """Return the definition with the values that are not None replaced."""
        given = {key: value for key, value in changes.items() if value is not None}
        return replace(self, **given)  # type: ignore[arg-type]


def template_names() -> list[str]:
    """Return the names of the templates that ship with the project."""
    return sorted(path.stem for path in TEMPLATES.glob("*.yaml"))


def load_definition(name_or_path: str | Path) -> StudyDefinition:
    """Read a template by name or a study file by path.

    Raises
    ------
    DefinitionError
        The file is missing, is no YAML, or a value is not what was expected.
    """
    name = str(name_or_path)
    path = TEMPLATES / f"{name}.yaml" if name in template_names() else Path(name)
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        known = ", ".join(template_names())
        raise DefinitionError(
            f"{name}: no template of that name ({known}) and no readable file"
        ) from error
    return _Reader(path.name, text).study(path.stem)


class _Reader:
    """Turns YAML into a definition and knows the line of each key."""

    def __init__(self, file: str, text: str) -> None:
        self.file = file
        try:
            self.root = yaml.compose(text, Loader=yaml.SafeLoader)
            self.data = yaml.safe_load(text)
        except yaml.MarkedYAMLError as error:
            line = error.problem_mark.line + 1 if error.problem_mark else 1
            raise DefinitionError(f"{file}:{line}: {error.problem}") from error

    def fail(self, path: list[str | int], message: str) -> DefinitionError:
        """Return an error that names the line of the value at `path`."""
        node, line = self.root, 1
        for step in path:
            found = None
            if isinstance(node, yaml.MappingNode):
                found = next(
                    (v for k, v in node.value if str(k.value) == str(step)), None
                )
            elif isinstance(node, yaml.SequenceNode) and isinstance(step, int):
                found = node.value[step]
            if found is None:
                break
            node, line = found, found.start_mark.line + 1
        where = ".".join(str(step) for step in path)
        return DefinitionError(f"{self.file}:{line}: {where}: {message}")

    def study(self, name: str) -> StudyDefinition:
        data = self.data
        if not isinstance(data, dict):
            raise DefinitionError(f"{self.file}:1: a study file is a mapping of keys")
        self._known(data, KEYS, [])
        protocol = data.get("protocol")
        if protocol not in PROTOCOLS:
            raise self.fail(["protocol"], f"write one of {', '.join(PROTOCOLS)}")
        pairs = data.get("pairs", "all")
        if pairs not in PAIRINGS:
            raise self.fail(["pairs"], f"write one of {', '.join(PAIRINGS)}")
        scale = self._scale(data.get("scale"), ["scale"])
        questions = data.get("questions")
        if not isinstance(questions, list) or not questions:
            raise self.fail(["questions"], "write a list with at least one question")
        read = tuple(
            self._question(question, index, protocol, scale)
            for index, question in enumerate(questions)
        )
        keys = [question.key for question in read]
        for index, key in enumerate(keys):
            if key in keys[:index]:
                raise self.fail(["questions", index, "key"], f"{key} is used twice")
        consent = dict(data.get("consent") or {})
        version = str(consent.pop("version", "1"))
        return StudyDefinition(
            name=name,
            title=str(data.get("title") or name),
            protocol=protocol,
            questions=read,
            redundancy=self._number(data, "redundancy", 3),
            session_size=self._number(data, "session_size", 7),
            rounds=self._number(data, "rounds", 1),
            lease_minutes=self._number(data, "lease_minutes", 30),
            seed=self._number(data, "seed", 0, least=0),
            pairs=pairs,
            consent=self._texts(consent, ["consent"]),
            consent_version=version,
            instructions=self._texts(data.get("instructions"), ["instructions"]),
        )

    def _question(
        self, data: Any, index: int, protocol: str, scale: tuple[int, int] | None
    ) -> QuestionDefinition:
        path: list[str | int] = ["questions", index]
        if not isinstance(data, dict):
            raise self.fail(path, "a question is a mapping with key, title and text")
        self._known(data, QUESTION_KEYS, path)
        key = data.get("key")
        if (
            not isinstance(key, str)
            or not key.replace("_", "").replace("-", "").isalnum()
        ):
            raise self.fail([*path, "key"], "write letters, digits, _ and - only")
        own = self._scale(data.get("scale"), [*path, "scale"]) or scale
        if protocol == "likert" and own is None:
            raise self.fail(path, "a Likert question needs a scale, such as [0, 4]")
        anchors = {}
        for value, texts in (data.get("anchors") or {}).items():
            if (
                own is None
                or not isinstance(value, int)
                or not own[0] <= value <= own[1]
            ):
                raise self.fail([*path, "anchors", value], "is no value of the scale")
            anchors[str(value)] = self._texts(texts, [*path, "anchors", value])
        titles = self._texts(data.get("title"), [*path, "title"])
        return QuestionDefinition(
            key=key,
            titles=titles or {"en": key.replace("_", " ").capitalize()},
            texts=self._texts(data.get("text"), [*path, "text"]),
            help_texts=self._texts(data.get("help"), [*path, "help"]),
            anchors=anchors,
            scale=own if protocol == "likert" else None,
            allow_tie=bool(data.get("allow_tie", True)),
            metric=str(data.get("metric") or ""),
        )

    def _known(self, data: dict, keys: set[str], path: list[str | int]) -> None:
        for key in data:
            if key not in keys:
                expected = ", ".join(sorted(keys))
                raise self.fail([*path, key], f"unknown key; expected {expected}")

    def _texts(self, value: Any, path: list[str | int]) -> Texts:
        """Accept one text, or one for each language."""
        if value is None:
            return {}
        if isinstance(value, str):
            return {"en": value}
        if isinstance(value, dict) and all(
            isinstance(k, str) and isinstance(v, str) for k, v in value.items()
        ):
            return dict(value)
        raise self.fail(path, "write a text, or {en: ..., zh: ...}")

    def _scale(self, value: Any, path: list[str | int]) -> tuple[int, int] | None:
        if value is None:
            return None
        if (
            isinstance(value, list)
            and len(value) == 2
            and all(type(v) is int for v in value)
            and value[0] < value[1]
        ):
            return value[0], value[1]
        raise self.fail(path, "write the lowest and the highest value, such as [0, 4]")

    def _number(self, data: dict, key: str, default: int, least: int = 1) -> int:
        value = data.get(key, default)
        if type(value) is not int or value < least:
            raise self.fail([key], f"write a whole number of at least {least}")
        return value
