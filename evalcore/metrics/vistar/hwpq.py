"""HWPQ: weighted share of a prompt's pairs of questions that a picture satisfies."""

import re
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from evalcore.metrics.base import Ask, Image, MetricInfo, Rendering, Scoring, Value
from evalcore.metrics.llm_judge.asking import NoUsableAnswerError, Refusal, ask_judge
from evalcore.metrics.llm_judge.client import judge_name, missing_judge
from evalcore.metrics.llm_judge.questions import JudgeQuestion, prompts
from evalcore.metrics.registry import declared
from evalcore.metrics.vistar.prompt_language import vistar_of
from evalcore.metrics.vistar.questionnaire import (
    HierarchicalQuestionnaire,
    QuestionnaireError,
    read_questionnaire,
)

Profile = Literal["vistar-single", "vistar-batched"]
TRIALS = 3  # k of the paper
TEMPERATURE = 0.3  # ours; the paper only says that answers are noisy
WORDS = {"true": True, "false": False}
ORNAMENT = " \t\r\n\"'`*."
LINE = re.compile(r"[\s*_`\u2022-]*(\d+)[*_`]*\s*[.:)]\s*(.*)")
MAX_TOKENS = 512
MAX_TOKENS_A_QUESTION = 12


@dataclass(frozen=True)
class Vote:
    """Answer to one question: None abstains; `text` has the answer or the reason."""

    value: bool | None
    text: str


def parse_boolean(text: str) -> bool:
    """Return the truth value of a reply."""
    word = text.strip(ORNAMENT).casefold()
    if word not in WORDS:
        raise ValueError("expected the one word True or False")
    return WORDS[word]


def parse_lines(text: str, count: int) -> list[Vote]:
    """Return the answers to questions asked together, by their numbers.

    `text`: the reply: lines such as "3: False", perhaps in bold; other lines are
    ignored. `count`: number of questions, from 1. Result: a question abstains if its
    line is missing, has neither True nor False, or occurs twice with different answers.
    """
    votes = [Vote(None, "no line with this number")] * count
    contradicted = set()
    for match in filter(None, map(LINE.fullmatch, text.splitlines())):
        index = int(match[1]) - 1
        if not 0 <= index < count or index in contradicted:
            continue
        before = votes[index]
        try:
            vote = Vote(parse_boolean(match[2]), match[2])
        except ValueError as error:
            vote = Vote(None, f"{error}: {match[2]}")
        if before.value is not None and before.value != vote.value:
            vote = Vote(None, f"answered twice: {before.text!r}, {vote.text!r}")
            contradicted.add(index)
        votes[index] = vote
    if all(vote.value is None for vote in votes):
        raise ValueError(
            f'expected {count} lines such as "1: True", found none with an answer'
        )
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
    answers = yield from ask_judge(
        questions, parse_boolean, attempts=1, unanswered="refuse"
    )
    votes = [
        Vote(None, "; ".join(answer.reasons))
        if isinstance(answer, Refusal)
        else Vote(answer.value, answer.text)
        for answer in answers
    ]
    return [votes[i : i + TRIALS] for i in range(0, len(votes), TRIALS)]


def ask_together(images: Sequence[Image], texts: Sequence[str]) -> JudgeVotes:
    """Ask all questions in one request per trial; return the votes by question."""
    count = len(texts)
    limit = MAX_TOKENS + MAX_TOKENS_A_QUESTION * count
    numbered = "\n".join(f"{i}. {text}" for i, text in enumerate(texts, start=1))
    questions = [
        _question(
            images, prompts("vistar")["all"].format(questions=numbered), trial, limit
        )
        for trial in range(TRIALS)
    ]

    def parse(text: str) -> list[Vote]:
        return parse_lines(text, count)

    answers = yield from ask_judge(questions, parse, attempts=1, unanswered="refuse")
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
        system=prompts("vistar")["system"],
        temperature=TEMPERATURE,
        max_tokens=max_tokens,
        trial=trial,
        size=None,
    )


WAYS: dict[Profile, Callable[[Sequence[Image], Sequence[str]], JudgeVotes]] = {
    "vistar-single": ask_singly,
    "vistar-batched": ask_together,
}


