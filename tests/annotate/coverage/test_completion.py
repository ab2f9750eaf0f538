"""Expected finish of a study, without the work of absent people."""

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


def page(study, name="study-detail", client=None, **query):
    url = reverse(name, args=[study.slug])
    return (client or alice(study)).get(url, query).content.decode()


def outlook(study):
    study.refresh_from_db()
    return standing(study).outlook


def away(study):
    found = [alert for alert in standing(study).alerts if alert.kind == "away"]
    return found[0] if found else None


@pytest.mark.slow
def test_work_of_absent_people_has_no_date(vanished):
    found = standing(vanished)
    assert (found.totals.submitted, found.totals.open) == (125, 25)
    assert found.outlook.forecast.median is None
    assert found.outlook.text == (
        "No finish date: all 25 remaining ratings belong to people who are not working "
        "(A01, A02). Remind them, or give their work to others."
    )
    shown = page(vanished)
    assert not DATE.search(shown)
    assert "expected finish" not in shown
    assert found.outlook.text in shown.split("Do now")[0]


@pytest.mark.slow
def test_date_returns_after_redistribution():
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
def test_date_leaves_out_work_of_absent_people():
    now = timezone.now()
    study = study_with_vanished(now, others=18, others_left=5, redundancy=5)
    found = standing(study)
    assert found.totals.left == 25 + 90
    assert found.outlook.forecast.remaining == 90
    assert found.outlook.label.startswith(
        "expected finish for 90 of 115 ratings; 80 % "
    )
    assert "Not included: 25 ratings of people who are not working (A01, A02)." in (
        found.outlook.text
    )
    assert away(study).level == "warning"
    two = study.annotators.filter(name__in=("A01", "A02"))
    two.update(last_seen_at=now)
    assert outlook(study).label.startswith("expected finish; 80 % interval: ")


@pytest.mark.slow
def test_pace_counts_only_people_who_continue():
    """One of sixteen people continues: the answers of the others do not count."""
    study = study_with_vanished(timezone.now(), others=13, redundancy=5)
    Annotator.objects.filter(name__in=("A01", "A02")).update(
        last_seen_at=timezone.now(), state="active"
    )
    found = outlook(study).forecast
    assert found.reason == ""
    assert found.per_day < 10
    assert found.remaining == 25


@pytest.mark.slow
def test_date_requires_running_study():
    study = study_with_vanished(timezone.now(), others_left=5)
    Annotator.objects.update(last_seen_at=timezone.now())
    assert outlook(study).has_date
    for state, sentence in (
        ("paused", "No finish date: the study is paused. Reopen it to get one."),
        ("closed", "No finish date: the study is closed."),
        ("draft", "No finish date yet: the study has not been launched."),
    ):
        Study.objects.update(state=state)
        assert outlook(study).text == sentence
        assert not DATE.search(page(study))
        assert away(study) is None


@pytest.mark.slow
def test_people_who_have_not_started_are_missed_after_some_days():
    study = make_study()
    assert outlook(study).text == (
        "No finish date yet: all 12 remaining ratings belong to people who have not "
        "started or may not continue (A01, A02)."
    )
    assert away(study) is None
    long_ago = timezone.now() - timedelta(days=4)
    Invitation.objects.update(created_at=long_ago)
    assert "Remind them" in outlook(study).text
    assert away(study).notes[0].startswith("A01: 6 (invited ")
    # People invited to a draft could not start before its launch.
    Event.objects.create(study=study, kind=Event.Kind.STUDY_LAUNCHED)
    assert away(study) is None


@pytest.mark.slow
def test_presence_is_frozen_while_study_is_paused(vanished):
    """A pause of a month makes nobody absent, and preselects nobody's work."""
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


@pytest.mark.slow
def test_free_slots_have_a_date_while_somebody_works(vanished):
    for person in vanished.annotators.filter(state="active"):
        inviting.revoke(person)
    assert outlook(vanished).waiting.free == 25
    assert "are unassigned, and nobody is working" in outlook(vanished).text
    link = vanished.join_links.create(most=5)
    assert outlook(vanished).waiting.free == 0
    link.delete()
    Annotator.objects.filter(name="A03").update(state="active")
    assert outlook(vanished).waiting.free == 0


@pytest.mark.slow
def test_free_slots_have_no_date_when_all_caps_are_reached(vanished):
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


@pytest.mark.slow
def test_date_leaves_out_slots_that_nobody_may_do():
    study = study_with_vanished(timezone.now(), others_left=5)
    Annotator.objects.update(last_seen_at=timezone.now())
    unit = study.slots.filter(state="open").first().unit
    n = unit.slots.filter(state="open").count()
    unit.set_aside_at = timezone.now()
    unit.save()
    assert outlook(study).waiting.stuck == n
    assert f"Not included: {n} rating" in outlook(study).text
    assert "that the people at work cannot do." in outlook(study).text
    study.units.update(set_aside_at=timezone.now())
    assert outlook(study).text.startswith("No finish date: the people at work")


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
def test_patience_follows_usual_pauses(pauses, days):
    assert patience_of(pauses) == days


@pytest.mark.slow
def test_presence_ends_after_patience(vanished):
    now = timezone.now()
    ann = vanished.annotators.get(name="A01")
    measure = calendar(vanished, 7)
    for hours, at_work in ((7 * 24, True), (7 * 24 + 1, False)):
        ann.last_seen_at = ann.consented_at = now - timedelta(hours=hours)
        assert measure.presence(ann, None, now).is_at_work == at_work
        # A later answer counts as presence, too.
        assert measure.presence(ann, now, now).is_at_work
