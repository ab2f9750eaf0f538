"""The request of Envision's program at 05be960, with the prompt of a checkout of it."""

from collections.abc import Mapping
from typing import Any

from evalcore.metrics.base import Rendering
from evalcore.metrics.llm_judge.checkouts import (
    ENVISION,
    PromptFile,
    longest_text,
    template_with,
)
from evalcore.metrics.llm_judge.questions import JudgeQuestion

PROMPT_FILE = PromptFile(
    ENVISION,
    "eval.py",
    "4c5b9a13ada00c01e6b3d4922275a321bec85998c02081f36cd67739f6814378",
)
FUNCTION = "build_sequence_evaluation_messages"
FIELDS = ("index", "category", "process_type")
STEP_FIELDS = ("step", "prompt", "explanation")
STEPS_GAP = "steps_text"
TEMPERATURE = 0.3
MOST_TOKENS = 2000


def why_no_request(rendering: Rendering) -> str:
    """Return which field of the request a sequence lacks; empty if none."""
    said = _fields(rendering)
    lacking = [name for name in FIELDS if said.get(name) is None]
    return f"the sequence has no {lacking[0]}" if lacking else ""


def program_question(rendering: Rendering, trial: int) -> JudgeQuestion:
    """Return the program's question about a sequence.

    A system and a user message; first the rubric with all steps' texts, then the
    pictures as they are stored. PromptsError without the program's file; LookupError if
    the texts are not where the program has them.
    """
    source = PROMPT_FILE.read()
    said = _fields(rendering)
    of_step = template_with(
        source, FUNCTION, *(f"step_data['{name}']" for name in STEP_FIELDS)
    )
    rubric = template_with(
        source, FUNCTION, *(f"sequence_data['{name}']" for name in FIELDS), STEPS_GAP
    )
    steps = "\n".join(
        of_step.filled({f"step_data['{name}']": row[name] for name in STEP_FIELDS})
        for row in _steps(rendering)
    )
    text = rubric.filled(
        {f"sequence_data['{name}']": said[name] for name in FIELDS} | {STEPS_GAP: steps}
    )
    return JudgeQuestion(
        (text, *rendering.images),
        system=longest_text(source, FUNCTION),
        temperature=TEMPERATURE,
        max_tokens=MOST_TOKENS,
        trial=trial,
        format="png",
        longest=None,
        listed=True,
    )


def _fields(rendering: Rendering) -> Mapping[str, Any]:
    said = rendering.extra.get("envision", rendering.extra)
    return said if isinstance(said, Mapping) else {}


def _steps(rendering: Rendering) -> list[dict[str, Any]]:
    return [
        {
            "step": shot.number,
            "prompt": shot.text.get("prompt", ""),
            "explanation": shot.text.get("explanation", ""),
        }
        for shot in rendering.shots
    ]
