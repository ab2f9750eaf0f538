"""The balance as a manager sees it."""

import json
from dataclasses import asdict

import pytest
from django.template.loader import render_to_string

from annotate.assignment.designs.balance import BalanceReport
from annotate.assignment.designs.balanced import LanguageGroup
from tests.annotate.assignment.plans import plan
from tests.annotate.assignment.test_balanced import likert, pairwise
from tests.one_line import one_line

NEW = (
    "group_loads",
    "connected",
    "overlap",
    "overlap_mean",
    "overlap_ideal",
    "position_spread",
    "follow",
    "follow_expected",
    "left_spread_method",
    "left_spread_own_pair",
)


@pytest.fixture
def stored():
    groups = [LanguageGroup("en", 6, 3), LanguageGroup("zh", 4, 2)]
    return plan(likert(4, 6), groups=groups, session_size=6, seed=0).balance.as_dict()


def shown(balance):
    return one_line(render_to_string("manage/_balance.html", {"balance": balance}))


def test_new_values_are_shown(stored):
    page = shown(stored | {"overlap": [3, 9], "position_spread": 0.0317})
    assert "slots per annotator of group zh</li>" not in page
    assert "slots per annotator of group zh: 12" in page
    assert "join all annotators" in page
    assert "3–9" in page
    assert "0.032" in page
    assert f"{stored['overlap_ideal']:.1f} if all were even" in page


def test_annotators_who_are_not_joined_are_pointed_out(stored):
    assert "do not join all" in shown(stored | {"connected": False})


def test_sides_are_told_by_method():
    groups = [LanguageGroup("", 7, 3)]
    found = plan(pairwise(8, 10), groups=groups, session_size=7, seed=0).balance
    page = shown(found.as_dict() | {"left_spread_own_pair": 3})
    assert "at most: 1 per unit, 0 per pair of methods" in page
    assert "any annotator, at most: 0 per method, 3 per pair of methods" in page
    older = {key: value for key, value in found.as_dict().items() if key not in NEW}
    page = shown(older | {"left_spread_annotator": 1})
    assert "at most: 1 per unit, 0 per pair of methods" in page
    assert "any annotator" not in page


def test_an_older_report_shows_what_it_has(stored):
    page = shown({key: value for key, value in stored.items() if key not in NEW})
    assert page.count("<li>") == 8
    assert "network" not in page
    assert "mean" not in page


def test_every_value_can_be_stored_as_json(stored):
    report = BalanceReport(**json.loads(json.dumps(stored)))
    assert report.lines() == BalanceReport(**stored).lines()
    assert set(asdict(report)) == set(stored)
