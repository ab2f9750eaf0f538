"""HWPQ: what share of a prompt's weighted pairs of questions a picture meets."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from evalcore.metrics.base import MetricInfo, Rendering, Scoring, Value
from evalcore.metrics.llm_judge.client import judge_name, missing_judge
from evalcore.metrics.vistar.answering import WAYS, Profile
from evalcore.metrics.vistar.questionnaire import (
    HierarchicalQuestionnaire,
    QuestionnaireError,
    read_questionnaire,
)
from evalcore.metrics.vistar.story_request import vistar_of


def majority(votes: Sequence[bool | None]) -> bool | None:
    """Return what most of the votes say.

    Result: None where there is no majority: everybody abstained, or as many said yes as
    no (with three trials: one of each and an abstention).

    Source: VISTAR, section 3.4.2: three independent queries, majority voting.
    Abstentions are ours.

    >>> majority([True, None, None]), majority([True, False, None])
    (True, None)
    """
    yes, no = votes.count(True), votes.count(False)
    return None if yes == no else yes > no


def pair_score(positive: bool | None, negative: bool | None) -> int | None:
    """Return 1 if the positive question is answered with yes, the negative with no.

    Result: None where either question has no answer, even if the other one alone would
    make the pair 0: otherwise unanswered pairs could lose but never win.

    Source: VISTAR, section 3.4.2, the first equation.

    >>> pair_score(True, False), pair_score(True, True), pair_score(None, True)
    (1, 0, None)
    """
    if positive is None or negative is None:
        return None
    return int(positive and not negative)


def hwpq(
    questionnaire: HierarchicalQuestionnaire, pairs: Mapping[str, int | None]
) -> float | None:
    """Return the doubly weighted sum of the pairs that a picture meets.

    `questionnaire`: with weights that sum to 1. `pairs`: 0, 1 or None by the id of each
    pair. Result: from 0 to 1. Pairs without an answer are left out, and the others of
    their level share their weight in proportion; a level of which no pair with any
    weight is left gives its weight to the other levels in the same way (ours). None
    where nothing is left.

    Source: VISTAR, section 3.4.2: Score = sum_l w_l sum_i w_li S_li.

    >>> from evalcore.metrics.vistar.questionnaire import QuestionLevel, QuestionPair
    >>> level = QuestionLevel("L1", 1.0, (
    ...     QuestionPair("cat", "A cat?", "A dog?", 0.75),
    ...     QuestionPair("hat", "A hat?", "A cap?", 0.25),
    ... ))
    >>> asked = HierarchicalQuestionnaire("1", "a cat in a hat", (level,))
    >>> hwpq(asked, {"cat": 1, "hat": 0})
    0.75
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
    """HWPQ of an output, by the questionnaire of its prompt.

    A story with several shots has one questionnaire: all its pictures go into each
    question in order, and the value is of the whole output. Shots without a picture are
    not shown.

    An unusable reply abstains and is not asked for again; three trials are there for
    that.

    Costs. With n pairs, `vistar-single` makes 6n requests (two questions, three trials)
    and sends the picture each time; `vistar-batched` makes 3, with all 2n questions in
    each. With 20 pairs and a picture of 800 tokens (proportions kept, 1024 pixels on
    the longer side) that is about 100,000 tokens a prompt against 6,000. The paper's
    bound is 5 dollars for 1,000 prompts, half a cent each: singly it holds below 5
    cents a million tokens, together below 80. The paper leaves open which way it asks.
    Asked together, a judge sees both questions of a pair at once and may answer for
    consistency; the two profiles are not to be mixed.

    Parameters
    ----------
    profile
        `vistar-single` or `vistar-batched`.
    """

    def __init__(self, profile: Profile = "vistar-single") -> None:
        self.profile = profile

    @property
    def info(self) -> MetricInfo:
        return replace(INFO, backend=judge_name(), profile=self.profile)

    missing = staticmethod(missing_judge)

    def score(self, rendering: Rendering) -> Scoring:
        """Return one value, with every answer in its trace.

        Undefined without a picture, without a valid questionnaire, and where no pair
        has a majority for both of its questions.
        """
        told = vistar_of(rendering)
        if "questionnaire" not in told:
            return [Value(None, reason="the story has no questionnaire")]
        try:
            questionnaire = read_questionnaire(told["questionnaire"])
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
            "role": told.get("role"),
            "angle": told.get("angle"),
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
        reason = "" if value is not None else "no pair of questions has two answers"
        return [Value(value, reason=reason, trace=trace)]


INFO = MetricInfo(
    queue="judge",
    name="hwpq",
    title="HWPQ",
    family="VISTAR",
    scores="output",
    source="VISTAR, section 3.4",
    measures=(
        "The weighted share of pairs of opposed yes-no questions about the prompt that "
        "a judge answers as the prompt demands. It sees what the questionnaire asks."
    ),
    backend="judge",
)
