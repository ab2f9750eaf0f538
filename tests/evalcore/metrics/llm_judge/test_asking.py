"""Questions to a judge from within a metric."""

import numpy as np
import pytest

from evalcore.metrics.engine import Engine, MetricJob
from evalcore.metrics.feature_store import FeatureStore
from evalcore.metrics.llm_judge.asking import (
    JudgeAnswer,
    NoUsableAnswerError,
    Refusal,
    ask_judge,
)
from evalcore.metrics.llm_judge.attempts import NoAnswerError
from evalcore.metrics.llm_judge.client import asking
from evalcore.metrics.llm_judge.questions import JudgeQuestion
from evalcore.metrics.llm_judge.settings import BudgetExceededError
from tests.evalcore.metrics.llm_judge.serving import (
    answers,
    fails,
    judge_at,
    raw,
)


def number(text: str) -> int:
    if not text.strip().isdigit():
        raise ValueError("no number")
    return int(text)


def run(judge, folder, *jobs):
    """Return the result of each job's `ask_judge`, or raise the run's error."""
    with asking(judge):
        outcomes = list(
            Engine(FeatureStore(folder)).run(
                MetricJob(i, ask_judge(*job[:2], **job[2]))
                for i, job in enumerate(jobs)
            )
        )
    return [
        outcome.error or list(outcome.values)
        for outcome in sorted(outcomes, key=lambda outcome: outcome.key)
    ]


def ask(judge, folder, texts, **how):
    questions = [
        t if isinstance(t, JudgeQuestion) else JudgeQuestion((t,)) for t in texts
    ]
    (outcome,) = run(judge, folder, (questions, number, how))
    return outcome


def test_unparsable_answer_is_asked_again_warmer(server, tmp_path):
    server.script = [answers("Well, seven."), answers("Let me think.")]
    server.then = answers("7")
    judge = judge_at(server)
    assert ask(judge, tmp_path, ["?"]) == [JudgeAnswer(7, "7", 3)]
    temperatures = [asked.body["temperature"] for asked in server.asked]
    assert temperatures == [0.0, 0.1, 0.2]
    assert ask(judge, tmp_path, ["?"]) == [JudgeAnswer(7, "7", 1)]
    assert len(server.asked) == 4  # only the usable answer was stored


def test_cut_off_answer_is_asked_with_more_tokens_and_no_attempt(server, tmp_path):
    server.script = [answers("It be", finish="length")] * 2
    server.then = answers("7")
    assert ask(judge_at(server), tmp_path, ["?"], attempts=1)[0].value == 7
    sent = [(one.body["max_tokens"], one.body["temperature"]) for one in server.asked]
    assert sent == [(512, 0), (1024, 0), (2048, 0)]


@pytest.mark.parametrize(
    ("behaviour", "calls", "said"),
    [
        (answers("Well, seven."), 5, "in 5 attempts; the last: no number"),
        (answers("7", finish="length"), 4, "cut off"),
        (answers(""), 3, "empty"),
        (answers(None, refusal="Never."), 3, "refused: 'Never.'"),
        (raw(b"<html>busy</html>"), 3, "not JSON"),
        (fails(400, "not this"), 1, "refuses the question"),
    ],
)
def test_unusable_answers_fail_and_are_asked_in_next_run(
    server, tmp_path, behaviour, calls, said
):
    """The other question is answered, stored and not asked again."""
    server.by_question = lambda asked: answers("7") if asked.text == "0" else behaviour
    failure = ask(judge_at(server), tmp_path, ["0", "1"], attempts=5)
    assert isinstance(failure, NoUsableAnswerError)
    assert str(failure).startswith("1 of 2 questions: the judge gave no usable answer")
    assert said in str(failure)
    assert len(server.asked) == 1 + calls
    server.by_question = lambda asked: answers("8")
    assert [one.value for one in ask(judge_at(server), tmp_path, ["0", "1"])] == [7, 8]
    assert len(server.asked) == 1 + calls + 1


