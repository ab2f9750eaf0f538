"""The judge, against a real server that misbehaves in every way."""

import json
import logging

import numpy as np
import pytest

from evalcore.metrics.errors import FeatureError
from evalcore.metrics.feature_cache import FeatureStore
from evalcore.metrics.llm_judge.attempts import MOST_TRIES, JudgeError
from evalcore.metrics.llm_judge.client import Judge, NotAskedError
from evalcore.metrics.llm_judge.questions import JudgeQuestion
from evalcore.metrics.llm_judge.sending import MOST_BYTES
from evalcore.metrics.llm_judge.settings import JudgeSettings
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
    reply,
    serving,
    slow,
)


def refusal(judge: Judge) -> str:
    """Why the judge gives no answer; never with the key in it."""
    (reply,) = ask(judge, "What do you see?")
    assert isinstance(reply, FeatureError)
    assert KEY not in f"{reply} {reply!r}"
    return str(reply)


# What is sent -------------------------------------------------------------------------


def test_a_question_is_one_request_with_the_key(server):
    server.then = answers("A fox.")
    question = JudgeQuestion(
        ("What do you see?",), system="Be brief.", temperature=0.3, seed=5, trial=2
    )
    assert ask(judge_at(server), question) == ["A fox."]
    (asked,) = server.asked
    assert asked.path == "/v1/chat/completions"
    assert asked.headers["Authorization"] == f"Bearer {KEY}"
    assert asked.headers["Content-Type"] == "application/json"
    assert asked.body == {
        "model": "owl",
        "max_tokens": 512,
        "temperature": 0.3,
        "seed": 7,  # each trial starts from another
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "What do you see?"},
        ],
    }


def test_without_a_key_none_is_sent(server):
    ask(judge_at(server, key=""), "?")
    assert "Authorization" not in server.asked[0].headers


def test_answers_keep_the_order_of_the_questions(server):
    server.by_question = lambda asked: slow(
        0.05 if asked.text == "0" else 0, answers(f"to {asked.text}")
    )
    assert ask(judge_at(server), *"012345") == [f"to {i}" for i in range(6)]


def test_a_judge_on_this_machine_is_not_reached_through_a_proxy(server, monkeypatch):
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")  # nobody answers there
    assert ask(judge_at(server), "?") == ["Score: 3"]


@pytest.mark.parametrize("concurrency", [1, 4])
def test_so_many_are_asked_at_once_and_no_more(server, concurrency):
    server.then = slow(0.05, answers("yes"))
    judge = judge_at(server, concurrency=concurrency)
    assert judge.batch == 4 * concurrency
    assert ask(judge, *map(str, range(12))) == ["yes"] * 12
    assert server.most_at_once == concurrency
    assert len(server.asked) == 12


def test_waiting_for_a_turn_takes_no_patience(server):
    server.script = [fails(503), answers("late")]
    judge = judge_at(server, requests_per_minute=0.1, concurrency=1)
    assert ask(judge, "?") == ["late"]


def test_requests_keep_to_the_limit_per_minute(server):
    clock = JumpingClock()
    judge = judge_at(server, clock=clock, requests_per_minute=60, concurrency=1)
    ask(judge, *map(str, range(5)))
    assert sum(clock.slept) == 4


# What fails and is tried again --------------------------------------------------------


@pytest.mark.parametrize("status", [500, 502, 503, 529])
def test_a_fault_of_the_server_is_tried_again(server, status):
    server.script = [fails(status), fails(status, "busy")]
    clock = JumpingClock()
    assert ask(judge_at(server, clock=clock), "?") == ["Score: 3"]
    first, second = clock.slept
    assert 0.5 <= first <= 1 <= second <= 2


def test_retry_after_is_heeded(server):
    server.script = [fails(429, "slow down", Retry_After="17")]
    clock = JumpingClock()
    assert ask(judge_at(server, clock=clock), "?") == ["Score: 3"]
    assert clock.slept == [17]


def test_a_pause_that_one_is_told_is_heeded_by_all(server):
    """On a clock that stands still the next turn, too, is 20 seconds away."""

    class Standing(JumpingClock):
        def sleep(self, seconds):
            self.slept.append(seconds)

    server.script = [fails(429, Retry_After="20")]
    clock = Standing()
    judge = judge_at(server, clock=clock, concurrency=1)
    assert ask(judge, "a", "b") == ["Score: 3"] * 2
    assert clock.slept == [20, 20, 20]  # its pause, its next turn, the other's turn


