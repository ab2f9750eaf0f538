"""Outputs that a run of MLflow holds, and the scores that go back to the server."""

import pytest
from django.core.management import CommandError, call_command

from evalcore.models import Benchmark, MetricScore, Output
from tests.factories import make_benchmark, picture_bytes
from tests.mlflow_server import mlflow_server

pytestmark = pytest.mark.django_db
METRIC = "shots_present"


@pytest.fixture
def server(monkeypatch):
    with mlflow_server() as stored:
        monkeypatch.setenv("MLFLOW_TRACKING_URI", stored.address)
        monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
        yield stored


@pytest.mark.slow
def test_outputs_of_a_run_are_imported_and_their_scores_stored(
    server, settings, capsys
):
    from mlflow import MlflowClient

    make_benchmark(slug="woods", stories=2, shots=1, methods=("Old",))
    client = MlflowClient()
    key = client.create_run(client.create_experiment("training")).info.run_id
    for story in ("01", "02"):
        name = f"{key}/artifacts/checkpoint/New/{story}/shot_01.png"
        server.files[name] = picture_bytes(f"new {story}")
    address = f"runs:/{key}/checkpoint"
    call_command("import_outputs", address, benchmark="woods", without_baselines=True)
    outputs = Output.objects.filter(method__name="New").order_by("story__key")
    assert [output.story.key for output in outputs] == ["01", "02"]
    assert all(output.source.startswith(address) for output in outputs)
    assert not [p for p in (settings.DATA_DIR / "fetched").rglob("*") if p.is_file()]

    call_command("score", "woods", "--metrics", METRIC, "--mlflow", server.address)
    *_training, run = map(client.get_run, server.runs)
    scores = MetricScore.objects.filter(benchmark__slug="woods", metric=METRIC)
    values = {score.method.name: score.value for score in scores}
    assert run.data.metrics == {
        f"{METRIC}{kind}/{method}": 2.0 if kind else value
        for method, value in values.items()
        for kind in ("", " n")
    }
    assert f"identity of {METRIC}" in run.data.params
    assert f"MLflow: run {run.info.run_id}" in capsys.readouterr().out


@pytest.mark.slow
def test_unknown_run_stores_nothing(server):
    make_benchmark(slug="woods", methods=("Old",), pictures=False)
    with pytest.raises(
        CommandError, match=r"runs:/none/outputs: .*Nothing was written"
    ):
        call_command("import_outputs", "runs:/none/outputs", benchmark="woods")
    assert Benchmark.objects.get().slug == "woods"
    assert {output.method.name for output in Output.objects.all()} == {"Old"}


def test_scores_of_a_dry_run_are_not_tracked():
    make_benchmark(slug="woods", methods=("Old",), pictures=False)
    with pytest.raises(CommandError, match="--wandb: expected no --background"):
        call_command("score", "woods", "--dry-run", "--wandb")
