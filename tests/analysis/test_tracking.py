"""Reports as runs of MLflow and Weights & Biases, read back by their clients."""

import csv
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from analysis.__main__ import main
from analysis.options import OptionError
from analysis.tracking import Run, accepted, check_clients, report_run, track
from tests.mlflow_server import mlflow_server

NUMBERS = Path(__file__).parents[2] / "fixtures" / "vistorybench"
SECRET = "hunter2"


@pytest.fixture
def align(tmp_path):
    """Report ViStoryBench's published numbers; return the status of the command."""

    def call(*options: str) -> int:
        return main(
            [
                *("align", "--wide", "--scale", "0:4", "--images", "none"),
                *("--resamples", "0", "--out", str(tmp_path / "report")),
                *("--ratings", str(NUMBERS / "ratings.csv")),
                *("--scores", str(NUMBERS / "scores.csv")),
                *("--lower-is-better", "copy_paste", *options),
            ]
        )

    return call


def python(text: str, **variables: str) -> str:
    """Run a program in a process of its own: clients keep state and threads."""
    done = subprocess.run(
        [sys.executable, "-c", text],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def test_names_of_mlflow_stay_apart():
    long = ["m" * 300, "m" * 299 + "n"]
    names = accepted(["a (b)", "a [b]", *long, "..", "字/é"])
    assert len(set(names.values())) == 6
    assert max(map(len, names.values())) == 250
    assert names["字/é"] == "字/é"


def test_missing_client_is_named_with_its_package(monkeypatch):
    monkeypatch.setattr("analysis.tracking.find_spec", lambda name: None)
    with pytest.raises(OptionError, match=r"--wandb: .*'plumbline-analysis\[wandb\]'"):
        check_clients({"mlflow": None, "wandb": ""})


@pytest.mark.slow
def test_failure_of_a_service_is_one_sentence(monkeypatch):
    def fail(run, place):
        raise ConnectionError("refused\nand a long trace")

    monkeypatch.setattr("analysis.tracking.SERVICES", {"mlflow": fail})
    with pytest.raises(OptionError, match=r"--mlflow: .*: refused$"):
        track(Run("a", {}, {}), {"mlflow": ""})


@pytest.mark.slow
def test_report_is_a_run_of_an_mlflow_server(align, tmp_path, capsys):
    """The expected numbers are Kendall's tau of the README of the published tables."""
    from mlflow import MlflowClient

    with mlflow_server() as stored:
        address = stored.address.replace("://", f"://ann:{SECRET}@")
        assert align("--mlflow", address) == 0
        client = MlflowClient(stored.address)
        (run,) = map(client.get_run, stored.runs)
    assert run.info.status == "FINISHED"
    numbers = run.data.metrics
    tau = "environment consistency/csd_self ratings method kendall"
    assert numbers[tau] == pytest.approx(0.4198, abs=5e-5)
    assert numbers[f"{tau} n"] == 23
    assert run.data.params["seed"] == "0"
    with (NUMBERS / "ratings.csv").open() as file:
        uno = next(row for row in csv.DictReader(file) if row["method"] == "UNO")
    assert numbers["aesthetics/UNO"] == float(uno["aesthetics"])
    pages = [name for name in stored.files if name.endswith("report/report.html")]
    assert stored.files[pages[0]] == (tmp_path / "report/report.html").read_bytes()
    written = [*stored.files.values(), *map(str.encode, capsys.readouterr())]
    assert not any(SECRET.encode() in content for content in written)


@pytest.mark.slow
def test_report_is_a_run_in_a_folder_of_mlflow(align, tmp_path, monkeypatch):
    from mlflow import MlflowClient

    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"file:{tmp_path / 'runs'}")
    monkeypatch.setenv("MLFLOW_EXPERIMENT_NAME", "alignment")
    assert align("--mlflow") == 0
    client = MlflowClient()
    experiment = client.get_experiment_by_name("alignment").experiment_id
    (run,) = client.search_runs([experiment])
    known = report_run(tmp_path / "report", "")
    assert len(run.data.metrics) == len(known.numbers)
    assert run.data.params["command"] == known.parameters["command"]
    names = {file.path for file in client.list_artifacts(run.info.run_id, "report")}
    assert {"report/report.html", "report/report.json", "report/tables"} <= names


@pytest.mark.slow
def test_report_is_an_offline_run_of_wandb(align, tmp_path):
    assert align() == 0
    python(
        "from pathlib import Path; from analysis.tracking import report_run, track; "
        f"print(track(report_run(Path({str(tmp_path / 'report')!r}), 'published'), "
        "{'wandb': 'alignment'}))",
        WANDB_MODE="offline",
        WANDB_DIR=str(tmp_path),
    )
    (file,) = tmp_path.glob("wandb/offline-run-*/*.wandb")
    found = list(records(file.read_bytes()))
    (project,) = {one.run.project for one in found if one.run.project}
    assert project == "alignment"
    items = [item for one in found for item in one.history.item]
    numbers = {"/".join(item.nested_key): item.value_json for item in items}
    known = report_run(tmp_path / "report", "").numbers
    assert {key: float(numbers[key]) for key in known} == known
    (artifact,) = [one.artifact for one in found if one.HasField("artifact")]
    names = {entry.path for entry in artifact.manifest.contents}
    assert {"report.html", "report.json", "tables/by_method.csv"} <= names


def records(content: bytes) -> Iterator[Any]:
    """Yield the records of an offline run: LevelDB's log format behind 7 bytes."""
    from wandb.proto.wandb_internal_pb2 import Record

    at, whole, block, head, last = 7, b"", 32768, 7, (1, 4)
    while at + head <= len(content):
        if (left := block - at % block) < head:
            at += left
            continue
        size, kind = int.from_bytes(content[at + 4 : at + 6], "little"), content[at + 6]
        whole += content[at + head : at + head + size]
        at += head + size
        if kind in last:
            yield Record.FromString(whole)
            whole = b""
