"""Questions to a judge, and their requests."""

import base64
import io
import json
from dataclasses import replace

import numpy as np
from PIL import Image as Pillow

from evalcore.metrics.llm_judge.questions import JudgeQuestion, payload
from tests.evalcore.metrics.asking import image_of, noise

RED = np.full((30, 60, 3), (255, 0, 0), np.uint8)


def sent(question: JudgeQuestion) -> list[dict]:
    """Return the parts of the user message."""
    return json.loads(payload(question, "owl").body)["messages"][-1]["content"]


def opened(part: dict) -> Pillow.Image:
    head, _comma, data = part["image_url"]["url"].partition(",")
    assert head == "data:image/jpeg;base64"
    image = Pillow.open(io.BytesIO(base64.b64decode(data)))
    assert image.format == "JPEG"
    return image


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
    ]
    assert len({question.key, *(other.key for other in others)}) == 15
    assert JudgeQuestion(("What?", image_of(RED.copy()))).key == question.key
    assert replace(question, temperature=0.1 + 0.2).key == (
        replace(question, temperature=0.3).key
    )
