"""Launching, pausing and closing, with messages on the next step."""

import html

import pytest
from django.urls import reverse

from annotate.models import Annotator
from annotate.people import inviting, joining
from annotate.studies.lifecycle import Reach, reach
from evalcore.serving import workers
from tests.annotate.studies.test_extending import planned_study
from tests.people import alice, rob

pytestmark = pytest.mark.django_db


@pytest.fixture
def study():
    """Create a draft with four planned annotators."""
    row = planned_study()
    row.state = "draft"
    row.save()
    return row


def press(study, action, client=None) -> str:
    """Press a button and return the message."""
    address = reverse("study-action", args=[study.slug, action])
    page = (client or alice(study)).post(address, follow=True).content.decode()
    told = page.split('<main id="main"')[1].split('<nav class="crumbs"')[0]
    return html.unescape(told)


def test_study_is_launched_paused_and_closed(study):
    inviting.invite(study, count=3)
    joining.make_link(study, most=2)
    told = press(study, "launch")
    assert "The study is running" in told
    assert "with their link: 3; public links: 1" in told
    assert "not invited yet: 1" in told
    assert f'href="{reverse("annotator-list", args=[study.slug])}"' in told
    assert "Nobody can answer" in press(study, "pause")
    told = press(study, "close")
    assert "No more answers are collected" in told
    assert f'href="{reverse("report-list", args=[study.slug])}"' in told


@pytest.mark.slow
@pytest.mark.parametrize("way", ["full", "revoked", "planned", "closed"])
def test_launch_warns_when_nobody_can_take_part(study, way):
    if way == "revoked":
        (invitation,) = inviting.invite(study, count=1)
        inviting.revoke(invitation.annotator)
    elif way == "closed":
        joining.close_link(joining.make_link(study, most=2))
    elif way == "full":
        study.state = "open"
        study.save()
        person = joining.join(joining.make_link(study, most=1))
        Annotator.objects.filter(pk=person.pk).update(state="finished")
        study.state = "draft"
        study.save()
    assert "is launched" in press(study, "launch")
    page = alice(study).get(reverse("study-detail", args=[study.slug])).text
    assert page.count("nobody can take part") == 1
    assert (
        f'href="{reverse("annotator-list", args=[study.slug])}">Invite people' in page
    )
    study.refresh_from_db()
    assert study.state == "open"


def test_impossible_action_is_explained(study):
    workers.sign(workers.KINDS)
    told = press(study, "pause")
    assert 'class="notice error"' in told
    assert told.count('class="notice') == 1


def test_reach_counts_people_and_links(study):
    assert reach(study) == Reach(people=0, links=0, waiting=4)
    inviting.invite(study, count=2)
    joining.make_link(study, most=1)
    assert reach(study) == Reach(people=2, links=1, waiting=2)
    Annotator.objects.create(study=study, name="Imported", state="active")
    assert reach(study).people == 2, "who has no link"


@pytest.mark.slow
def test_running_study_without_links_shows_warning(study):
    address, client = reverse("study-detail", args=[study.slug]), alice(study)
    told = "nobody has a link yet"
    assert told not in client.get(address).content.decode()
    study.state = "open"
    study.save()
    assert told in client.get(address).content.decode()
    assert "Invite people" not in rob(study).get(address).content.decode()
    inviting.invite(study, count=1)
    assert told not in client.get(address).content.decode()