# HWPQ ---------------------------------------------------------------------------------


def majority(votes: Sequence[bool | None]) -> bool | None:
    """Return the majority of the votes; None without a majority.

    Source: VISTAR, section 3.4.2: three independent queries, majority voting.
    Abstentions are ours.
    """
    yes, no = votes.count(True), votes.count(False)
    return None if yes == no else yes > no


def pair_score(positive: bool | None, negative: bool | None) -> int | None:
    """Return 1 if the positive question is answered yes and the negative one no.

    Result: None if either question has no answer, even if the other one alone would
    make the pair 0: otherwise unanswered pairs could only lower the score.

    Source: VISTAR, section 3.4.2, the first equation.
    """
    if positive is None or negative is None:
        return None
    return int(positive and not negative)


def hwpq(
    questionnaire: HierarchicalQuestionnaire, pairs: Mapping[str, int | None]
) -> float | None:
    """Return the doubly weighted sum of the satisfied pairs, from 0 to 1.

    Pairs without an answer (None) give their weight to the others of their level, and a
    level without answers to the other levels (ours); None without any answer.

    Source: VISTAR, section 3.4.2: Score = sum_l w_l sum_i w_li S_li.
    """
    met = weighed = 0.0
    for level in questionnaire.levels:
        answered = [
            (pair.weight, score)
            for pair in level.questions
            if (score := pairs[pair.id]) is not None
        ]
        weight = sum(weight for weight, _score in answered)
        if weight:
            share = sum(weight * score for weight, score in answered) / weight
            met += level.weight * share
            weighed += level.weight
    return min(met / weighed, 1.0) if weighed else None


class Hwpq:
    """HWPQ of an output: each question shows all its pictures.

    An unusable reply abstains, hence the three trials. With n pairs, `vistar-single`
    makes 6n requests with the pictures, and `vistar-batched` 3 with all 2n questions in
    each. In the latter a judge sees both questions of a pair together, so the two
    profiles are not comparable. The paper does not specify how it asks.

    Parameters
    ----------
    profile
        `vistar-single` or `vistar-batched`.
    """

    def __init__(self, profile: Profile = "vistar-single") -> None:
        self.profile = profile

    @property
    def info(self) -> MetricInfo:
        return declared("hwpq", self.profile, backend=judge_name())

    missing = staticmethod(missing_judge)

    def score(self, rendering: Rendering) -> Scoring:
        """Return one value, with every answer in its trace.

        Undefined without a picture or a valid questionnaire. Raises NoUsableAnswerError
        if no pair has a majority for both of its questions.
        """
        fields = vistar_of(rendering)
        if "questionnaire" not in fields:
            return [Value(None, reason="the story has no questionnaire")]
        try:
            questionnaire = read_questionnaire(fields["questionnaire"])
        except QuestionnaireError as error:
            return [Value(None, reason=f"its questionnaire is not valid: {error}")]
        if not rendering.images:
            return [Value(None, reason="no shot has a picture")]
        texts = [
            text
            for pair in questionnaire.pairs
            for text in (pair.positive, pair.negative)
        ]
        votes = yield from WAYS[self.profile](rendering.images, texts)
        by_pair = list(zip(votes[::2], votes[1::2], strict=True))
        scores = {
            pair.id: pair_score(*(majority([v.value for v in side]) for side in sides))
            for pair, sides in zip(questionnaire.pairs, by_pair, strict=True)
        }
        value = hwpq(questionnaire, scores)
        trace = {
            "prompt": questionnaire.prompt_id,
            "role": fields.get("role"),
            "angle": fields.get("angle"),
            "pictures": len(rendering.images),
            "pairs": [
                {
                    "id": pair.id,
                    "score": scores[pair.id],
                    "positive": [[vote.value, vote.text] for vote in sides[0]],
                    "negative": [[vote.value, vote.text] for vote in sides[1]],
                }
                for pair, sides in zip(questionnaire.pairs, by_pair, strict=True)
            ],
        }
        if value is None:
            raise NoUsableAnswerError("the judge answered both questions of no pair")
        return [Value(value, trace=trace)]
