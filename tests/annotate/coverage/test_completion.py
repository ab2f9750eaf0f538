"""When a study will be complete: no date for what waits for people who are away."""

import re
from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from annotate.coverage.dashboard import standing
from annotate.models import Annotator, Event, Invitation, Study
from annotate.people import inviting
from annotate.people.presence import calendar, patience_of
from annotate.studies import changing, lifecycle
from tests.factories import make_study
from tests.people import alice
from tests.studies import study_with_vanished

pytestmark = pytest.mark.django_db
DATE = re.compile(r"\d{4}-\d{2}-\d{2}</dd>")


@pytest.fixture
def vanished():
    return study_with_vanished(timezone.now())


def page(study, name="study-coverage", client=None, **query):
    url = reverse(name, args=[study.slug])
    return (client or alice(study)).get(url, query).content.decode()


def outlook(study):
    study.refresh_from_db()
    return standing(study).outlook


def away(study):
    found = [alert for alert in standing(study).alerts if alert.kind == "away"]
    return found[0] if found else None


def test_what_two_people_hold_who_vanished_has_no_date(vanished):
    found = standing(vanished)
    assert (found.totals.submitted, found.totals.open) == (125, 25)
    assert found.outlook.forecast.median is None
    assert found.outlook.text == (
        "No date: all 25 slots that are left wait for people who are not at work "
        "(A01, A02). Remind them, or give their open work to others."
    )
    shown = page(vanished)
    assert not DATE.search(shown)
    assert "expected end" not in shown
    assert found.outlook.text in shown


def test_once_others_have_it_there_is_a_date_again():
    study = study_with_vanished(timezone.now(), others_left=5)
    assert outlook(study).waiting.slots == 25
    alice(study).post(
        reverse("study-redistribute", args=[study.slug]), {"annotator": ["A01", "A02"]}
    )
    found = outlook(study)
    assert found.has_date
    assert (found.waiting.slots, found.forecast.remaining) == (0, 45)
    assert away(study) is None


@pytest.mark.slow
def test_where_part_of_it_waits_the_date_is_that_of_the_rest():
    now = timezone.now()
    study = study_with_vanished(now, others=18, others_left=5, redundancy=5)
    found = standing(study)
    assert found.totals.left == 25 + 90
    assert found.outlook.forecast.remaining == 90
    assert found.outlook.label.startswith("expected end without 25 slots; 80 %: ")
    assert "Without 25 slots of people who are not at work: A01, A02." in (
        found.outlook.text
    )
    assert away(study).level == "warning"
    two = study.annotators.filter(name__in=("A01", "A02"))
    two.update(last_seen_at=now)
    assert outlook(study).label.startswith("expected end; 80 %: ")


@pytest.mark.slow
def test_pace_is_that_of_people_who_go_on():
    """Of sixteen people one goes on: what the others did says nothing of her."""
    study = study_with_vanished(timezone.now(), others=13, redundancy=5)
    Annotator.objects.filter(name__in=("A01", "A02")).update(
        last_seen_at=timezone.now(), state="active"
    )
    found = outlook(study).forecast
    assert found.reason == ""
    assert found.per_day < 10
    assert found.remaining == 25


def test_only_an_open_study_has_a_date():
    study = study_with_vanished(timezone.now(), others_left=5)
    Annotator.objects.update(last_seen_at=timezone.now())
    assert outlook(study).has_date
    for state, sentence in (
        ("paused", "No date: the study is paused. Open it again to get one."),
        ("closed", "No date: the study is closed."),
        ("draft", "No date yet: the study has not been launched."),
    ):
        Study.objects.update(state=state)
        assert outlook(study).text == sentence
        assert not DATE.search(page(study))
        assert away(study) is None


