"""How well a text was rendered: formulas of OneIG on the text that was read.

References
----------
OneIG-Bench's program, scripts/text.
"""

import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from evalcore.metrics.formulas import edit_distance
from evalcore.metrics.oneig.prompt import HAN, Language

# Up to how many characters an edit distance lowers the score.
MOST: dict[Language, int] = {"en": 100, "zh": 50}
KEPT = ("L", "M", "N")  # letters, marks on them, and digits


@dataclass(frozen=True)
class Comparison:
    """How a text that was read differs from the one that was wanted."""

    distance: int  # edits from one to the other, in characters
    # How many of the wanted words were read, each as often as it is wanted at most.
    matched: int
    words: int  # how many words were wanted


@dataclass(frozen=True)
class TextScore:
    """OneIG's score of rendered texts, and what it consists of."""

    score: float  # from 0 to 1
    edit_distance: float
    completion_rate: float  # share of texts that were read without any difference (CR)
    word_accuracy: float  # matched words of all wanted words (WAC)


def plain(text: str) -> str:
    """Return a text without punctuation and signs; case is kept.

    White space becomes one space, or nothing in a text with Chinese characters.

    The reference program keeps only Chinese characters, ASCII letters and digits and
    French accents, and so cannot read other scripts; letters of all scripts are kept
    here.

    >>> plain("Caffè,  “to go”!"), plain("营业 时间：9")
    ('Caffè to go', '营业时间9')
    """
    kept = "".join(
        sign for sign in text if sign.isspace() or unicodedata.category(sign)[0] in KEPT
    )
    return ("" if HAN.search(kept) else " ").join(kept.split())


def compare(read: str, wanted: str) -> Comparison:
    """Compare a text that was read with the one that was wanted.

    `wanted`: with at least one letter or digit. If it has Chinese characters, its
    characters count as words.

    >>> compare("Open late", "Open: all day, all night")
    Comparison(distance=15, matched=1, words=5)
    """
    found, goal = plain(read), plain(wanted)
    if not goal:
        raise ValueError(f"a text with letters, not {wanted!r}")
    is_chinese = HAN.search(goal) is not None
    words = [Counter(text if is_chinese else text.split()) for text in (goal, found)]
    matched = (words[0] & words[1]).total()
    return Comparison(edit_distance(found, goal), matched, words[0].total())


def text_score(comparisons: Sequence[Comparison], language: Language) -> TextScore:
    """Return OneIG's score of rendered texts.

    `comparisons`: at least one: of one picture, of those of a prompt, or of all of a
    method. `language`: decides how many edits count: 100 for English, 50 for Chinese.
    Result: 1 - min(MAX, ED) (1 - CR) (1 - WAC) / MAX. It is pooled: words count equally
    whatever text they stand in, and the score of several prompts is not the mean of
    their scores.

    Source: OneIG-Bench, section on text rendering, and its program, scripts/text.

    >>> text_score([compare("Open late", "Open all day")], "en").score
    0.96
    """
    if not comparisons:
        raise ValueError("at least one text")
    count, most = len(comparisons), MOST[language]
    distance = sum(one.distance for one in comparisons) / count
    complete = sum(one.distance == 0 for one in comparisons) / count
    words = sum(one.words for one in comparisons)
    accuracy = sum(one.matched for one in comparisons) / words
    lost = min(most, distance) * (1 - complete) * (1 - accuracy) / most
    return TextScore(1 - lost, distance, complete, accuracy)
