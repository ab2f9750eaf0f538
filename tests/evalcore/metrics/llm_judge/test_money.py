"""The judge's costs, and the judge within the engine, against a real server."""

from decimal import Decimal

import pytest

from evalcore.metrics.base import Ask
from evalcore.metrics.engine import Engine, MetricJob
from evalcore.metrics.feature_store import FeatureStore
from evalcore.metrics.llm_judge.client import Judge, NotAskedError
from evalcore.metrics.llm_judge.questions import JudgeQuestion
from evalcore.metrics.llm_judge.settings import BudgetExceededError
from tests.evalcore.metrics.llm_judge.serving import (
    answers,
    ask,
    half_a_reply,
    hangs_up,
    judge_at,
    raw,
)
from tests.evalcore.metrics.llm_judge.test_costs import metered

# Costs --------------------------------------------------------------------------------


def test_usage_in_reply_is_billed(server):
    usage = {"prompt_tokens": 1000, "completion_tokens": 50}
    server.then = answers("yes", usage=usage)
    seen: list[Decimal] = []
    meter = metered(1, price_in=2, price_out=8, on_spending=seen.append)
    ask(judge_at(server, meter=meter), "a", "b")
    # 1000 x 2 / 1e6 + 50 x 8 / 1e6 = 0.0024 for each
    assert meter.spent == sum(seen) == Decimal("0.0048")
    assert meter.requests == 2


@pytest.mark.parametrize(
    "usage",
    [
        None,
        {"prompt_tokens": "7", "completion_tokens": -1},
        {"prompt_tokens": True, "completion_tokens": 1.5},
    ],
)
def test_reply_without_usage_is_billed_at_maximum(server, usage):
    server.then = answers("yes", usage=usage)
    judge = judge_at(server, budget=1, price_in=1, price_out=1)
    question = JudgeQuestion(("?",), max_tokens=100)
    packed = judge.prepare(question)
    ask(judge, question)
    assert judge.meter.spent == Decimal(packed.tokens_in + 100) / 1_000_000


def test_possibly_billed_request_is_counted(server):
    """After a broken reply, or none, the judge may still have worked."""
    for misbehaviour in (hangs_up, half_a_reply, raw(b"nonsense")):
        server.script = [misbehaviour]
        judge = judge_at(server, budget=1, price_in=1, price_out=1)
        before = len(server.asked)
        ask(judge, "?")
        assert judge.meter.requests == len(server.asked) - before


def worst(judge: Judge, question: str) -> Decimal:
    packed = judge.prepare(JudgeQuestion((question,)))
    return judge.meter.cost(packed.tokens_in, packed.tokens_out)


@pytest.mark.parametrize("concurrency", [1, 8])
def test_budget_stops_before_being_exceeded(server, concurrency):
    probe = worst(judge_at(server, price_out=10), "1")
    budget = probe * 5 + probe / 2
    judge = judge_at(server, price_out=10, budget=budget, concurrency=concurrency)
    replies = ask(judge, *"123456789")  # each is billed at its highest possible cost
    answered = [one for one in replies if one == "Score: 3"]
    refused = [one for one in replies if isinstance(one, NotAskedError)]
    assert (len(answered), len(refused), len(server.asked)) == (5, 4, 5)
    assert judge.meter.spent == probe * 5 <= budget
    assert isinstance(refused[0].fatal, BudgetExceededError)
    with pytest.raises(BudgetExceededError, match="for 5 requests"):
        ask(judge, "1")
    assert len(server.asked) == 5


class FullPurse:
    def take(self, _least, most):
        return most

    def put_back(self):
        pass


def test_repeated_timeouts_end_run_with_their_reason(server):
    """A batch may cost what its questions cost once, not at each of their tries."""
    server.then = hangs_up
    meter = metered(9, price_out=1, purse=FullPurse())
    with pytest.raises(BudgetExceededError, match="without a reply, which may be"):
        ask(judge_at(server, meter=meter, timeout=60.0), "a", "b")
    assert meter.requests == len(server.asked) == 2


def test_budget_counts_earlier_spending(server):
    meter = metered(5, price_in=1, spent=Decimal(5))
    with pytest.raises(BudgetExceededError, match=r"\$5\.0000 were spent"):
        ask(judge_at(server, meter=meter), "?")
    assert server.asked == []


# Through the engine -------------------------------------------------------------------


def metric(judge, texts):
    """Ask so many questions one after the other, like a metric."""
    got = yield Ask(judge, [JudgeQuestion((text,)) for text in texts], tolerant=True)
    return got


def test_questions_cost_one_request_each_and_none_when_repeated(server, tmp_path):
    judge = judge_at(server)
    texts = [str(i) for i in range(20)]
    for _ in range(2):
        jobs = [MetricJob(i, metric(judge, texts)) for i in range(3)]
        outcomes = list(Engine(FeatureStore(tmp_path)).run(jobs))
        assert all(
            [judge.text_of(one) for one in outcome.values] == ["Score: 3"] * 20
            for outcome in outcomes
        )
        assert len(server.asked) == 20
