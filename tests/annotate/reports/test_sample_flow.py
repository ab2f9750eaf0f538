"""The way from invited people to analysed answers, in a study's report."""

import pytest
from django.utils import timezone

from annotate.audit_log import as_of_event
from annotate.quality import exclusion
from annotate.reports.sample_flow import people_rows
from tests.annotate.reports.test_reproduced import open_study

pytestmark = pytest.mark.django_db


def steps(study, moment, view="main"):
    return [
        (row["step"], row["reason"], row["n_annotators"], row["n_answers"])
        for row in people_rows(study, view, moment)
    ]


def test_people_and_exclusions_count_as_of_the_moment():
    study = open_study()
    study.annotators.filter(name="A03").update(consented_at=None)
    before = as_of_event.now(study)
    expected = [
        ("invited", "", 3, None),
        ("consented", "", 2, None),
        ("answered", "", 2, 15),
    ]
    assert steps(study, before) == expected
    study.annotators.filter(name="A03").update(consented_at=timezone.now())
    for slot in study.slots.filter(state="submitted", annotator__name="A01")[:2]:
        exclusion.exclude(slot, reason="Too fast.", author=None, rule="too_fast")
    after = as_of_event.now(study)
    assert steps(study, after) == [
        ("invited", "", 3, None),
        ("consented", "", 3, None),
        ("left out", "no rating submitted", 1, None),
        ("answered", "", 2, 15),
        ("left out", "too fast", 1, 2),
    ]
    assert steps(study, before) == expected
