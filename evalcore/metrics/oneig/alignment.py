"""Alignment with a prompt of OneIG by questions, and OneIG's fields of a prompt.

`rendering.extra["oneig"]` may have `category`, `questions` by number, `dependencies`
(numbers of the questions that each presupposes, 0 for none), `style`, `text`, `answer`,
`language`. OneIG's programs put several pictures into one file; the suffix of a profile
gives the grid, `grid-2x2`, columns before rows. Profile `oneig-code-41b4983` sends the
program's questions, `plumbline-1` this project's own wording.
"""

import json
import re
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

import numpy as np

from evalcore.metrics.base import (
    Ask,
    Feature,
    Image,
    MetricInfo,
    Picture,
    Rendering,
    Scoring,
    Value,
)
from evalcore.metrics.llm_judge.asking import AskingMetric, ask_judge
from evalcore.metrics.llm_judge.client import judge_name
from evalcore.metrics.llm_judge.questions import JudgeQuestion, prompts
from evalcore.metrics.oneig import program
from evalcore.metrics.registry import declared

T = TypeVar("T")
Language = Literal["en", "zh"]
HAN = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]")


def oneig_fields(rendering: Rendering) -> Mapping[str, Any]:
    """Return OneIG's fields of an output's prompt; empty if it has none."""
    found = rendering.extra.get("oneig") or {}
    if not isinstance(found, Mapping):
        kind = type(found).__name__
        raise ValueError(f'{rendering.story}: "oneig" is an object, not a {kind}')
    return found


def pictures_of(rendering: Rendering) -> dict[str, Image]:
    """Return an output's pictures by shot, and by position if a shot has several."""
    pictures = {}
    for shot in rendering.rendered:
        frames = shot.frames[:1] if rendering.is_video else shot.frames
        for place, frame in enumerate(frames, start=1):
            label = f"{shot.number}.{place}" if len(frames) > 1 else str(shot.number)
            pictures[label] = frame
    return pictures


def language_of(fields: Mapping[str, Any], text: str) -> Language:
    """Return the language of a prompt.

    >>> language_of({}, "Open"), language_of({}, "开放")
    ('en', 'zh')
    """
    language = fields.get("language") or ("zh" if HAN.search(text) else "en")
    if language == "en":
        return "en"
    if language == "zh":
        return "zh"
    raise ValueError(f"the language is en or zh, not {language!r}")


# Grids --------------------------------------------------------------------------------


MARK = "grid-"
OWN = "plumbline-1"  # the profile with this project's own wording
GridSize = tuple[int, int]  # columns, rows
AskedCells = Generator[Ask, list[Any], dict[str, Image]]


def split_profile(profile: str) -> tuple[str, GridSize | None]:
    """Return a profile without its grid, and the grid.

    >>> split_profile("plumbline-1-grid-2x1"), split_profile("rapidocr")
    (('plumbline-1', (2, 1)), ('rapidocr', None))
    """
    before, mark, size = profile.partition(MARK)
    if not mark:
        return profile, None
    columns, rows = size.split("x")
    return before.removesuffix("-"), (int(columns), int(rows))


def cells(image: Image, grid: GridSize) -> list[Image]:
    """Return the pictures of a grid, row by row."""
    columns, rows = grid
    left, top, right, bottom = image.box or (0, 0, *image.size)
    width, height = (right - left) // columns, (bottom - top) // rows
    if not width or not height:
        size = f"{right - left} x {bottom - top}"
        raise ValueError(f"a picture of {size} pixels has no {columns} x {rows} cells")
    return [
        Image(image.source, image.index, (x, y, x + width, y + height))
        for y in range(top, top + rows * height, height)
        for x in range(left, left + columns * width, width)
    ]


class _Brightest:
    """Encoder without weights: the largest value of any pixel."""

    id = "largest value 1"
    batch = 256

    def prepare(self, item: Picture) -> Feature:
        return np.array(item.max())

    def encode(self, prepared: Sequence[Feature]) -> Sequence[Feature]:
        return prepared


BRIGHTEST = _Brightest()


def seen_pictures(rendering: Rendering, grid: GridSize | None) -> AskedCells:
    """Return an output's pictures by name; those of a grid by shot and position.

    A completely black cell is left out, as in the reference program: it marks a picture
    that could not be generated.
    """
    pictures = pictures_of(rendering)
    if grid is None:
        return pictures
    parts = {
        f"{label}.{place}": cell
        for label, image in pictures.items()
        for place, cell in enumerate(cells(image, grid), start=1)
    }
    brightest = yield Ask(BRIGHTEST, list(parts.values()))
    return {
        label: part
        for (label, part), value in zip(parts.items(), brightest, strict=True)
        if value > 0
    }


NONE = 0  # question number for "presupposes nothing"


@dataclass(frozen=True)
class DependentQuestionnaire:
    """Questions by number, and the numbers that each one presupposes."""

    questions: Mapping[int, str]
    parents: Mapping[int, tuple[int, ...]]


