"""Annotators' pages: a full run, access, confidentiality."""

import pytest
from django.db import connection
from django.urls import reverse

from annotate.assignment import choosing
from annotate.models import Annotator, Invitation, Rating, Slot, Study
from annotate.people import inviting
from annotate.quality import exclusion
from annotate.studies import lifecycle
from tests.factories import make_study
from tests.people import answer_everything
from tests.working import LIKERT, Browser, always, form, join, make_planned, save, work

pytestmark = pytest.mark.django_db


@pytest.fixture
def study():
    return make_study()


def token(study, name="A01"):
    return Invitation.objects.get(annotator__study=study, annotator__name=name).token


def begin(client, study, name="A01"):
    """Give consent, read the instructions, and return the first slot's address."""
    key = token(study, name)
    assert client.get(reverse("rate-entry", args=[key])).status_code == 302
    client.post(reverse("rate-consent", args=[key]))
    response = client.post(reverse("rate-instructions", args=[key]))
    return response["Location"]


def fill(client, study, address, value):
    data = {f"q:{q.key}": value for q in study.questions.all()} | {"seconds": "3.5"}
    return client.post(f"{address}submit/", data)


def test_study_is_rated_from_consent_to_code(client):
    study = make_study()
    address = begin(client, study)
    page = client.get(address)
    assert page.status_code == 200
    assert b"How good is character?" in page.content
    steps = 0
    while "/story/" in address:
        address = fill(client, study, address, "4")["Location"]
        if address.endswith("/pause/"):
            address = client.post(address)["Location"]
        steps += 1
    assert steps == 6
    done = client.get(address)
    ann = study.annotators.get(name="A01")
    assert ann.state == Annotator.State.FINISHED
    assert ann.completion_code in done.content.decode()
    assert Rating.objects.filter(value=4, annotator=ann).count() == 12


def test_consent_is_stored_with_its_version(client):
    study = make_study(consent_version="7")
    begin(client, study)
    ann = study.annotators.get(name="A01")
    assert ann.consented_at is not None
    assert ann.consent_version == "7"
    assert study.events.filter(kind="consent given").count() == 1


def test_answers_are_stored_when_next_step_fails(client, monkeypatch):
    """A failing next step is retried and reported once the answers are stored."""
    study = make_study(consented=True)
    person = study.annotators.get(name="A01")
    address = begin(client, study)
    client.raise_request_exception = False
    take, failing = choosing.next_while_locked, [True, True]

    def fail(*given, **how):
        if failing.pop():
            raise RuntimeError("no next slot")
        return take(*given, **how)

    monkeypatch.setattr(choosing, "next_while_locked", fail)
    given = {"character": "3", "aesthetics": "2", "submit": True}
    assert save(client, address, **given).status_code == 500
    slot = person.slots.get(position=1)
    assert slot.state == "submitted"
    assert {row.value for row in slot.ratings.all()} == {2, 3}
    failing[:] = [False, True]  # a short failure is not reported
    second = person.slots.get(position=2)
    assert save(client, address, **given).json()["next"].endswith(f"{second.code}/")
    assert slot.ratings.count() == 2


def end_transaction():
    """Make the database abort the transaction, like a restart or a full disk."""
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute("SELECT pg_terminate_backend(pg_backend_pid())")
            return
        cursor.execute("PRAGMA page_count")
        cursor.execute(f"PRAGMA max_page_count={cursor.fetchone()[0]}")
        try:
            cursor.execute(
                "INSERT INTO django_session VALUES ('full', %s, '2030-01-01')",
                ["x" * 1_000_000],
            )
        finally:
            connection.connection.execute("PRAGMA max_page_count=1000000")


@pytest.mark.django_db(transaction=True)
def test_answers_are_stored_again_after_a_rollback(client, monkeypatch):
    """The database aborts the transaction after the write, and then recovers."""
    study = make_study(consented=True)
    person = study.annotators.get(name="A01")
    address = begin(client, study)
    take, ending = choosing.next_while_locked, [True]

    def end_once(*given, **how):
        if ending:
            ending.pop()
            end_transaction()
        return take(*given, **how)

    monkeypatch.setattr(choosing, "next_while_locked", end_once)
    reply = save(client, address, character="3", aesthetics="2", submit=True)
    assert reply.json()["submitted"]
    slot = person.slots.get(position=1)
    assert (slot.state, slot.ratings.count()) == ("submitted", 2)


