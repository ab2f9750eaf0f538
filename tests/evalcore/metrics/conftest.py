import pytest

from tests.evalcore.metrics.llm_judge.serving import serving


@pytest.fixture
def server():
    with serving() as running:
        yield running
