"""Having a judge write the questionnaires of prompts, once for each prompt.

`manage.py write_questionnaires` runs it.

The paper's own instruction (its appendix E) is not published; this one states the rules
of its section 3.4.1 in our words. What a judge returns is checked like any other
questionnaire, and asked for again where it is refused.
"""

from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from typing import Any

from evalcore.metrics.base import Ask
from evalcore.metrics.llm_judge.asking import Refusal, ask_judge
from evalcore.metrics.llm_judge.questions import JudgeQuestion
from evalcore.metrics.vistar.prompt_language import ANGLES, ROLES
from evalcore.metrics.vistar.questionnaire import (
    HierarchicalQuestionnaire,
    QuestionLevel,
    decode,
    read_questionnaire,
)

MAX_TOKENS = 4096
RULES = """\
You write questionnaires. A person who knows nothing of the prompt will look at a \
picture that was drawn for it and answer each of your questions with True or False; \
from the answers we compute how well the picture meets the prompt.

Ask on four levels:
- L1, core bearers: are the things there that carry the scene?
- L2, individual attributes: of each thing, one question pair a stated attribute: \
count, colour, material, texture, shape, size, orientation.
- L3, interplay and fusion: do the things fit each other in space, in meaning and in \
style; where styles meet, does each act on the other (light, texture, form)?
- L4, overall impression: does the whole have the mood that was asked for, and is it \
free of a style nobody asked for?

For each thing to verify write one pair: a positive question, which a picture that \
meets the prompt answers with True, and a negative question, which it answers with \
False. The two exclude each other: both cannot be True of the same picture. The \
negative one names a plausible mistake; it is not the positive one with "not" put in. \
Each question is about one thing, is decided by looking at the picture alone, and does \
not refer to the prompt or to other questions.

Weigh twice: the weights of the four levels sum to 1 and say how much each level \
matters, above all for the angle if one is named below; the weights of the pairs \
within each level sum to 1 and say how conspicuous each one is.

Return one JSON object and nothing else, of exactly this form; ids are short, and no \
two pairs have the same:
{"levels": [{"level": "L1", "weight": 0.2, "questions": [{"id": "...", \
"positive": "...", "negative": "...", "weight": 1.0}]}, {"level": "L2", ...}, \
{"level": "L3", ...}, {"level": "L4", ...}]}"""

Generation = Generator[Ask, list[Any], dict[str, HierarchicalQuestionnaire | Refusal]]


@dataclass(frozen=True)
class PromptForJudge:
    """What a judge is told of a prompt."""

    text: str  # what the method is told
    # Who asks and what is judged: codes of the prompt language, other words, or empty.
    role: str = ""
    angle: str = ""
    parameters: Mapping[str, str] = field(default_factory=dict)


def generation_question(prompt: PromptForJudge) -> JudgeQuestion:
    """Return what a judge is asked so that it writes a prompt's questionnaire."""
    said = {
        "Angle": ANGLES.get(prompt.angle, prompt.angle),
        "Asked for by": ROLES.get(prompt.role, prompt.role),
        "Prompt": prompt.text,
        **{f"Parameter {key}": value for key, value in prompt.parameters.items()},
    }
    lines = [f"{what}: {value}" for what, value in said.items() if value]
    return JudgeQuestion(parts=("\n".join(lines),), system=RULES, max_tokens=MAX_TOKENS)


def parse_reply(text: str) -> tuple[QuestionLevel, ...]:
    """Return the levels of a questionnaire from a judge's reply.

    `text`: a JSON object with `levels`; words and fences around it are passed over. Its
    `prompt_id` and `prompt`, if any, are passed over too: we know them better.
    """
    start, end = text.find("{"), text.rfind("}")
    if start < 0 or end < start:
        raise ValueError("expected a JSON object with levels, found none")
    # Between braces there is an object, or no JSON.
    known = {**decode(text[start : end + 1]), "prompt_id": "-", "prompt": "-"}
    return read_questionnaire(known).levels


def generate(prompts: Mapping[str, PromptForJudge]) -> Generation:
    """Have the questionnaires of prompts written; to be run by the engine.

    Result: by id the questionnaire, or why none of the judge's attempts was of use.
    """
    questions = [generation_question(prompt) for prompt in prompts.values()]
    answers = yield from ask_judge(questions, parse_reply, unanswered="refuse")
    return {
        key: answer
        if isinstance(answer, Refusal)
        else HierarchicalQuestionnaire(key, prompt.text, answer.value)
        for (key, prompt), answer in zip(prompts.items(), answers, strict=True)
    }
