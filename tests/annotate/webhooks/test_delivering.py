"""Messages about a study's events, and their deliveries to real receivers."""

import base64
import hashlib
import hmac
import json
import time
from datetime import timedelta
from ipaddress import ip_network

import pytest
from django.db import transaction

from annotate.models import Delivery, Event, Slot, Webhook
from annotate.quality import exclusion
from annotate.tasks import work_on_webhooks
from annotate.webhooks import delivering, managing, messages, sending
from tests.annotate.webhooks.receiving import receiver
from tests.factories import make_benchmark, make_study
from tests.working import always, join, work

pytestmark = pytest.mark.django_db
FOREVER = 10**6


@pytest.fixture(autouse=True)
def allowed(settings):
    settings.WEBHOOK_ALLOW = [ip_network("127.0.0.0/8")]
    settings.BASE_URL = "https://study.example.org"


@pytest.fixture
def study():
    return make_study(benchmark=make_benchmark(stories=1, shots=1), consented=True)


def add(study, server, *events):
    return managing.add(study, server.address, events or Webhook.Event.values, by=None)


def rate(study, name="A01", most=1):
    person = study.annotators.get(name=name)
    return work(person, always(3), most=most)


def received(server):
    return [json.loads(body) for _path, _headers, body in server.received]


def types(server):
    return sorted(one["type"] for one in received(server))


def is_genuine(secret, headers, body):
    """Verify a message as the specification of Standard Webhooks says."""
    signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
    key = base64.b64decode(secret.removeprefix("whsec_"))
    digest = hmac.new(key, signed, hashlib.sha256).digest()
    expected = "v1," + base64.b64encode(digest).decode()
    is_now = abs(time.time() - int(headers["webhook-timestamp"])) < 300
    return is_now and expected in headers["webhook-signature"].split()


def test_message_about_a_slot_is_signed_and_names_no_method(study):
    with receiver() as server:
        webhook = add(study, server, "slot.submitted")
        (slot,) = rate(study)
        work_on_webhooks()
    ((path, headers, body),) = server.received
    assert path == "/hook?lab=1"
    assert is_genuine(webhook.secret, headers, body)
    message = json.loads(body)
    at = Event.objects.get(kind=Event.Kind.SLOT_SUBMITTED).at
    assert message == {
        "type": "slot.submitted",
        "timestamp": at.isoformat().replace("+00:00", "Z"),
        "data": {
            "study": "trial",
            "slot": slot.code,
            "purpose": "real",
            "annotator": "A01",
            "item": slot.unit_id,
            "story": "01",
            "api": f"https://study.example.org/api/v1/studies/trial/slots/{slot.code}/",
        },
    }
    assert not any(name.encode() in body for name in study.method_names)


def test_each_message_is_sent_once_however_often_the_worker_looks(study):
    with receiver() as server:
        add(study, server)
        for name in ("A01", "A02"):
            rate(study, name, FOREVER)
        for _time in range(3):
            work_on_webhooks()
    assert types(server) == (
        ["item.complete"] * 3 + ["slot.submitted"] * 6 + ["study.complete"]
    )
    ids = [headers["webhook-id"] for _path, headers, _body in server.received]
    assert len(set(ids)) == len(ids)


def test_item_that_is_completed_again_sends_another_message(study):
    with receiver() as server:
        add(study, server, "item.complete")
        first = rate(study)[0]
        rate(study, "A02", FOREVER)
        work_on_webhooks()
        assert types(server) == ["item.complete"]
        exclusion.exclude(first, reason="too fast", author=None)
        work_on_webhooks()
        assert types(server) == ["item.complete"]
        (replacing,) = work(join(study), always(3), most=1)
        assert replacing.unit_id == first.unit_id
        work_on_webhooks()
    assert types(server) == ["item.complete"] * 2


def test_training_and_extra_ratings_complete_nothing(study):
    Slot.objects.update(ordinal=None)
    with receiver() as server:
        add(study, server, "item.complete", "study.complete")
        for name in ("A01", "A02"):
            rate(study, name, FOREVER)
        work_on_webhooks()
    assert study.events.filter(kind=Event.Kind.SLOT_SUBMITTED).count() == 6
    assert not server.received


def test_flag_and_stop_rule_send_messages(study):
    with receiver() as server:
        add(study, server, "person.flagged", "study.complete")
        for kind, details in (
            (Event.Kind.FLAG_RAISED, {"rule": "fast", "action": "pause"}),
            (Event.Kind.STOPPED_EARLY, {"methods": ["Alder"]}),
        ):
            Event.objects.create(
                study=study,
                kind=kind,
                annotator=study.annotators.get(name="A02"),
                details=details,
            )
        work_on_webhooks()
    flagged, complete = sorted(received(server), key=lambda one: one["type"])
    assert flagged["data"]["annotator"] == "A02"
    assert (flagged["data"]["rule"], flagged["data"]["action"]) == ("fast", "pause")
    assert complete["data"]["reason"] == "stop rule met"
    assert "Alder" not in json.dumps(complete)


def test_earlier_events_send_no_message(study):
    rate(study)
    with receiver() as server:
        add(study, server)
        work_on_webhooks()
        assert not server.received


