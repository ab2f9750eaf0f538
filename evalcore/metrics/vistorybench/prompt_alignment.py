"""Prompt alignment: agreement of a shot with its script, rated by a judge.

ViStoryBench, section 3.3 and appendix H. The profiles:

- `vsb-code-2026.02`: the program's request, with the rubrics of the operator's checkout
  of it: pictures squashed to 512 x 512, JPEG of quality 75; seed 123, temperature 0 and
  up to ten attempts, each 0.1 warmer. The first `Score:` counts, its fraction is
  dropped, and individual action is rounded for each shot and again for the story.
- `plumbline-1`: the same settings and averages, with this project's own rubrics.
- `plumbline-1-plain`: own rubrics; pictures keep their proportions (at most 1024
  pixels, JPEG of quality 90), seed 42, three attempts, fractions, plain means.

With own rubrics the last `Score:` counts. Where the program counts an unreadable answer
as 0, the run fails here, and the next one asks again.
"""

from collections.abc import Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from evalcore.metrics.base import (
    Ask,
    Image,
    MetricInfo,
    MissingRequirements,
    RenderedCharacter,
    RenderedShot,
    Rendering,
    Scoring,
    Value,
)
from evalcore.metrics.llm_judge.asking import AskingMetric, JudgeAnswer, ask_judge
from evalcore.metrics.llm_judge.checkouts import (
    VISTORYBENCH,
    PromptFile,
    template_with,
)
from evalcore.metrics.llm_judge.client import judge_name
from evalcore.metrics.llm_judge.questions import Detail, JudgeQuestion, prompts
from evalcore.metrics.llm_judge.replies import EXPLAINED_SCORE, Unclear, scores_after
from evalcore.metrics.registry import declared
from evalcore.metrics.vistorybench import character_matching
from evalcore.metrics.vistorybench.character_matching import Cast

Aspect = Literal["scene", "camera", "interaction"]
Profile = Literal["plumbline-1", "plumbline-1-plain", "vsb-code-2026.02"]
OWN: Profile = "plumbline-1"
PLAIN: Profile = "plumbline-1-plain"
CODE: Profile = "vsb-code-2026.02"
HIGHEST = 4
Judging = Generator[Ask, list[Any], Sequence[JudgeAnswer[float]]]


@dataclass(frozen=True)
class Manner:
    """A profile's settings for questions, and whether its scores are whole numbers."""

    size: tuple[int, int] | None
    quality: int
    seed: int
    attempts: int
    whole: bool
    detail: Detail  # of the crops of characters
    # Input of the face networks that find characters.
    faces: character_matching.Profile


SQUASHED = Manner((512, 512), 75, 123, 10, True, "low", "vsb-code-2026.02")
MANNERS: Mapping[Profile, Manner] = {
    OWN: SQUASHED,
    PLAIN: Manner(None, 90, 42, 3, False, "auto", "vsb-paper"),
    CODE: SQUASHED,
}

RUBRICS_FOLDER = "vistorybench/bench/prompt_align/user_prompts"


def _rubric_file(subject: str, sha256: str) -> PromptFile:
    path = f"{RUBRICS_FOLDER}/user_prompt_{subject}_text_align.txt"
    return PromptFile(VISTORYBENCH, path, sha256)


RUBRIC_FILES: Mapping[str, PromptFile] = {
    "scene": _rubric_file(
        "environment",
        "261d80b0d4eb7f796a8654c1a1c128ec7704a10b5e3f7ac8eb27110d21cad4de",
    ),
    "camera": _rubric_file(
        "camera",
        "ff0ae56cfbb37247832898280eb63912139b4e22c9ca9c51268b2245ab0ca0e9",
    ),
    "interaction": _rubric_file(
        "character",
        "ac9c248a2bd8018c3091f516d4af0dca3c1c65ca1de93130d0efae49d1b2bc19",
    ),
    "action": _rubric_file(
        "single_character",
        "6466c6c9c7622a8b5ecdde41fdd19d066626bc9bbafff546186da4a12c02a02c",
    ),
}
# The line that names a character stands in the source of the program's CIDS.
NAME_FILE = PromptFile(
    VISTORYBENCH,
    "vistorybench/bench/content/cids_evaluator.py",
    "896767fe0beefe14b8177987cee6bfcbd825a95a4a9af53159e8e5ecb762d987",
)
NAME_FUNCTION, NAME_GAP = "evaluate", "Characters[char]['name']"


# Field of the script for each judgement.
FIELDS = {
    "scene": "setting",
    "camera": "camera",
    "interaction": "static",
    "action": "static",
}


def parse_score(text: str, *, whole: bool, first: bool = False) -> float:
    """Return the score in a judge's answer: the last one, or the `first`."""
    scores = scores_after("score", text, HIGHEST, quoted=first)
    numbers = [number for number in scores if not isinstance(number, Unclear)]
    if not numbers:
        unclear = [one.reason for one in scores if isinstance(one, Unclear)]
        raise ValueError(unclear[0] if unclear else "there is no line `Score: 0 to 4`")
    score = min(max(numbers[0 if first else -1], 0.0), float(HIGHEST))
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


