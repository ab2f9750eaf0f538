"""Text rendering: OneIG's formulas on the text read from pictures.

References
----------
OneIG-Bench's program, scripts/text.
"""

import unicodedata
from collections import Counter
from collections.abc import Generator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, Literal

from evalcore.metrics.base import (
    Ask,
    Encoder,
    Image,
    MetricInfo,
    MissingRequirements,
    Rendering,
    Run,
    Scoring,
    Value,
)
from evalcore.metrics.encoders.published import OCR, OCR_PACKAGES
from evalcore.metrics.formulas import edit_distance
from evalcore.metrics.llm_judge.asking import AskingMetric, ask_judge
from evalcore.metrics.llm_judge.client import judge_name
from evalcore.metrics.llm_judge.questions import JudgeQuestion, prompts
from evalcore.metrics.oneig import program
from evalcore.metrics.oneig.alignment import (
    HAN,
    GridSize,
    Language,
    language_of,
    oneig_fields,
    seen_pictures,
    split_profile,
)
from evalcore.metrics.registry import declared
from evalcore.metrics.weights import missing_requirements

# Most edits that lower the score.
MOST: dict[Language, int] = {"en": 100, "zh": 50}
KEPT = ("L", "M", "N")  # letters, combining marks, and digits


@dataclass(frozen=True)
class Comparison:
    """Differences between the text read and the expected text."""

    distance: int  # edit distance in characters
    # Expected words that were read, each at most as often as expected.
    matched: int
    words: int  # number of expected words


@dataclass(frozen=True)
class TextScore:
    """OneIG's score of rendered texts, with its components."""

    score: float  # from 0 to 1
    edit_distance: float
    completion_rate: float  # share of texts read without any difference (CR)
    word_accuracy: float  # matched words as a share of all expected words (WAC)


def plain(text: str) -> str:
    """Return a text without punctuation and symbols; case is kept.

    White space becomes one space, or nothing in Chinese. Letters of all scripts are
    kept; the program only knows Chinese, ASCII and French accents.
    """
    kept = "".join(
        sign for sign in text if sign.isspace() or unicodedata.category(sign)[0] in KEPT
    )
    return ("" if HAN.search(kept) else " ").join(kept.split())


def compare(read: str, wanted: str) -> Comparison:
    """Compare the text read with the expected text."""
    found, goal = plain(read), plain(wanted)
    if not goal:
        raise ValueError(f"a text with letters, not {wanted!r}")
    is_chinese = HAN.search(goal) is not None
    words = [Counter(text if is_chinese else text.split()) for text in (goal, found)]
    matched = (words[0] & words[1]).total()
    return Comparison(edit_distance(found, goal), matched, words[0].total())


def text_score(comparisons: Sequence[Comparison], language: Language) -> TextScore:
    """Return OneIG's score of rendered texts (at least one), pooled over all words.

    See `combined`.
    """
    if not comparisons:
        raise ValueError("at least one text")
    count = len(comparisons)
    distance = sum(one.distance for one in comparisons) / count
    complete = sum(one.distance == 0 for one in comparisons) / count
    words = sum(one.words for one in comparisons)
    accuracy = sum(one.matched for one in comparisons) / words
    score = combined(distance, complete, accuracy, language)
    return TextScore(score, distance, complete, accuracy)


def combined(
    distance: float, complete: float, accuracy: float, language: Language
) -> float:
    """Return the score of edit distance, completion rate and word accuracy.

    1 - min(MAX, ED) (1 - CR) (1 - WAC) / MAX, with MAX 100 edits in English, 50 in
    Chinese.

    Source: OneIG-Bench, section on text rendering, and its program, scripts/text.
    """
    most = MOST[language]
    return 1 - min(most, distance) * (1 - complete) * (1 - accuracy) / most


OCR_ENGINE = "rapidocr"
Reading = Generator[Ask, list[Any], list[str]]
WantedText = tuple[Image, str]

EMPTY = "NONE"


