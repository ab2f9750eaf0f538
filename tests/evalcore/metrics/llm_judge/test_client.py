"""The judge's client against a real server that misbehaves in many ways."""

import json
import logging

import pytest

from evalcore.metrics.base import FeatureError
from evalcore.metrics.llm_judge.attempts import MOST_TRIES, JudgeError, Pace
from evalcore.metrics.llm_judge.client import Judge
from evalcore.metrics.llm_judge.questions import JudgeQuestion
from tests.evalcore.metrics.llm_judge.serving import (
    KEY,
    JumpingClock,
    answers,
    ask,
    drips,
    fails,
    half_a_reply,
    hangs_up,
    judge_at,
    raw,
    serving,
    slow,
)


def refusal(judge: Judge) -> str:
    """Return the reason for a missing answer, and check that it hides the key."""
    (reply,) = ask(judge, "What do you see?")
    assert isinstance(reply, FeatureError)
    assert KEY not in f"{reply} {reply!r}"
    return str(reply)


# Requests
# ------------------------------------------------------------------------------


def test_question_is_one_request_with_the_key(server):
    server.then = answers("A fox.")
    question = JudgeQuestion(
        ("What do you see?",), system="Be brief.", temperature=0.3, seed=5, trial=2
    )
    assert ask(judge_at(server), question) == ["A fox."]
    (asked,) = server.asked
    assert asked.path == "/v1/chat/completions"
    assert asked.headers["Authorization"] == f"Bearer {KEY}"
    assert asked.headers["content-type"] == "application/json"
    assert asked.body == {
        "model": "owl",
        "max_tokens": 512,
        "temperature": 0.3,
        "seed": 7,  # each trial has another seed
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "What do you see?"},
        ],
    }


@pytest.mark.parametrize("concurrency", [1, 4])
def test_concurrency_is_limited(server, concurrency):
    server.then = slow(0.05, answers("yes"))
    judge = judge_at(server, concurrency=concurrency)
    assert judge.batch == 4 * concurrency
    assert ask(judge, *map(str, range(12))) == ["yes"] * 12
    assert server.most_at_once == concurrency
    assert len(server.asked) == 12


def test_requests_respect_limit_per_minute(server):
    clock = JumpingClock()
    judge = judge_at(server, clock=clock, requests_per_minute=60, concurrency=1)
    ask(judge, *map(str, range(5)))
    assert sum(clock.slept) == 4


# Errors that are retried
# ---------------------------------------------------------------


@pytest.mark.parametrize("status", [500, 529])
def test_server_error_is_retried(server, status):
    server.script = [fails(status), fails(status, "busy")]
    clock = JumpingClock()
    assert ask(judge_at(server, clock=clock), "?") == ["Score: 3"]
    first, second = clock.slept
    assert 0.5 <= first <= 1 <= second <= 2


def test_demanded_pause_holds_all_questions():
    clock = JumpingClock()
    pace = Pace(None, clock)
    assert pace.wait() == 0
    pace.hold(17)
    assert pace.wait() == 17


def test_retry_after_is_heeded(server):
    server.script = [fails(429, "slow down", Retry_After="17")]
    clock = JumpingClock()
    assert ask(judge_at(server, clock=clock), "?") == ["Score: 3"]
    assert clock.slept == [17]


@pytest.mark.parametrize(
    ("misbehaviour", "words"),
    [
        (fails(500, "out of memory"), "status 500, 'out of memory'"),
        (fails(429), "status 429"),
        (hangs_up, "isconnected"),
        (half_a_reply, "closed"),
        (raw(b"<h1>Bad gateway</h1>", status=502, kind="text/html"), "Bad gateway"),
    ],
)
def test_persistent_error_is_given_up_after_retries(server, misbehaviour, words):
    server.then = misbehaviour
    said = refusal(judge_at(server, timeout=60.0))
    assert words in said
    assert f"tried {MOST_TRIES} times" in said
    assert len(server.asked) == MOST_TRIES


def test_slow_reply_is_abandoned_at_deadline(server):
    """Each space arrives within the timeout; only the whole reply takes too long."""
    server.then = drips
    assert "did not reply within 0.2 seconds" in refusal(judge_at(server, timeout=0.2))


