"""Webhooks on pages and by the API."""

import json
import re
import socket
import subprocess
import sys
from ipaddress import ip_network
from pathlib import Path

import pytest
from django.urls import reverse

from annotate.coverage.dashboard import standing
from annotate.models import Event, Webhook
from annotate.tasks import work_on_webhooks
from annotate.webhooks import delivering, managing
from annotate.webhooks.sending import post
from tests.annotate.webhooks.receiving import receiver
from tests.factories import make_benchmark, make_study
from tests.people import alice
from tests.serving import free_port, wait_until

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def allowed(settings):
    settings.WEBHOOK_ALLOW = [ip_network("127.0.0.0/8")]


@pytest.fixture
def study():
    return make_study(benchmark=make_benchmark(stories=1, shots=1))


def page(study, name="list", *args):
    return reverse(f"webhook-{name}", args=[study.slug, *args])


def test_manager_adds_tests_and_deletes_a_webhook(study):
    client = alice(study)
    with receiver() as server:
        given = {"address": server.address, "event": ["item.complete"]}
        added = client.post(page(study), given)
        webhook = Webhook.objects.get()
        assert webhook.secret in added.content.decode()
        assert webhook.secret not in client.get(page(study)).content.decode()
        client.post(page(study, "test", webhook.pk))
        work_on_webhooks()
        shown = client.get(page(study, "detail", webhook.pk)).content.decode()
        assert "webhook.test" in shown
        assert "HTTP 204" in shown
        delivery = webhook.deliveries.get()
        client.post(page(study, "send-again", webhook.pk, delivery.pk))
        work_on_webhooks()
    first, second = (headers["webhook-id"] for _p, headers, _b in server.received)
    assert first == second
    client.post(page(study, "delete", webhook.pk))
    assert not study.webhooks.exists()
    kinds = study.events.filter(kind__startswith="webhook")
    assert list(kinds.values_list("kind", flat=True)) == [
        Event.Kind.WEBHOOK_ADDED,
        Event.Kind.WEBHOOK_DELETED,
    ]


def test_wrong_webhook_is_refused_with_the_reason(study, subtests):
    for given, why in [
        ({"address": "http://169.254.169.254/", "event": ["item.complete"]}, "private"),
        ({"address": "nonsense", "event": ["item.complete"]}, "whole address"),
        ({"address": "http://127.0.0.1:9/"}, "one or more"),
        ({"address": "http://127.0.0.1:9/", "event": ["x"]}, "one or more"),
    ]:
        with subtests.test(why):
            answer = alice(study).post(page(study), given)
            assert answer.status_code == 422
            assert why in answer.content.decode()
            assert not Webhook.objects.exists()


def test_switched_off_webhook_is_a_line_of_do_now(study):
    client = alice(study)
    with receiver(status=410) as server:
        added = {"address": server.address, "event": ["item.complete"]}
        client.post(page(study), added)
        webhook = Webhook.objects.get()
        client.post(page(study, "test", webhook.pk))
        work_on_webhooks()
        lines = [line.text for line in standing(study).alerts]
        assert any(server.address in line for line in lines)
        server.status = 200
        client.post(page(study, "resume", webhook.pk))
        webhook.deliveries.update(due_at=webhook.created_at)
        work_on_webhooks()
    assert webhook.deliveries.get().state == "delivered"
    assert not delivering.due().exists()


def test_webhooks_by_the_api(study):
    client = alice(study)
    base = f"/api/v1/studies/{study.slug}/webhooks/"

    def call(method, address, body=None):
        content = json.dumps(body) if body is not None else ""
        return client.generic(method, address, content, "application/json")

    bad = {"address": "https://10.0.0.1/", "events": ["item.complete"]}
    refused = call("POST", base, bad)
    assert refused.status_code == 400
    assert "private network" in refused.json()["detail"]
    with receiver() as server:
        made = call("POST", base, bad | {"address": server.address})
        assert made.status_code == 201
        assert made.json()["secret"].startswith("whsec_")
        own = made["Location"]
        assert "secret" not in call("GET", own).json()
        assert call("GET", base).json()["count"] == 1
        sent = call("POST", f"{own}test/")
        assert sent.status_code == 202
        work_on_webhooks()
        (row,) = call("GET", sent["Location"]).json()["results"]
        assert (row["state"], row["status"]) == ("delivered", 204)
        again = call("POST", f"{own}deliveries/{row['id']}/again/")
        assert again.json()["state"] == "waiting"
    assert call("DELETE", own).status_code == 204
    assert call("GET", own).status_code == 404


def test_receiver_of_the_documentation_accepts_ours_and_no_others(study):
    page = Path(__file__).parents[3] / "docs/how-to/receive-webhooks.md"
    (code,) = re.findall(r"```python\n(.*?)```", page.read_text("utf-8"), re.DOTALL)
    port = free_port()
    address = f"http://127.0.0.1:{port}/"
    webhook = managing.add(study, address, ["item.complete"], by=None)
    program = subprocess.Popen(
        [sys.executable, "-c", code],
        env={"SECRET": webhook.secret, "PORT": str(port)},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    try:
        wait_until(lambda: listens(port), 60, "the receiver")
        managing.test(webhook)
        work_on_webhooks()
        assert webhook.deliveries.get().status == 204
        assert b"webhook.test" in program.stdout.readline()
        assert post(address, f"whsec_{'A' * 43}=", "msg_1", "{}") == 401
    finally:
        program.kill()
        program.wait()
        program.stdout.close()


def listens(port):
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
    except OSError:
        return False
    return True
