"""Personal data go so many days after a study closed, and old logins with time."""

from datetime import timedelta

import pytest
from axes.models import AccessAttempt, AccessLog
from django.contrib.sessions.models import Session
from django.core.management import call_command
from django.urls import reverse
from django.utils import timezone

from annotate.access import rate_limits
from annotate.audit_log.verifying import problems
from annotate.models import Event, Study
from annotate.personal_data import erasing
from annotate.studies import lifecycle
from annotate.tasks import erase_due
from tests.annotate.personal_data.people_of_studies import (
    ADA,
    WORDS,
    known_person,
    whole_database,
)
from tests.people import alice

pytestmark = pytest.mark.django_db


def closed(days: int) -> Study:
    """Return a study that was closed so many days ago."""
    study = known_person().study
    lifecycle.close(study)
    at = timezone.now() - timedelta(days=days)
    event = Event.objects.get(kind=Event.Kind.STUDY_CLOSED)
    Event.objects.filter(pk=event.pk).delete()
    Event.objects.create(study=study, kind=Event.Kind.STUDY_CLOSED, at=at)
    return study


def test_retention_erases_people_but_keeps_comments(settings, capsys):
    settings.RETENTION_DAYS = 30
    study = closed(31)
    call_command("personal_data", "due")
    assert "trial: now: A01, A02" in capsys.readouterr().out
    assert ADA in whole_database()
    erase_due()
    left = whole_database()
    assert ADA not in left
    assert WORDS.casefold() in left
    assert erasing.erase_due() == 0
    assert problems(study) == []


def test_failed_erasure_does_not_stop_the_others(settings, monkeypatch):
    settings.RETENTION_DAYS = 30
    study = closed(31)
    erase = erasing.erase

    def fail_for_one(person):
        if person.name == "A01":
            raise ValueError("a reason of its own")
        return erase(person)

    monkeypatch.setattr(erasing, "erase", fail_for_one)
    with pytest.raises(ExceptionGroup, match="Not erased: 1") as raised:
        erase_due()
    assert [person.name for person in erasing.kept(study)] == ["A01"]
    (error,) = raised.value.exceptions
    assert str(error) == "a reason of its own"
    assert error.__notes__ == ["A01 of trial is due, but could not be erased."]


def test_retention_erases_nothing_before_its_end(settings, subtests):
    study, due = closed(31), {"state": "closed", "template": "own"}
    for setting, fields in [
        (32, {}),
        (0, {}),
        (30, {"state": "open"}),
        (30, {"state": "paused"}),
        (30, {"template": ""}),  # an imported table is left to people
    ]:
        with subtests.test(f"{setting} {fields}"):
            settings.RETENTION_DAYS = setting
            Study.objects.filter(pk=study.pk).update(**due | fields)
            assert erasing.erase_due() == 0
            assert ADA in whole_database()


@pytest.mark.slow
def test_pages_show_the_erasure_date(settings, capsys):
    settings.RETENTION_DAYS = 30
    study = closed(29)
    day = f"{timezone.now() + timedelta(days=1):%Y-%m-%d}"
    ada = study.annotators.get(name="A01")
    for address in (
        reverse("study-settings", args=[study.slug]),
        reverse("annotator-list", args=[study.slug]),
        reverse("annotator-data", args=[study.slug, ada.pk]),
    ):
        assert f"erased on {day}" in alice(study).get(address).content.decode()
    call_command("personal_data", "due")
    assert f"trial: on {day}: A01, A02" in capsys.readouterr().out
    lifecycle.launch(study)
    page = alice(study).get(reverse("study-settings", args=[study.slug]))
    assert "erased 30 days after the study is closed" in page.content.decode()


def test_old_logins_and_addresses_are_deleted():
    now = timezone.now()
    about = {"ip_address": "192.0.2.1", "user_agent": "", "path_info": "/login/"}
    for minutes in (1, 16):
        one = AccessAttempt.objects.create(
            username=f"u{minutes}", failures_since_start=1, **about
        )
        at = now - timedelta(minutes=minutes)
        AccessAttempt.objects.filter(pk=one.pk).update(attempt_time=at)
    for days in (1, rate_limits.REMEMBERED_DAYS + 1):
        log = AccessLog.objects.create(username=f"u{days}", **about)
        at = now - timedelta(days=days)
        AccessLog.objects.filter(pk=log.pk).update(attempt_time=at)
    for key, days in (("old", -1), ("new", 1)):
        Session.objects.create(
            session_key=key, session_data="", expire_date=now + timedelta(days=days)
        )
    erase_due()
    assert AccessAttempt.objects.get().username == "u1"
    assert AccessLog.objects.get().username == "u1"
    assert Session.objects.get().session_key == "new"