class _GradedByJudge(AskingMetric):
    """Base of both metrics: how they ask the judge, and their declaration."""

    def __init__(self, aspect: str, profile: Profile) -> None:
        self.name, self.aspect, self.field = f"pa_{aspect}", aspect, FIELDS[aspect]
        self.profile = profile
        self.manner = MANNERS[profile]
        files = [RUBRIC_FILES[aspect], *([NAME_FILE] if aspect == "action" else [])]
        self.files = files if profile == CODE else []
        self.own = ("vistorybench", aspect)

    @property
    def info(self) -> MetricInfo:
        return declared(self.name, self.profile, backend=judge_name())

    @property
    def rubric(self) -> str:
        """Return the rubric; PromptsError if the checkout lacks it."""
        if self.profile == CODE:
            return RUBRIC_FILES[self.aspect].read()
        return prompts("vistorybench")[self.aspect]

    def _asked(self, questions: Iterable[JudgeQuestion]) -> Judging:
        how = self.manner
        return ask_judge(
            [
                replace(
                    one,
                    seed=how.seed,
                    size=how.size,
                    quality=how.quality,
                    schema="" if self.profile == CODE else EXPLAINED_SCORE,
                )
                for one in questions
            ],
            lambda text: parse_score(text, whole=how.whole, first=self.profile == CODE),
            attempts=how.attempts,
        )


class PromptAlignment(_GradedByJudge):
    """One judgement of each shot."""

    def __init__(self, aspect: Aspect, profile: Profile = OWN) -> None:
        super().__init__(aspect, profile)

    def score(self, rendering: Rendering) -> Scoring:
        """Return one value per shot with a picture."""
        shots = [s for s in rendering.rendered if s.text.get(self.field, "").strip()]
        rubric = self.rubric
        answers = yield from self._asked(self._question(rubric, s) for s in shots)
        values = {
            shot.number: Value(answer.value, shot.number, trace=_traced(answer))
            for shot, answer in zip(shots, answers, strict=True)
        }
        if not rendering.rendered:
            return [Value(None, reason="no shot has a picture")]
        no_text = f"the script has no {self.field} for this shot"
        return [
            values.get(shot.number) or Value(None, shot.number, no_text)
            for shot in rendering.rendered
        ]

    def _question(self, rubric: str, shot: RenderedShot) -> JudgeQuestion:
        script, picture = shot.text[self.field], shot.frames[0]
        if self.profile == CODE:
            return JudgeQuestion((rubric, script, picture))
        script = f"The script says:\n{script.strip()}"
        return JudgeQuestion((f"{rubric}\n\n{script}", picture))


class IndividualAction(_GradedByJudge):
    """One judgement of each character found in each shot, with one value per output.

    Characters that were not found, and shots without found characters, do not count. A
    story with a character without a recognisable reference has no value in profile
    `vsb-code-2026.02` or `plumbline-1`: in the program it fails and drops out of the
    method's mean.
    """

    weights = character_matching.WEIGHTS

    def __init__(self, profile: Profile = OWN) -> None:
        super().__init__("action", profile)

    def missing(self) -> MissingRequirements:
        """Return what judge, prompts, detector and identity encoders lack."""
        return MissingRequirements([*super().missing(), *character_matching.missing()])

    def score(self, rendering: Rendering) -> Scoring:
        """Return one value, with each character's value in the trace."""
        if not rendering.characters:
            return [Value(None, reason="the story names no characters")]
        figure_encoders = character_matching.load_figure_encoders(self.manner.faces)
        cast = yield from character_matching.find_cast(rendering, figure_encoders)
        if cast.nameless and self.manner.faces == "vsb-code-2026.02":
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
        scripts = {s.number: s.text.get(self.field, "") for s in rendering.shots}
        rubric = self.rubric
        return {
            (number, key): self._question(
                rubric, scripts[number], rendering.characters[key], one.image
            )
            for number, matches in cast.matches.items()
            for key, one in matches.items()
            if scripts[number].strip()
        }

    def _question(
        self, rubric: str, script: str, character: RenderedCharacter, crop: Image
    ) -> JudgeQuestion:
        detail = self.manner.detail
        if self.profile == CODE:
            line = template_with(NAME_FILE.read(), NAME_FUNCTION, NAME_GAP)
            name = line.filled({NAME_GAP: character.name or character.key})
            parts = (script, name, crop)
            return JudgeQuestion(parts, system=rubric, detail=detail, listed=True)
        script = f"The script says:\n{script.strip()}"
        parts = (script, f"Character: {character.key}", crop)
        return JudgeQuestion(parts, system=rubric, detail=detail)

    def _scored(
        self, cast: Cast, answers: Mapping[tuple[int, str], JudgeAnswer[float]]
    ) -> Value:
        scores: dict[int, list[float]] = {}
        trace: dict[str, dict[str, Any]] = {}
        for (number, key), answer in answers.items():
            trace.setdefault(str(number), {})[key] = _traced(answer)
            scores.setdefault(number, []).append(answer.value)
        value = individual_action(list(scores.values()), rounded=self.manner.whole)
        return Value(value, trace={"shots": trace, **cast.errors})


def _traced(answer: JudgeAnswer[float]) -> dict[str, Any]:
    return {"score": answer.value, "answer": answer.text, "attempt": answer.attempt}
