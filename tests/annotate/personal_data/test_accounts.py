"""People with an account: found, handed out, and gone from everywhere."""

import json

import pytest
from axes.models import AccessLog
from django.contrib.sessions.models import Session
from django.core.management import CommandError, call_command
from django.urls import reverse

from annotate.access import accounts
from annotate.models import ApiToken, Event, PasswordLink, User
from tests.annotate.personal_data.people_of_studies import (
    ADA,
    known_person,
    whole_database,
)
from tests.people import alice

pytestmark = pytest.mark.django_db


@pytest.fixture
def study():
    """Alice manages it, logged in twice, has a token and a password link."""
    row = known_person().study
    client = alice(row)
    client.post(reverse("study-action", args=[row.slug, "pause"]))
    user = User.objects.get(username="alice")
    user.email, user.first_name = "alice@lab.example", "Alice"
    user.set_password("not-a-secret")
    user.save()
    ApiToken.issue(user=user, name="a notebook", scope="read")
    AccessLog.objects.create(username="alice", ip_address="192.0.2.1")
    User.objects.create(username="malice", is_active=False)
    accounts.issue_link(user, by=user)
    return row


def test_people_are_found_by_part_of_a_name(study, capsys):
    call_command("personal_data", "find", "LOVELACE")
    assert capsys.readouterr().out == "trial A01\n"
    call_command("personal_data", "find", "lab.example")
    assert capsys.readouterr().out == "account alice\n"
    call_command("personal_data", "find", "room 5")
    assert capsys.readouterr().out == "trial A01\n"
    with pytest.raises(CommandError, match="Found nobody for 'nobody'"):
        call_command("personal_data", "find", "nobody")


def test_account_export_has_no_password(study, capsys):
    call_command("personal_data", "export_account", "alice")
    text = capsys.readouterr().out
    told = json.loads(text)
    assert told["account"]["email"] == "alice@lab.example"
    assert told["studies"] == [{"study__slug": "trial", "role": "manager"}]
    assert told["benchmarks"] == [{"benchmark__slug": "woods", "role": "owner"}]
    assert "192.0.2.1" in {row["ip_address"] for row in told["logins"]}
    assert {row["kind"] for row in told["events"]} == {"study paused"}
    user = User.objects.get(username="alice")
    assert user.password not in text
    assert user.api_tokens.get().secret_hash not in text


def test_erased_account_is_anonymous_and_its_actions_stay(study):
    User.objects.create(username="sue", is_superuser=True)
    user = User.objects.get(username="alice")
    client = alice(study)
    call_command("personal_data", "erase_account", "alice")
    assert "alice@lab.example" in whole_database()
    call_command("personal_data", "erase_account", "alice", "--for-good")
    left = whole_database()
    assert "alice" not in left.replace("malice", "")
    assert "192.0.2.1" not in left
    event = Event.objects.get(kind=Event.Kind.STUDY_PAUSED)
    assert event.user.username == f"former-{user.pk}"
    assert not PasswordLink.objects.exists()
    assert client.get(reverse("study-list")).status_code == 302
    assert not ApiToken.objects.exists()
    assert not Session.objects.exists()
    user.refresh_from_db()
    assert not user.is_active
    assert not user.has_usable_password()
    assert ADA in left


def test_last_administrator_cannot_be_erased(study):
    User.objects.update(is_superuser=True)
    with pytest.raises(CommandError, match="only administrator"):
        call_command("personal_data", "erase_account", "alice", "--for-good")
    with pytest.raises(CommandError, match="No account 'bob'"):
        call_command("personal_data", "export_account", "bob")
