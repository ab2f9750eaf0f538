"""What a question is, and how it is packed."""

import base64
import io
import json
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image as Pillow

from evalcore.metrics.base import Image, Source
from evalcore.metrics.llm_judge.questions import JudgeQuestion, payload
from tests.evalcore.metrics.asking import image_of, noise

RED = np.full((30, 60, 3), (255, 0, 0), np.uint8)


def sent(question: JudgeQuestion) -> list[dict]:
    """The parts of the user message."""
    return json.loads(payload(question, "owl").body)["messages"][-1]["content"]


def opened(part: dict) -> Pillow.Image:
    head, _comma, data = part["image_url"]["url"].partition(",")
    assert head == "data:image/jpeg;base64"
    image = Pillow.open(io.BytesIO(base64.b64decode(data)))
    assert image.format == "JPEG"
    return image


def test_everything_that_decides_the_answer_is_in_the_key():
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


@pytest.mark.parametrize(
    ("bad", "words"),
    [({"parts": ()}, "text or a picture"), ({"max_tokens": 0}, "a token")],
)
def test_a_question_that_cannot_be_asked_is_none(bad, words):
    with pytest.raises(ValueError, match=words):
        JudgeQuestion(**{"parts": ("What?",), **bad})


@pytest.mark.parametrize(
    ("size", "expected"),
    [
        ((2048, 512), (1024, 256)),
        ((500, 3000), (171, 1024)),  # 500 x 1024 / 3000 = 170.67
        ((1024, 9), (1024, 9)),
        ((40, 20), (40, 20)),  # never enlarged
        ((5000, 1), (1024, 1)),
    ],
)
def test_pictures_are_only_reduced_where_asked(size, expected):
    (part,) = sent(JudgeQuestion((image_of(noise(1, size)),), size=None))
    assert opened(part).size == expected


def test_detail_is_said_only_where_it_matters():
    for detail, expected in [("auto", None), ("low", "low"), ("high", "high")]:
        (part,) = sent(JudgeQuestion((image_of(RED),), detail=detail))
        assert part["image_url"].get("detail") == expected


@pytest.mark.parametrize("quality", [75, 90])
def test_pictures_have_the_quality_that_is_asked_for(quality):
    stream = io.BytesIO()
    Pillow.fromarray(RED).save(stream, "JPEG", quality=quality)
    (part,) = sent(JudgeQuestion((image_of(RED),), quality=quality))
    wanted = Pillow.open(io.BytesIO(stream.getvalue())).quantization
    assert opened(part).quantization == wanted


def test_a_part_and_its_mirror_image_are_cut():
    picture = np.zeros((20, 40, 3), np.uint8)
    picture[:, 30:] = 255
    half = replace(image_of(picture), box=(20, 0, 40, 20), mirrored=True)
    (part,) = sent(JudgeQuestion((half,), size=None))
    cut = np.asarray(opened(part))
    assert cut.shape == (20, 20, 3)
    assert cut[:, :8].min() > 200
    assert cut[:, 12:].max() < 55


def test_each_source_is_decoded_once():
    decoded = []

    def film():
        decoded.append(1)
        yield from (noise(i) for i in range(9))

    source = Source("film", film)
    images = [Image(source, 5), Image(source, 2), Image(source, 5)]
    parts = sent(JudgeQuestion(tuple(images), size=None))
    assert decoded == [1]
    assert parts[0] == parts[2] != parts[1]


def test_no_question_costs_more_tokens_than_thought():
    question = JudgeQuestion(("Füchse?", image_of(RED)), system="sys", max_tokens=77)
    packed = payload(question, "owl")
    # a message's frame, eight and three bytes, one tile
    assert packed.tokens_in == 64 + 8 + 3 + 8500
    assert packed.tokens_out == 77
