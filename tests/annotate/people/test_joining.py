"""Public links, ids of crowd platforms, and two invitations on one device."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.core.signing import TimestampSigner, get_cookie_signer
from django.db import connection
from django.test import Client
from django.urls import reverse
from django.utils.crypto import salted_hmac

from annotate.audit_log.verifying import problems
from annotate.models import Invitation, JoinLink
from annotate.people import inviting, joining
from annotate.people.invitation_list import invite_list
from annotate.people.places import JoiningError
from annotate.people.visits import Arrival
from tests.annotate.studies.test_extending import planned_study
from tests.factories import make_study
from tests.people import alice, rob

pytestmark = pytest.mark.django_db


def address(link, **query):
    return reverse("join", args=[link.token], query=query or None)


def test_opening_link_creates_no_annotator_before_joining(client):
    study = planned_study()
    link = joining.make_link(study, most=2, cap=5, note="flyer")
    page = client.get(address(link)).content.decode()
    assert "Take part" in page
    assert "Alder" not in page
    assert study.annotators.filter(state="planned").count() == 4
    answer = client.post(address(link))
    person = study.annotators.get(name="A01")
    assert answer.url == reverse("rate-entry", args=[person.invitation.token])
    assert (person.state, person.cap, person.invitation.note) == ("invited", 5, "flyer")
    assert study.events.filter(kind="annotator joined", annotator=person).exists()
    link.refresh_from_db()
    assert link.joined == 1
    assert problems(study) == []


def test_joining_takes_free_slots_without_planned_places():
    study = planned_study(annotators=2)
    inviting.invite(study)
    link = joining.make_link(study, most=3)
    with pytest.raises(JoiningError, match="try again later"):
        joining.join(link)
    link.refresh_from_db()
    assert link.joined == 0
    inviting.revoke(study.annotators.first())
    assert joining.join(link).name == "A03"


@pytest.mark.postgresql
def test_platform_id_leads_back_to_same_annotator():
    study = planned_study()
    link = joining.make_link(study, most=1)
    asked = {"PROLIFIC_PID": "5f3a", "STUDY_ID": "s", "SESSION_ID": "1"}
    browser = Client()
    first = browser.post(address(link, **asked))
    again = browser.get(address(link, **(asked | {"SESSION_ID": "2"})))
    assert again.url == first.url
    link.refresh_from_db()
    assert link.joined == 1
    assert Client().get(address(link, PROLIFIC_PID="other")).status_code == 403
    assert study.annotators.get(external_id="5f3a").name == "A01"


def test_id_alone_is_refused_on_another_device(client):
    """Attack: somebody guesses an id and writes it into the address."""
    study = planned_study()
    link = joining.make_link(study, most=3)
    own = address(link, rater="5f3a")
    answer = client.post(own)
    for guess in (
        Client().get(own),
        Client().post(own),
        Client().post(own, {"page": "5f3a"}),
    ):
        assert guess.status_code == 403
        text = guess.content.decode()
        assert "already taking part in another browser" in text
        assert "Ask to continue here" in text
        assert study.annotators.get(name="A01").invitation.token not in text
        assert "Take part" not in text
    agree(client, study.annotators.get(name="A01"))
    assert client.get(own).url == answer.url
    assert Client().get(address(link, rater="6a1b")).status_code == 200
    assert Client().post(address(link, rater="6a1b")).status_code == 302
    assert study.annotators.filter(state="planned").count() == 2


@pytest.mark.postgresql
def test_double_click_without_id_joins_once(monkeypatch):
    study = planned_study()
    link = joining.make_link(study, most=3)
    page = Client().get(address(link)).context["page"]
    first = Client().post(address(link), {"page": page})
    assert Client().post(address(link), {"page": page}).url == first.url
    link.refresh_from_db()
    assert link.joined == 1
    # Each page has its own random text; an old page may be somebody else's.
    new = Client().get(address(link)).context["page"]
    second = Client().post(address(link), {"page": new})
    assert second.url != first.url
    monkeypatch.setattr(joining, "PRESSED_TWICE", timedelta(0))
    assert Client().post(address(link), {"page": new}).url not in (
        first.url,
        second.url,
    )


def test_page_of_another_person_is_refused():
    """Attack: pages with an id of another study, or from before the person joined."""
    study = planned_study()
    link = joining.make_link(study, most=3)
    own = address(link, rater="5f3a")
    before = Client().get(own).context["page"]
    Client().post(own)
    other = make_study(slug="other", benchmark=study.benchmark)
    elsewhere = address(joining.make_link(other, most=3), rater="5f3a")
    for page in (before, Client().get(elsewhere).context["page"], ""):
        assert Client().post(own, {"page": page}).status_code == 403


def test_form_signed_with_server_key_is_refused(settings):
    """Attack: the key is known, and the id of a participant."""
    study = planned_study()
    own = address(joining.make_link(study, most=3), rater="5f3a")
    Client().post(own)
    asked = TimestampSigner(salt=f"joining {study.pk}").sign("5f3a")
    forged = Client().post(own, {"asked": asked, "page": asked})
    assert forged.status_code == 403
    assert Invitation.objects.get().token not in forged.content.decode()


@pytest.mark.postgresql
def test_concurrent_request_is_not_the_joining_person(monkeypatch):
    study = planned_study()
    own = address(joining.make_link(study, most=3), rater="5f3a")
    join = joining.join

    def after_the_person(*link, **given):
        monkeypatch.setattr(joining, "join", join)
        assert Client().post(own).status_code == 302
        return join(*link, **given)

    monkeypatch.setattr(joining, "join", after_the_person)
    assert Client().post(own).status_code == 403


def test_manager_can_allow_ids_on_any_device():
    """Participants of a panel may change browsers between sessions."""
    study = planned_study()
    link = joining.make_link(study, most=3, any_device=True)
    own = address(link, rater="5f3a")
    first = Client().post(own)
    assert Client().get(own).url == first.url
    switch = reverse("join-link-devices", args=[study.slug, link.pk])
    assert rob(study).post(switch).status_code == 403
    manager = alice(study)
    manager.post(switch)
    assert Client().get(own).status_code == 403
    for _pressed_twice in range(2):
        manager.post(switch, {"any_device": "1"})
    assert Client().get(own).url == first.url
    logged = study.events.filter(kind="study edited").values_list("details", flat=True)
    assert [one["any_device"] for one in logged] == [False, True]
    form = {"most": "2", "any_device": "1"}
    manager.post(reverse("join-link-make", args=[study.slug]), form)
    assert study.join_links.last().any_device


def test_id_of_personally_invited_annotator_is_refused():
    study = planned_study()
    invite_list(study, "ada@example.org")
    link = joining.make_link(study, most=3)
    assert Client().get(address(link, rater="ada@example.org")).status_code == 200
    answer = Client().post(address(link, rater="ada@example.org"))
    assert answer.status_code == 409
    assert "a personal link" in answer.content.decode()


def test_malformed_platform_id_is_refused(client, subtests):
    link = joining.make_link(planned_study(), most=3)
    for wrong in ["x" * 101, "a b", "<script>", "../..", "ж"]:
        with subtests.test(wrong[:9]):
            assert client.post(address(link, workerId=wrong)).status_code == 409
            assert link.study.annotators.filter(state="planned").count() == 4


def test_joining_requires_running_study(client, subtests):
    study = planned_study()
    link = joining.make_link(study, most=3)
    for state in ["draft", "paused", "closed"]:
        with subtests.test(state):
            study.state = state
            study.save()
            assert client.get(address(link)).status_code == 403
            assert client.post(address(link)).status_code == 409
            assert study.annotators.filter(state="planned").count() == 4


def test_closed_and_unknown_links_are_refused(client):
    study = planned_study()
    link = joining.make_link(study, most=3)
    joining.close_link(link)
    assert client.post(address(link)).status_code == 409
    assert "closed" in client.get(address(link)).content.decode()
    assert client.get("/join/nowhere/").status_code == 404


def test_join_page_asks_for_language_without_one_in_link(client):
    study = planned_study(languages={"en": 1, "zh": 1}, annotators={"en": 2, "zh": 2})
    link = joining.make_link(study, most=3)
    assert 'value="zh"' in client.get(address(link)).content.decode()
    assert client.post(address(link), {"language": "fr"}).status_code == 409
    client.post(address(link), {"language": "zh"})
    person = study.annotators.get(state="invited")
    assert person.language == "zh"
    consent = reverse("rate-consent", args=[person.invitation.token])
    client.post(consent)
    person.refresh_from_db()
    assert person.language == "zh"
    fixed = joining.make_link(study, most=3, language="en")
    assert (
        '<select name="language"' not in Client().get(address(fixed)).content.decode()
    )


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_last_place_goes_to_one_of_many():
    study = planned_study()
    link = joining.make_link(study, most=1)

    def ask(_number):
        try:
            joining.join(JoinLink.objects.get(pk=link.pk))
        except JoiningError:
            return False
        finally:
            connection.close()
        return True

    with ThreadPoolExecutor(6) as pool:
        assert sum(pool.map(ask, range(6))) == 1
    link.refresh_from_db()
    assert link.joined == 1
    assert study.annotators.filter(state="invited").count() == 1


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_concurrent_clicks_of_one_person_join_once():
    study = planned_study(assignment="open")
    link = joining.make_link(study, most=9)

    def ask(_number):
        try:
            return joining.join(link, Arrival("5f3a")).pk
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as pool:
        assert len(set(pool.map(ask, range(4)))) == 1
    assert study.annotators.count() == 1


def entry(annotator):
    return reverse("rate-entry", args=[annotator.invitation.token])


@pytest.fixture
def two():
    """Two invited people of one study; the first has agreed in the client."""
    study = make_study()
    first, other = study.annotators.all()
    return first, other


def agree(client, annotator):
    client.post(reverse("rate-consent", args=[annotator.invitation.token]))


def test_second_invitation_on_device_is_logged_once(client, two):
    first, other = two
    agree(client, first)
    agree(client, other)
    for person in (first, other):
        instructions = reverse("rate-instructions", args=[person.invitation.token])
        assert client.get(entry(person)).url == instructions
    event = other.study.events.get(kind="second link opened")
    assert event.annotator == other
    assert event.details == {"on_the_device_of": "A01", "went_on_as": "A02"}


def test_device_cookie_is_http_only_and_holds_no_link(client, two):
    first, _other = two
    agree(client, first)
    cookie = client.cookies[f"annotator-{first.study_id}"]
    assert cookie["httponly"]
    assert cookie["samesite"] == "Lax"
    assert first.invitation.token not in cookie.value


def forgeries(study, victims, own):
    """Yield cookies that somebody with a link and the server's key can make."""
    name = f"annotator-{study.pk}"
    ids = ".".join(str(person.pk) for person in victims)
    yield get_cookie_signer(salt=name).sign(ids)
    proof = own.rpartition("-")[2]
    for made in (
        proof,
        salted_hmac("annotate.people.devices", victims[-1].name).hexdigest()[:32],
        "0" * 32,
        "",
    ):
        yield ".".join(f"{person.pk}-{made}" for person in victims)
        yield f"{own}." + ".".join(f"{person.pk}-{made}" for person in victims)


