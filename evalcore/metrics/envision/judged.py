"""Envision-Score of four pictures that show one event, in the eyes of a judge.

One reply holds all nine sub-scores, so the thirteen metrics cost one request a trial
together. Two profiles:

- `envision-paper`: five independent trials, plain means; a reply without nine clear
  scores is an unusable trial.
- `envision-code-05be960`: one trial, sub-weights .33, .33 and .34; a score that is
  missing in the reply counts 0, and values are rounded to two decimals.

`-k3` behind a profile asks in three trials instead, and so on up to 99.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from evalcore.metrics.base import (
    Image,
    MetricInfo,
    RenderedShot,
    Rendering,
    Scoring,
    Value,
)
from evalcore.metrics.envision.dimensions import (
    CODE,
    DIMENSIONS,
    HIGHEST,
    PAPER,
    PARTS,
    SUB_SCORES,
    all_scores,
    stability,
)
from evalcore.metrics.envision.reading import Trial, read_trial
from evalcore.metrics.envision.rubric import ABOUT, NAMES, rubric
from evalcore.metrics.llm_judge.asking import JudgeAnswer, Refusal, ask_judge
from evalcore.metrics.llm_judge.client import judge_name, missing_judge
from evalcore.metrics.llm_judge.questions import JudgeQuestion

STEPS = 4
TEMPERATURE = 0.3
MOST_TOKENS = 2000
TRIALS = {PAPER: 5, CODE: 1}
VERSIONS = {PAPER: "1", CODE: "2"}
TOLD = ("index", "category", "process_type")
WHOLE = {
    "consistency": "Consistency: the mean of semantic, factual and spatial-temporal.",
    "physicality": (
        "Physicality: the mean of basic properties, dynamics and physical reliability."
    ),
    "aesthetic": (
        "Aesthetics: the mean of expressiveness, aesthetic quality and authenticity."
    ),
    "overall": "Overall: .4 consistency, .4 physicality and .2 aesthetics.",
}


class EnvisionScore:
    """One part of Envision-Score; a value an output.

    Parameters
    ----------
    part
        A sub-score, a dimension, or `overall`; see `dimensions.PARTS`.
    profile
        Whose definition it follows; with `-k3` at its end the judge is asked three
        times, otherwise as often as the profile says.

    Raises
    ------
    ValueError
        There is no such part.
    """

    def __init__(self, part: str, profile: str = PAPER) -> None:
        if part not in PARTS:
            raise ValueError(f"no part {part!r}; there are {', '.join(PARTS)}")
        self.part = part
        self.profile, _mark, trials = profile.partition("-k")
        self.trials = int(trials or TRIALS[self.profile])

    @property
    def info(self) -> MetricInfo:
        usual = self.trials == TRIALS[self.profile]
        trials = "" if usual else f"-k{self.trials}"
        about = ABOUT.get(self.part)
        return MetricInfo(
            name=f"envision_{self.part}",
            title=f"Envision: {NAMES.get(self.part) or self.part}",
            family="Envision",
            scores="output",
            high=HIGHEST,
            version=VERSIONS[self.profile],
            source="Envision, section 3.3 and appendix E",
            measures=(
                f"Of four successive pictures: {about}" if about else WHOLE[self.part]
            ),
            backend=judge_name(),
            queue="judge",
            profile=f"{self.profile}{trials}",
        )

    missing = staticmethod(missing_judge)

    def score(self, rendering: Rendering) -> Scoring:
        """Return one value, with a row for each trial in the trace.

        Undefined where a step lacks its picture or its prompt, and where no trial is
        usable. In profile `envision-code-05be960` a sub-score that the reply lacks
        counts 0, as in the reference program; the trace says so.
        """
        reason = why_unjudged(rendering)
        if reason:
            return [Value(None, reason=reason)]
        questions = [_question(rendering, trial) for trial in range(self.trials)]
        # Never asked again, warmer: the trials are to be alike.
        answers = yield from ask_judge(questions, self._read, attempts=1)
        return [self._value(answers)]

    def _read(self, text: str) -> Trial:
        return read_trial(text, self.profile)

    def _value(self, answers: Sequence[JudgeAnswer[Trial] | Refusal]) -> Value:
        scores = [
            all_scores(answer.value.scores, self.profile)
            for answer in answers
            if isinstance(answer, JudgeAnswer)
        ]
        rows = [self._row(k, answer) for k, answer in enumerate(answers, start=1)]
        if not scores:
            reason = str(answers[0])
            return Value(None, reason=reason, trace={"trials": rows})
        spread = stability([trial[self.part] for trial in scores])
        value = round(spread.mean, 2) if self.profile == CODE else spread.mean
        trace = {"trials": rows, "usable": len(scores), **asdict(spread)}
        return Value(value, trace=trace)

    def _row(self, number: int, answer: JudgeAnswer[Trial] | Refusal) -> dict[str, Any]:
        """Return one trial as JSON; the judge's words only with the overall score."""
        row: dict[str, Any] = {"trial": number}
        if isinstance(answer, Refusal):
            return row | {"refused": list(answer.reasons)}
        wanted = _sub_scores(self.part)
        row["scores"] = {name: answer.value.scores[name] for name in wanted}
        lacking = {n: why for n, why in answer.value.lacking.items() if n in wanted}
        if lacking:
            row["lacking"] = lacking
        if self.part == "overall":
            row["answer"] = answer.text
        return row


def why_unjudged(rendering: Rendering) -> str:
    """Say why a sequence cannot be judged; empty if it can."""
    if len(rendering.shots) != STEPS:
        return f"Envision judges {STEPS} steps, not {len(rendering.shots)}"
    for shot in rendering.shots:
        if shot.image is None:
            return f"step {shot.number} has no picture"
    for shot in rendering.shots:
        if not shot.text.get("prompt", "").strip():
            return f"step {shot.number} has no prompt"
    return ""


def _sub_scores(part: str) -> tuple[str, ...]:
    if part == "overall":
        return SUB_SCORES
    return DIMENSIONS.get(part, (part,))


def _question(rendering: Rendering, trial: int) -> JudgeQuestion:
    parts: list[str | Image] = [f"{rubric()}\n\n{_event(rendering.extra)}".rstrip()]
    for number, shot in enumerate(rendering.shots, start=1):
        parts += [_step(number, shot), shot.frames[0]]
    return JudgeQuestion(
        tuple(parts),
        temperature=TEMPERATURE,
        max_tokens=MOST_TOKENS,
        trial=trial,
        size=None,
    )


def _event(extra: Mapping[str, Any]) -> str:
    """Return what the benchmark's file says of the whole sequence, a line each."""
    said = extra.get("envision", extra)
    if not isinstance(said, Mapping):
        return ""
    lines = [f"{name}: {said[name]}" for name in TOLD if said.get(name) is not None]
    return "\n".join(["The event:", *lines] if lines else [])


def _step(number: int, shot: RenderedShot) -> str:
    lines = [f"Step {number}", f"Text: {shot.text['prompt'].strip()}"]
    explanation = shot.text.get("explanation", "").strip()
    if explanation:
        lines.append(f"Explanation: {explanation}")
    return "\n".join(lines)
