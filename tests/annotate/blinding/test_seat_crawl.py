"""The one who looks gets as far as an annotator does, in every kind of study."""

from collections import Counter

import pytest

from annotate.blinding.seat_crawl import Seat, visit, visit_pages
from annotate.models import Annotator, Event, Invitation, Slot, Study
from tests.annotate.blinding.test_check_blinding import CHECKED, CHECKLIST
from tests.cases import slow
from tests.factories import make_benchmark
from tests.working import LIKERT, PAIRWISE, make_planned

pytestmark = pytest.mark.django_db


def by_name(answers) -> dict[str, list[int]]:
    """The statuses of answers by the last word of their addresses."""
    found: dict[str, list[int]] = {}
    for answer in answers:
        name = answer.address.rstrip("/").rpartition("/")[2]
        found.setdefault(name, []).append(answer.status)
    return found


@pytest.mark.parametrize("text", [LIKERT, *slow(PAIRWISE, CHECKLIST)])
def test_crawl_reads_answers_and_submits_a_slot(text):
    study = make_planned(text, benchmark=make_benchmark(stories=1), annotators=3)
    unit = study.units.first()
    before = [m.objects.count() for m in (Annotator, Invitation, Slot, Event)]
    found = visit(study, unit, Seat(Counter()))
    pages = found.answers[:2]
    assert [page.status for page in pages] == [200, 200]
    assert "看" in pages[1].body.decode() or "镜头" in pages[1].body.decode()
    assert by_name(found.answers)["submit"][-1] == 302
    media = [one for one in found.answers if one.is_media]
    assert {answer.status for answer in media} == {200}
    assert len(media) == 3 * 2 * len(found.shown)
    assert [m.objects.count() for m in (Annotator, Invitation, Slot, Event)] == before


@pytest.mark.slow
def test_crawl_continues_after_a_check_of_an_open_study():
    benchmark, stories = make_benchmark(stories=5), ["01", "02", "03"]
    text = LIKERT + CHECKED + "assignment: open"
    study = make_planned(text, benchmark=benchmark, stories=stories)
    for unit in study.units.exclude(purpose="training").order_by("purpose", "pk")[:6]:
        found = visit(study, unit, Seat(Counter()))
        assert by_name(found.answers)["submit"][-1] == 302, unit.purpose


@pytest.mark.slow
def test_crawl_reads_training_feedback():
    study = make_planned(
        LIKERT + CHECKED,
        benchmark=make_benchmark(stories=5),
        annotators=3,
        stories=["01", "02", "03"],
    )
    unit = study.units.get(purpose="training")
    found = visit(study, unit, Seat(Counter()))
    feedback = [one for one in found.answers if one.address.endswith("/feedback/")]
    assert [one.status for one in feedback] == [200, 200]
    assert "See how it keeps the hat." in feedback[0].body.decode()


@pytest.mark.slow
def test_crawl_reads_pages_outside_slots():
    study = make_planned(LIKERT, benchmark=make_benchmark(stories=1), annotators=3)
    Study.objects.update(state="paused")
    found = visit_pages(study, Seat(Counter()))
    statuses = by_name(answer for answer, _token in found)
    for name in ("consent", "instructions", "pause"):
        assert statuses[name] == [200, 200], name
    every = {answer.status for answer, _token in found}
    assert {200, 302, 403, 404, 410} <= every
    assert Study.objects.get().state == "paused"
