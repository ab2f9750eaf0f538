import pytest

from tests.evalcore.metrics.judging.serving import serving


@pytest.fixture
def server():
    with serving() as running:
        yield running