def test_forged_cookie_reveals_no_link(client, settings):
    """Attack: one's own link, the signing key, and a cookie that names the others."""
    settings.SECRET_KEY = "a-key-that-the-attacker-knows-as-well"
    study = make_study(annotators=4)
    eve, *victims = study.annotators.all()
    agree(client, eve)
    name = f"annotator-{study.pk}"
    theirs = [person.invitation.token for person in victims]
    theirs += [f"as {person.name} on this device" for person in victims]
    join_link = address(joining.make_link(study, most=9))
    for forged in forgeries(study, victims, client.cookies[name].value):
        attacker = Client()
        attacker.cookies[name] = forged
        for answer in (
            attacker.get(entry(eve), follow=True),
            attacker.get(join_link),
        ):
            seen = [url for url, _status in getattr(answer, "redirect_chain", ())]
            seen.append(answer.content.decode())
            assert not any(secret in text for secret in theirs for text in seen)


def test_joining_again_on_device_offers_to_continue(client):
    study = planned_study()
    link = joining.make_link(study, most=5)
    client.post(address(link))
    page = client.get(address(link)).content.decode()
    assert "You are already taking part on this device as A01" in page
    client.post(address(link))
    event = study.events.get(kind="second link opened")
    assert event.details == {"on_the_device_of": "A01", "went_on_as": "A02"}
