"""Questions to a judge, and their requests."""

import base64
import io
from dataclasses import replace

import numpy as np
from PIL import Image as Pillow

from evalcore.metrics.llm_judge.pictures import picture_parts
from evalcore.metrics.llm_judge.questions import JudgeQuestion
from tests.evalcore.metrics.asking import image_of, noise

RED = np.full((30, 60, 3), (255, 0, 0), np.uint8)


def sent(question: JudgeQuestion) -> list[dict]:
    """Return the pictures as parts of the message."""
    return picture_parts(question.images, question)


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
        replace(question, size=(9, 9)),
        replace(question, longest=None),
        replace(question, format="png"),
        replace(question, listed=True),
        replace(question, quality=75),
        replace(question, detail="low"),
        replace(question, schema="{}"),
    ]
    assert len({question.key, *(other.key for other in others)}) == 18
    assert JudgeQuestion(("What?", image_of(RED.copy()))).key == question.key
    assert replace(question, temperature=0.1 + 0.2).key == (
        replace(question, temperature=0.3).key
    )


def test_whole_png_is_the_stored_file_and_a_part_is_drawn():
    stored = b"the stored file"
    image = image_of(noise(1, (1100, 20)))
    image = replace(image, source=replace(image.source, png=lambda: stored))
    question = JudgeQuestion((image,), format="png", longest=None)
    (part,) = sent(question)
    data = base64.b64encode(stored).decode()
    assert part["image_url"] == {"url": f"data:image/png;base64,{data}"}
    cut = replace(image, box=(3, 2, 50, 9))
    for other in (
        replace(question, parts=(cut,)),
        replace(question, longest=1024),
        replace(question, format="jpeg"),
    ):
        (part,) = sent(other)
        assert data not in part["image_url"]["url"]
    (part,) = sent(replace(question, parts=(cut,)))
    picture = base64.b64decode(part["image_url"]["url"].partition(",")[2])
    shown = np.asarray(Pillow.open(io.BytesIO(picture)))
    assert (shown == cut.read()).all()