def read_questionnaire(questions: Any, dependencies: Any) -> DependentQuestionnaire:
    """Read and check the questions of a prompt.

    Some of OneIG's questions presuppose themselves, which changes nothing: only the
    answers to direct parents count.
    """
    asked = dict(_numbered(questions, "questions"))
    if not asked:
        raise ValueError("questions: at least one")
    for number, question in asked.items():
        if not isinstance(question, str) or not question.strip():
            raise ValueError(f"question {number} is a text, not {question!r}")
    parents: dict[int, tuple[int, ...]] = dict.fromkeys(asked, ())
    for number, presupposed in _numbered(dependencies, "dependencies"):
        if number not in asked:
            raise ValueError(f"dependencies: unknown question {number}")
        parents[number] = _parents(number, presupposed, asked)
    return DependentQuestionnaire(asked, parents)


def alignment(
    answers: Mapping[int, bool], parents: Mapping[int, tuple[int, ...]]
) -> float:
    """Return the share of questions that count as answered yes.

    A question counts 0 if any question that it presupposes directly was answered no,
    even if that one itself does not count.

    Source: OneIG-Bench's program, scripts/alignment; Cho et al. (2024), Davidsonian
    scene graph, section 3.
    """
    counted = [
        yes and all(answers[parent] for parent in parents.get(number, ()))
        for number, yes in answers.items()
    ]
    return sum(counted) / len(counted)


def _numbered(value: Any, what: str) -> Iterator[tuple[int, Any]]:
    """Yield the entries of an object, or of JSON of one, with keys as numbers."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except json.JSONDecodeError as error:
            raise ValueError(f"{what}: an object as JSON ({error})") from error
    if not isinstance(value, Mapping):
        raise ValueError(f"{what}: an object by number, not {type(value).__name__}")
    for key, entry in value.items():
        if not str(key).isdecimal() or int(key) == NONE:
            raise ValueError(f"{what}: numbers from 1, not {key!r}")
        yield int(key), entry


def _parents(
    number: int, presupposed: Any, asked: Mapping[int, str]
) -> tuple[int, ...]:
    if not isinstance(presupposed, list) or any(
        type(p) is not int for p in presupposed
    ):
        raise ValueError(
            f"dependencies: question {number} has a list of numbers, not "
            f"{presupposed!r}"
        )
    parents = tuple(parent for parent in presupposed if parent != NONE)
    unknown = [str(parent) for parent in parents if parent not in asked]
    if unknown:
        raise ValueError(
            f"dependencies: question {number} presupposes {', '.join(unknown)}, which "
            "does not exist"
        )
    return parents


# Alignment ----------------------------------------------------------------------------


ANSWER = re.compile(r"\W*(?:(yes|是|有)|(no|not|否|不|没))(?![a-z])", re.IGNORECASE)


def read_answer(reply: str) -> bool:
    """Return whether a judge's reply means yes; its first word decides."""
    found = ANSWER.match(reply)
    if found is None:
        raise ValueError(f"Yes or No, not {reply.strip()[:40]!r}")
    return found[1] is not None


class Alignment(AskingMetric):
    """Alignment of pictures with a prompt of OneIG.

    Parameters
    ----------
    profile
        Wording of the questions, and the grid in its files, such as
        `plumbline-1-grid-2x2`; see `cells`.
    """

    own = ("oneig", "yes_or_no")

    def __init__(self, profile: str = OWN) -> None:
        self.profile = profile
        wording, self.grid = split_profile(profile)
        self.question = program.yes_or_no if wording == program.CODE else _question
        self.files = [program.QUESTION_FILE] if wording == program.CODE else []

    @property
    def info(self) -> MetricInfo:
        return declared("oneig_alignment", self.profile, backend=judge_name())

    def score(self, rendering: Rendering) -> Scoring:
        """Return the mean over the pictures; undefined without questions.

        All questions are asked about each picture, and all must be answered: a mean
        over some of the pictures would be another one.

        Raises
        ------
        FeatureError
            If the judge gives no usable answer to a question. This is a failure, not an
            absence: another run asks again.
        """
        prompt = oneig_fields(rendering)
        pictures = yield from seen_pictures(rendering, self.grid)
        if not prompt.get("questions") or not pictures:
            reason = "the prompt has no questions of OneIG, or no shot has a picture"
            return [Value(None, reason=reason)]
        read = read_questionnaire(prompt["questions"], prompt.get("dependencies") or {})
        asked = [
            self.question(image, question)
            for image in pictures.values()
            for question in read.questions.values()
        ]
        replies = iter((yield from ask_judge(asked, read_answer)))
        answers = {
            label: {number: next(replies).value for number in read.questions}
            for label in pictures
        }
        scores = [alignment(one, read.parents) for one in answers.values()]
        trace = {
            label: {str(number): yes for number, yes in one.items()}
            for label, one in answers.items()
        }
        return [Value(float(np.mean(scores)), trace={"answers": trace})]


def _question(image: Image, question: str) -> JudgeQuestion:
    return JudgeQuestion(
        (image, f"{question.strip()}\n{prompts('oneig')['yes_or_no']}")
    )
