"""Managers' pages report silent workers; annotators' pages never do."""

from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from annotate.models import Invitation
from evalcore.models import MetricRun, Worker
from evalcore.serving import workers
from tests.factories import make_study
from tests.people import alice

pytestmark = pytest.mark.django_db
STANDSTILL = 'class="notice error" role="alert"'


@pytest.fixture
def study():
    return make_study(consented=True)


def notices(client, name: str, *args: str) -> list[str]:
    """Return the notices about workers on a page."""
    text = " ".join(client.get(reverse(name, args=args)).content.decode().split())
    return [
        part.split(">", 1)[1].split("</p>")[0] for part in text.split(STANDSTILL)[1:]
    ]


@pytest.fixture
def waiting_for_networks(study):
    """Queue a computation that needs the worker for neural networks."""
    run = MetricRun.objects.create(
        benchmark=study.benchmark, source="computed", metrics=["csd_self"]
    )
    run.chunks.create(queue="gpu", metrics=run.metrics)
    return run


def put_down(seconds_ago: float, *kinds: str) -> None:
    at = timezone.now() - timedelta(seconds=seconds_ago)
    for kind in kinds:
        Worker.objects.update_or_create(kind=kind, defaults={"seen_at": at})


def test_manager_pages_report_silent_workers(study, subtests):
    manager = alice(study)
    for page in [
        "study-list",
        "metric-list",
        "study-detail",
        "study-settings",
        "report-list",
    ]:
        with subtests.test(page):
            args = [] if page in ("study-list", "metric-list") else [study.slug]
            put_down(3600, "cpu")
            put_down(1, "gpu", "beat")
            at = Worker.objects.get(kind="cpu").seen_at
            (said,) = notices(manager, page, *args)
            assert said.startswith(
                f"No worker has responded since {at:%Y-%m-%d %H:%M} UTC;"
            )
            put_down(1, "cpu")
            assert notices(manager, page, *args) == []


def test_workers_that_never_ran_are_reported(study, waiting_for_networks):
    manager = alice(study)
    waiting_for_networks.chunks.create(queue="judge", metrics=["hwpq"])
    said = notices(manager, "study-detail", study.slug)
    assert len(said) == len(workers.KINDS)
    assert all("yet; " in one for one in said)


def test_annotator_pages_never_report_workers(study, client):
    person = study.annotators.first()
    token = Invitation.objects.get(annotator=person).token
    manager = alice(study)
    for browser in (client, manager):
        page = browser.get(reverse("rate-entry", args=[token]), follow=True)
        assert page.status_code == 200
        assert "worker" not in page.content.decode().lower()
    assert notices(client, "home") == []
    assert notices(client, "login") == []


def test_heartbeat_is_written_at_limited_rate():
    now = timezone.now()
    workers.sign(["cpu"])
    first = Worker.objects.get(kind="cpu").seen_at
    assert first >= now
    workers.sign(["cpu"])  # of another worker, say
    assert Worker.objects.get(kind="cpu").seen_at == first
    put_down(workers.SIGN_SECONDS, "cpu")
    workers.sign(["cpu"])
    assert Worker.objects.get(kind="cpu").seen_at > first
