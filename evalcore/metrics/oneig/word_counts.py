"""How long the prompts of a benchmark are, by category, as OneIG reports it."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from evalcore.metrics.oneig.prompt import HAN

SHORT, LONG = 30, 60  # words
REASONING = "Knowledge & Reasoning"
IN_FILES = "Knowledge_Reasoning"  # as OneIG's lists of prompts call it
TOTAL = "Total Distribution"
TOTAL_WITHOUT = "Total Distribution w/o K & R"
# A Chinese character, or what stands between them: a name, a number.
CHINESE_WORD = re.compile(rf"{HAN.pattern}|(?:(?!{HAN.pattern})\w)+")

Length = Literal["short", "middle", "long"]


@dataclass(frozen=True)
class WordCounts:
    """How long the prompts of a category are."""

    category: str  # its name, or that of a total
    prompts: int  # how many there are
    average: float  # mean number of words
    short: float  # shares of the prompts; their sum is 1
    middle: float
    long: float


def count_words(prompt: str) -> int:
    """Return how many words a prompt has.

    Words are what white space separates. In a prompt with Chinese characters each of
    those counts as a word, and so does every run of other letters and digits.

    >>> count_words("A well-lit room, at 5 p.m."), count_words("一只 LEGO 狐狸。")
    (6, 5)
    """
    if HAN.search(prompt):
        return len(CHINESE_WORD.findall(prompt))
    return len(prompt.split())


def length_of(words: int) -> Length:
    """Return whether so many words are short, middle or long.

    Source: OneIG-Bench, supplement, table 1: short is less than 30 words, middle is
    between 30 and 60, long exceeds 60. Both 30 and 60 are middle.

    >>> [length_of(words) for words in (29, 30, 60, 61)]
    ['short', 'middle', 'middle', 'long']
    """
    if words < SHORT:
        return "short"
    return "middle" if words <= LONG else "long"


def word_counts(prompts: Iterable[tuple[str, str]]) -> list[WordCounts]:
    """Return OneIG's table of word counts.

    `prompts`: category and wording of each prompt. Result: a row for each category in
    the order in which they first occur; then one for all prompts, and one for all but
    those of Knowledge & Reasoning. Totals are over prompts, not over categories. Of no
    prompts there is no row.

    Source: OneIG-Bench, supplement, table 1 and section A.1.

    >>> rows = word_counts([("Portrait", "A fox."), (REASONING, "Why " * 40)])
    >>> [(row.category, row.average, row.middle) for row in rows[2:]]
    [('Total Distribution', 21.0, 0.5), ('Total Distribution w/o K & R', 2.0, 0.0)]
    """
    by_category: dict[str, list[int]] = {}
    for category, wording in prompts:
        by_category.setdefault(category, []).append(count_words(wording))
    everything = [n for counts in by_category.values() for n in counts]
    without = [
        words
        for category, counts in by_category.items()
        if category not in (REASONING, IN_FILES)
        for words in counts
    ]
    groups = [*by_category.items(), (TOTAL, everything), (TOTAL_WITHOUT, without)]
    return [_row(category, counts) for category, counts in groups if counts]


def _row(category: str, counts: Sequence[int]) -> WordCounts:
    number = len(counts)
    lengths = [length_of(words) for words in counts]
    return WordCounts(
        category,
        number,
        sum(counts) / number,
        lengths.count("short") / number,
        lengths.count("middle") / number,
        lengths.count("long") / number,
    )
