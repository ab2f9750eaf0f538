"""Envision-Score by a judge: nine sub-scores, three dimensions, one overall score.

All are from 0 to 5. One reply holds all nine sub-scores, so the thirteen metrics
together cost one request per trial. It shows all steps of a sequence: the paper's four,
or another number from 2 to 16.

- `plumbline-1`: this project's own prompt, with the paper's five trials and plain
  means; a reply without nine clear scores is unusable.
- `envision-code-05be960`: the program's request, with the prompt of the operator's
  checkout of it; one trial, sub-weights .33, .33 and .34 (as in its printed tables); a
  missing score counts 0, and values are rounded to two decimals.

The suffix `-k3` of a profile stands for three trials, and so on up to 99.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from evalcore.metrics.base import (
    FeatureError,
    Image,
    MetricInfo,
    RenderedShot,
    Rendering,
    Scoring,
    Value,
)
from evalcore.metrics.envision_program import (
    MOST_TOKENS,
    PROMPT_FILE,
    TEMPERATURE,
    program_question,
    why_no_request,
)
from evalcore.metrics.llm_judge.asking import (
    AskingMetric,
    JudgeAnswer,
    Refusal,
    ask_judge,
)
from evalcore.metrics.llm_judge.client import judge_name
from evalcore.metrics.llm_judge.questions import JudgeQuestion, prompts
from evalcore.metrics.llm_judge.replies import Unclear, digits_after, scores_after
from evalcore.metrics.registry import declared

# The program, and the paper's averages of answers to this project's own prompt.
CODE, PAPER = "envision-code-05be960", "plumbline-1"
HIGHEST = 5
# The program's heavier weight belongs to the last one.
DIMENSIONS: Mapping[str, tuple[str, str, str]] = {
    "consistency": ("semantic", "factual", "spatial_temporal"),
    "physicality": ("basic_properties", "dynamics", "physical_reliability"),
    "aesthetic": ("expressiveness", "artistic_quality", "authenticity"),
}
SUB_SCORES = tuple(name for names in DIMENSIONS.values() for name in names)
PARTS = (*SUB_SCORES, *DIMENSIONS, "overall")
SUB_WEIGHTS: Mapping[str, tuple[float, float, float]] = {
    CODE: (0.33, 0.33, 0.34),
    PAPER: (1 / 3, 1 / 3, 1 / 3),
}
WEIGHTS: Mapping[str, float] = {
    "consistency": 0.4,
    "physicality": 0.4,
    "aesthetic": 0.2,
}


def dimension_score(sub_scores: Sequence[float], profile: str = PAPER) -> float:
    """Return the score of a dimension.

    Source: Envision, section 3.3, and its program at 05be960.
    """
    weights = SUB_WEIGHTS[profile]
    pairs = zip(weights, sub_scores, strict=True)
    return float(sum(weight * score for weight, score in pairs))


def overall_score(consistency: float, physicality: float, aesthetic: float) -> float:
    """Return the overall score: .4 C + .4 P + .2 A.

    Source: Envision, section 3.3.
    """
    return (
        WEIGHTS["consistency"] * consistency
        + WEIGHTS["physicality"] * physicality
        + WEIGHTS["aesthetic"] * aesthetic
    )


def all_scores(
    sub_scores: Mapping[str, float], profile: str = PAPER
) -> dict[str, float]:
    """Return the nine sub-scores, the three dimensions and the overall score."""
    scores = {name: float(sub_scores[name]) for name in SUB_SCORES}
    for dimension, names in DIMENSIONS.items():
        scores[dimension] = dimension_score([scores[n] for n in names], profile)
    scores["overall"] = overall_score(*(scores[d] for d in WEIGHTS))
    return scores


def stability(trials: Sequence[float]) -> dict[str, float]:
    """Return how a score varies over trials; the deviation divides by their number.

    Source: Envision, equations 4 to 7.
    """
    scores = np.asarray(trials, dtype=np.float64)
    return {
        "mean": float(scores.mean()),
        "low": float(scores.min()),
        "high": float(scores.max()),
        "deviation": float(scores.std()),
    }


# Name of each sub-score, and a regular expression for its spellings by judges.
NAMES: Mapping[str, tuple[str, str]] = {
    "semantic": ("Semantic Consistency", r"semantic[\s_]+consistency"),
    "factual": ("Factual Consistency", r"factual[\s_]+consistency"),
    "spatial_temporal": (
        "Spatial-Temporal Consistency",
        r"spati(?:o|al)[\s_\-\u2010-\u2015]*temporal[\s_]+consistency",
    ),
    "basic_properties": ("Basic Properties", r"basic[\s_]+properties"),
    "dynamics": (
        "Dynamics and Interactivity",
        r"dynamics(?:[\s_]+(?:and|&)[\s_]+|[\s_]+)interactivity",
    ),
    "physical_reliability": ("Physical Reliability", r"physical[\s_]+reliability"),
    "expressiveness": ("Expressiveness", "expressiveness"),
    "artistic_quality": ("Aesthetic Quality", r"(?:aesthetic|artistic)[\s_]+quality"),
    "authenticity": ("Authenticity", "authenticity"),
}


@dataclass(frozen=True)
class Trial:
    """Scores of one reply."""

    scores: Mapping[str, int]  # all nine, whole numbers from 0 to 5
    # Why some of them are 0 in profile `envision-code-05be960`, by name.
    lacking: Mapping[str, str]


def read_trial(text: str, profile: str = PAPER) -> Trial:
    """Return the nine scores of a reply.

    `plumbline-1` accepts only nine whole numbers from 0 to 5.
    `envision-code-05be960` reads like the program: the first digit after a name, at the
    last mention with a digit from 0 to 5, or else 0. Unlike the program, it also reads
    bold names.
    """
    read = _last_digit if profile == CODE else _whole_number
    found: dict[str, int] = {}
    lacking: dict[str, str] = {}
    for name in SUB_SCORES:
        try:
            found[name] = read(text, name)
        except ValueError as error:
            lacking[name] = str(error)
    if not found:
        raise ValueError("the reply has none of the nine scores")
    if lacking and profile != CODE:
        raise ValueError("; ".join(lacking.values()))
    return Trial({name: found.get(name, 0) for name in SUB_SCORES}, lacking)


def _last_digit(text: str, name: str) -> int:
    called, pattern = NAMES[name]
    given = [n for n in digits_after(pattern, text) if n <= HIGHEST]
    if not given:
        raise ValueError(f"{called} is missing")
    return given[-1]


def _whole_number(text: str, name: str) -> int:
    called, pattern = NAMES[name]
    given = []
    for number in scores_after(pattern, text, HIGHEST):
        if isinstance(number, Unclear):
            raise ValueError(f"{called}: {number.reason}")
        if number != int(number):
            raise ValueError(f"{called}: {number:g} is no whole number")
        if not 0 <= int(number) <= HIGHEST:
            raise ValueError(f"{called}: {number:g} is not from 0 to {HIGHEST}")
        given.append(int(number))
    if not given:
        raise ValueError(f"{called} is missing")
    if len(set(given)) > 1:
        both = " and ".join(map(str, dict.fromkeys(given)))
        raise ValueError(f"{called} is given as {both}")
    return given[0]


# The paper's and the program's number of steps, and the numbers that are judged.
STEPS, FEWEST_STEPS, MOST_STEPS = 4, 2, 16
TRIALS = {PAPER: 5, CODE: 1}
VERSIONS = {PAPER: "1", CODE: "3"}
TOLD = ("index", "category", "process_type")


class EnvisionScore(AskingMetric):
    """One part of Envision-Score, with one value per output.

    Parameters
    ----------
    part
        A sub-score, a dimension, or `overall`; see `PARTS`.
    profile
        Definition to follow; with the suffix `-k3` the judge is asked three times.
    """

    own = ("envision", "rubric")

    def __init__(self, part: str, profile: str = PAPER) -> None:
        if part not in PARTS:
            raise ValueError(f"no part {part!r}; known are {', '.join(PARTS)}")
        self.part = part
        self.profile, _mark, trials = profile.partition("-k")
        self.trials = int(trials or TRIALS[self.profile])
        self.files = [PROMPT_FILE] if self.profile == CODE else []

    @property
    def info(self) -> MetricInfo:
        usual = self.trials == TRIALS[self.profile]
        trials = "" if usual else f"-k{self.trials}"
        return declared(
            f"envision_{self.part}",
            f"{self.profile}{trials}",
            version=VERSIONS[self.profile],
            backend=judge_name(),
        )

    def score(self, rendering: Rendering) -> Scoring:
        """Return one value, with a row for each trial in the trace.

        The value is the mean of the usable trials; the trace names the others.
        Undefined if a step lacks its picture or its prompt: the program leaves such a
        sequence out, too, and it never counts 0. In profile `envision-code-05be960` a
        missing sub-score counts 0, as in the reference program, and is named in the
        trace; its request speaks of four steps whatever their number, as the program's
        does.

        Raises
        ------
        FeatureError
            If no trial is usable. This is a failure, not an absence: another run asks
            again.
        """
        is_program = self.profile == CODE
        reason = why_unjudged(rendering) or is_program * why_no_request(rendering)
        if reason:
            return [Value(None, reason=reason)]
        question = program_question if is_program else _question
        questions = [question(rendering, trial) for trial in range(self.trials)]
        # One attempt per trial: a retry would raise the temperature, and trials must be
        # equal.
        answers = yield from ask_judge(
            questions, self._read, attempts=1, unanswered="refuse"
        )
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
            raise FeatureError(str(answers[0]))
        spread = stability([trial[self.part] for trial in scores])
        value = round(spread["mean"], 2) if self.profile == CODE else spread["mean"]
        trace = {"trials": rows, "usable": len(scores), **spread}
        return Value(value, trace=trace)

    def _row(self, number: int, answer: JudgeAnswer[Trial] | Refusal) -> dict[str, Any]:
        """Return one trial as JSON; only the overall score carries the judge's text."""
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
    """Return why a sequence cannot be judged; empty if it can."""
    if not FEWEST_STEPS <= len(rendering.shots) <= MOST_STEPS:
        lengths = f"{FEWEST_STEPS} to {MOST_STEPS} steps"
        return f"Envision judges {lengths}, not {len(rendering.shots)}"
    for shot in rendering.shots:
        if shot.image is None:
            return f"step {shot.number} has no picture"
    for shot in rendering.shots:
        if not _prompt(shot):
            return f"step {shot.number} has no prompt"
    return ""


