"""Bodies of requests, and servers that want other parameters."""

import base64
import io
import json
import logging

import numpy as np
import pytest
from PIL import Image as Pillow

from evalcore.metrics.llm_judge.attempts import JudgeError
from evalcore.metrics.llm_judge.questions import JudgeQuestion
from evalcore.metrics.llm_judge.replies import EXPLAINED_SCORE, scores_after
from evalcore.metrics.llm_judge.requests import body_of
from evalcore.metrics.llm_judge.settings import JudgeSettings, read_settings
from tests.evalcore.metrics.asking import image_of
from tests.evalcore.metrics.llm_judge.serving import (
    answers,
    ask,
    fails,
    judge_at,
    raw,
    refuses_parameter,
    reply,
)
from tests.evalcore.metrics.llm_judge.test_settings import LOCAL

RED = np.full((30, 60, 3), (255, 0, 0), np.uint8)


def test_request_holds_texts_and_pictures_in_order():
    question = JudgeQuestion(
        ("Look:", image_of(RED), "What?\ud800"), size=(20, 10), detail="low"
    )
    (message,) = body_of(question, JudgeSettings("", "owl"))["messages"]
    before, picture, after = message["content"]
    assert (before["text"], after["text"]) == ("Look:", "What??")
    assert picture["image_url"]["detail"] == "low"
    head, _comma, data = picture["image_url"]["url"].partition(",")
    assert head == "data:image/jpeg;base64"
    opened = Pillow.open(io.BytesIO(base64.b64decode(data)))
    assert (opened.format, opened.size) == ("JPEG", (20, 10))


def test_settings_change_request_and_identity():
    set_by_user = {
        "JUDGE_TOKEN_PARAMETER": "max_completion_tokens",
        "JUDGE_TEMPERATURE": "none",
        "JUDGE_REASONING_EFFORT": "high",
        "JUDGE_EXTRA_BODY": '{"top_k": 1, "seed": 4}',
    }
    settings = read_settings(LOCAL | set_by_user)
    body = body_of(JudgeQuestion(("?",), seed=9), settings)
    del body["messages"]
    assert body == {
        "model": "qwen2.5vl:7b",
        "max_completion_tokens": 512 + 4096,  # room for thoughts
        "reasoning_effort": "high",
        "seed": 4,
        "top_k": 1,
    }
    assert settings.identity == {
        "server": "localhost:11434/v1",
        "temperature": "none",
        "reasoning_effort": "high",
        "extra_body": '{"seed": 4, "top_k": 1}',
    }


def test_schema_of_answer_is_sent_only_if_set():
    question = JudgeQuestion(("?",), schema=EXPLAINED_SCORE)
    assert "response_format" not in body_of(question, JudgeSettings("", "owl"))
    settings = read_settings(LOCAL | {"JUDGE_STRUCTURED": "1"})
    sent = body_of(question, settings)["response_format"]
    assert sent["type"] == "json_schema"
    assert sent["json_schema"]["schema"]["required"] == ["explanation", "score"]
    assert "response_format" not in body_of(JudgeQuestion(("?",)), settings)
    answer = '{"explanation": "It says Score: 4.", "score": 1}'
    assert scores_after("score", answer, 4) == [1.0]


def test_every_decisive_setting_changes_the_judge(server):
    ids = {
        judge_at(server, **setting).id
        for setting in (
            {},
            {"name": "eagle"},
            {"temperature": 0.0},
            {"temperature": "none"},
            {"effort": "low"},
            {"extra_body": '{"top_k": 1}'},
            {"structured": True},
        )
    }
    assert len(ids) == 7
    limits = {"concurrency": 1, "timeout": 9.0, "extra_tokens": 9}
    assert judge_at(server, **limits).id in ids


# Servers that want other parameters


def reasons_only(asked):
    """Return what a server for reasoning alone says to a request."""
    if "max_tokens" in asked.body:
        return refuses_parameter("max_tokens", "max_completion_tokens")
    if "temperature" in asked.body:
        return refuses_parameter("temperature")
    said = reply("Score: 3") | {"model": "owl-2", "system_fingerprint": "fp_9"}
    return raw(json.dumps(said).encode())


def test_judge_adapts_once_to_server_for_reasoning(server, caplog):
    """Refusals are free: with a budget for two answers, two questions are answered."""
    caplog.set_level(logging.WARNING)
    server.by_question = reasons_only
    judge = judge_at(server, concurrency=1, price_out=1, budget="0.001024")
    first, second = judge.encode([judge.prepare(JudgeQuestion((q,))) for q in "ab"])
    assert judge.text_of(first) == judge.text_of(second) == "Score: 3"
    assert judge.version_of(first) == "owl-2; without temperature"
    assert judge.fingerprints == ["fp_9"]
    assert len(server.asked) == 4
    last = server.asked[-1].body
    assert last["max_completion_tokens"] == 512
    assert not {"max_tokens", "temperature"} & set(last)
    assert [record.message for record in caplog.records] == [
        "owl refuses max_tokens and gets max_completion_tokens from now on",
        "owl refuses a temperature and gets none from now on: its answers vary",
    ]


def test_parallel_questions_adapt_together(server):
    server.by_question = reasons_only
    assert ask(judge_at(server, concurrency=4), *"abcdefgh") == ["Score: 3"] * 8
    assert len(server.asked) <= 8 + 2 * 4


def test_server_that_refuses_both_names_ends_run(server):
    server.by_question = lambda asked: refuses_parameter(
        next(name for name in asked.body if name.startswith("max_"))
    )
    with pytest.raises(JudgeError, match="'max_completion_tokens' is not supported"):
        ask(judge_at(server), "?")
    assert len(server.asked) == 2


@pytest.mark.parametrize(
    "complaint",
    [
        "'max_tokens' or 'max_completion_tokens' is too large: 512. This model's "
        "maximum context length is 4096 tokens and your request has 4000.",
        "temperature must be between 0 and 1",
        "this I will not look at",
    ],
)
def test_other_refusal_changes_no_parameter(server, complaint):
    server.script = [answers("yes"), fails(400, complaint)]
    _first, refused = ask(judge_at(server, concurrency=1), "a", "b")
    assert complaint[:20] in str(refused)
    assert len(server.asked) == 2
