"""A judge on this machine, for runs."""

import pytest

from evalcore.metrics import registry
from tests.evalcore.metrics.llm_judge.serving import answers, serving

# Usage that the server reports for each question: 1,000 tokens in and 100 out.
USAGE = {"prompt_tokens": 1000, "completion_tokens": 100}


@pytest.fixture
def judge(monkeypatch):
    """Return a judge that always gives 3, at 1 and 10 dollars per million tokens."""
    with serving() as server:
        server.then = answers("The wood is there.\nScore: 3", usage=USAGE)
        for name, value in {
            "JUDGE_BASE_URL": server.base_url,
            "JUDGE_NAME": "test-judge",
            "JUDGE_PRICE_IN": "1",
            "JUDGE_PRICE_OUT": "10",
            "JUDGE_BUDGET": "1",
            "JUDGE_CONCURRENCY": "2",
        }.items():
            monkeypatch.setenv(name, value)
        registry.load.cache_clear()
        yield server
    registry.load.cache_clear()
