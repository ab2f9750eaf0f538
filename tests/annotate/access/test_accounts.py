"""Accounts: made and changed by a manager of every study, entered by a link."""

import logging
import re
from datetime import timedelta

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotate.access import accounts, rate_limits
from annotate.access.accounts import AccountError, Role
from annotate.models import PasswordLink, StudyMember, User
from tests.cases import slow
from tests.factories import make_study
from tests.people import log_in

pytestmark = pytest.mark.django_db
PASSWORD = "nobody-guesses-this"
GIVEN = {"new_password1": PASSWORD, "new_password2": PASSWORD}


@pytest.fixture
def sue():
    User.objects.create_superuser("sue")
    return log_in("sue")


def create(client: Client, name: str, role: str) -> str:
    """Create an account on the page; return the path of its link, if any."""
    page = client.post(reverse("account-list"), {"name": name, "role": role})
    found = re.search(r'value="http://testserver(/password/[^"]+)"', page.text)
    return found[1] if found else ""


def change(client: Client, name: str, action: str, **given: str):
    pk = User.objects.get(username=name).pk
    url = reverse("account-change", args=[pk, action])
    return client.post(url, given, follow=True)


@pytest.mark.parametrize("role", ["study:trial", *slow("own", "every")])
def test_new_account_sets_its_password_by_link(sue, role):
    make_study()
    path = create(sue, "bob", role)
    bob = Client()
    assert "bob" in bob.get(path).text
    assert bob.post(path, GIVEN).status_code == 302
    assert bob.get(reverse("account")).status_code == 200
    again = Client().post(path, GIVEN)
    assert again.status_code == 410
    assert "has expired" in again.text
    login = {"username": "bob", "password": PASSWORD}
    assert Client().post(reverse("login"), login).status_code == 302
    assert bob.get(reverse("setup-start")).status_code == (403 if ":" in role else 200)
    assert bob.get(reverse("account-list")).status_code == (
        200 if role == "every" else 404
    )
    roles = dict(StudyMember.objects.values_list("user__username", "role"))
    assert roles == ({"bob": "researcher"} if ":" in role else {})


def test_link_ends_after_seven_days_and_with_the_next_one(sue, clock):
    first = create(sue, "bob", "own")
    change(sue, "bob", "link")
    assert Client().get(first).status_code == 404
    last = create(sue, "carol", "own")
    clock.move(7 * 24 * 60 - 1)
    assert Client().get(last).status_code == 200
    clock.move(2)
    assert Client().post(last, GIVEN).status_code == 410
    assert not User.objects.get(username="carol").has_usable_password()


def test_used_link_is_refused_in_a_race(sue):
    """Attack: a second browser has the form open when the first sends it."""
    create(sue, "bob", "own")
    link = PasswordLink.objects.get()
    assert accounts.use_link(link, PASSWORD)
    assert not accounts.use_link(link, "another-password")
    assert User.objects.get(username="bob").check_password(PASSWORD)


def test_weak_password_leaves_the_link_unused(sue):
    path = create(sue, "bob", "own")
    weak = dict.fromkeys(GIVEN, "password")
    assert "too common" in Client().post(path, weak).text
    assert Client().post(path, GIVEN).status_code == 302


@pytest.mark.slow
def test_unknown_links_are_counted(sue):
    """Attack: somebody guesses links."""
    for _i in range(rate_limits.MOST_LINKS):
        assert Client().get("/password/guess/").status_code == 404
    assert Client().get("/password/guess/").status_code == 429
    assert Client().get(create(sue, "bob", "own")).status_code == 200


def test_links_are_stored_as_hashes_and_not_logged(sue, caplog):
    caplog.set_level(logging.INFO)
    token = create(sue, "bob", "own").split("/")[2]
    Client().post(reverse("password-link", args=[token]), GIVEN)
    Client().post(reverse("password-link", args=[token]), GIVEN)
    assert token not in str(PasswordLink.objects.values())
    assert "Gone: /password/~" in caplog.text
    assert token not in caplog.text
    assert "bob" not in caplog.text


def test_deactivated_account_loses_everything_until_activated(sue):
    path = create(sue, "bob", "own")
    bob = log_in("bob")
    assert "can no longer log in" in change(sue, "bob", "deactivate").text
    assert bob.get(reverse("account")).status_code == 302
    assert Client().get(path).status_code == 404
    assert "Activate it first" in change(sue, "bob", "link").text
    change(sue, "bob", "activate")
    assert "Send this link to bob" in change(sue, "bob", "link").text


def test_last_manager_of_every_study_stays(sue):
    """Two of them cannot take the role away from each other."""
    user = User.objects.get(username="sue")
    for act in (
        lambda: accounts.change_role(user, Role.OWN_STUDIES, by=user),
        lambda: accounts.deactivate(user, by=user),
    ):
        with pytest.raises(AccountError, match="sue is the only manager"):
            act()
    create(sue, "bob", "own")
    change(sue, "bob", "role", role="every")
    accounts.change_role(user, Role.OWN_STUDIES, by=User.objects.get(username="bob"))
    assert sue.get(reverse("account-list")).status_code == 404


def test_own_account_is_not_changed_on_the_page(sue):
    assert change(sue, "sue", "deactivate").status_code == 404


@pytest.mark.parametrize(
    ("name", "role", "problem"),
    [
        ("bob", "chief", "choose a role"),
        ("bob", "study:none", "choose a role"),
        ("b b", "own", "valid username"),
        ("sue", "own", "already exists"),
        ("", "own", "blank"),
    ],
)
def test_bad_account_is_refused_whole(sue, name, role, problem):
    page = sue.post(reverse("account-list"), {"name": name, "role": role})
    assert page.status_code == 422
    assert problem in page.text
    assert User.objects.count() == 1


def test_page_lists_accounts_with_roles_and_state(sue):
    study = make_study()
    log_in("rob", study, "researcher")
    create(sue, "bob", "own")
    page = sue.get(reverse("account-list")).text
    day = timezone.now() + timedelta(days=accounts.LINK_DAYS)
    assert "manager of own studies" in page
    assert f"link not used yet, until {day:%Y-%m-%d}" in " ".join(page.split())
    assert reverse("study-member-list", args=[study.slug]) in page
