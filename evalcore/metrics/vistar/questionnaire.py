"""Questionnaires of hierarchical weighted P/N questioning: reading and generation.

::

    {"prompt_id": "p1", "prompt": "A girl in Hanfu in a neon street", "levels": [
      {"level": "L1", "weight": 0.2, "questions": [
        {"id": "girl", "positive": "Is there a girl?",
         "negative": "Is the street empty of people?", "weight": 1.0}]}, ...]}

An optional `author` says who wrote it: `name`, and perhaps `written_on` (a date) and
`prompt_version` (of the instruction to a judge).

VISTAR (sections 3.4.1 and 3.4.2) describes their content, but prints none: names and
form are ours, as is the instruction of `plumbline write_questionnaires` (appendix E is
missing).
"""

import hashlib
import json
import math
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from evalcore.metrics.base import Ask
from evalcore.metrics.llm_judge.asking import Refusal, ask_judge
from evalcore.metrics.llm_judge.questions import JudgeQuestion, prompts
from evalcore.metrics.vistar.prompt_language import ANGLES, ROLES

LEVELS = {
    "L1": "core bearers",
    "L2": "individual attributes",
    "L3": "interplay and fusion",
    "L4": "overall impression",
}
# Keys of an author; only the first is required.
AUTHOR = ("name", "written_on", "prompt_version")
TOLERANCE = 1e-3  # tolerance of a sum of weights
EXACT = 1e-12  # a sum this close to 1 is not divided by
SHOWN = 40  # longest value in a message, in characters


@dataclass(frozen=True)
class QuestionPair:
    """A question to be answered yes and one to be answered no by a correct picture."""

    id: str
    positive: str
    negative: str
    weight: float


@dataclass(frozen=True)
class QuestionLevel:
    """One of the four levels, with at least one pair; `weight` is its share."""

    level: str
    weight: float
    questions: tuple[QuestionPair, ...]


@dataclass(frozen=True)
class HierarchicalQuestionnaire:
    """A prompt's checked questionnaire; all weights sum to 1."""

    prompt_id: str
    prompt: str
    levels: tuple[QuestionLevel, ...]
    author: Mapping[str, str] = field(default_factory=dict)  # empty if unknown

    @property
    def pairs(self) -> list[QuestionPair]:
        """Return all pairs of questions in order."""
        return [pair for level in self.levels for pair in level.questions]

    def as_json(self) -> dict[str, Any]:
        """Return it as JSON."""
        return {
            "prompt_id": self.prompt_id,
            "prompt": self.prompt,
            **({"author": dict(self.author)} if self.author else {}),
            "levels": [
                {
                    "level": level.level,
                    "weight": level.weight,
                    "questions": [dict(vars(pair)) for pair in level.questions],
                }
                for level in self.levels
            ],
        }


class QuestionnaireError(ValueError):
    """A questionnaire has the wrong form; `problems` lists every error.

    Each problem begins with its place as a JSON path: `$.levels[0].weight: ...`.
    """

    def __init__(self, problems: Sequence[str]) -> None:
        self.problems = tuple(problems)
        count = f"{len(problems)} problems: " if len(problems) > 1 else ""
        super().__init__(f"{count}{'; '.join(problems)}")


def decode(text: str) -> Any:
    try:
        return json.loads(text, object_pairs_hook=_without_repeats)
    except RecursionError as error:
        raise QuestionnaireError(["$: nested too deeply"]) from error
    except json.JSONDecodeError as error:
        raise QuestionnaireError(
            [f"$: not JSON (line {error.lineno}, column {error.colno}: {error.msg})"]
        ) from error