def test_oversized_reply_is_not_read_to_its_end(server):
    server.then = raw(b" " * 40_000_000)
    assert "longer than 1048576 bytes" in refusal(judge_at(server, timeout=60.0))


# Errors that are not retried
# -----------------------------------------------------------


@pytest.mark.parametrize("status", [400, 422])
def test_refused_question_is_not_asked_again(server, status):
    server.script = [answers("A fox."), fails(status, "this I will not look at")]
    first, second = ask(judge_at(server, concurrency=1), "?", "And here?")
    assert first == "A fox."
    said = f"refuses the question (status {status}, 'this I will not look at')"
    assert said in str(second)
    assert len(server.asked) == 2


def test_judge_refusing_all_questions_ends_run(server):
    """As a judge that rejects a field of the request: nothing is stored."""
    server.then = fails(400, "Unsupported parameter: 'seed'")
    judge = judge_at(server)
    with pytest.raises(JudgeError, match=r"'seed'.*has answered none so far"):
        ask(judge, "?", "And here?")
    server.then = answers("A fox.")
    assert ask(judge, "?") == ["A fox."]
    server.then = fails(400, "no")
    (refused,) = ask(judge, "And here?")
    assert "refuses the question" in str(refused)


# Errors that end the run
# ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("misbehaviour", "words"),
    [
        (fails(401, f"Incorrect key: {KEY}"), "JUDGE_API_KEY"),
        (fails(402, "Insufficient balance"), "no money left"),
        (fails(404, "The model `owl` does not exist"), "JUDGE_NAME"),
        (raw(b'{"error": {"code": "insufficient_quota"}}', status=429), "no money"),
    ],
)
def test_error_common_to_all_questions_ends_run(server, misbehaviour, words):
    server.then = misbehaviour
    with pytest.raises(JudgeError, match=words) as caught:
        ask(judge_at(server, concurrency=2), *map(str, range(8)))
    assert KEY not in str(caught.value)
    assert len(server.asked) <= 2


def test_unreachable_server_ends_run():
    with serving() as server:
        gone = judge_at(server, timeout=60.0)
    with pytest.raises(JudgeError, match=r"owl at 127\.0\.0\.1.*tried 6 times"):
        ask(gone, "?")


def test_redirect_is_not_followed_with_the_key(server):
    with serving() as other:
        for status in (301, 302, 303, 307, 308):
            server.then = fails(status, Location=f"{other.base_url}/chat/completions")
            with pytest.raises(JudgeError, match=r"redirects to 127\.0\.0\.1"):
                ask(judge_at(server), "?")
        assert other.asked == []
    assert len(server.asked) == 5


# The key ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "echo",
    [
        fails(500, f"bad key {KEY}"),
        raw(json.dumps({"error": f"bad {KEY}"}).replace("/", "\\/").encode()),
        raw(KEY.encode(), kind=f"text/{KEY}"),
        raw(json.dumps({"choices": KEY}).encode()),
    ],
)
def test_key_is_removed_from_response(server, echo):
    server.then = echo
    assert "[key]" in refusal(judge_at(server))


def test_environment_of_other_clients_is_not_sent(server, monkeypatch):
    """Python's clients read these by themselves; they belong to other servers."""
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    for name in ("API_KEY", "ADMIN_KEY", "ORG_ID", "PROJECT_ID"):
        monkeypatch.setenv(f"OPENAI_{name}", f"another {name}")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/v1")
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "X-Other: another\nAuthorization: x")
    ask(judge_at(server), "?")
    ask(judge_at(server, key=""), "?")
    with_key, without = (asked.headers for asked in server.asked)
    assert with_key.pop("Authorization") == f"Bearer {KEY}"
    assert with_key == without
    assert "another" not in str(without).lower()


def test_key_is_neither_logged_nor_shown(server, caplog):
    caplog.set_level(logging.DEBUG)
    server.script = [fails(500, KEY), fails(429, Retry_After="1"), hangs_up]
    judge = judge_at(server)
    ask(judge, "?")
    assert "retrying in" in caplog.text
    assert KEY not in caplog.text
    assert KEY not in f"{judge!r} {judge.id} {judge.settings!r}"
