"""Questions to a judge, and their requests."""

from dataclasses import replace

import numpy as np

from evalcore.metrics.llm_judge.questions import JudgeQuestion
from tests.evalcore.metrics.asking import image_of, noise

RED = np.full((30, 60, 3), (255, 0, 0), np.uint8)


def test_question_key_covers_every_field():
    question = JudgeQuestion(("What?", image_of(RED)))
    others = [
        JudgeQuestion(("Who?", image_of(RED))),
        JudgeQuestion(("What?", image_of(noise(1)))),
        JudgeQuestion(("What?", replace(image_of(RED), box=(0, 0, 9, 9)))),
        JudgeQuestion((image_of(RED), "What?")),
        JudgeQuestion(("What?", image_of(RED).key)),
        replace(question, system="Be brief."),
        replace(question, temperature=0.1),
        replace(question, max_tokens=9),
        replace(question, seed=0),
        replace(question, trial=1),
        replace(question, size=None),
        replace(question, size=(9, 9)),
        replace(question, quality=75),
        replace(question, detail="low"),
        replace(question, schema="{}"),
    ]
    assert len({question.key, *(other.key for other in others)}) == 16
    assert JudgeQuestion(("What?", image_of(RED.copy()))).key == question.key
    assert replace(question, temperature=0.1 + 0.2).key == (
        replace(question, temperature=0.3).key
    )
