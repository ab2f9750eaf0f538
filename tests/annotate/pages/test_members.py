"""Members of a study, given and taken by its managers."""

import pytest
from django.test import Client
from django.urls import reverse

from annotate.models import Event, StudyMember, User
from annotate.studies import members
from annotate.studies.members import MemberError, Role
from tests.factories import make_study
from tests.people import alice, log_in, rob

pytestmark = pytest.mark.django_db


@pytest.fixture
def study():
    return make_study()


def add(client: Client, study, name: str, role="researcher", **given: str):
    url = reverse("study-member-list", args=[study.slug])
    return client.post(url, {"name": name, "role": role, **given}, follow=True)


def press(client: Client, study, name: str, button: str, **given: str):
    pk = study.members.get(user__username=name).pk
    url = reverse(f"study-member-{button}", args=[study.slug, pk])
    return client.post(url, given, follow=True)


def roles(study) -> dict[str, str]:
    return dict(study.members.values_list("user__username", "role"))


def test_manager_adds_changes_and_removes_members(study):
    client = alice(study)
    carol = log_in("carol")
    add(client, study, "carol")
    assert carol.get(reverse("study-detail", args=[study.slug])).status_code == 200
    press(client, study, "carol", "change", role="manager")
    assert roles(study) == {"alice": "manager", "carol": "manager"}
    press(carol, study, "alice", "remove")
    assert roles(study) == {"carol": "manager"}
    assert client.get(reverse("study-detail", args=[study.slug])).status_code == 404
    log = carol.get(reverse("event-list", args=[study.slug])).text
    for words in (
        "account: carol · role: researcher",
        "account: carol · role: manager",
        "account: alice · role: manager",
    ):
        assert words in " ".join(log.split())


def test_new_account_of_a_study_gets_a_link_and_no_other_right(study):
    page = add(alice(study), study, "carol", "manager", new="1").text
    assert "Send this link to carol" in page
    assert roles(study)["carol"] == "manager"
    user = User.objects.get(username="carol")
    assert not user.is_staff
    assert not user.is_superuser


def test_bad_member_is_refused_whole(study, subtests):
    User.objects.create(username="gone", is_active=False)
    client = alice(study)
    for name, role, given, problem in [
        ("nobody", "researcher", {}, "There is no account “nobody”"),
        ("gone", "researcher", {}, "There is no account “gone”"),
        ("alice", "researcher", {}, "already a member"),
        ("alice", "researcher", {"new": "1"}, "already exists"),
        ("dave", "owner", {"new": "1"}, "choose a role"),
        ("a b", "manager", {"new": "1"}, "valid username"),
    ]:
        with subtests.test(problem):
            answer = add(client, study, name, role, **given)
            assert answer.status_code == 422
            assert problem in answer.text
            assert roles(study) == {"alice": "manager"}
            assert User.objects.count() == 2


def test_last_manager_stays(study):
    client = alice(study)
    rob(study)
    User.objects.create(username="gone", is_active=False)
    log_in("gone", study, "manager")
    for button, given in (("remove", {}), ("change", {"role": "researcher"})):
        page = press(client, study, "alice", button, **given)
        assert "alice is the only manager of this study" in page.text
    assert roles(study)["alice"] == "manager"
    assert not Event.objects.filter(kind=Event.Kind.MEMBER_REMOVED).exists()


def test_stale_page_cannot_remove_the_last_manager(study):
    """Two managers remove each other at the same time."""
    alice(study)
    log_in("carol", study, "manager")
    one, two = (StudyMember.objects.get(user__username=n) for n in ("alice", "carol"))
    members.remove(one, by=two.user)
    with pytest.raises(MemberError, match="carol is the only manager"):
        members.change_role(two, Role.RESEARCHER, by=one.user)
