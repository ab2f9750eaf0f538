"""Parameters of tests that only `make test-all` runs."""

from collections.abc import Collection, Mapping

import pytest


def slow(*values: object) -> list[object]:
    """Return parameters of a test as slow cases."""
    return [pytest.param(value, marks=pytest.mark.slow) for value in values]


def slow_cases(*cases: tuple) -> list[object]:
    """Return rows of parameters of a test as slow cases."""
    return [pytest.param(*case, marks=pytest.mark.slow) for case in cases]


def named_cases(cases: Mapping[str, tuple], quick: Collection[str]) -> list[object]:
    """Return the cases of a table, those that are not named as quick marked slow."""
    unknown = set(quick) - cases.keys()
    assert not unknown, unknown
    return [
        pytest.param(*case, id=name, marks=() if name in quick else pytest.mark.slow)
        for name, case in cases.items()
    ]