def test_invalid_answers_are_refused_and_others_stored(client, subtests):
    address = begin(client, make_study())
    for given, told in [
        ({"character": "9"}, "9 is outside the scale"),
        ({"character": "many"}, "no whole number"),
        ({"colour": "1"}, "does not exist"),
    ]:
        with subtests.test(told):
            reply = save(client, address, submit=True, aesthetics="1", **given).json()
            refused = reply["refused"][next(iter(given))]
            assert told in refused["why"]
            assert refused["final"]
            assert not reply["submitted"]
            assert Rating.objects.get().question.key == "aesthetics"


def test_malformed_request_is_refused(client, subtests):
    address = begin(client, make_study())
    for body in [
        "",
        "[]",
        "{",
        '{"rows": [{}]}',
        '{"rows": [{"kind": "submit", "seconds": "soon"}]}',
        '{"rows": [{"kind": "submit", "seconds": %s}]}' % ("9" * 400),
        r'{"rows": [{"kind": "comment", "id": "c", "key": "", "text": "\u0000"}]}',
        r'{"rows": [{"kind": "comment", "id": "c", "key": "", "text": "\ud800"}]}',
    ]:
        with subtests.test(body[:60]):
            response = client.post(
                f"{address}save/", body, content_type="application/json"
            )
            assert response.status_code == 400
            assert "Expected JSON" in response.json()["error"]
            form = client.post(f"{address}save/", {"rows": body})
            assert form.status_code == 400


def test_answer_taken_back_is_open_again(client):
    address = begin(client, make_study())
    save(client, address, key="one", character="2")
    assert save(client, address, key="two", character="").json()["refused"] == {}
    assert b"checked" not in client.get(address).content
    save(client, address, key="one", character="2")
    assert not Rating.objects.filter(is_current=True).exists(), "sent a second time"
    reply = save(client, address, submit=True, aesthetics="1").json()
    assert reply["problem"] == "Not answered yet: Character."
    reply = save(client, address, submit=True, key="three", character="3").json()
    assert reply["submitted"]
    reply = save(client, address, key="four", character="").json()
    assert "closed" in reply["refused"]["character"]["why"]
    kept = Rating.objects.order_by("pk")
    assert list(kept.values_list("question__key", "revision", "value")) == [
        ("character", 1, 2),
        ("aesthetics", 1, 1),
        ("character", 2, 3),
    ]


def test_submission_with_a_gap_keeps_other_answers(client):
    study = make_study()
    address = begin(client, study)
    response = client.post(f"{address}submit/", form(character=1))
    assert response.status_code == 422
    assert "Aesthetics" in response.content.decode()
    assert Rating.objects.get().value == 1


def test_another_device_resumes_at_the_same_story(client, django_user_model):
    study = make_study()
    address = begin(client, study)
    fill(client, study, address, "3")
    other = type(client)()
    entry = other.get(reverse("rate-entry", args=[token(study)]))
    assert entry["Location"].endswith("/pause/")
    following = other.post(entry["Location"])["Location"]
    assert following != address
    assert "/story/" in following


def test_study_shows_its_state_when_not_open(client, subtests):
    study = make_study()
    address = begin(client, study)
    for state, status, text in [
        ("paused", 403, "The study is paused"),
        ("closed", 403, "closed"),
        ("draft", 403, "not started"),
    ]:
        with subtests.test(state):
            Study.objects.update(state=state)
            for path in (address, reverse("rate-entry", args=[token(study)])):
                response = client.get(path)
                assert response.status_code == status
                assert text in response.content.decode()


def test_revoked_link_returns_410(client):
    study = make_study()
    Invitation.objects.update(revoked_at="2025-01-01T00:00Z")
    response = client.get(reverse("rate-entry", args=[token(study)]))
    assert response.status_code == 410


def test_keys_of_sides_do_not_depend_on_ties(client):
    study = make_study(kind="choice")
    study.questions.filter(key="character").update(allow_tie=False)
    strict = make_study(kind="choice", slug="strict", benchmark=study.benchmark)
    strict.questions.update(allow_tie=False)

    def keys(study):
        page = client.get(begin(client, study))
        shown = page.context["questions"]
        return page.content.decode(), [
            {value: key for value, _label, key in one.options} for one in shown
        ]

    page, (character, aesthetics) = keys(study)
    assert character == {"left": "1", "right": "3"}
    assert aesthetics == {"left": "1", "tie": "2", "right": "3"}
    assert "choose left, no preference or right" in page
    page, _ = keys(strict)
    assert "choose left or right" in page
    assert "<kbd>2</kbd>" not in page


