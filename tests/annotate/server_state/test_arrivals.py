from datetime import UTC, datetime, timedelta

import pytest

from annotate.server_state.arrivals import last_hour
from tests.factories import make_study
from tests.people import answer_everything

pytestmark = pytest.mark.django_db
NOW = datetime(2026, 3, 9, 12, 0, 30, tzinfo=UTC)


def test_slots_are_counted_in_the_minute_of_their_submission():
    for slug in ("one", "two"):
        study = make_study(slug=slug, benchmark=_benchmark(slug))
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


def _benchmark(slug: str):
    from tests.factories import make_benchmark

    return make_benchmark(slug=slug, stories=2, shots=1, pictures=False)


def test_an_hour_without_answers_has_no_bars():
    found = last_hour(NOW)
    assert (found.total, found.bars) == (0, [])