def test_a_pause_longer_than_patience_ends_the_run(server):
    server.then = fails(429, "come back tomorrow", Retry_After="86400")
    clock = JumpingClock()
    with pytest.raises(JudgeError, match="86400 seconds") as caught:
        ask(judge_at(server, clock=clock), "?")
    assert "remembered" in str(caught.value)
    assert (len(server.asked), clock.slept) == (1, [])


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
def test_what_does_not_pass_is_given_up_after_some_tries(server, misbehaviour, words):
    server.then = misbehaviour
    said = refusal(judge_at(server, timeout=60.0))
    assert words in said
    assert f"tried {MOST_TRIES} times" in said
    assert len(server.asked) == MOST_TRIES


def test_a_slow_server_is_left_after_the_timeout(server):
    server.script = [slow(1, answers("too late"))]
    assert ask(judge_at(server, timeout=0.2), "?") == ["Score: 3"]
    server.script = [slow(1, answers("too late"))] * 9
    said = refusal(judge_at(server, timeout=0.2))
    assert "did not reply within 0.2 seconds" in said


def test_a_reply_that_drips_is_left_when_patience_ends(server):
    """Each blank comes in time for the timeout; only the whole takes too long."""

    class Hasty(JumpingClock):
        def now(self):
            self.time += 0.5  # each look at the clock takes a while
            return self.time

    server.then = drips
    assert "too slowly" in refusal(judge_at(server, clock=Hasty(), timeout=1.0))


def test_time_bounds_the_tries(server):
    server.then = fails(503)
    clock = JumpingClock()
    judge = judge_at(server, clock=clock, timeout=0.5)  # patience: 2.5 s
    assert "tried" in refusal(judge)
    assert sum(clock.slept) <= 2.5
    assert 1 < len(server.asked) < MOST_TRIES


def test_one_misfortune_does_not_touch_the_others(server):
    server.by_question = lambda asked: (
        fails(400, "no such picture") if asked.text == "1" else answers(asked.text)
    )
    a, b, c = ask(judge_at(server), "0", "1", "2")
    assert (a, c) == ("0", "2")
    assert "no such picture" in str(b)


# What is not tried again --------------------------------------------------------------


@pytest.mark.parametrize("status", [400, 403, 413, 422])
def test_a_refused_question_is_not_asked_again(server, status):
    server.script = [answers("A fox."), fails(status, "this I will not look at")]
    first, second = ask(judge_at(server, concurrency=1), "?", "And here?")
    assert first == "A fox."
    said = f"refuses the question (status {status}, 'this I will not look at')"
    assert said in str(second)
    assert len(server.asked) == 2


def test_a_judge_that_refuses_whatever_it_is_asked_ends_it(server):
    """As one that does not know a field of the request: nothing is put down."""
    server.then = fails(400, "Unsupported parameter: 'max_tokens'")
    judge = judge_at(server)
    with pytest.raises(JudgeError, match=r"'max_tokens'.*has answered none so far"):
        ask(judge, "?", "And here?")
    server.then = answers("A fox.")
    assert ask(judge, "?") == ["A fox."]
    server.then = fails(400, "no")
    (refused,) = ask(judge, "And here?")
    assert "refuses the question" in str(refused)


@pytest.mark.parametrize(
    ("misbehaviour", "words"),
    [
        (raw(b"Score: 3", kind="text/plain"), "no JSON (text/plain): 'Score: 3'"),
        (raw(b"<html>", kind="text/html"), "no JSON (text/html)"),
        (raw(b'{"choices": [{"mess'), "no JSON"),
        (raw(b""), "no JSON"),
        (raw(b"[" * 100_000), "no JSON"),
        (raw(b"\xff\xfe{}"), "no JSON"),
        (raw(b"[1, 2]"), "no JSON object: '[1, 2]'"),
        (raw(b"{}"), "no choices: '{}'"),
        (raw(b'{"choices": []}'), "no choices"),
        (raw(b'{"choices": "none"}'), "no choices"),
        (raw(b'{"choices": [null]}'), "no choices"),
        (raw(b'{"choices": [{"text": "Score: 3"}]}'), "no message"),
        (raw(b'{"error": {"message": "upstream"}}'), "reports an error: 'upstream'"),
        (raw(b'{"error": "upstream"}'), "reports an error: 'upstream'"),
        (answers(""), "is empty"),
        (answers(None), "is empty"),
        (answers(" \n"), "is empty"),
        (answers({"text": "Score: 3"}), "is empty"),
        (answers("Score: 3", finish="content_filter"), "content filter"),
        (answers("Score:", finish="length"), "cut off"),
        (answers(None, refusal="I cannot judge people."), "refused: 'I cannot judge"),
        (raw(b" " * (MOST_BYTES + 1)), f"longer than {MOST_BYTES} bytes"),
    ],
)
def test_a_reply_without_an_answer_has_a_reason(server, misbehaviour, words):
    server.then = misbehaviour
    assert words in refusal(judge_at(server))


