"""Pictures that annotators report as broken, and what managers see of it."""

import pytest
from django.urls import reverse

from annotate import faults
from annotate.choosing import handing
from annotate.models import Fault
from tests.factories import make_benchmark
from tests.working import LIKERT, Browser, join, make_planned

pytestmark = pytest.mark.django_db


@pytest.fixture
def study():
    text = f"{LIKERT}\nassignment: open\nredundancy: 2\n"
    return make_planned(text, benchmark=make_benchmark(stories=1, methods=["Birch"]))


def report(client, person, **sent):
    slot = handing.take_next(person).slot
    address = Browser(client, person).address("report", slot.code)
    return client.post(address, sent)


def test_a_report_reaches_the_manager_and_is_settled(client, study, admin_user):
    people = [join(study), join(study)]
    for person in (*people, people[0]):
        assert report(client, person, side="only", shot="2").status_code == 204
    assert Fault.objects.count() == 2
    client.force_login(admin_user)
    page = client.get(reverse("study-coverage", args=[study.slug]))
    text = "2 people report as broken: Birch / 01, shot 2."
    assert text in page.content.decode()
    named = {"fault": list(Fault.objects.values_list("pk", flat=True))}
    settled = reverse("faults-settle", args=[study.slug])
    assert client.post(settled, named, follow=True).status_code == 200
    page = client.get(reverse("study-coverage", args=[study.slug]))
    assert text not in page.content.decode()
    assert faults.reported(study) == []


@pytest.mark.parametrize(
    "sent",
    [
        {"side": "left", "shot": "1"},
        {"side": "only", "shot": "9"},
        {"side": "only", "shot": "x"},
        {"side": "above"},
    ],
)
def test_what_is_not_shown_cannot_be_reported(client, study, sent):
    response = report(client, join(study), **sent)
    assert response.status_code == 400
    assert response.json()["error"]
    assert not Fault.objects.exists()


def test_a_picture_of_a_character_can_be_reported(client, study):
    assert report(client, join(study)).status_code == 204
    (found,) = faults.reported(study)
    assert (found.output, found.story, found.shot, found.people) == (None, "01", 0, 1)
