"""A run whose first answers are all unusable."""

import pytest

from evalcore.metrics.llm_judge.early_stop import UselessJudgeError
from evalcore.metrics.llm_judge.replies import UnusableReplyError
from tests.evalcore.metrics.llm_judge.serving import answers, ask, fails, judge_at, raw

TEXTS = [str(number) for number in range(100)]


@pytest.mark.parametrize(
    ("behaviour", "words"),
    [
        (
            answers("The picture shows", finish="length"),
            "all 5 first answers were cut off.*at 512 tokens.* It begins "
            "'The picture shows'.*JUDGE_EXTRA_TOKENS=2048",
        ),
        (answers(None, refusal="I cannot."), r"were refused.*'I cannot\.'"),
        (
            answers(
                "",
                finish="length",
                usage={"completion_tokens_details": {"reasoning_tokens": 500}},
            ),
            "cut off at 512 tokens, 500 of them thoughts",
        ),
        (answers("", reasoning_content="Hm."), "empty, after its thoughts"),
        (fails(500, "oops"), "were missing.*'oops'.*wait until the judge works"),
        (answers("", finish="content_filter"), "withheld by a content filter"),
        (raw(b"<p>Log in</p>", kind="text/html"), "'<p>Log in</p>'.*JUDGE_BASE_URL"),
    ],
)
def test_run_stops_when_first_answers_are_unusable(server, behaviour, words):
    server.then = behaviour
    judge = judge_at(server, concurrency=2, timeout=60.0, stop_after=5)
    ask(judge, *TEXTS[:4])
    with pytest.raises(UselessJudgeError, match=words):
        ask(judge, *TEXTS[4:])
    assert len({asked.text for asked in server.asked}) < 20


def test_run_stops_when_first_answers_cannot_be_parsed(server):
    server.then = answers("How lovely!")
    judge = judge_at(server)
    texts = ask(judge, *TEXTS[:32])
    for text in texts[:19]:
        judge.note_unusable("there is no score", text)
    with pytest.raises(UselessJudgeError, match=r"no score.*begins 'How lovely!'"):
        judge.note_unusable("there is no score", texts[19])


def test_watch_ends_with_first_usable_answer(server):
    server.script = [answers("Score: 3")]
    server.then = answers("", finish="length")
    judge = judge_at(server, concurrency=1)
    (first,) = ask(judge, "first")
    judge.note_usable(first)
    assert all(isinstance(r, UnusableReplyError) for r in ask(judge, *TEXTS[:40]))


def test_stored_answer_does_not_end_watch(server):
    server.then = answers("", finish="length")
    judge = judge_at(server)
    judge.note_usable("an answer of an earlier run")
    judge.note_unusable("an answer of an earlier run", "prose")
    with pytest.raises(UselessJudgeError, match="all 20 first answers were cut off"):
        ask(judge, *TEXTS[:32])


def test_watch_can_be_turned_off(server):
    server.then = answers("", finish="length")
    replies = ask(judge_at(server, stop_after=0), *TEXTS[:40])
    assert all(isinstance(r, UnusableReplyError) for r in replies)


def test_mixed_reasons_are_counted(server):
    server.by_question = lambda asked: answers(
        "", finish="length" if int(asked.text) % 4 else "stop"
    )
    words = r"none of the 20 first answers is usable \(15 cut off, 5 empty\)"
    with pytest.raises(UselessJudgeError, match=words):
        ask(judge_at(server, concurrency=1), *TEXTS)
