"""Text rendering: whether a picture contains the text that its prompt asks for."""

from collections.abc import Generator, Sequence
from dataclasses import asdict
from functools import cached_property
from typing import Any, Literal

from evalcore.metrics.base import (
    Ask,
    Encoder,
    Image,
    MetricInfo,
    Rendering,
    Run,
    Scoring,
    Value,
)
from evalcore.metrics.encoders.published import OCR, OCR_PACKAGES
from evalcore.metrics.errors import Lacks
from evalcore.metrics.llm_judge.asking import Refusal, ask_judge
from evalcore.metrics.llm_judge.client import judge_name, missing_judge
from evalcore.metrics.llm_judge.questions import JudgeQuestion
from evalcore.metrics.oneig.grids import GridSize, seen_pictures, split_profile
from evalcore.metrics.oneig.prompt import Language, language_of, told
from evalcore.metrics.oneig.text import Comparison, compare, plain, text_score
from evalcore.metrics.weights import lacking

JUDGE = "oneig-judge"
# What was read from pictures, or why nothing usable came.
ReadText = str | Refusal
Reading = Generator[Ask, list[Any], list[ReadText]]
WantedText = tuple[Image, str]

ALONE = (
    "Whether the text that a prompt asks for can be read in the picture. What is "
    "misread counts as misrendered, and further text too."
)
POOLED = (
    "The same as one number for a method, as OneIG publishes it: edits, texts and "
    "words of all its pictures are pooled first."
)
EMPTY = "NONE"
REQUEST = (
    "Which text does the picture contain? Copy it as it stands, every part once, and "
    f"write nothing else. If there is no text, write {EMPTY}."
)


class TextReader:
    """Reads the text of pictures, as a profile says.

    `profile`: `oneig-judge`: a judge reads, as in OneIG's program. `rapidocr`: PP-OCR
    reads, which needs nothing that is not installed; it knows no handwriting and few
    ornaments. Behind either, the grid that files have, as `-grid-2x2`; see `grids`.
    """

    def __init__(self, profile: str) -> None:
        self.profile = profile
        who, self.grid = split_profile(profile)
        self.is_judge = who == JUDGE

    @property
    def name(self) -> str:
        return judge_name() if self.is_judge else "RapidOCR"

    def missing(self) -> Lacks:
        if self.is_judge:
            return missing_judge()
        return lacking(OCR_PACKAGES, OCR)

    @cached_property
    def encoder(self) -> Encoder:
        from evalcore.metrics.encoders.ocr import ocr

        return ocr()

    def read(self, images: Sequence[Image]) -> Reading:
        if not self.is_judge:
            lines = yield Ask(self.encoder, images)
            return [" ".join(found.tolist()) for found in lines]
        questions = [JudgeQuestion((image, REQUEST), size=None) for image in images]
        replies = yield from ask_judge(questions, read_reply)
        return [r if isinstance(r, Refusal) else r.value for r in replies]


def read_reply(reply: str) -> str:
    """Return what a judge read: nothing where it says that there is nothing.

    >>> read_reply(" Open late"), read_reply("NONE.")
    ('Open late', '')
    """
    text = reply.strip()
    return "" if plain(text) == EMPTY else text


class OneigText:
    """OneIG's text score of an output, or of a method: edits, texts and words pooled.

    Parameters
    ----------
    level
        What has a value: an output, or all outputs of a method (``run``).
    profile
        Who reads the pictures.
    """

    def __init__(self, level: Literal["output", "run"], profile: str) -> None:
        self.level = level
        self.reader = TextReader(profile)

    @property
    def info(self) -> MetricInfo:
        is_pooled = self.level == "run"
        return MetricInfo(
            name="oneig_text_pooled" if is_pooled else "oneig_text",
            title="OneIG text, pooled" if is_pooled else "OneIG text",
            family="OneIG",
            scores=self.level,
            source="OneIG-Bench, section on text rendering, and its program",
            measures=POOLED if is_pooled else ALONE,
            backend=self.reader.name,
            queue="judge" if self.reader.is_judge else "cpu",
            profile=self.reader.profile,
        )

    def missing(self) -> Lacks:
        return self.reader.missing()

    def score(self, subject: Rendering | Run) -> Scoring:
        """Return one value over all pictures; undefined without a text.

        So is that of a method whose prompts are in two languages.
        """
        outputs = subject.outputs if isinstance(subject, Run) else (subject,)
        wanted: list[WantedText] = []
        languages: set[Language] = set()
        for output in outputs:
            pictures, language = yield from _wanted(output, self.reader.grid)
            wanted += pictures
            languages |= {language} if pictures else set()
        if len(languages) > 1:
            reason = "English and Chinese prompts count edits differently"
            return [Value(None, reason=reason)]
        if not languages:
            reason = "no prompt with a picture asks for a text"
            if isinstance(subject, Rendering):
                reason = "the prompt asks for no text, or no shot has a picture"
            return [Value(None, reason=reason)]
        read = yield from self.reader.read([image for image, _text in wanted])
        return [_value(wanted, read, languages.pop())]


def _wanted(
    rendering: Rendering, grid: GridSize | None
) -> Generator[Ask, list[Any], tuple[list[WantedText], Language]]:
    """Return the pictures of an output, each with the text it should contain."""
    prompt = told(rendering)
    text = str(prompt.get("text") or "")
    images = (yield from seen_pictures(rendering, grid)) if plain(text) else {}
    return [(image, text) for image in images.values()], language_of(prompt, text)


def _value(
    wanted: Sequence[WantedText], read: Sequence[ReadText], language: Language
) -> Value:
    comparisons: list[Comparison] = [
        compare(found, text)
        for (_image, text), found in zip(wanted, read, strict=True)
        if not isinstance(found, Refusal)
    ]
    refused = [str(found) for found in read if isinstance(found, Refusal)]
    if not comparisons:
        reason = f"no picture was read: {refused[-1]}"
        return Value(None, reason=reason, trace={"refused": refused})
    scored = asdict(text_score(comparisons, language))
    trace = {**scored, "pictures": len(comparisons)}
    return Value(
        scored["score"], trace=trace | ({"refused": refused} if refused else {})
    )