# The last page ------------------------------------------------------------------------


def finish(client, study, name="A01"):
    """Complete the plan and return the address of the last page."""
    address = begin(client, study, name)
    while "/story/" in address:
        address = fill(client, study, address, "4")["Location"]
        if address.endswith("/pause/"):
            address = client.post(address)["Location"]
    return address


@pytest.mark.slow
@pytest.mark.parametrize("event", ["closed", "revoked", "excluded"])
def test_completion_code_does_not_depend_on_others(client, study, event):
    address = finish(client, study)
    other = study.annotators.get(name="A02")
    if event == "revoked":
        inviting.revoke(other)
    elif event == "excluded":
        answer_everything(study)
        slot = study.slots.filter(annotator=other).first()
        exclusion.exclude(slot, reason="x", author=None)
    else:
        lifecycle.close(study)
    entry = reverse("rate-entry", args=[token(study)])
    for url in (address, entry):
        page = client.get(url, follow=True)
        assert page.status_code == 200
        code = study.annotators.get(name="A01").completion_code
        assert code in page.content.decode()


def test_completion_code_requires_work(client, study):
    carol = study.annotators.create(name="A03")
    invitation = Invitation.objects.create(annotator=carol)
    done = reverse("rate-done", args=[invitation.token])
    for step in ("consent", "instructions"):
        entry = client.get(done)["Location"]
        address = reverse(f"rate-{step}", args=[invitation.token])
        assert client.get(entry)["Location"] == address
        client.post(address)
    page = client.get(done).content.decode()
    assert "Nothing to rate right now" in page
    assert carol.completion_code not in page


def test_consent_given_after_a_revocation_changes_nothing(client, study):
    ann = study.annotators.get(name="A01")
    key = token(study)
    inviting.revoke(ann)
    Invitation.objects.update(revoked_at=None)
    client.post(reverse("rate-consent", args=[key]))
    assert study.annotators.get(name="A01").state == "revoked"


# Scripts and forms --------------------------------------------------------------------


def test_slot_of_another_annotator_offers_to_continue(client, study):
    address = begin(client, study)
    other = study.annotators.get(name="A02")
    Slot.objects.filter(state="leased").update(state="open", position=None)
    Rating.objects.all().delete()
    slot = Slot.objects.get(code=address.rstrip("/").split("/")[-1])
    Slot.objects.filter(unit=slot.unit, annotator=other).delete()
    Slot.objects.filter(pk=slot.pk).update(annotator=other, position=99)
    asked = {"headers": {"accept": "application/json"}}
    entry = reverse("rate-entry", args=[token(study)])
    page = client.get(address)
    assert page.status_code == 404
    assert "no longer assigned to you" in page.content.decode()
    assert f'href="{entry}">Continue' in page.content.decode()
    assert "somebody else" in client.get(address, **asked).json()["error"]


def test_page_of_an_earlier_session_is_read_only(client, study):
    address = first = begin(client, study)
    for _ in range(3):
        address = fill(client, study, address, "3")["Location"]
    client.post(address)
    page = client.get(first).content.decode()
    assert page.count("disabled") == 2 * 5
    assert "This sitting is over" in page
    assert 'id="submit" href=' in page


@pytest.mark.slow
def test_exclusion_is_hidden_from_the_annotator(client, study):
    done = finish(client, study)
    assert "you have rated 6 stories" in client.get(done).content.decode()
    slot = study.slots.filter(annotator__name="A01").first()
    exclusion.exclude(slot, reason="x", author=None)
    assert "you have rated 6 stories" in client.get(done).content.decode()


def test_excluded_slot_is_not_found(client):
    study = make_planned(LIKERT, annotators=2, redundancy=2)
    person = join(study, "A01")
    (slot,) = work(person, always("3"), most=1)
    exclusion.exclude(slot, reason="x", author=None)
    browser = Browser(client, person)
    assert client.get(browser.address("slot", slot.code)).status_code == 404
    reply = save(client, browser.address("slot", slot.code), beauty="1").json()
    assert "closed" in reply["refused"]["beauty"]["why"]
