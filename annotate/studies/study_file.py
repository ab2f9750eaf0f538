"""Reading a study from YAML, so that a mistake is named with its line."""

from pathlib import Path
from typing import Any

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
    Texts,
    Training,
    template_names,
)
from annotate.studies.yaml_lines import DefinitionError, Reader, Step

__all__ = ["DefinitionError", "load_definition", "read_definition"]

PROTOCOLS = ("likert", "pairwise", "checklist")
ASSIGNMENTS = ("planned", "open")
PAIRINGS = ("all", "ring")
KINDS = ("gold", "repeat", "twin")
DEGRADATIONS = (
    "shuffled",
    "foreign_shot",
    "repeated_shot",
    "blurred",
    "swapped_characters",
)
KEYS = {
    "title",
    "protocol",
    "assignment",
    "redundancy",
    "subset",
    "languages",
    "rounds",
    "session_size",
    "cap",
    "lease_minutes",
    "seed",
    "consent",
    "instructions",
    "scale",
    "stories",
    "pairs",
    "questions",
    "training",
    "checks",
    "rules",
    "adaptive",
    "presentation",
}
QUESTION_KEYS = {
    "key",
    "title",
    "text",
    "help",
    "anchors",
    "metric",
    "scale",
    "allow_tie",
    "stories",
}
LABEL_KEYS = {"key", "category", "title", "text", "help", "metric", "stories"}
# What can be told of an annotator by ticks alone.
CHECKLIST_SIGNALS = (
    "seconds_per_unit",
    "seconds_per_shot",
    "flat",
    "repeat",
    "agreement",
    "skips",
    "no_time",
    "impossible_time",
)


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
            name, None, f"no template of that name ({known}) and no readable file"
        ) from error
    except UnicodeDecodeError as error:
        raise DefinitionError(name, None, "the file is not in UTF-8") from error
    return read_definition(text, file=path.name, name=path.stem)


def read_definition(text: str, *, file: str, name: str) -> StudyDefinition:
    """Read a definition from YAML text; `file` stands in messages.

    Raises
    ------
    DefinitionError
        The text is no YAML, or a value is not what was expected.
    """
    return _StudyReader(file, text).study(name)


