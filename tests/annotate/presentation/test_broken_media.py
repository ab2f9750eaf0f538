"""Reports of broken pictures."""

import pytest
from django.urls import reverse

from annotate.assignment import choosing
from annotate.models import Fault
from annotate.presentation import broken_media
from tests.factories import make_benchmark
from tests.working import LIKERT, Browser, join, make_planned

pytestmark = pytest.mark.django_db


@pytest.fixture
def study():
    text = f"{LIKERT}\nassignment: open\nredundancy: 2\n"
    return make_planned(text, benchmark=make_benchmark(stories=1, methods=["Birch"]))


def report(client, person, side="", shot="0"):
    slot = choosing.next_for(person).slot
    address = Browser(client, person).address("save", slot.code)
    row = {"kind": "fault", "id": "here", "side": side, "shot": shot}
    return client.post(address, {"rows": [row]}, content_type="application/json")


def test_fault_report_reaches_the_manager_and_is_handled(client, study, admin_user):
    people = [join(study), join(study)]
    for person in (*people, people[0]):
        reply = report(client, person, side="only", shot="2").json()
        assert reply["refused"] == {}
    assert Fault.objects.count() == 2
    client.force_login(admin_user)
    page = client.get(reverse("study-detail", args=[study.slug]))
    text = "2 people reported a broken picture or video: Birch / 01, shot 2."
    assert text in page.content.decode()
    named = {"fault": list(Fault.objects.values_list("pk", flat=True))}
    settled = reverse("alert-settle", args=[study.slug])
    assert client.post(settled, named, follow=True).status_code == 200
    page = client.get(reverse("study-detail", args=[study.slug]))
    assert text not in page.content.decode()
    assert broken_media.reported(study) == []


@pytest.mark.parametrize(
    "sent",
    [{"side": "left", "shot": "1"}, {"side": "only", "shot": "9"}, {"side": "above"}],
)
def test_fault_report_requires_a_displayed_shot(client, study, sent):
    refused = report(client, join(study), **sent).json()["refused"]
    assert refused["here"]["final"]
    assert "no s" in refused["here"]["why"]
    assert not Fault.objects.exists()


def test_picture_of_a_character_can_be_reported(client, study):
    assert report(client, join(study)).json()["refused"] == {}
    (found,) = broken_media.reported(study)
    assert (found.output, found.story, found.shot, found.people) == (None, "01", 0, 1)