def _sub_scores(part: str) -> tuple[str, ...]:
    if part == "overall":
        return SUB_SCORES
    return DIMENSIONS.get(part, (part,))


def _question(rendering: Rendering, trial: int) -> JudgeQuestion:
    count = len(rendering.shots)
    rubric = prompts("envision")["rubric"].replace(
        "{count}", "four" if count == STEPS else str(count)
    )
    parts: list[str | Image] = [f"{rubric}\n\n{_event(rendering.extra)}".rstrip()]
    for number, shot in enumerate(rendering.shots, start=1):
        parts += [_step(number, shot), shot.frames[0]]
    return JudgeQuestion(
        tuple(parts),
        temperature=TEMPERATURE,
        max_tokens=MOST_TOKENS,
        trial=trial,
    )


def _event(extra: Mapping[str, Any]) -> str:
    """Return the benchmark's fields about the whole sequence, one per line."""
    said = extra.get("envision", extra)
    if not isinstance(said, Mapping):
        return ""
    lines = [f"{name}: {said[name]}" for name in TOLD if said.get(name) is not None]
    return "\n".join(["The event:", *lines] if lines else [])


def _prompt(shot: RenderedShot) -> str:
    """Return a step's prompt; in lists of other origin, its caption."""
    return (shot.text.get("prompt") or shot.text.get("caption") or "").strip()


def _step(number: int, shot: RenderedShot) -> str:
    lines = [f"Step {number}", f"Text: {_prompt(shot)}"]
    explanation = shot.text.get("explanation", "").strip()
    if explanation:
        lines.append(f"Explanation: {explanation}")
    return "\n".join(lines)
