from datetime import UTC, datetime, timedelta

import pytest
from django.core.cache import cache
from django.db import connection
from django.test.utils import CaptureQueriesContext

from annotate.server_state.arrivals import in_hand, last_hour, submitted
from tests.factories import make_benchmark, make_study
from tests.people import answer_everything

pytestmark = [pytest.mark.django_db, pytest.mark.postgresql]
NOW = datetime(2026, 3, 9, 12, 0, 30, tzinfo=UTC)


@pytest.fixture(autouse=True)
def nothing_counted_yet():
    cache.clear()


def test_slots_are_counted_in_the_minute_of_their_submission():
    for slug in ("one", "two"):
        woods = make_benchmark(slug=slug, shots=1, pictures=False)
        study = make_study(slug=slug, benchmark=woods)
        answer_everything(study)
        slots = study.slots.order_by("pk")
        for slot, seconds in zip(slots, (29, 30, 31, 89, 91, 3629, 3631), strict=False):
            slot.submitted_at = NOW - timedelta(seconds=seconds)
            slot.save()
        study.slots.filter(pk__gt=slot.pk).update(submitted_at=NOW - timedelta(days=1))
    found = last_hour(NOW)
    assert len(found.minutes) == 60
    assert {at: n for at, n in found.minutes if n} == {
        NOW.replace(hour=11, minute=0, second=0): 2,
        NOW.replace(hour=11, minute=58, second=0): 2,
        NOW.replace(hour=11, minute=59, second=0): 4,
    }
    assert (found.total, found.most, found.last) == (8, 4, 4)
    assert [(bar.x, bar.height) for bar in found.bars] == [
        (1.7, 50.0),
        (968.3, 50.0),
        (985.0, 100.0),
    ]


def test_an_hour_without_answers_has_no_bars():
    found = last_hour(NOW)
    assert (found.total, found.bars) == (0, [])


def test_a_minute_that_is_over_is_counted_once_and_the_latest_again():
    study = make_study(benchmark=make_benchmark(shots=1, pictures=False))
    last_hour(NOW)
    answer_everything(study)
    first, second, *_rest = study.slots.order_by("pk")
    study.slots.update(submitted_at=NOW - timedelta(days=1))
    for slot, minutes in ((first, 1), (second, 10)):
        slot.submitted_at = NOW - timedelta(minutes=minutes)
        slot.save()
    with CaptureQueriesContext(connection) as queries:
        assert last_hour(NOW).total == 1
    assert "2026-03-09 11:58:00" in queries[-1]["sql"].replace("T", " ")
    assert last_hour(NOW + timedelta(minutes=1)).total == 1
    cache.clear()
    assert last_hour(NOW + timedelta(minutes=1)).total == 2


@pytest.mark.sqlite
def test_no_count_reads_all_slots():
    make_study(benchmark=make_benchmark(shots=1, pictures=False))
    for slots in (in_hand(), submitted(NOW, NOW)):
        assert "SEARCH annotate_slot USING" in slots.order_by().explain()
