"""Requests of Envision's and OneIG's own programs beside ours, on five prompts each."""

import base64
import io
from unittest import mock

import numpy as np
from PIL import Image as Pillow

from evalcore.metrics.base import Image, RenderedShot
from evalcore.metrics.base import Rendering as Output
from evalcore.metrics.envision import EnvisionScore
from evalcore.metrics.llm_judge.checkouts import ENVISION, ONEIG
from evalcore.metrics.oneig.alignment import Alignment
from evalcore.metrics.oneig.text import OneigText
from tests.evalcore.metrics.llm_judge.programs import (
    STORIES,
    asked_of,
    in_order,
    needs,
    png_source,
    program_modules,
)
from tests.evalcore.metrics.llm_judge.serving import answers

# Envision -----------------------------------------------------------------------------


def sequences(folder):
    """Write five sequences with their pictures, the last of six steps; yield each."""
    rng = np.random.default_rng(3)
    for index in range(1, 6):
        home = folder / f"index_{index:04}"
        home.mkdir()
        steps = range(1, 7 if index == 5 else 5)
        for step in steps:
            noise = rng.integers(0, 256, (50, 1300, 3), dtype=np.uint8)
            Pillow.fromarray(noise).save(home / f"step_{step}.png")
        yield {
            "index": index,
            "category": "Science",
            "process_type": "Physics",
            "prompts": [
                {"step": s, "prompt": f"Water, part {s}.", "explanation": f"Ice {s}."}
                for s in steps
            ],
        }


NAMES = (
    "Semantic Consistency",
    "Factual Consistency",
    "Spatial-Temporal Consistency",
    "Expressiveness",
    "Artistic Quality",
    "Authenticity",
    "Basic Properties",
    "Dynamics and Interactivity",
    "Physical Reliability",
)
# One reply for each sequence; the last ones lack scores, or give odd ones.
REPLIES = (
    "\n".join(f"{name}: {place % 6}" for place, name in enumerate(NAMES)),
    "\n".join(f"- {name}: 5" for name in NAMES),
    "\n".join(f"{name.upper()} 2" for name in NAMES),
    "\n".join(f"{name}: 4.5" for name in NAMES[:5]),
    "\n".join(f"{name}: {n}" for n in (1, 3, 7) for name in NAMES[2:]),
)


@needs(ENVISION)
def test_requests_and_scores_of_envision_equal_the_programs(server, tmp_path):
    rows = list(sequences(tmp_path))
    sent, demanded = [], []

    class Client:
        def __init__(self, **_settings):
            self.chat = mock.Mock()
            self.chat.completions.create = self.create

        def create(self, **body):
            sent.append(body)
            message = mock.Mock(content=REPLIES[len(sent) - 1])
            return mock.Mock(choices=[mock.Mock(message=message)])

    config = {"image_dir": str(tmp_path), "api_key": "", "api_base": "", "model": "owl"}
    with (
        program_modules(ENVISION.find(), "eval") as (program,),
        mock.patch.object(program.openai, "OpenAI", Client),
    ):
        for row in rows:
            _full, scores = program.evaluate_sequence(row["index"], row, config)
            demanded.append(scores)
    ours = []
    for row, reply, scores in zip(rows, REPLIES, demanded, strict=True):
        server.then = answers(reply)
        folder = tmp_path / f"index_{row['index']:04}"
        shots = tuple(
            RenderedShot(
                one["step"],
                (Image(png_source(folder / f"step_{one['step']}.png")),),
                {"prompt": one["prompt"], "explanation": one["explanation"]},
            )
            for one in row["prompts"]
        )
        output = Output("s", "Alder", shots, extra={"envision": row})
        for part in ("overall", "consistency", "aesthetic", "physicality"):
            metric = EnvisionScore(part, "envision-code-05be960")
            bodies, (value,) = asked_of(server, metric, output, tmp_path / "features")
            ours += bodies
            assert value.value == scores[f"{part}_score"], reply
    assert len(sent) == 5
    assert in_order(ours) == in_order(sent)


# OneIG --------------------------------------------------------------------------------


def as_openai(messages: list[dict]) -> list[dict]:
    """Return messages to Qwen in OpenAI's form: a picture's file as a data URL."""
    (message,) = messages
    parts = []
    for part in message["content"]:
        if part["type"] == "image":
            data = base64.b64encode(part["image"]).decode()
            url = {"url": f"data:image/jpeg;base64,{data}"}
            parts.append({"type": "image_url", "image_url": url})
        else:
            parts.append(part)
    return [{"role": message["role"], "content": parts}]


@needs(ONEIG)
def test_requests_of_oneig_equal_the_programs(server, tmp_path):
    rng = np.random.default_rng(5)
    names = "scripts.utils.inference", "scripts.utils.utils"
    sent = []
    texts = {"0": "Open late", "1": " ".join(["word"] * 61)}
    with program_modules(ONEIG.find(), *names) as (inference, utils):
        qwen = object.__new__(inference.Qwen2_5VLBatchInferencer)
        with mock.patch.object(inference.AutoProcessor, "from_pretrained"):
            loading = "transformers.Qwen2_5_VLForConditionalGeneration.from_pretrained"
            with mock.patch(loading):
                qwen.__init__("none", device="cpu")

        def batch_inference(messages, max_new_tokens=128):
            for one in messages:
                for part in one[0]["content"]:
                    if part["type"] == "image":
                        with open(part["image"], "rb") as file:
                            part["image"] = file.read()
                sent.append({"max_tokens": max_new_tokens, "messages": as_openai(one)})
            return ["Yes"] * len(messages)

        qwen.batch_inference = batch_inference
        outputs = []
        for story in STORIES:
            path = tmp_path / f"{story}.png"
            noise = rng.integers(0, 256, (41, 61, 3), dtype=np.uint8)
            Pillow.fromarray(noise).save(path)
            cut = utils.split_mxn_grid(str(path), (2, 1), str(tmp_path))
            text = texts[str(int(story) % 2)]
            qwen.infer_semantic(cut, f"Is it {story}?")
            qwen.infer_ocr(cut, 256 if len(text.split()) > 60 else 128)
            said = {"questions": {"1": f"Is it {story}?"}, "text": text}
            shot = RenderedShot(1, (Image(png_source(path)),))
            outputs.append(Output(story, "Alder", (shot,), extra={"oneig": said}))
    server.then = answers("Yes")
    ours = []
    for output in outputs:
        for metric in (
            Alignment("oneig-code-41b4983-grid-2x1"),
            OneigText("output", "oneig-code-41b4983-grid-2x1"),
        ):
            bodies, _values = asked_of(server, metric, output, tmp_path / "features")
            ours += bodies
    for body in ours:
        assert body.pop("temperature") == 0
    assert len(sent) == 20
    assert in_order(ours) == in_order(sent)
    picture = ours[0]["messages"][0]["content"][0]["image_url"]["url"]
    data = base64.b64decode(picture.partition(",")[2])
    assert Pillow.open(io.BytesIO(data)).size == (30, 41)
