"""Prompt alignment: agreement of a shot with its script, rated by a judge.

ViStoryBench, section 3.3 and appendix H. The rubrics are this project's wording of the
program's, in both profiles:

- `vsb-code-2026.02`: pictures squashed to 512 x 512, JPEG of quality 75; seed 123,
  temperature 0 and up to ten attempts, each 0.1 warmer; fractions are dropped, and
  individual action is rounded for each shot and again for the story.
- `vsb-paper`: mostly this project's choice: pictures keep their proportions (at most
  1024 pixels, JPEG of quality 90), seed 42, three attempts, fractions, plain means.

Where the program counts an unreadable answer as 0, the value is undefined here, with a
reason.
"""

from collections.abc import Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from evalcore.metrics.base import (
    Ask,
    MetricInfo,
    MissingRequirements,
    RenderedShot,
    Rendering,
    Scoring,
    Value,
)
from evalcore.metrics.llm_judge.asking import JudgeAnswer, Refusal, ask_judge
from evalcore.metrics.llm_judge.client import judge_name, missing_judge
from evalcore.metrics.llm_judge.questions import JudgeQuestion, prompts
from evalcore.metrics.llm_judge.replies import Unclear, scores_after
from evalcore.metrics.registry import declared
from evalcore.metrics.vistorybench import character_matching
from evalcore.metrics.vistorybench.character_matching import Cast, Profile

Aspect = Literal["scene", "camera", "interaction"]
CODE: Profile = "vsb-code-2026.02"
PAPER: Profile = "vsb-paper"
HIGHEST = 4
Judging = Generator[Ask, list[Any], list[JudgeAnswer[float] | Refusal]]


@dataclass(frozen=True)
class Manner:
    """A profile's settings for questions, and whether its scores are whole numbers."""

    size: tuple[int, int] | None
    quality: int
    seed: int
    attempts: int
    whole: bool


MANNERS: Mapping[str, Manner] = {
    CODE: Manner((512, 512), 75, 123, 10, whole=True),
    PAPER: Manner(None, 90, 42, 3, whole=False),
}


# Field of the script for each judgement.
FIELDS = {
    "scene": "setting",
    "camera": "camera",
    "interaction": "static",
    "action": "static",
}


def parse_score(text: str, *, whole: bool) -> float:
    """Return the score in a judge's answer."""
    scores = scores_after("score", text, HIGHEST)
    numbers = [number for number in scores if not isinstance(number, Unclear)]
    if not numbers:
        unclear = [one.reason for one in scores if isinstance(one, Unclear)]
        raise ValueError(unclear[0] if unclear else "there is no line `Score: 0 to 4`")
    score = min(max(numbers[0], 0.0), float(HIGHEST))
    return float(int(score)) if whole else score


def individual_action(
    shots: Sequence[Sequence[float]], *, rounded: bool
) -> float | None:
    """Return the individual-action score of a story's characters.

    The mean over shots of the mean over characters; None if no shot has a score.
    `rounded`: whether both means become whole numbers, halves going to the even one.

    Source: ViStoryBench, section 3.3 (plain means), and its program at 514cc31
    (rounded).
    """
    means = [float(np.mean(scores)) for scores in shots if len(scores)]
    if not means:
        return None
    if rounded:
        means = [float(round(mean)) for mean in means]
    story = float(np.mean(means))
    return float(round(story)) if rounded else story


class _GradedByJudge:
    """Base of both metrics: how they ask the judge, and their declaration."""

    def __init__(self, aspect: str, profile: Profile) -> None:
        self.name, self.field = f"pa_{aspect}", FIELDS[aspect]
        self.rubric = prompts("vistorybench")[aspect]
        self.profile = profile
        self.manner = MANNERS[profile]

    @property
    def info(self) -> MetricInfo:
        return declared(self.name, self.profile, backend=judge_name())

    def _asked(self, questions: Iterable[JudgeQuestion]) -> Judging:
        how = self.manner
        return ask_judge(
            [
                replace(one, seed=how.seed, size=how.size, quality=how.quality)
                for one in questions
            ],
            lambda text: parse_score(text, whole=how.whole),
            attempts=how.attempts,
        )


