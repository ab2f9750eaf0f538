"""Reading a study from YAML, so that a mistake is named with its line."""

from dataclasses import fields
from pathlib import Path
from typing import Any

from analysis.problems import InputError
from analysis.rankings.composite_weights import (
    Composite,
    check_composites,
    composites_in,
)
from annotate.kinds.base import Kind
from annotate.kinds.registry import KINDS
from annotate.models.studies import LETTERS
from annotate.quality_rules.rules import RuleError, parse_rules
from annotate.studies.definition import (
    TEMPLATES,
    Adaptive,
    CellPairs,
    Checks,
    KnownUnit,
    Presentation,
    QuestionDefinition,
    StorySample,
    StudyDefinition,
    Subset,
    Training,
    template_names,
)
from annotate.studies.yaml_lines import DefinitionError, Mapped, Reader, Step

__all__ = ["DefinitionError", "load_definition", "read_definition"]

ASSIGNMENTS = ("planned", "open")
SETS = ("all", "ring")
DEGRADATIONS = (
    "shuffled",
    "foreign_shot",
    "repeated_shot",
    "blurred",
    "swapped_characters",
)
# What a definition knows by another name, or by more than one.
KEYS = {one.name for one in fields(StudyDefinition)} - {
    "name",
    "outputs_at_once",
    "consent_version",
} | {"kind", "outputs", "scale", "pairs"}
QUESTION_KEYS = {"key", "kind", "title", "text", "help", "metric", "stories"}


def load_definition(name_or_path: str | Path) -> StudyDefinition:
    """Read a template by name or a study file by path."""
    name = str(name_or_path)
    path = TEMPLATES / f"{name}.yaml" if name in template_names() else Path(name)
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        known = ", ".join(template_names())
        raise DefinitionError(
            name, None, f"no template of that name ({known}) and no readable file"
        ) from error
    except UnicodeDecodeError as error:
        raise DefinitionError(name, None, "the file is not in UTF-8") from error
    return read_definition(text, file=path.name, name=path.stem)


def read_definition(text: str, *, file: str, name: str) -> StudyDefinition:
    """Read a definition from YAML text; `file` stands in messages."""
    return _StudyReader(file, text).study(name)


