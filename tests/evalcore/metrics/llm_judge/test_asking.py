"""Questions to a judge from within a metric."""

import pytest

from evalcore.metrics.engine import Engine, MetricJob
from evalcore.metrics.feature_store import FeatureStore
from evalcore.metrics.llm_judge.asking import JudgeAnswer, Refusal, ask_judge
from evalcore.metrics.llm_judge.attempts import NoAnswerError
from evalcore.metrics.llm_judge.client import asking
from evalcore.metrics.llm_judge.questions import JudgeQuestion
from evalcore.metrics.llm_judge.settings import BudgetExceededError
from tests.evalcore.metrics.llm_judge.serving import (
    answers,
    fails,
    judge_at,
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
    assert ask(judge, tmp_path, ["?"]) == [JudgeAnswer(7, "7", 3)]
    assert len(server.asked) == 3  # answers without a score are stored too


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
    answer, refusal = ask(judge_at(server), tmp_path, ["0", "1"], unanswered="refuse")
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
    (refusal,) = ask(judge, tmp_path, ["!"], attempts=1)
    assert refusal == Refusal(("no number: 'Seven.'",))