def test_who_has_not_begun_has_no_date_and_is_missed_after_some_days():
    study = make_study()
    assert outlook(study).text == (
        "No date yet: all 12 slots that are left wait for people who have not begun or "
        "may not go on (A01, A02)."
    )
    assert away(study) is None
    long_ago = timezone.now() - timedelta(days=4)
    Invitation.objects.update(created_at=long_ago)
    assert "Remind them" in outlook(study).text
    assert away(study).notes[0].startswith("A01: 6 (invited ")
    # Who was invited to a study in preparation could not begin before.
    Event.objects.create(study=study, kind=Event.Kind.STUDY_LAUNCHED)
    assert away(study) is None


@pytest.mark.slow
def test_while_a_study_is_paused_everybody_stands_as_at_that_moment(vanished):
    """A month's pause makes nobody missed, and nobody's work is ticked for it."""
    now = timezone.now()
    lifecycle.pause(vanished)
    later = now + timedelta(days=30)
    carol = vanished.annotators.get(name="A03")
    measure = calendar(vanished, 3)
    assert measure.presence(carol, now - timedelta(hours=1), later).is_at_work
    found = changing.presences(vanished, later)
    assert [(one.person.name, one.is_missed) for one in found] == [
        ("A01", True),
        ("A02", True),
    ]
    lifecycle.close(vanished)
    assert calendar(vanished, 3).shut == measure.shut


def test_free_slots_have_a_date_while_somebody_is_there(vanished):
    for person in vanished.annotators.filter(state="active"):
        inviting.revoke(person)
    assert outlook(vanished).waiting.free == 25
    assert "are free, and nobody is at work" in outlook(vanished).text
    link = vanished.join_links.create(most=5)
    assert outlook(vanished).waiting.free == 0
    link.delete()
    Annotator.objects.filter(name="A03").update(state="active")
    assert outlook(vanished).waiting.free == 0


@pytest.mark.slow
def test_free_slots_have_no_date_where_all_have_reached_their_cap(vanished):
    for person in vanished.annotators.filter(state="active"):
        inviting.revoke(person)
    carol = vanished.annotators.filter(name="A03")
    carol.update(state="active", cap=26)
    assert outlook(vanished).has_date
    carol.update(cap=25)
    assert outlook(vanished).waiting.free == 25
    carol.update(cap=None)
    Study.objects.update(cap=25)
    assert outlook(vanished).waiting.slots == 25


def test_what_nobody_may_do_has_no_date():
    study = study_with_vanished(timezone.now(), others_left=5)
    Annotator.objects.update(last_seen_at=timezone.now())
    unit = study.slots.filter(state="open").first().unit
    n = unit.slots.filter(state="open").count()
    unit.set_aside_at = timezone.now()
    unit.save()
    assert outlook(study).waiting.stuck == n
    assert f"Without {n} slot" in outlook(study).text
    assert "that nobody at work may do." in outlook(study).text
    study.units.update(set_aside_at=timezone.now())
    assert outlook(study).text.startswith("No date: nobody who is at work may do any")


@pytest.mark.parametrize(
    ("pauses", "days"),
    [
        ([], 7),
        ([1] * 19, 7),
        ([1] * 20, 3),
        ([1, 1, 1, 1, 3] * 8, 3),
        ([2, 5, 5, 5, 5] * 8, 5),
        ([30] * 20, 14),
        ([1] * 99 + [60], 3),
    ],
)
def test_patience_follows_the_pauses_that_people_make(pauses, days):
    assert patience_of(pauses) == days


def test_somebody_is_at_work_until_patience_ends(vanished):
    now = timezone.now()
    ann = vanished.annotators.get(name="A01")
    measure = calendar(vanished, 7)
    for hours, at_work in ((7 * 24, True), (7 * 24 + 1, False)):
        ann.last_seen_at = ann.consented_at = now - timedelta(hours=hours)
        assert measure.presence(ann, None, now).is_at_work == at_work
        # A later answer is a sign, too.
        assert measure.presence(ann, now, now).is_at_work
