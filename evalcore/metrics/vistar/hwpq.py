"""HWPQ: weighted share of a prompt's pairs of questions that a picture satisfies."""

from collections.abc import Mapping, Sequence
from typing import Literal

from evalcore.metrics.base import FeatureError, MetricInfo, Rendering, Scoring, Value
from evalcore.metrics.llm_judge.asking import AskingMetric
from evalcore.metrics.llm_judge.client import judge_name
from evalcore.metrics.registry import declared
from evalcore.metrics.vistar.prompt_language import vistar_of
from evalcore.metrics.vistar.questionnaire import (
    EXACT,
    HierarchicalQuestionnaire,
    QuestionnaireError,
    read_questionnaire,
)
from evalcore.metrics.vistar.votes import WAYS, Vote

# Least share of the questionnaire's weight that must have an answer, in per cent.
ANSWERED = 80
MARK = "-answered-"
Name = Literal["hwpq", "hwpq_answered"]
PairScores = Mapping[str, int | None]


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


def hwpq(questionnaire: HierarchicalQuestionnaire, pairs: PairScores) -> float | None:
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


def answered(questionnaire: HierarchicalQuestionnaire, pairs: PairScores) -> float:
    """Return the share of the questionnaire's weight that has an answer, from 0 to 1.

    The sum of level weight times pair weight over the pairs whose two questions both
    have a majority (ours).
    """
    share = sum(
        level.weight * pair.weight
        for level in questionnaire.levels
        for pair in level.questions
        if pairs[pair.id] is not None
    )
    return min(share, 1.0)


class Hwpq(AskingMetric):
    """HWPQ of an output, or the answered share of its questionnaire's weight.

    Each question shows all pictures of the output. An unusable reply is asked for
    again, and then abstains, hence the three trials. With n pairs, `vistar-single`
    makes 6n requests with the pictures, and `vistar-batched` 3 with all 2n questions in
    each. In the latter a judge sees both questions of a pair together, so the two
    profiles are not comparable. The paper does not specify how it asks.

    Parameters
    ----------
    name
        `hwpq` for the score, or `hwpq_answered` for the share behind it.
    profile
        `vistar-single` or `vistar-batched`. With `-answered-50` behind it, 50 per cent
        of the weight must have an answer, in place of 80.
    """

    def __init__(self, name: Name = "hwpq", profile: str = "vistar-single") -> None:
        self.name = name
        self.profile = profile
        self.way, _mark, percent = profile.partition(MARK)
        self.least = int(percent or ANSWERED) / 100
        asks = "all" if self.way == "vistar-batched" else "one"
        self.own = ("vistar", "system", asks)

    @property
    def info(self) -> MetricInfo:
        return declared(self.name, self.profile, backend=judge_name())

    def score(self, rendering: Rendering) -> Scoring:
        """Return one value; that of `hwpq` has every answer in its trace.

        Undefined without a picture or a valid questionnaire.

        Raises
        ------
        FeatureError
            If less of the weight than demanded has an answer. The next run asks again.
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
        votes = yield from WAYS[self.way](rendering.images, texts)
        by_pair = list(zip(votes[::2], votes[1::2], strict=True))
        scores = {
            pair.id: pair_score(*(majority([v.value for v in side]) for side in sides))
            for pair, sides in zip(questionnaire.pairs, by_pair, strict=True)
        }
        value, share = hwpq(questionnaire, scores), answered(questionnaire, scores)
        if value is None or share < self.least - EXACT:
            raise FeatureError(
                f"{share:.0%} of the questionnaire's weight has an answer, expected at "
                f"least {self.least:.0%}; {_first_reason(votes)}"
            )
        if self.name == "hwpq_answered":
            return [Value(share)]
        trace = {
            "prompt": questionnaire.prompt_id,
            "role": fields.get("role"),
            "angle": fields.get("angle"),
            "author": dict(questionnaire.author),
            "pictures": len(rendering.images),
            "answered": share,
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
        return [Value(value, trace=trace)]


def _first_reason(votes: Sequence[Sequence[Vote]]) -> str:
    return next(
        (vote.text for of in votes for vote in of if vote.value is None), "ties"
    )
