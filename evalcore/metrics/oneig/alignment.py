"""Alignment: whether a picture shows what its prompt asks for, question by question."""

import re

import numpy as np

from evalcore.metrics.base import Image, MetricInfo, Rendering, Scoring, Value
from evalcore.metrics.llm_judge.asking import JudgeAnswer, Refusal, ask_judge
from evalcore.metrics.llm_judge.client import judge_name, missing_judge
from evalcore.metrics.llm_judge.questions import JudgeQuestion
from evalcore.metrics.oneig.grids import seen_pictures, split_profile
from evalcore.metrics.oneig.prompt import told
from evalcore.metrics.oneig.questionnaire import alignment, read_questionnaire

ANSWER = re.compile(r"\W*(?:(yes|是|有)|(no|not|否|不|没))(?![a-z])", re.IGNORECASE)
REQUEST = "Answer with one word, Yes or No, and nothing else."


def read_answer(reply: str) -> bool:
    """Return whether a judge's reply says yes; its first word decides.

    >>> read_answer("**Yes**"), read_answer("No, there is none."), read_answer("不是")
    (True, False, False)
    """
    found = ANSWER.match(reply)
    if found is None:
        raise ValueError(f"Yes or No, not {reply.strip()[:40]!r}")
    return found[1] is not None


class Alignment:
    """Alignment of the pictures of a prompt of OneIG.

    Parameters
    ----------
    profile
        Empty, or the grid that its files have, as `grid-2x2`; see `grids`.
    """

    def __init__(self, profile: str = "") -> None:
        self.profile = profile
        _plain, self.grid = split_profile(profile)

    @property
    def info(self) -> MetricInfo:
        return MetricInfo(
            name="oneig_alignment",
            title="OneIG alignment",
            family="OneIG",
            scores="output",
            source="OneIG-Bench, section on alignment, and its program",
            measures=(
                "Which share of the questions about a prompt is answered yes. It sees "
                "only what was asked about, and no better than the judge."
            ),
            backend=judge_name(),
            queue="judge",
            profile=self.profile,
        )

    missing = staticmethod(missing_judge)

    def score(self, rendering: Rendering) -> Scoring:
        """Return the mean over the pictures; undefined without questions.

        All questions are asked of each picture. A picture of which a question got no
        usable answer has no score; it is left out and named in the trace.
        """
        prompt = told(rendering)
        pictures = yield from seen_pictures(rendering, self.grid)
        if not prompt.get("questions") or not pictures:
            reason = "the prompt has no questions of OneIG, or no shot has a picture"
            return [Value(None, reason=reason)]
        read = read_questionnaire(prompt["questions"], prompt.get("dependencies") or {})
        asked = [
            _question(image, question)
            for image in pictures.values()
            for question in read.questions.values()
        ]
        replies = iter((yield from ask_judge(asked, read_answer)))
        scores: list[float] = []
        trace: dict[str, dict[str, bool | str]] = {}
        for label in pictures:
            answers = {number: next(replies) for number in read.questions}
            trace[label] = {str(n): _told(a) for n, a in answers.items()}
            usable = {
                n: a.value for n, a in answers.items() if isinstance(a, JudgeAnswer)
            }
            if len(usable) == len(answers):
                scores.append(alignment(usable, read.parents))
        if not scores:
            reason = "no picture got a usable answer to all questions"
            return [Value(None, reason=reason, trace={"answers": trace})]
        return [Value(float(np.mean(scores)), trace={"answers": trace})]


def _told(answer: JudgeAnswer[bool] | Refusal) -> bool | str:
    return answer.value if isinstance(answer, JudgeAnswer) else str(answer)


def _question(image: Image, question: str) -> JudgeQuestion:
    return JudgeQuestion((image, f"{question.strip()}\n{REQUEST}"), size=None)