class PromptAlignment(_GradedByJudge):
    """One judgement of each shot."""

    missing = staticmethod(missing_judge)

    def __init__(self, aspect: Aspect, profile: Profile = CODE) -> None:
        super().__init__(aspect, profile)

    def score(self, rendering: Rendering) -> Scoring:
        """Return one value per shot with a picture."""
        shots = [s for s in rendering.rendered if s.text.get(self.field, "").strip()]
        answers = yield from self._asked(self._question(shot) for shot in shots)
        values = {
            shot.number: _value(shot.number, answer)
            for shot, answer in zip(shots, answers, strict=True)
        }
        if not rendering.rendered:
            return [Value(None, reason="no shot has a picture")]
        no_text = f"the script has no {self.field} for this shot"
        return [
            values.get(shot.number) or Value(None, shot.number, no_text)
            for shot in rendering.rendered
        ]

    def _question(self, shot: RenderedShot) -> JudgeQuestion:
        script = f"The script says:\n{shot.text[self.field].strip()}"
        return JudgeQuestion((f"{self.rubric}\n\n{script}", shot.frames[0]))


class IndividualAction(_GradedByJudge):
    """One judgement of each character found in each shot, with one value per output.

    Characters that were not found, and shots without found characters, do not count. A
    story with a character without a recognisable reference has no value in profile
    `vsb-code-2026.02`: in the program it fails and drops out of the method's mean.
    """

    weights = character_matching.WEIGHTS

    def __init__(self, profile: Profile = CODE) -> None:
        super().__init__("action", profile)

    def missing(self) -> MissingRequirements:
        """Return the missing requirements of judge, detector and identity encoders."""
        return MissingRequirements([*missing_judge(), *character_matching.missing()])

    def score(self, rendering: Rendering) -> Scoring:
        """Return one value, with each character's value in the trace."""
        if not rendering.characters:
            return [Value(None, reason="the story names no characters")]
        figure_encoders = character_matching.load_figure_encoders(self.profile)
        cast = yield from character_matching.find_cast(rendering, figure_encoders)
        if cast.nameless and self.profile == CODE:
            nameless = ", ".join(cast.nameless)
            return [Value(None, reason=f"no reference of {nameless} is recognised")]
        questions = self._questions(rendering, cast)
        if not questions:
            reason = "no expected character was found in a shot with a script"
            return [Value(None, reason=reason)]
        answers = yield from self._asked(questions.values())
        return [self._scored(cast, dict(zip(questions, answers, strict=True)))]

    def _questions(
        self, rendering: Rendering, cast: Cast
    ) -> dict[tuple[int, str], JudgeQuestion]:
        """Return the questions, by shot and character."""
        scripts = {
            s.number: s.text.get(self.field, "").strip() for s in rendering.shots
        }
        return {
            (number, key): JudgeQuestion(
                (
                    f"The script says:\n{scripts[number]}",
                    f"Character: {key}",
                    one.image,
                ),
                system=self.rubric,
                detail="low" if self.profile == CODE else "auto",
            )
            for number, matches in cast.matches.items()
            for key, one in matches.items()
            if scripts[number]
        }

    def _scored(
        self,
        cast: Cast,
        answers: Mapping[tuple[int, str], JudgeAnswer[float] | Refusal],
    ) -> Value:
        scores: dict[int, list[float]] = {}
        trace: dict[str, dict[str, Any]] = {}
        for (number, key), answer in answers.items():
            trace.setdefault(str(number), {})[key] = _traced(answer)
            if isinstance(answer, JudgeAnswer):
                scores.setdefault(number, []).append(answer.value)
        value = individual_action(list(scores.values()), rounded=self.manner.whole)
        reason = "" if scores else str(next(iter(answers.values())))
        return Value(value, reason=reason, trace={"shots": trace, **cast.errors})


def _value(number: int, answer: JudgeAnswer[float] | Refusal) -> Value:
    if isinstance(answer, Refusal):
        return Value(None, number, str(answer), _traced(answer))
    return Value(answer.value, number, trace=_traced(answer))


def _traced(answer: JudgeAnswer[float] | Refusal) -> dict[str, Any]:
    if isinstance(answer, Refusal):
        return {"refused": list(answer.reasons)}
    return {"score": answer.value, "answer": answer.text, "attempt": answer.attempt}