def test_unusable_answer_stored_by_earlier_version_is_not_used(server, tmp_path):
    judge, store = judge_at(server), FeatureStore(tmp_path)
    store.put_many(
        judge.id, {JudgeQuestion(("?",)).key: np.array(["Seven, I think.", "owl-1"])}
    )
    server.then = answers("7")
    assert ask(judge, tmp_path, ["?"]) == [JudgeAnswer(7, "7", 1)]


def test_repetition_asks_stored_question_again(server, tmp_path):
    for repeat, reply in ((0, "7"), (1, "8"), (0, "9"), (1, "9")):
        server.then = answers(reply)
        (one,) = ask(judge_at(server, repeat=repeat), tmp_path, ["?"])
        assert one.value == 7 + repeat
    assert len(server.asked) == 2


def test_only_failed_questions_are_asked_again(server, tmp_path):
    server.by_question = lambda asked: answers(
        "seven"
        if asked.text == "b" and asked.body["temperature"] < 0.15
        else str(ord(asked.text))
    )
    got = ask(judge_at(server), tmp_path, ["a", "b", "c"])
    assert [(one.value, one.attempt) for one in got] == [(97, 1), (98, 3), (99, 1)]
    assert len(server.asked) == 5


def test_metric_without_reply_fails_and_asks_again_in_next_run(server, tmp_path):
    server.by_question = lambda asked: (
        fails(503, "no") if asked.text == "1" else answers(asked.text)
    )
    failure = ask(judge_at(server), tmp_path, ["0", "1"])
    assert isinstance(failure, NoAnswerError)
    assert "status 503, 'no'" in str(failure)
    assert isinstance(
        ask(judge_at(server), tmp_path, ["0", "1"], unanswered="refuse"), NoAnswerError
    )
    answer, refusal = ask(judge_at(server), tmp_path, ["0", "1"], unanswered="collect")
    assert answer == JudgeAnswer(0, "0", 1)
    assert "status 503, 'no'" in str(refusal)
    server.by_question = lambda asked: answers(asked.text)
    again = ask(judge_at(server), tmp_path, ["0", "1"])
    assert again == [JudgeAnswer(0, "0", 1), JudgeAnswer(1, "1", 1)]
    assert [asked.text for asked in server.asked].count("0") == 1


@pytest.mark.parametrize("spare", [3, 5, 8])
def test_spent_budget_ends_run_and_next_run_continues(server, tmp_path, spare):
    """Answered questions are not asked again, and no job gets a wrong reason.

    Eight questions in two jobs, one at a time in batches of four; money for `spare`.
    """
    server.then = answers("7")
    free = judge_at(server, price_out=10)
    packed = free.prepare(JudgeQuestion(("a0",)))
    each = free.meter.cost(packed.tokens_in, packed.tokens_out)
    poor = judge_at(server, price_out=10, budget=each * spare, concurrency=1)
    jobs = [
        ([JudgeQuestion((f"{name}{i}",)) for i in range(4)], number, {})
        for name in "ab"
    ]
    if spare < 8:
        with pytest.raises(BudgetExceededError, match=f"for {spare} requests"):
            run(poor, tmp_path, *jobs)
    else:
        run(poor, tmp_path, *jobs)
    assert poor.meter.spent == each * spare
    assert len(server.asked) == spare
    rich = judge_at(server, price_out=10, budget=each * 8, concurrency=1)
    for outcome in run(rich, tmp_path, *jobs):
        assert [one.value for one in outcome] == [7] * 4
    assert len(server.asked) == 8
    assert len({asked.text for asked in server.asked}) == 8
    assert rich.meter.spent == each * (8 - spare)


def test_thoughts_are_stored_but_not_parsed(server, tmp_path):
    thought = "<think>1: is it 5, or {6}?</think>\n7"
    server.script = [answers("<think>5</think>Seven."), answers(thought)]
    judge = judge_at(server, concurrency=1)
    assert ask(judge, tmp_path, ["?"]) == [JudgeAnswer(7, thought, 2)]
    server.then = answers("<think>5</think>Seven.")
    (refusal,) = ask(judge, tmp_path, ["!"], attempts=1, unanswered="refuse")
    assert refusal == Refusal(("no number: 'Seven.'",))