class _StudyReader(Reader):
    """Reads the parts of a study."""

    def study(self, name: str) -> StudyDefinition:
        data = self.data
        if not isinstance(data, dict):
            raise DefinitionError(self.file, 1, "a study file is a mapping of keys")
        self.known(data, KEYS, [])
        if data.get("protocol") not in PROTOCOLS:
            # Without it nobody can say what a question needs.
            self.one_of(data.get("protocol"), PROTOCOLS, ["protocol"])
            self.finish()
        definition = self._study(name, data, data["protocol"])
        self.finish()
        return definition

    def _study(self, name: str, data: dict, protocol: str) -> StudyDefinition:
        questions = self.attempt((), self._questions, data, protocol)
        consent = self.mapping(data.get("consent"), ["consent"])
        version = self.text(consent.pop("version", "1"), ["consent", "version"])
        return StudyDefinition(
            name=name,
            title=self.text(data.get("title"), ["title"]) or name,
            protocol=protocol,
            questions=questions,
            redundancy=self.number(data, "redundancy", 3),
            session_size=self.number(data, "session_size", 7),
            rounds=self.number(data, "rounds", 1),
            lease_minutes=self.number(data, "lease_minutes", 30),
            seed=self.number(data, "seed", 0, least=0),
            assignment=self.one_of(
                data.get("assignment", "planned"), ASSIGNMENTS, ["assignment"]
            ),
            cap=self.number(data, "cap", 1) if data.get("cap") is not None else None,
            languages=self._languages(data.get("languages")),
            pairs=self.attempt("all", self._pairs, data.get("pairs"), protocol),
            stories=self._sample(data.get("stories"), ["stories"]),
            subset=self.attempt(None, self._subset, data.get("subset")),
            training=self.attempt(
                None, self._training, data.get("training"), protocol, questions
            ),
            checks=self._checks(data.get("checks"), protocol, questions),
            rules=self.attempt((), self._rules, data.get("rules"), protocol),
            adaptive=self.attempt(
                None, self._adaptive, data.get("adaptive"), protocol, questions
            ),
            consent=self.texts(consent, ["consent"]),
            consent_version=version,
            instructions=self.texts(data.get("instructions"), ["instructions"]),
            presentation=self._presentation(data.get("presentation")),
        )

    def _presentation(self, data: Any) -> Presentation:
        data = self.mapping(data, ["presentation"])
        usual = vars(Presentation())
        self.known(data, set(usual), ["presentation"])
        return Presentation(
            **{
                key: self.switch(data.get(key, value), value, ["presentation", key])
                for key, value in usual.items()
            }
        )

    # Questions

    def _questions(self, data: dict, protocol: str) -> tuple[QuestionDefinition, ...]:
        scale = self.scale(data.get("scale"), ["scale"])
        if scale and protocol == "checklist":
            self.refuse(["scale"], "a checklist has boxes instead of a scale", None)
        questions = data.get("questions")
        if not isinstance(questions, list) or not questions:
            raise self.fail(["questions"], "write a list with at least one question")
        read = []
        for index, question in enumerate(questions):
            one = self.attempt(None, self._question, question, index, protocol, scale)
            if one is not None and one.key in [other.key for other in read]:
                path: Step = ["questions", index, "key"]
                self.refuse(path, f"{one.key} is used twice", None)
            elif one is not None:
                read.append(one)
        return tuple(read)

    def _question(
        self, data: Any, index: int, protocol: str, scale: tuple[int, int] | None
    ) -> QuestionDefinition:
        path: Step = ["questions", index]
        if not isinstance(data, dict):
            raise self.fail(path, "a question is a mapping with key, title and text")
        is_label = protocol == "checklist"
        self.known(data, LABEL_KEYS if is_label else QUESTION_KEYS, path)
        key = data.get("key")
        if (
            not isinstance(key, str)
            or not key.replace("_", "").replace("-", "").isalnum()
        ):
            told = "write letters, digits, _ and - only"
            # No other question has this key.
            key = self.refuse([*path, "key"], told, f" {index}")
        own = self.scale(data.get("scale"), [*path, "scale"]) or scale
        if protocol == "likert" and own is None and not self._scale_is_wrong(path):
            told = "a Likert question needs a scale, such as [0, 4]"
            self.refuse(path, told, None)
        titles = self.texts(data.get("title"), [*path, "title"])
        return QuestionDefinition(
            key=key,
            titles=titles or {"en": key.replace("_", " ").capitalize()},
            texts=self.texts(data.get("text"), [*path, "text"]),
            help_texts=self.texts(data.get("help"), [*path, "help"]),
            anchors=self._anchors(data.get("anchors"), own, [*path, "anchors"]),
            scale=own if protocol == "likert" else None,
            allow_tie=self.one_of(
                data.get("allow_tie", True), (True, False), [*path, "allow_tie"]
            ),
            metric=self.text(data.get("metric"), [*path, "metric"]),
            stories=self._tags(data.get("stories"), [*path, "stories"]),
            categories=self.texts(data.get("category"), [*path, "category"]),
        )

    def _anchors(
        self, data: Any, scale: tuple[int, int] | None, path: Step
    ) -> dict[str, Texts]:
        anchors = {}
        for value, texts in self.mapping(data, path).items():
            inside = scale and type(value) is int and scale[0] <= value <= scale[1]
            if not inside and not self._scale_is_wrong(path[:2]):
                self.refuse([*path, value], "is no value of the scale", None)
            anchors[str(value)] = self.texts(texts, [*path, value])
        return anchors

    def _scale_is_wrong(self, question: Step) -> bool:
        return self.is_wrong("scale") or self.is_wrong(*question, "scale")

    def _tags(self, data: Any, path: Step) -> dict[str, tuple[str, ...]]:
        return {
            str(tag): self.names(values, [*path, tag])
            for tag, values in self.mapping(data, path).items()
        }

    # What is judged

    def _languages(self, data: Any) -> dict[str, int] | None:
        data = self.mapping(data, ["languages"])
        return {
            str(name): self.number(data, name, 1, path=["languages", name])
            for name in data
        } or None

    def _pairs(
        self, data: Any, protocol: str
    ) -> str | tuple[tuple[str, str], ...] | CellPairs:
        if data is None:
            return "all"
        if protocol != "pairwise":
            raise self.fail(["pairs"], "only a pairwise study has pairs")
        if isinstance(data, str):
            return self.one_of(data, PAIRINGS, ["pairs"])
        if isinstance(data, dict):
            self.known(data, {"number", "by"}, ["pairs"])
            names = self.names(data.get("by"), ["pairs", "by"])
            number = self.number(data, "number", 1, path=["pairs", "number"])
            return CellPairs(number, names)
        if not isinstance(data, list) or not data:
            raise self.fail(
                ["pairs"],
                "write all, ring, a list of pairs such as [[A, B], [A, C]], "
                "or {number: 10, by: [role, angle]}",
            )
        for index, pair in enumerate(data):
            two = isinstance(pair, list) and len(pair) == 2
            if not two or pair[0] == pair[1]:
                raise self.fail(["pairs", index], "write two methods, such as [A, B]")
            self.names(pair, ["pairs", index])
        return tuple((str(a), str(b)) for a, b in data)

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
        data = self.mapping(data, ["subset"])
        self.known(data, {"redundancy", "stories"}, ["subset"])
        stories = self._sample(data.get("stories"), ["subset", "stories"])
        if stories is None:
            raise self.fail(["subset"], "say how many stories: {stories: 10, ...}")
        redundancy = self.number(data, "redundancy", 3, path=["subset", "redundancy"])
        return Subset(redundancy, stories)

    # Quality

    def _training(
        self, data: Any, protocol: str, questions: tuple[QuestionDefinition, ...]
    ) -> Training | None:
        if data is None:
            return None
        if protocol == "checklist":
            told = "a checklist has no known answers to train with; leave it out"
            raise self.fail(["training"], told)
        data = self.mapping(data, ["training"])
        self.known(data, {"units", "pass_mark", "attempts"}, ["training"])
        path: Step = ["training", "units"]
        units = self._known_units(data.get("units"), path, questions)
        if not units and not self.is_wrong(*path):
            self.refuse(path, "write at least one unit", None)
        return Training(
            units,
            self.share(data, "pass_mark", 0.7, ["training"]),
            self.number(data, "attempts", 2, path=["training", "attempts"]),
        )

    def _checks(
        self, data: Any, protocol: str, questions: tuple[QuestionDefinition, ...]
    ) -> Checks:
        data = self.mapping(data, ["checks"])
        keys = {"per_session", "kinds", "degradations", "share", "gold"}
        self.known(data, keys, ["checks"])
        path: Step = ["checks"]
        kinds = KINDS
        if protocol == "checklist":
            kinds = ("repeat",)
            for key in ("degradations", "gold"):
                if data.get(key):
                    told = "a checklist has only repeats: no box is right beforehand"
                    data[key] = self.refuse([*path, key], told, None)
        return Checks(
            self.number(data, "per_session", 0, least=0, path=[*path, "per_session"]),
            self.several(data.get("kinds", list(kinds)), kinds, [*path, "kinds"]),
            self.several(
                data.get("degradations") or [], DEGRADATIONS, [*path, "degradations"]
            ),
            self.share(data, "share", 0.2, path),
            self._known_units(data.get("gold"), [*path, "gold"], questions),
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
        data = self.mapping(data, path)
        self.known(data, {"story", "method", "methods", "expected", "feedback"}, path)
        methods = data.get("methods", [data["method"]] if "method" in data else [])
        if not data.get("story") or not isinstance(methods, list) or not methods:
            raise self.fail(path, "name the story, and method (or methods: [A, B])")
        expected = self.mapping(data.get("expected"), [*path, "expected"])
        by_key = {question.key: question for question in questions}
        for key, value in expected.items():
            at: Step = [*path, "expected", key]
            if self.is_wrong("questions") and key not in by_key:
                continue
            if key not in by_key:
                raise self.fail(at, f"no such question; there are {', '.join(by_key)}")
            expected[key] = self._expected(value, by_key[key], methods, at)
        if not expected:
            raise self.fail(path, "say which answers are expected")
        feedback = self.texts(data.get("feedback"), [*path, "feedback"])
        names = self.names(methods, [*path, "methods"])
        story = self.text(data["story"], [*path, "story"])
        return KnownUnit(story, names, expected, feedback)

    def _expected(
        self, value: Any, question: QuestionDefinition, methods: list, path: Step
    ) -> tuple[int, int] | str:
        if question.scale is None:
            return self.one_of(value, [*map(str, methods), "tie"], path)
        limits = value if isinstance(value, list) else [value, value]
        low, high = question.scale
        fits = len(limits) == 2 and all(type(v) is int for v in limits)
        if not fits or not low <= limits[0] <= limits[1] <= high:
            raise self.fail(path, f"write a value or a range within {low} to {high}")
        return limits[0], limits[1]

    def _rules(self, data: Any, protocol: str) -> list:
        try:
            rules = parse_rules(data)
        except RuleError as error:
            raise self.fail(["rules", *error.path], error.message) from error
        if protocol == "checklist" and isinstance(data, list):
            for index, rule in enumerate(rules):
                path: Step = ["rules", index, "signal"]
                self.one_of(rule.signal, CHECKLIST_SIGNALS, path)
        return data or []

    def _adaptive(
        self, data: Any, protocol: str, questions: tuple[QuestionDefinition, ...]
    ) -> Adaptive | None:
        if data is None:
            return None
        path: Step = ["adaptive"]
        data = self.mapping(data, path)
        self.known(data, {"top", "confidence", "least", "explore", "question"}, path)
        if protocol != "pairwise":
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
        return Adaptive(
            self.number(data, "top", 3, path=[*path, "top"]),
            self.share(data, "confidence", 0.95, path),
            self.number(data, "least", 30, path=[*path, "least"]),
            self.share(data, "explore", 0.2, path),
            question,
        )
