"""Pages that ask a metric again, and delete the values of a metric or a run."""

import csv
import io
from urllib.parse import urlencode

import pytest
from django.urls import reverse

from annotate.models import Event
from evalcore.models import MetricRun, MetricScore
from evalcore.scoring import metric_runs
from evalcore.scoring.identities import Identities
from tests.factories import make_study
from tests.people import alice, eve, rob

pytestmark = pytest.mark.django_db
METRIC = "palette_consistency"


@pytest.fixture
def study(monkeypatch, tmp_path):
    monkeypatch.setenv("EVALCORE_WEIGHTS_DIR", str(tmp_path))
    made = make_study()
    scored(made, METRIC)
    return made


def scored(study, *metrics, **options):
    return metric_runs.run(
        metric_runs.queue_run(study.benchmark, metrics, **options).pk
    )


def address(name, study, *more):
    return reverse(name, args=[study.slug, *more])


def key():
    identity = Identities().of_row(MetricScore.objects.first())
    return {"metric": identity.metric, "identity": identity.key}


def text(answer):
    return " ".join(answer.content.decode().split())


def test_values_are_asked_again_from_their_page(study):
    client, number = alice(study), MetricScore.objects.count()
    scores = text(client.get(address("study-scoring", study)))
    assert f"{address('metric-values', study)}?metric={METRIC}" in scores
    shown = text(client.get(address("metric-values", study), key()))
    assert "Ask again" in shown
    sent = {"metric": METRIC, "version": "2", "which": "outputs"}
    answer = client.post(address("metric-again", study), sent, follow=True)
    assert "Name the outputs: METHOD/STORY, one per line." in text(answer)
    sent["outputs"] = "Alder/01\n Birch/01\n"
    client.post(address("metric-again", study), sent)
    run = MetricRun.objects.first()
    assert run.options == {"outputs": ["Alder/01", "Birch/01"], "again": "all"}
    assert metric_runs.run(run.pk).total == 2
    assert MetricScore.objects.count() == number
    event = study.events.get(kind=Event.Kind.SCORES_CHANGED)
    assert event.details == {"asked_again": [METRIC], "run": run.pk}
    assert METRIC in text(client.get(address("event-list", study)))


@pytest.mark.slow
def test_failures_are_listed_with_reason_until_they_are_repaired(study):
    run = MetricRun.objects.get()
    MetricScore.objects.filter(method__name="Alder", story__key="01").delete()
    run.chunks.update(
        failures=[["Alder / 01", METRIC, "the judge sulked"], ["", "", "no money"]]
    )
    client = alice(study)
    shown = text(client.get(address("study-scoring", study)))
    assert "the judge sulked" in shown
    assert "no money" not in shown, "the run's own line says it"
    assert "no money" in text(client.get(address("run-detail", study, run.pk)))
    client.post(
        address("metric-again", study), {"metric": METRIC, "which": "undefined"}
    )
    assert metric_runs.run(MetricRun.objects.first().pk).total == 1
    assert "the judge sulked" not in text(client.get(address("study-scoring", study)))


@pytest.mark.slow
def test_values_are_deleted_after_a_tick_and_the_run_stays(study):
    owner, run = alice(study), MetricRun.objects.get()
    number = MetricScore.objects.count()
    page = f"{address('metric-delete', study)}?{urlencode(key())}"
    shown = text(owner.get(address("metric-values", study), key()))
    assert f"Deleted for good: {number} values and 0 undefined values." in shown
    assert "tick the box" in text(owner.post(page, follow=True))
    assert MetricScore.objects.count() == number
    answer = owner.post(page, {"sure": "yes"}, follow=True)
    assert f"Deleted: {number} values" in text(answer)
    assert not MetricScore.objects.exists()
    run.refresh_from_db()
    assert run.state == "deleted"
    assert "alice" in text(owner.get(address("run-detail", study, run.pk)))
    assert (
        owner.get(address("metric-values", study), {"metric": METRIC}).status_code
        == 404
    )


@pytest.mark.slow
def test_run_is_deleted_and_its_replaced_values_are_downloaded(study):
    client, number = alice(study), MetricScore.objects.count()
    run = scored(study, METRIC, again="all")
    shown = text(client.get(address("run-detail", study, run.pk)))
    assert f"{number} old values replaced" in shown
    answer = client.get(address("run-replaced", study, run.pk)).content.decode()
    rows = list(csv.DictReader(io.StringIO(answer)))
    assert len(rows) == number
    assert {row["metric"] for row in rows} == {METRIC}
    client.post(address("run-delete", study, run.pk), {"sure": "yes"})
    assert not MetricScore.objects.exists()


@pytest.mark.slow
def test_others_cannot_ask_again_or_delete(study):
    run = MetricRun.objects.get()
    for person, status in ((rob(study), 403), (eve(), 404)):
        for name, *more in (
            ("metric-again",),
            ("metric-delete",),
            ("run-delete", run.pk),
        ):
            assert person.post(address(name, study, *more)).status_code == status
        for name, *more in (("metric-values",), ("run-detail", run.pk)):
            assert person.get(address(name, study, *more)).status_code == status
    member = alice(study)
    study.benchmark.members.update(role="member")
    shown = text(member.get(address("metric-values", study), key()))
    assert "Only an owner of the benchmark may delete" in shown
    page = address("run-delete", study, run.pk)
    assert member.post(page, {"sure": "yes"}).status_code == 403
    assert MetricScore.objects.exists()
