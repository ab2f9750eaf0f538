"""Asking a judge yes-no questions about pictures, several times over."""

import re
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from evalcore.metrics.base import Ask, Image
from evalcore.metrics.llm_judge.asking import Refusal, ask_judge
from evalcore.metrics.llm_judge.questions import JudgeQuestion

Profile = Literal["vistar-single", "vistar-batched"]
TRIALS = 3  # k of the paper
TEMPERATURE = 0.3  # ours; the paper only says that answers are noisy
WORDS = {"true": True, "false": False}
ORNAMENT = " \t\r\n\"'`*."
LINE = re.compile(r"[\s*_`\u2022-]*(\d+)[*_`]*\s*[.:)]\s*(.*)")
SYSTEM = (
    "You look at pictures and answer questions about what is to be seen in them. Judge "
    "only what is visible. Several pictures are the panels of one story, in order; a "
    "question is about all of them together."
)
ONE = 'Answer with the single word "True" or "False".\nQuestion: {question}'
ALL = (
    'Answer each question by itself with "True" or "False", one line a question, as '
    'in "1: True". Write nothing else.\n{questions}'
)
MAX_TOKENS = 512
MAX_TOKENS_A_QUESTION = 12


@dataclass(frozen=True)
class Vote:
    """One answer to one question: None abstains, `text` says why or what was said."""

    value: bool | None
    text: str


def parse_boolean(text: str) -> bool:
    """Return the truth value that a reply consists of.

    Case, white space, quotes, asterisks and a full stop around it do not matter.

    >>> parse_boolean("**True**.")
    True
    """
    word = text.strip(ORNAMENT).casefold()
    if word not in WORDS:
        raise ValueError("expected the one word True or False")
    return WORDS[word]


def parse_lines(text: str, count: int) -> list[Vote]:
    """Return the answers to questions that were asked together, by their numbers.

    `text`: the reply: lines such as "3: False", perhaps in bold; others are passed
    over. `count`: how many questions there were, from 1. Result: a question abstains
    whose line is missing, says neither True nor False, or occurs twice with different
    answers.

    >>> [vote.value for vote in parse_lines("1: True", 2)]
    [True, None]
    """
    votes = [Vote(None, "no line with this number")] * count
    contradicted = set()
    for found in filter(None, map(LINE.fullmatch, text.splitlines())):
        index = int(found[1]) - 1
        if not 0 <= index < count or index in contradicted:
            continue
        vote, before = _vote(found[2]), votes[index]
        if before.value is not None and before.value != vote.value:
            vote = Vote(None, f"answered twice: {before.text!r}, {vote.text!r}")
            contradicted.add(index)
        votes[index] = vote
    if all(vote.value is None for vote in votes):
        raise ValueError(
            f'expected {count} lines such as "1: True", found none with an answer'
        )
    return votes


def _vote(text: str) -> Vote:
    try:
        return Vote(parse_boolean(text), text)
    except ValueError as error:
        return Vote(None, f"{error}: {text}")


JudgeVotes = Generator[Ask, list[Any], list[list[Vote]]]


def ask_singly(images: Sequence[Image], texts: Sequence[str]) -> JudgeVotes:
    """Ask one question a request; return the votes of all trials by question."""
    questions = [
        _question(images, ONE.format(question=text), trial, MAX_TOKENS)
        for text in texts
        for trial in range(TRIALS)
    ]
    answers = yield from ask_judge(questions, parse_boolean, attempts=1)
    votes = [
        Vote(None, "; ".join(answer.reasons))
        if isinstance(answer, Refusal)
        else Vote(answer.value, answer.text)
        for answer in answers
    ]
    return [votes[i : i + TRIALS] for i in range(0, len(votes), TRIALS)]


def ask_together(images: Sequence[Image], texts: Sequence[str]) -> JudgeVotes:
    """Ask all questions in one request a trial; return the votes by question."""
    count = len(texts)
    limit = MAX_TOKENS + MAX_TOKENS_A_QUESTION * count
    numbered = "\n".join(f"{i}. {text}" for i, text in enumerate(texts, start=1))
    questions = [
        _question(images, ALL.format(questions=numbered), trial, limit)
        for trial in range(TRIALS)
    ]

    def parse(text: str) -> list[Vote]:
        return parse_lines(text, count)

    answers = yield from ask_judge(questions, parse, attempts=1)
    trials = [
        [Vote(None, "; ".join(answer.reasons))] * count
        if isinstance(answer, Refusal)
        else answer.value
        for answer in answers
    ]
    return [list(votes) for votes in zip(*trials, strict=True)]


def _question(
    images: Sequence[Image], text: str, trial: int, max_tokens: int
) -> JudgeQuestion:
    return JudgeQuestion(
        parts=(*images, text),
        system=SYSTEM,
        temperature=TEMPERATURE,
        max_tokens=max_tokens,
        trial=trial,
        size=None,
    )


WAYS: dict[Profile, Callable[[Sequence[Image], Sequence[str]], JudgeVotes]] = {
    "vistar-single": ask_singly,
    "vistar-batched": ask_together,
}
