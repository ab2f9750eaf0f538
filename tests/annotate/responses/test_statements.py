"""Limits on SQL statements and source files per answer.

A change that exceeds them reads a row twice or takes a detour.
"""

import sys
from pathlib import Path

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

import evalcore
from annotate.models import Invitation
from tests.factories import make_benchmark
from tests.working import LIKERT, join, make_planned, save

pytestmark = pytest.mark.django_db(transaction=True)

ROOT = Path(evalcore.__file__).parents[1]
ROOMS = tuple(f"{ROOT / name}/" for name in ("annotate", "evalcore"))
# Source files that every request passes.
EVERY_REQUEST = ("evalcore/serving/", "evalcore/database/", "annotate/middleware.py")


class Counted:
    """The SQL statements of a block, and the source files that it calls."""

    def __enter__(self):
        self.files = set()
        self.queries = CaptureQueriesContext(connection)
        self.queries.__enter__()
        sys.setprofile(self._note)
        return self

    def _note(self, frame, event, _argument):
        name = frame.f_code.co_filename
        if event == "call" and name.startswith(ROOMS):
            self.files.add(str(Path(name).relative_to(ROOT)))

    def __exit__(self, *error):
        sys.setprofile(None)
        self.queries.__exit__(*error)

    @property
    def own_files(self):
        return {name for name in self.files if not name.startswith(EVERY_REQUEST)}


@pytest.fixture
def page(client):
    """Return the page of an annotator with known pace, after caches are filled."""
    benchmark = make_benchmark(stories=6, shots=1)
    study = make_planned(
        f"{LIKERT}redundancy: 1\nsession_size: 8", benchmark=benchmark, annotators=1
    )
    token = Invitation.objects.get(annotator=join(study, "A01")).token
    page = client.post(f"/rate/{token}/instructions/")["Location"]
    for _story in range(3):
        client.get(page)
        page = send(client, page).json()["next"]
    return page


def send(client, page):
    """Send all answers with a time short enough to be valid."""
    told = {"seconds": 0.001, "in_sight": {"1": 0.001}}
    return save(client, page, submit=True, character=3, beauty=2, **told)


def test_submission_needs_few_statements_and_files(client, page):
    with Counted() as counted:
        assert send(client, page).json()["submitted"]
    assert len(counted.queries) <= 16
    assert len(counted.own_files) <= 15
    assert not any("SAVEPOINT" in query["sql"] for query in counted.queries)


def test_next_page_needs_few_statements_and_files(client, page):
    client.get(page)
    with Counted() as counted:
        assert client.get(page).status_code == 200
    assert len(counted.queries) <= 8
    assert len(counted.own_files) <= 21