def _without_repeats(items: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object; JSON's parser would silently keep the last of equal keys."""
    values = dict(items)
    if len(values) < len(items):
        keys = [key for key, _value in items]
        twice = sorted({key for key in keys if keys.count(key) > 1})
        raise QuestionnaireError([f"$: an object has the key {twice[0]!r} twice"])
    return values


def read_questionnaire(data: object) -> HierarchicalQuestionnaire:
    """Return a questionnaire from decoded JSON, with weights that sum to 1.

    Weights of the levels, and of the pairs of each, must sum to 1 within 0.001 and are
    divided by their sum. A level without questions is left out, and the others share
    its weight.
    """
    check = _Check()
    keys = ("prompt_id", "prompt", "levels")
    fields = check.fields(data, "$", keys, ("author",))
    prompt_id = check.text(fields, "prompt_id", "$")
    prompt = check.text(fields, "prompt", "$")
    author = check.author(fields)
    levels = [
        check.level(level, path) for path, level in check.items(fields, "levels", "$")
    ]
    check.once("$.levels", "the level", (level.level for level in levels))
    check.once("$.levels", "the id", (q.id for lev in levels for q in lev.questions))
    if "levels" in fields:
        check.sum("$.levels", [level.weight for level in levels])
    used = [level for level in levels if level.questions]
    total = sum(level.weight for level in used)
    if not check.problems and not total:
        check.problems.append("$.levels: no level with questions has a weight above 0")
    if check.problems:
        raise QuestionnaireError(check.problems)
    return HierarchicalQuestionnaire(
        prompt_id,
        prompt,
        tuple(
            QuestionLevel(level.level, share, level.questions)
            for level, share in sorted(
                zip(used, _shares([lev.weight for lev in used]), strict=True),
                key=lambda one: one[0].level,
            )
        ),
        author,
    )


def _shares(weights: Sequence[float]) -> list[float]:
    """Return the weights divided by their sum, or unchanged if it is 1."""
    total = math.fsum(weights)
    return list(weights) if abs(total - 1) <= EXACT else [w / total for w in weights]


class _Check:
    """Reader of decoded JSON that collects all problems."""

    def __init__(self) -> None:
        self.problems: list[str] = []

    def wrong(self, path: str, wanted: str, found: object) -> None:
        excerpt = json.dumps(found, ensure_ascii=False, default=repr)
        excerpt = excerpt.encode("utf-8", "backslashreplace").decode()
        if len(excerpt) > SHOWN:
            excerpt = f"{excerpt[:SHOWN]}..."
        self.problems.append(f"{path}: expected {wanted}, found {excerpt}")

    def fields(
        self,
        data: object,
        path: str,
        keys: Sequence[str],
        optional: Sequence[str] = (),
    ) -> Mapping[str, object]:
        """Return an object's fields: all of `keys`, and perhaps `optional` ones."""
        if not isinstance(data, dict):
            self.wrong(path, f"an object with {', '.join(keys)}", data)
            return {}
        allowed = (*keys, *optional)
        known = ", ".join(allowed)
        for key in data:
            if key not in allowed:
                self.problems.append(f"{path}.{key}: unknown key; known are {known}")
        for key in keys:
            if key not in data:
                self.problems.append(f"{path}.{key}: missing")
        return data

    def text(self, fields: Mapping[str, object], key: str, path: str) -> str:
        value = fields.get(key, "")
        if isinstance(value, str) and value.strip():
            if value.encode("utf-8", "ignore").decode() == value:
                return value.strip()
            self.wrong(f"{path}.{key}", "whole characters", value)
        elif key in fields:
            self.wrong(f"{path}.{key}", "a text that is not empty", value)
        return ""

    def author(self, fields: Mapping[str, object]) -> dict[str, str]:
        """Return who wrote the questionnaire; empty if it does not say."""
        if "author" not in fields:
            return {}
        path = "$.author"
        said = self.fields(fields["author"], path, AUTHOR[:1], AUTHOR[1:])
        return {key: self.text(said, key, path) for key in AUTHOR if key in said}

    def weight(self, fields: Mapping[str, Any], path: str) -> float:
        value = fields.get("weight", math.nan)
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if number and 0 <= value <= 1 + TOLERANCE:
            return float(value)
        if "weight" in fields:
            self.wrong(f"{path}.weight", "a number from 0 to 1", value)
        return math.nan

    def items(
        self, fields: Mapping[str, object], key: str, path: str
    ) -> Iterator[tuple[str, object]]:
        value = fields.get(key, [])
        if not isinstance(value, list):
            self.wrong(f"{path}.{key}", "a list", value)
            return
        for index, item in enumerate(value):
            yield f"{path}.{key}[{index}]", item

    def level(self, data: object, path: str) -> QuestionLevel:
        fields = self.fields(data, path, ("level", "weight", "questions"))
        name = self.text(fields, "level", path)
        if name and name not in LEVELS:
            self.wrong(f"{path}.level", f"one of {', '.join(LEVELS)}", name)
        weight = self.weight(fields, path)
        pairs = [
            self.pair(item, where)
            for where, item in self.items(fields, "questions", path)
        ]
        weights = [pair.weight for pair in pairs]
        if not pairs or not self.sum(f"{path}.questions", weights):
            return QuestionLevel(name, weight, tuple(pairs))
        return QuestionLevel(
            name,
            weight,
            tuple(
                QuestionPair(pair.id, pair.positive, pair.negative, share)
                for pair, share in zip(pairs, _shares(weights), strict=True)
            ),
        )

    def pair(self, data: object, path: str) -> QuestionPair:
        keys = ("id", "positive", "negative", "weight")
        fields = self.fields(data, path, keys)
        id, positive, negative = (self.text(fields, key, path) for key in keys[:3])
        if positive and positive == negative:
            self.wrong(f"{path}.negative", "a question other than `positive`", negative)
        return QuestionPair(id, positive, negative, self.weight(fields, path))

    def once(self, path: str, what: str, names: Iterable[str]) -> None:
        counts: dict[str, int] = {}
        for name in filter(None, names):
            counts[name] = counts.get(name, 0) + 1
        for name, times in counts.items():
            if times > 1:
                self.problems.append(f"{path}: {what} {name!r} occurs {times} times")

    def sum(self, path: str, weights: Sequence[float]) -> bool:
        """Return whether weights sum to 1; unusable weights were reported before."""
        if any(math.isnan(weight) for weight in weights):
            return False
        total = math.fsum(weights)
        if abs(total - 1) <= TOLERANCE + EXACT:
            return True
        self.problems.append(
            f"{path}: the weights sum to {total:.6g}, not to 1 (within {TOLERANCE})"
        )
        return False


MAX_TOKENS = 4096

Generation = Generator[Ask, list[Any], dict[str, HierarchicalQuestionnaire | Refusal]]


@dataclass(frozen=True)
class PromptForJudge:
    """A prompt as sent to a judge."""

    text: str  # text for the method
    # The user's role and the angle to judge: codes of the prompt language, other words,
    # or empty.
    role: str = ""
    angle: str = ""
    parameters: Mapping[str, str] = field(default_factory=dict)


def generation_question(prompt: PromptForJudge) -> JudgeQuestion:
    """Return the question that has a judge write a prompt's questionnaire."""
    fields = {
        "Angle": ANGLES.get(prompt.angle, prompt.angle),
        "Asked for by": ROLES.get(prompt.role, prompt.role),
        "Prompt": prompt.text,
        **{f"Parameter {key}": value for key, value in prompt.parameters.items()},
    }
    lines = [f"{what}: {value}" for what, value in fields.items() if value]
    return JudgeQuestion(
        parts=("\n".join(lines),),
        system=prompts("vistar")["questionnaire"],
        max_tokens=MAX_TOKENS,
    )


def prompt_version() -> str:
    """Return the first 8 hex digits of the instruction's SHA-256."""
    instruction = prompts("vistar")["questionnaire"]
    return hashlib.sha256(instruction.encode()).hexdigest()[:8]


def parse_reply(text: str) -> tuple[QuestionLevel, ...]:
    """Return the levels of a questionnaire from a judge's reply."""
    start, end = text.find("{"), text.rfind("}")
    if start < 0 or end < start:
        raise ValueError("expected a JSON object with levels, found none")
    # Either a JSON object is between the braces, or the reply has none.
    known = {**decode(text[start : end + 1]), "prompt_id": "-", "prompt": "-"}
    return read_questionnaire(known).levels


def generate(
    prompts: Mapping[str, PromptForJudge], author: Mapping[str, str]
) -> Generation:
    """Generate the questionnaires of prompts; the engine runs this."""
    questions = [generation_question(prompt) for prompt in prompts.values()]
    answers = yield from ask_judge(questions, parse_reply, unanswered="collect")
    return {
        key: answer
        if isinstance(answer, Refusal)
        else HierarchicalQuestionnaire(key, prompt.text, answer.value, author)
        for (key, prompt), answer in zip(prompts.items(), answers, strict=True)
    }
