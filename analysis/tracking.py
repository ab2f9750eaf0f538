"""Runs of MLflow and Weights & Biases that hold a report, or scores.

Their own clients store them, as their own variables say: MLFLOW_TRACKING_URI,
MLFLOW_EXPERIMENT_NAME, WANDB_MODE, WANDB_DIR and others.
"""

import argparse
import hashlib
import json
import os
import re
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from analysis.options import OptionError

# The experiment or project of runs unless another is named.
PROJECT = "plumbline"
# What MLflow takes: characters of a name, letters of names and values, items at once.
REFUSED = re.compile(r"[^/\w.\- :]")
LONGEST_NAME, LONGEST_VALUE, AT_ONCE = 250, 6000, 100


@dataclass(frozen=True)
class Run:
    """A run to store: a name, parameters, numbers, and a folder of files."""

    name: str
    parameters: Mapping[str, str]
    numbers: Mapping[str, float]
    folder: Path | None = None


def add_tracking(parser: argparse.ArgumentParser) -> None:
    """Add the options that name where a run is stored."""
    for service, metavar, says in (
        ("mlflow", "URI", "a run of MLflow; default URI: MLFLOW_TRACKING_URI"),
        ("wandb", "PROJECT", f"a run of Weights & Biases; default project: {PROJECT}"),
    ):
        parser.add_argument(
            f"--{service}",
            nargs="?",
            const="",
            metavar=metavar,
            help=f"also store the result as {says}",
        )


def check_clients(asked: Mapping[str, str | None]) -> None:
    """Refuse a service whose client is not installed, before anything is computed."""
    for service in SERVICES:
        if asked.get(service) is not None and find_spec(service) is None:
            raise OptionError(
                f"--{service}: expected its client: "
                f"pip install 'plumbline-analysis[{service}]'"
            )


def track(run: Run, asked: Mapping[str, str | None]) -> list[str]:
    """Store a run with every service that is asked for; say where it lies."""
    said = []
    for service, store in SERVICES.items():
        place = asked.get(service)
        if place is None:
            continue
        try:
            said.append(store(run, place))
        except _errors_of(service) as error:
            why = str(error).splitlines() or [type(error).__name__]
            raise OptionError(
                f"--{service}: the run was not stored completely: {why[0]}"
            ) from error
    return said


def _errors_of(service: str) -> tuple[type[Exception], ...]:
    """Return the errors of a service's client, and those of files and networks."""
    if service == "mlflow":
        from mlflow.exceptions import MlflowException

        return MlflowException, OSError, ValueError
    from wandb.errors import Error

    return Error, OSError, ValueError


def report_run(folder: Path, name: str) -> Run:
    """Return a written report as a run.

    Its numbers are the verdict rows, and each method by each question and metric.
    """
    report = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    tables = report["tables"]
    parameters = {row["key"]: row["value"] for row in tables["run"]}
    for row in tables.get("identities", ()):
        key = f"identity of {row['metric']}"
        parameters[key] = ", ".join(
            filter(None, [parameters.get(key), row["identity"]])
        )
    numbers: dict[str, float] = {}
    for row in tables.get("verdicts", ()):
        about = (row["metric"], row["source"], row["level"], row["statistic"])
        key = f"{row['question']}/{' '.join(filter(None, about))}"
        for column in ("value", "low", "high", "n"):
            ending = "" if column == "value" else f" {column}"
            numbers[key + ending] = row[column]
    for row in tables.get("by_method", ()):
        if not row.get("stratum"):
            values = {k: v for k, v in row.items() if not isinstance(v, str)}
            numbers |= {f"{key}/{row['method']}": v for key, v in values.items()}
    known = {key: float(value) for key, value in numbers.items() if value is not None}
    return Run(name, parameters, known, folder)


def accepted(names: Iterable[str]) -> dict[str, str]:
    """Return names as MLflow takes them; none becomes the same as another.

    >>> list(accepted(["look/A (ref)", "look/A [ref]", "a//../b"]).values())
    ['look/A _ref_', 'look/A _ref_-75462b0f', 'a/_/_/b']
    """
    found: dict[str, str] = {}
    taken = set()
    for name in names:
        parts = REFUSED.sub("_", name).split("/")
        text = "/".join("_" if part.strip(".") == "" else part for part in parts)
        if len(text) > LONGEST_NAME or text in taken:
            digest = hashlib.sha256(name.encode()).hexdigest()[:8]
            text = f"{text[: LONGEST_NAME - 9]}-{digest}"
        found[name] = text
        taken.add(text)
    return found


def _to_mlflow(run: Run, uri: str) -> str:
    # It would print the address, with the password that may be in it.
    os.environ["MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT"] = "true"
    from mlflow import MlflowClient
    from mlflow.entities import Metric, Param

    client = MlflowClient(uri or None)
    name = os.environ.get("MLFLOW_EXPERIMENT_NAME") or PROJECT
    known = client.get_experiment_by_name(name)
    experiment = known.experiment_id if known else client.create_experiment(name)
    key = client.create_run(experiment, run_name=run.name).info.run_id
    status = "FAILED"
    try:
        at = int(time.time() * 1000)
        names = accepted([*run.parameters, *run.numbers])
        params = [Param(names[k], v[:LONGEST_VALUE]) for k, v in run.parameters.items()]
        metrics = [Metric(names[k], v, at, 0) for k, v in run.numbers.items()]
        for start in range(0, max(len(params), len(metrics)), AT_ONCE):
            part = slice(start, start + AT_ONCE)
            client.log_batch(key, params=params[part], metrics=metrics[part])
        if run.folder is not None:
            client.log_artifacts(key, str(run.folder), "report")
        status = "FINISHED"
    finally:
        client.set_terminated(key, status)
    return f"MLflow: run {key} of experiment {name}"


def _to_wandb(run: Run, project: str) -> str:
    import wandb

    with wandb.init(
        project=project or PROJECT, name=run.name, config=dict(run.parameters)
    ) as stored:
        stored.log(dict(run.numbers))
        if run.folder is not None:
            artifact = wandb.Artifact(f"report-{stored.id}", type="report")
            artifact.add_dir(str(run.folder))
            stored.log_artifact(artifact)
        return f"Weights & Biases: {stored.url or stored.dir}"


SERVICES: dict[str, Callable[[Run, str], str]] = {
    "mlflow": _to_mlflow,
    "wandb": _to_wandb,
}