def test_only_json_is_read_whatever_it_is_called(server):
    body = json.dumps(reply("Score: 2")).encode()
    server.then = raw(body, kind="text/html; charset=utf-8")
    assert ask(judge_at(server), "?") == ["Score: 2"]


def test_an_answer_in_parts_is_put_together(server):
    server.then = answers([{"type": "text", "text": "Score"}, {"text": ": 3"}, "x"])
    assert ask(judge_at(server), "?") == ["Score: 3"]


def test_what_a_store_cannot_hold_is_taken_out(server, tmp_path):
    server.then = answers("Fox \ud83e half\0\0")
    (text,) = ask(judge_at(server), "?")
    assert text == "Fox ? half"
    store = FeatureStore(tmp_path)
    store.put_many("judge", {"q": np.array(text)})
    assert str(store.get_many("judge", ["q"])["q"]) == text


# What ends the run --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("misbehaviour", "words"),
    [
        (fails(401, f"Incorrect key: {KEY}"), "JUDGE_API_KEY"),
        (fails(402, "Insufficient balance"), "no money left"),
        (fails(404, "The model `owl` does not exist"), "JUDGE_NAME"),
        (raw(b'{"error": {"code": "insufficient_quota"}}', status=429), "no money"),
    ],
)
def test_what_no_question_can_change_ends_the_run(server, misbehaviour, words):
    server.then = misbehaviour
    with pytest.raises(JudgeError, match=words) as caught:
        ask(judge_at(server, concurrency=2), *map(str, range(8)))
    assert KEY not in str(caught.value)
    assert len(server.asked) <= 2


def test_a_server_that_is_not_there_ends_the_run():
    with serving() as server:
        gone = judge_at(server, timeout=60.0)
    with pytest.raises(JudgeError, match=r"owl at 127\.0\.0\.1.*tried 6 times"):
        ask(gone, "?")


def test_answers_that_came_before_are_not_lost(server):
    server.script = [answers("Score: 1"), fails(401)]
    first, *others = ask(judge_at(server, concurrency=1), "a", "b", "c")
    assert first == "Score: 1"
    assert all(isinstance(one, NotAskedError) for one in others)
    assert len(server.asked) == 2


def test_a_redirect_is_not_followed_with_the_key(server):
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
def test_the_key_is_taken_out_of_what_the_server_says(server, echo):
    server.then = echo
    assert "[key]" in refusal(judge_at(server))


@pytest.mark.parametrize("key", ["1", "e", "none", "token"])
def test_a_word_instead_of_a_key_is_no_secret(server, key):
    server.then = answers("None of the 1 token is here.")
    assert ask(judge_at(server, key=key), "?") == ["None of the 1 token is here."]


def test_the_key_is_neither_logged_nor_shown(server, caplog):
    caplog.set_level(logging.DEBUG)
    server.script = [fails(500, KEY), fails(429, Retry_After="1"), hangs_up]
    judge = judge_at(server)
    ask(judge, "?")
    assert "again in" in caplog.text
    assert KEY not in caplog.text
    assert KEY not in f"{judge!r} {judge.id} {judge.settings!r}"


def test_the_id_names_judge_and_server():
    def identity(name: str, url: str) -> str:
        return Judge(JudgeSettings(url, name, KEY)).id

    assert "gpt-4.1 at a.example/v1" in identity("gpt-4.1", "https://a.example/v1")
    ids = {
        identity(name, url)
        for name in ("gpt-4.1", "gpt-4o")
        for url in ("https://a.example/v1", "https://b.example/v1")
    }
    assert len(ids) == 4