def read_reply(reply: str) -> str:
    """Return the text that a judge read; empty if it reports no text.

    >>> read_reply(" Open late"), read_reply("NONE.")
    ('Open late', '')
    """
    text = reply.strip()
    return "" if plain(text) == EMPTY else text


class OneigText(AskingMetric):
    """OneIG's text score of an output, or of a method: edits, texts and words pooled.

    Parameters
    ----------
    level
        Level of the value: an output, or all outputs of a method (``run``).
    profile
        Reader of the pictures: a judge, or OCR.
    """

    own = ("oneig", "text")

    def __init__(self, level: Literal["output", "run"], profile: str) -> None:
        self.level, self.profile = level, profile
        who, self.grid = split_profile(profile)
        self.is_judge = who != OCR_ENGINE
        self.files = (
            [program.QUESTION_FILE, program.READING_FILE] if who == program.CODE else []
        )
        self.weights = () if self.is_judge else OCR

    @property
    def info(self) -> MetricInfo:
        return declared(
            "oneig_text_pooled" if self.level == "run" else "oneig_text",
            self.profile,
            backend=judge_name() if self.is_judge else "RapidOCR",
            queue="judge" if self.is_judge else "cpu",
        )

    @property
    def prompt_files(self) -> Mapping[str, str]:
        return super().prompt_files if self.is_judge else {}

    def missing(self) -> MissingRequirements:
        """Return what the judge or OCR lacks."""
        if self.is_judge:
            return super().missing()
        return missing_requirements(OCR_PACKAGES, OCR)

    def score(self, subject: Rendering | Run) -> Scoring:
        """Return one value over all pictures; undefined without a text.

        Raises
        ------
        FeatureError
            If the judge reads no text from a picture, because it gives no usable
            answer. This is a failure, not an absence: another run asks again.
        """
        outputs = subject.outputs if isinstance(subject, Run) else (subject,)
        wanted: list[WantedText] = []
        languages: set[Language] = set()
        for output in outputs:
            pictures, language = yield from _wanted(output, self.grid)
            wanted += pictures
            languages |= {language} if pictures else set()
        if len(languages) > 1:
            reason = "English and Chinese prompts count edits differently"
            return [Value(None, reason=reason)]
        if not languages:
            reason = "no prompt with a picture requires a text"
            if isinstance(subject, Rendering):
                reason = "the prompt requires no text, or no shot has a picture"
            return [Value(None, reason=reason)]
        read = yield from self._read(wanted)
        return [_value(wanted, read, languages.pop())]

    @cached_property
    def encoder(self) -> Encoder:
        from evalcore.metrics.encoders.ocr import ocr

        return ocr()

    def _read(self, wanted: Sequence[WantedText]) -> Reading:
        if not self.is_judge:
            lines = yield Ask(self.encoder, [image for image, _text in wanted])
            return [" ".join(found.tolist()) for found in lines]
        if self.files:
            questions = [program.read_text(image, text) for image, text in wanted]
        else:
            own = prompts("oneig")["text"]
            questions = [JudgeQuestion((image, own)) for image, _text in wanted]
        parse = program.without_remarks if self.files else read_reply
        replies = yield from ask_judge(questions, parse)
        return [reply.value for reply in replies]


def _wanted(
    rendering: Rendering, grid: GridSize | None
) -> Generator[Ask, list[Any], tuple[list[WantedText], Language]]:
    """Return the pictures of an output, each with its expected text."""
    prompt = oneig_fields(rendering)
    text = str(prompt.get("text") or "")
    images = (yield from seen_pictures(rendering, grid)) if plain(text) else {}
    return [(image, text) for image in images.values()], language_of(prompt, text)


def _value(
    wanted: Sequence[WantedText], read: Sequence[str], language: Language
) -> Value:
    comparisons = [
        compare(found, text) for (_image, text), found in zip(wanted, read, strict=True)
    ]
    scored = asdict(text_score(comparisons, language))
    return Value(scored["score"], trace={**scored, "pictures": len(comparisons)})