class _StudyReader(Reader):
    """Reads the parts of a study."""

    def study(self, name: str) -> StudyDefinition:
        data = self.data
        if not isinstance(data, dict):
            raise DefinitionError(self.file, 1, "a study file is a mapping of keys")
        self.known(data, KEYS, [])
        before = len(self.problems)
        kinds = self._kinds(data)
        if len(self.problems) > before:
            # Without its kind nobody can say what a question needs.
            self.finish()
        definition = self._study(name, data, kinds)
        self.finish()
        return definition

    def _kinds(self, data: Mapped) -> list[Kind]:
        """Return the kinds of the questions: their own, or what the study says."""
        listed = data.get("questions")
        named: list[tuple[Any, Step]] = [
            (one["kind"], ["questions", index, "kind"])
            for index, one in enumerate(listed if isinstance(listed, list) else [])
            if isinstance(one, dict) and "kind" in one
        ]
        if "kind" in data or not named or len(named) < len(listed or []):
            named.insert(0, (data.get("kind"), ["kind"]))
        return [KINDS[self.one_of(name, list(KINDS), path)] for name, path in named]

    def _outputs(self, data: Mapped, kinds: list[Kind]) -> int:
        """Return how many outputs are shown at once, which must suit every kind."""
        least, most = max(k.least for k in kinds), min(k.most for k in kinds)
        names = ", ".join(dict.fromkeys(kind.name for kind in kinds))
        if least > most:
            told = f"{names}: not asked of equally many outputs; make it two studies"
            return self.refuse(["questions"], told, least)
        number = self.number(data, "outputs", least)
        if not least <= number <= most:
            span = f"{least} to {most}" if least < most else str(least)
            return self.refuse(["outputs"], f"write {span} for {names}", least)
        return number

    def _study(self, name: str, data: Mapped, kinds: list[Kind]) -> StudyDefinition:
        outputs = self._outputs(data, kinds)
        questions = self.attempt((), self._questions, data, kinds)
        consent = self.mapping(data.get("consent"), ["consent"])
        version = self.text(consent.pop("version", "1"), ["consent", "version"])
        return StudyDefinition(
            name=name,
            title=self.text(data.get("title"), ["title"]) or name,
            outputs_at_once=outputs,
            questions=questions,
            **self.plain(StudyDefinition, data, []),
            assignment=self.one_of(
                data.get("assignment", "planned"), ASSIGNMENTS, ["assignment"]
            ),
            cap=self.number(data, "cap", 1) if data.get("cap") is not None else None,
            languages=self._languages(data.get("languages")),
            sets=self.attempt("all", self._sets, data, outputs),
            stories=self._sample(data.get("stories"), ["stories"]),
            subset=self.attempt(None, self._subset, data.get("subset")),
            training=self.attempt(
                None, self._training, data.get("training"), kinds, questions
            ),
            checks=self._checks(data.get("checks"), kinds, questions),
            rules=self.attempt((), self._rules, data.get("rules"), kinds),
            adaptive=self.attempt(
                None, self._adaptive, data.get("adaptive"), outputs, questions
            ),
            consent=self.texts(consent, ["consent"]),
            consent_version=version,
            instructions=self.texts(data.get("instructions"), ["instructions"]),
            presentation=self._presentation(data.get("presentation")),
            composites=self._composites(questions),
        )

    def _presentation(self, data: Any) -> Presentation:
        path: Step = ["presentation"]
        data = self.part(data, vars(Presentation()), path)
        switches = {key: data[key] for key in data if key != "must_see"}
        shown = self.plain(Presentation, switches, path)
        seconds = self.seconds(data, "must_see", Presentation.must_see, path)
        return Presentation(**shown | {"must_see": seconds})

    # Questions

    def _questions(
        self, data: Mapped, kinds: list[Kind]
    ) -> tuple[QuestionDefinition, ...]:
        scale = self.scale(data.get("scale"), ["scale"])
        if scale and not any("scale" in kind.keys for kind in kinds):
            self.refuse(["scale"], f"a {kinds[0].name} has no scale", None)
        questions = data.get("questions")
        if not isinstance(questions, list) or not questions:
            raise self.fail(["questions"], "write a list with at least one question")
        read: list[QuestionDefinition] = []
        for index, question in enumerate(questions):
            one = self.attempt(None, self._question, question, index, scale)
            if one is not None and one.key in [other.key for other in read]:
                path: Step = ["questions", index, "key"]
                self.refuse(path, f"{one.key} is used twice", None)
            elif one is not None:
                read.append(one)
        return tuple(read)

    def _question(
        self, data: Any, index: int, scale: tuple[int, int] | None
    ) -> QuestionDefinition:
        path: Step = ["questions", index]
        if not isinstance(data, dict):
            raise self.fail(path, "a question is a mapping with key, title and text")
        kind = KINDS[data.get("kind", self.data.get("kind"))]
        self.known(data, QUESTION_KEYS | kind.keys, path)
        key = data.get("key")
        if (
            not isinstance(key, str)
            or not key.replace("_", "").replace("-", "").isalnum()
        ):
            told = "write letters, digits, _ and - only"
            # No other question has this key.
            key = self.refuse([*path, "key"], told, f" {index}")
        titles = self.texts(data.get("title"), [*path, "title"])
        return QuestionDefinition(
            key=key,
            kind=kind.name,
            titles=titles or {"en": key.replace("_", " ").capitalize()},
            texts=self.texts(data.get("text"), [*path, "text"]),
            help_texts=self.texts(data.get("help"), [*path, "help"]),
            metric=self.text(data.get("metric"), [*path, "metric"]),
            stories=self._tags(data.get("stories"), [*path, "stories"]),
            degradation=self._degradation(
                data.get("degradation"), [*path, "degradation"]
            ),
            **kind.read(self, data, path, scale),
        )

    def _degradation(self, value: Any, path: Step) -> str:
        return "" if value is None else self.one_of(value, DEGRADATIONS, path)

    def _tags(self, data: Any, path: Step) -> dict[str, tuple[str, ...]]:
        return {
            str(tag): self.names(values, [*path, tag])
            for tag, values in self.mapping(data, path).items()
        }

    def _composites(
        self, questions: tuple[QuestionDefinition, ...]
    ) -> tuple[Composite, ...]:
        assert self.root is not None
        block = next((v for k, v in self.root.value if k.value == "composites"), None)
        if block is None or self.data["composites"] is None:
            return ()
        keys = {
            key
            for one in questions
            for key in KINDS[one.kind].stored_keys(one.key, one.scale)
        }
        try:
            found = composites_in(block, self.file)
            check_composites(found, questions=keys, file=self.file)
        except InputError as error:
            for one in error.problems:
                told = [one.column, one.value, f"expected {one.expected}"]
                reason = ": ".join(filter(None, told))
                problem = DefinitionError(self.file, one.line, reason, ["composites"])
                self.problems.append(problem)
            return ()
        return found

    # What is judged

    def _languages(self, data: Any) -> dict[str, int] | None:
        data = self.mapping(data, ["languages"])
        return {
            str(name): self.number(data, name, 1, path=["languages", name])
            for name in data
        } or None

    def _sets(
        self, data: Mapped, outputs: int
    ) -> str | tuple[tuple[str, ...], ...] | CellPairs:
        """Return which methods are shown together, as `pairs` or `sets` say."""
        for key, least, most in (("pairs", 2, 2), ("sets", 3, len(LETTERS))):
            if data.get(key) is None:
                continue
            if least <= outputs <= most:
                return self._listed_sets(data[key], key, outputs)
            some = "two" if key == "pairs" else "three to five"
            told = f"only a study of {some} outputs at once has {key}"
            raise self.fail([key], told)
        return "all"

    def _listed_sets(
        self, data: Any, key: str, outputs: int
    ) -> str | tuple[tuple[str, ...], ...] | CellPairs:
        if isinstance(data, str):
            return str(self.one_of(data, SETS, [key]))
        if isinstance(data, dict) and outputs == 2:
            self.known(data, {"number", "by"}, [key])
            names = self.names(data.get("by"), [key, "by"])
            number = self.number(data, "number", 1, path=[key, "number"])
            return CellPairs(number, names)
        methods = ", ".join(LETTERS.upper()[:outputs])
        if not isinstance(data, list) or not data:
            told = f"write all, ring, or a list of {key} such as [[{methods}]]"
            if outputs == 2:
                told += ", or {number: 10, by: [role, angle]}"
            raise self.fail([key], told)
        for index, one in enumerate(data):
            distinct = set(map(str, one)) if isinstance(one, list) else set()
            if not len(distinct) == outputs == len(one):
                told = f"write {outputs} methods, such as [{methods}]"
                raise self.fail([key, index], told)
            self.names(one, [key, index])
        return tuple(tuple(map(str, one)) for one in data)

    def _sample(self, data: Any, path: Step) -> StorySample | None:
        if data is None:
            return None
        if not isinstance(data, dict):
            data = {"number": data}
        self.known(data, {"number", "by"}, path)
        number = self.number(data, "number", 1, path=path)
        return StorySample(number, self.text(data.get("by"), [*path, "by"]))

    def _subset(self, data: Any) -> Subset | None:
        if data is None:
            return None
        data = self.part(data, ("redundancy", "stories"), ["subset"])
        stories = self._sample(data.get("stories"), ["subset", "stories"])
        if stories is None:
            raise self.fail(["subset"], "say how many stories: {stories: 10, ...}")
        redundancy = self.number(data, "redundancy", 3, path=["subset", "redundancy"])
        return Subset(redundancy, stories)

    # Quality

    def _training(
        self, data: Any, kinds: list[Kind], questions: tuple[QuestionDefinition, ...]
    ) -> Training | None:
        if data is None:
            return None
        if not any(kind.has_known_answers for kind in kinds):
            told = f"a {kinds[0].name} has no known answers to train with; leave it out"
            raise self.fail(["training"], told)
        data = self.part(data, vars(Training()), ["training"])
        path: Step = ["training", "units"]
        units = self._known_units(data.get("units"), path, questions)
        training = Training(units, **self.plain(Training, data, ["training"]))
        if not (units or training.twins or self.is_wrong("training")):
            self.refuse(path, "write at least one unit, or twins: 3", None)
        elif training.twins and not any(one.degradation for one in questions):
            told = "no question says which degradation makes its answer worse"
            self.refuse(["training", "twins"], told, None)
        return training

    def _checks(
        self, data: Any, kinds: list[Kind], questions: tuple[QuestionDefinition, ...]
    ) -> Checks:
        path: Step = ["checks"]
        data = self.part(data, vars(Checks()), path)
        controls = tuple(dict.fromkeys(c for kind in kinds for c in kind.controls))
        for key, control in (("degradations", "twin"), ("gold", "gold")):
            if data.get(key) and control not in controls:
                told = f"a {kinds[0].name} has only {', '.join(controls)}"
                data[key] = self.refuse([*path, key], told, None)
        kinds_given = data.get("kinds", list(controls))
        degradations = data.get("degradations") or []
        return Checks(
            **self.plain(Checks, data, path),
            kinds=self.several(kinds_given, controls, [*path, "kinds"]),
            degradations=self.several(
                degradations, DEGRADATIONS, [*path, "degradations"]
            ),
            gold=self._known_units(data.get("gold"), [*path, "gold"], questions),
        )

    def _known_units(
        self, data: Any, path: Step, questions: tuple[QuestionDefinition, ...]
    ) -> tuple[KnownUnit, ...]:
        if data is None:
            return ()
        if not isinstance(data, list):
            return self.refuse(path, "write a list of units", ())
        units = [
            self.attempt(None, self._known_unit, unit, [*path, index], questions)
            for index, unit in enumerate(data)
        ]
        return tuple(unit for unit in units if unit is not None)

    def _known_unit(
        self, data: Any, path: Step, questions: tuple[QuestionDefinition, ...]
    ) -> KnownUnit:
        keys = ("story", "method", "methods", "expected", "feedback")
        data = self.part(data, keys, path)
        methods = data.get("methods", [data["method"]] if "method" in data else [])
        if (
            data.get("story") in (None, "")
            or not isinstance(methods, list)
            or not methods
        ):
            raise self.fail(path, "name the story, and method (or methods: [A, B])")
        expected = self.mapping(data.get("expected"), [*path, "expected"])
        by_key = {question.key: question for question in questions}
        for key, value in expected.items():
            at: Step = [*path, "expected", key]
            if self.is_wrong("questions") and key not in by_key:
                continue
            if key not in by_key:
                raise self.fail(at, f"no such question; there are {', '.join(by_key)}")
            one = by_key[key]
            kind = KINDS[one.kind]
            if not kind.has_known_answers:
                raise self.fail(at, f"no answer to a {kind.name} is known beforehand")
            expected[key] = kind.expected(self, value, one.scale, methods, at)
        if not expected:
            raise self.fail(path, "say which answers are expected")
        feedback = self.texts(data.get("feedback"), [*path, "feedback"])
        names = self.names(methods, [*path, "methods"])
        story = self.text(data["story"], [*path, "story"])
        return KnownUnit(story, names, expected, feedback)

    def _rules(self, data: Any, kinds: list[Kind]) -> Any:
        try:
            rules = parse_rules(data)
        except RuleError as error:
            raise self.fail(["rules", *error.path], error.message) from error
        if isinstance(data, list):
            known = tuple(dict.fromkeys(s for kind in kinds for s in kind.signals))
            for index, rule in enumerate(rules):
                self.one_of(rule.signal, known, ["rules", index, "signal"])
        return data or []

    def _adaptive(
        self, data: Any, outputs: int, questions: tuple[QuestionDefinition, ...]
    ) -> Adaptive | None:
        if data is None:
            return None
        path: Step = ["adaptive"]
        data = self.part(data, vars(Adaptive()), path)
        if outputs != 2:
            raise self.fail(path, "only pairs can be chosen adaptively")
        if self.data.get("assignment") != "open":
            raise self.fail(
                path,
                "pairs are chosen as annotators ask for them: write assignment: open",
            )
        keys = [question.key for question in questions]
        question = data.get("question", keys[0] if keys else "")
        if not self.is_wrong("questions"):
            question = self.one_of(question, keys, [*path, "question"])
        return Adaptive(**self.plain(Adaptive, data, path), question=question)