@pytest.mark.django_db(transaction=True)
def test_rolled_back_submission_sends_nothing():
    study = make_study(benchmark=make_benchmark(stories=1, shots=1), consented=True)
    with receiver() as server:
        add(study, server)
        with transaction.atomic():
            rate(study)
            transaction.set_rollback(True)
        work_on_webhooks()
        assert not server.received
        rate(study)
        work_on_webhooks()
        assert types(server) == ["slot.submitted"]


def test_killed_worker_loses_nothing(study, clock, monkeypatch):
    """One is killed before its messages are stored, another while it sends."""
    with receiver() as server:
        add(study, server, "slot.submitted")
        rate(study)
        with monkeypatch.context() as patched:
            patched.setattr(Delivery.objects, "bulk_create", _killed)
            with pytest.raises(KeyboardInterrupt):
                work_on_webhooks()
        with monkeypatch.context() as patched:
            patched.setattr(delivering, "_record", _killed)
            with pytest.raises(KeyboardInterrupt):
                work_on_webhooks()
        work_on_webhooks()
        assert len(server.received) == 1
        clock.move(2)
        work_on_webhooks()
    (_path, first, _body), (_path, second, _body) = server.received
    assert first["webhook-id"] == second["webhook-id"]
    assert Delivery.objects.get().state == "delivered"


def _killed(*_args, **_how):
    raise KeyboardInterrupt


def test_failed_message_is_tried_again_ever_later_and_then_given_up(study, clock):
    with receiver(status=500) as server:
        webhook = add(study, server, "slot.submitted")
        rate(study)
        waits = []
        while True:
            work_on_webhooks()
            one = Delivery.objects.get()
            if one.due_at is None:
                break
            waits.append((one.due_at - one.tried_at).total_seconds())
            clock.moved += one.due_at - one.tried_at
    assert (one.state, one.status, one.attempts) == ("failed", 500, 8)
    assert len(server.received) == 8
    for wait, least in zip(waits, delivering.BACKOFF, strict=True):
        assert least <= wait <= 1.1 * least
    webhook.refresh_from_db()
    assert not webhook.is_active
    assert study.events.filter(kind=Event.Kind.WEBHOOK_STOPPED).count() == 1


def test_switched_off_webhook_sends_all_when_it_is_switched_on(study):
    with receiver(status=410) as server:
        webhook = add(study, server, "slot.submitted")
        rate(study)
        work_on_webhooks()
        rate(study)
        work_on_webhooks()
        assert len(server.received) == 1
        webhook.refresh_from_db()
        assert not webhook.is_active
        server.status = 200
        Delivery.objects.update(state="failed", due_at=None)
        managing.resume(webhook, by=None)
        work_on_webhooks()
    assert len({headers["webhook-id"] for _p, headers, _b in server.received}) == 2
    assert set(Delivery.objects.values_list("state", flat=True)) == {"delivered"}


def test_message_is_refused_when_its_host_has_become_private(study, settings):
    with receiver() as server:
        add(study, server, "slot.submitted")
        rate(study)
        settings.WEBHOOK_ALLOW = []
        work_on_webhooks()
        assert not server.received
    assert "private network" in Delivery.objects.get().error


def test_slow_address_delays_no_other(study, monkeypatch):
    monkeypatch.setattr(sending, "DEADLINE", 3.0)
    recorded, record = [], delivering._record

    def note(one, sent):
        recorded.append(one.webhook.address)
        record(one, sent)

    monkeypatch.setattr(delivering, "_record", note)
    with receiver(drip="headers") as slow, receiver() as quick:
        for server in (slow, quick):
            add(study, server, "slot.submitted")
        rate(study, most=FOREVER)
        work_on_webhooks()
    # Other messages to the slow one wait until it is likely to have recovered.
    assert recorded == [quick.address] * 3 + [slow.address]


def test_webhook_without_new_events_reads_no_old_ones_again(study, clock):
    with receiver() as server:
        webhook = add(study, server, "slot.submitted")
        rate(study)
        messages.write_messages()
        clock.move(11)
        messages.write_messages()
        webhook.refresh_from_db()
        assert not study.events.filter(
            pk__gt=webhook.read_to, kind=Event.Kind.SLOT_SUBMITTED
        )


def test_old_messages_are_deleted_but_those_that_wait(study, clock):
    with receiver() as server:
        webhook = add(study, server)
        managing.test(webhook)
        work_on_webhooks()
        waiting = managing.test(webhook)
    assert received(server)[0]["type"] == "webhook.test"
    clock.moved += timedelta(days=31)
    delivering.forget_old()
    assert list(webhook.deliveries.all()) == [waiting]


def test_study_has_at_most_ten_webhooks(study):
    with receiver() as server:
        for _n in range(10):
            add(study, server)
        with pytest.raises(managing.WebhookError, match="at most 10"):
            add(study, server)


def test_webhook_can_be_deleted_while_its_message_is_sent(study, monkeypatch):
    record = delivering._record

    def delete_first(one, sent):
        managing.delete(Webhook.objects.get(), by=None)
        record(one, sent)

    with receiver() as server:
        add(study, server, "slot.submitted")
        rate(study)
        monkeypatch.setattr(delivering, "_record", delete_first)
        work_on_webhooks()
        work_on_webhooks()
        assert len(server.received) == 1
