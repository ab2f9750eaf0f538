"""The balance as a manager sees it."""

import json
from dataclasses import asdict

import pytest

from annotate.assignment.designs.balance import BalanceReport
from annotate.assignment.designs.balanced import LanguageGroup
from tests.annotate.assignment.plans import plan
from tests.annotate.assignment.test_balanced import likert


@pytest.fixture
def stored():
    groups = [LanguageGroup("en", 6, 3), LanguageGroup("zh", 4, 2)]
    return plan(likert(4, 6), groups=groups, session_size=6, seed=0).balance.as_dict()


def test_every_value_can_be_stored_as_json(stored):
    report = BalanceReport(**json.loads(json.dumps(stored)))
    assert report.lines() == BalanceReport(**stored).lines()
    assert set(asdict(report)) == set(stored)
