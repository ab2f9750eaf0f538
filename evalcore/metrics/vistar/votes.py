"""A judge's votes on true-or-false questions about pictures: asking and reading."""

import re
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import Any

from evalcore.metrics.base import Ask, Image
from evalcore.metrics.llm_judge.asking import Refusal, ask_judge
from evalcore.metrics.llm_judge.questions import JudgeQuestion, prompts

TRIALS = 3  # k of the paper
TEMPERATURE = 0.3  # ours; the paper only says that answers are noisy
# The first vote's seed. Each vote has another, so that no gateway answers three times
# from its cache.
SEED = 1
ROUNDS = 2  # requests for a line that a reply to all questions lacks
MAX_TOKENS = 512
MAX_TOKENS_A_QUESTION = 12

VERDICTS = {"true": True, "yes": True, "false": False, "no": False}
ORNAMENT = " \t\r\n\"'`*_#()[]{}<>\u201c\u201d\u2018\u2019"
LABEL = re.compile(
    r"(?:the\s+)?(?:final\s+)?answer[\"'*_`]*\s*(?:is\b|[:=>])", re.IGNORECASE
)
CLAUSE = re.compile(r"[.!?;,:/\n\u2013\u2014]+|\s-+\s|\b(?:or|and)\b", re.IGNORECASE)
LINE = re.compile(r"[\s*_`\u2022-]*(\d+)[*_`]*\s*[.:)]\s*(.*)")


@dataclass(frozen=True)
class Vote:
    """Answer to one question: None abstains; `text` has the answer or the reason."""

    value: bool | None
    text: str


NO_LINE = Vote(None, "no line with this number")


def parse_boolean(text: str) -> bool:
    """Return the truth value of a reply, by its leading word.

    The word is True, Yes, False or No, perhaps after "Answer:". "No" must end its
    clause: "No robe is visible" is no answer. A reply is refused if it also gives the
    opposite verdict, as in "True or false".

    >>> parse_boolean("**Answer:** False, there is no robe."), parse_boolean("yes - 2")
    (False, True)
    """
    parts = CLAUSE.split(LABEL.sub("\n", text))
    clauses = [
        words
        for part in parts
        if (
            words := [
                w.strip(ORNAMENT).casefold() for w in part.strip(ORNAMENT).split()
            ]
        )
    ]
    first, *rest = clauses[0] if clauses else [""]
    if first not in VERDICTS or (first == "no" and rest):
        raise ValueError("expected True or False as the first word")
    alone = [words[0] for words in clauses[1:] if len(words) == 1]
    verdicts = {VERDICTS[word] for word in (first, *rest, *alone) if word in VERDICTS}
    if len(verdicts) > 1:
        raise ValueError("expected True or False, found both")
    return VERDICTS[first]


def parse_lines(text: str) -> dict[int, Vote]:
    """Return the answers to questions asked together, by their numbers.

    `text`: the reply: lines such as "3: False", perhaps in bold; other lines are
    ignored. Result: a question abstains if its line has no readable answer, or if two
    lines contradict each other.
    """
    votes: dict[int, Vote] = {}
    for match in filter(None, map(LINE.fullmatch, text.splitlines())):
        number = int(match[1])
        try:
            vote = Vote(parse_boolean(match[2]), match[2])
        except ValueError as error:
            vote = Vote(None, f"{error}: {match[2]}")
        before = votes.get(number, vote)
        if before.value is not vote.value:
            vote = Vote(None, f"answered twice: {before.text!r}, {vote.text!r}")
        votes[number] = vote
    if all(vote.value is None for vote in votes.values()):
        raise ValueError('expected lines such as "1: True", found none with an answer')
    return votes


JudgeVotes = Generator[Ask, list[Any], list[list[Vote]]]


def ask_singly(images: Sequence[Image], texts: Sequence[str]) -> JudgeVotes:
    """Ask one question per request; return the votes of all trials by question."""
    questions = [
        _question(
            images, prompts("vistar")["one"].format(question=text), trial, MAX_TOKENS
        )
        for text in texts
        for trial in range(TRIALS)
    ]
    answers = yield from ask_judge(questions, parse_boolean, unanswered="refuse")
    votes = [
        Vote(None, str(answer))
        if isinstance(answer, Refusal)
        else Vote(answer.value, answer.text)
        for answer in answers
    ]
    return [votes[i : i + TRIALS] for i in range(0, len(votes), TRIALS)]


def ask_together(images: Sequence[Image], texts: Sequence[str]) -> JudgeVotes:
    """Ask all questions in one request per trial; return the votes by question.

    A trial whose reply lacks lines asks these questions once more, without the others.
    """
    trials = [[NO_LINE] * len(texts) for _ in range(TRIALS)]
    for _ in range(ROUNDS):
        missing = {
            trial: [i for i, vote in enumerate(votes) if vote.value is None]
            for trial, votes in enumerate(trials)
        }
        missing = {trial: places for trial, places in missing.items() if places}
        questions = [
            _numbered(images, [texts[i] for i in places], trial)
            for trial, places in missing.items()
        ]
        answers = yield from ask_judge(questions, parse_lines, unanswered="refuse")
        for (trial, places), answer in zip(missing.items(), answers, strict=True):
            for number, place in enumerate(places, start=1):
                trials[trial][place] = (
                    Vote(None, str(answer))
                    if isinstance(answer, Refusal)
                    else answer.value.get(number, NO_LINE)
                )
    return [list(votes) for votes in zip(*trials, strict=True)]


def _numbered(
    images: Sequence[Image], texts: Sequence[str], trial: int
) -> JudgeQuestion:
    listed = "\n".join(f"{i}. {text}" for i, text in enumerate(texts, start=1))
    limit = MAX_TOKENS + MAX_TOKENS_A_QUESTION * len(texts)
    return _question(
        images, prompts("vistar")["all"].format(questions=listed), trial, limit
    )


def _question(
    images: Sequence[Image], text: str, trial: int, max_tokens: int
) -> JudgeQuestion:
    return JudgeQuestion(
        parts=(*images, text),
        system=prompts("vistar")["system"],
        temperature=TEMPERATURE,
        max_tokens=max_tokens,
        seed=SEED,
        trial=trial,
        size=None,
    )


WAYS: dict[str, Callable[[Sequence[Image], Sequence[str]], JudgeVotes]] = {
    "vistar-single": ask_singly,
    "vistar-batched": ask_together,
}
