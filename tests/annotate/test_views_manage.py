"""Pages of a study: who may see them, and that their numbers are right."""

import pytest
from django.test import Client
from django.urls import reverse

from annotate.models import Annotator, Event, Invitation, Slot, Study
from annotate.urls import scoring_urls, study_urls
from tests.factories import make_benchmark, make_study
from tests.people import alice, answer_everything, eve, log_in, rob

pytestmark = pytest.mark.django_db

POSTS = {
    "study-action", "slot-exclude", "slot-restore", "annotator-invite",
    "annotator-reissue", "annotator-revoke", "study-score",
}  # fmt: skip


@pytest.fixture
def study():
    return make_study()


def address(name: str, study: Study) -> str:
    arguments = {
        "slot-detail": [study.slots.first().code],
        "slot-exclude": [study.slots.first().code],
        "slot-restore": [study.slots.first().code],
        "annotator-reissue": [study.annotators.first().pk],
        "annotator-revoke": [study.annotators.first().pk],
        "frame-thumb": [study.units.first().output_a.frames.first().pk],
        "study-action": ["pause"],
    }
    return reverse(name, args=[study.slug, *arguments.get(name, [])])


NAMES = [
    page.name
    for page in [*study_urls, *scoring_urls]
    if page.name not in ("study-list", "metric-list")
]


@pytest.mark.parametrize("name", NAMES)
def test_eve_finds_nothing(study, name):
    client = eve()
    send = client.post if name in POSTS else client.get
    assert send(address(name, study)).status_code == 404


@pytest.mark.parametrize("name", NAMES)
def test_strangers_are_sent_to_the_login(study, name):
    client = Client()
    send = client.post if name in POSTS else client.get
    response = send(address(name, study))
    assert response.status_code == 302
    assert response["Location"].startswith(reverse("login"))


@pytest.mark.parametrize("name", [n for n in NAMES if n not in POSTS])
def test_rob_reads_every_page(study, name):
    assert rob(study).get(address(name, study)).status_code == 200


@pytest.mark.parametrize("name", sorted(POSTS))
def test_rob_changes_nothing(study, name):
    assert rob(study).post(address(name, study)).status_code == 403
    assert alice(study).get(address(name, study)).status_code == 405


def test_rob_sees_no_links_and_no_buttons(study):
    page = rob(study).get(reverse("annotator-list", args=[study.slug]))
    token = Invitation.objects.first().token
    assert token not in page.content.decode()
    assert token in (
        alice(study).get(reverse("annotator-list", args=[study.slug])).content.decode()
    )


def test_the_list_shows_only_ones_own_studies(study):
    other = make_study(slug="secret", benchmark=make_benchmark(slug="other"))
    page = alice(study).get(reverse("study-list")).content.decode()
    assert study.title in page
    assert other.title not in page


def test_a_superuser_sees_all(study):
    client = log_in("root")
    client.get("/")
    from annotate.models import User

    User.objects.filter(username="root").update(is_superuser=True)
    assert study.title in client.get(reverse("study-list")).content.decode()


def test_pause_and_launch(study):
    client = alice(study)
    client.post(reverse("study-action", args=[study.slug, "pause"]))
    assert Study.objects.get().state == "paused"
    client.post(reverse("study-action", args=[study.slug, "launch"]))
    assert Study.objects.get().state == "open"
    assert Event.objects.filter(user__username="alice").count() == 2


def test_an_action_that_does_not_fit_is_explained(study):
    Study.objects.update(state="draft")
    client = alice(study)
    url = reverse("study-action", args=[study.slug, "pause"])
    page = client.post(url, follow=True).content.decode()
    assert "Pause is not possible: the study is draft" in page


def test_inviting_revoking_and_adding(study):
    Invitation.objects.all().delete()
    study.annotators.update(state="planned")
    client = alice(study)
    invite = reverse("annotator-invite", args=[study.slug])
    client.post(invite, {"count": 2, "note": "friends"})
    assert Invitation.objects.filter(note="friends").count() == 2
    ann = study.annotators.get(name="A01")
    page = client.post(
        reverse("annotator-revoke", args=[study.slug, ann.pk]), follow=True
    )
    assert "6 slots are free again" in page.content.decode()
    Annotator.objects.create(study=study, name="A00")
    client.post(invite, {"new": "1"})
    assert Annotator.objects.get(name="A00").state == "planned"
    assert Annotator.objects.get(name="A03").state == "invited"
    client.post(invite, {"count": 1})
    page = client.post(invite, {"count": 5}, follow=True).content.decode()
    assert "Everybody who was planned is invited already" in page


@pytest.mark.parametrize("count", ["", "0", "-1", "two", "9" * 5000])
def test_a_count_that_is_no_count_invites_nobody(study, count):
    Annotator.objects.create(study=study, name="A00")
    page = alice(study).post(
        reverse("annotator-invite", args=[study.slug]), {"count": count}, follow=True
    )
    assert "1 planned annotator waits" in page.content.decode()
    assert Annotator.objects.get(name="A00").state == "planned"


def test_a_picture_outside_the_study_does_not_exist(study):
    unit = study.units.first()
    frame = unit.output_a.frames.first()
    url = reverse("frame-thumb", args=[study.slug, frame.pk])
    client = alice(study)
    assert client.get(url).status_code == 200
    study.slots.filter(unit=unit).delete()
    unit.delete()
    assert client.get(url).status_code == 404


def test_each_cell_leads_to_its_slots(study):
    answer_everything(study)
    client = alice(study)
    page = client.get(reverse("study-coverage", args=[study.slug])).content.decode()
    assert page.count("2/2</a>") == 6
    url = reverse("slot-list", args=[study.slug]) + "?method=Alder&story=01"
    assert f"{url.replace('&', '&amp;')}" in page
    listed = client.get(url).context["page"]
    assert [s.unit.output_a.method.name for s in listed] == ["Alder", "Alder"]


def test_htmx_gets_the_inner_part_only(study):
    url = reverse("study-coverage", args=[study.slug])
    part = alice(study).get(url, headers={"hx-request": "true"}).content.decode()
    assert "<html" not in part
    assert "heatmap" in part


def test_excluding_and_taking_back(study):
    answer_everything(study)
    slot = study.slots.first()
    client = alice(study)
    url = reverse("slot-exclude", args=[study.slug, slot.code])
    client.post(url, {"reason": ""})
    assert Slot.objects.get(pk=slot.pk).state == "submitted"
    client.post(url, {"reason": "asleep"})
    assert Slot.objects.get(pk=slot.pk).state == "excluded"
    page = client.get(reverse("slot-detail", args=[study.slug, slot.code]))
    assert "asleep" in page.content.decode()
    client.post(reverse("slot-restore", args=[study.slug, slot.code]))
    assert Slot.objects.get(pk=slot.pk).state == "submitted"


def test_hostile_names_are_shown_as_text(study):
    Annotator.objects.filter(name="A01").update(name="<script>alert(1)</script>")
    page = alice(study).get(reverse("study-coverage", args=[study.slug]))
    assert "<script>alert" not in page.content.decode()


def test_pages_have_a_strict_policy(study):
    policy = alice(study).get(reverse("study-list"))["Content-Security-Policy"]
    assert "default-src 'self'" in policy
    assert "unsafe" not in policy
