"""Advice to rest after long work without a pause."""

from datetime import UTC, datetime, timedelta
from unittest.mock import patch

from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.django import TestCase

from annotate.models import Annotator, Slot
from annotate.people.session_progress import REST, WORK, needs_rest
from tests.factories import make_benchmark, make_study

NOW = datetime(2026, 5, 1, 12, 0, tzinfo=UTC)
# Seconds since the previous answer; about a third are pauses.
PAUSES = st.lists(st.sampled_from([20, 150, 290, 299, 301, 310]), max_size=12)


class TestNeedsRest(TestCase):
    @classmethod
    def setUpTestData(cls):
        cls.study = make_study(benchmark=make_benchmark(stories=6))
        cls.person = Annotator.objects.filter(study=cls.study).first()

    def needed_after(self, pauses):
        """Return whether a rest is due after stories with these pauses after them."""
        slots = list(self.study.slots.order_by("pk")[: len(pauses)])
        at = NOW
        for position, (slot, pause) in enumerate(zip(slots, pauses, strict=True)):
            at -= timedelta(seconds=pause)
            Slot.objects.filter(pk=slot.pk).update(
                annotator=self.person,
                position=1000 + position,
                state=Slot.State.SUBMITTED,
                started_at=at - timedelta(seconds=1),
                submitted_at=at,
            )
        with patch("annotate.people.session_progress.timezone.now", return_value=NOW):
            return needs_rest(self.person)

    @given(pauses=PAUSES)
    def test_rest_is_due_without_a_long_pause(self, pauses):
        worked = timedelta()
        for pause in (timedelta(seconds=seconds) for seconds in pauses):
            if pause > REST:
                break
            worked += pause
        assert self.needed_after(pauses) == (worked >= WORK)

    def test_rest_is_not_due_without_submissions(self):
        assert not self.needed_after([])

    def test_rest_is_due_after_half_an_hour_of_stories(self):
        assert self.needed_after([299] * 6)

    def test_pause_resets_the_rest(self):
        assert not self.needed_after([299, 299, 301, 299, 299, 299])
