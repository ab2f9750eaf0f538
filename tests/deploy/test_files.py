"""The files of a deployment name what exists, and agree with each other."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.serving import ROOT
from tests.variables import ENVIRONMENT

DEPLOY = ROOT / "deploy"
COMPOSE = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
UNITS = {path.name: path.read_text() for path in DEPLOY.glob("plumbline-*.service")}
COMMON = (DEPLOY / "plumbline-.service.d" / "common.conf").read_text()
NGINX = (DEPLOY / "nginx.conf").read_text()
LINE = re.compile(r"""([A-Z_]+)=([^\s"'$&;\\`]*)""")
# PostgreSQL's image reads it, and Plumbline as a part of DATABASE_URL.
OF_POSTGRES = "POSTGRES_PASSWORD"
# Which part of Plumbline needs which secret, besides the database's password.
NEEDED = {
    "SECRET_KEY": "web",
    "METRICS_TOKEN": "web",
    "OIDC_CLIENT_SECRET": "web",
    "JUDGE_API_KEY": "judge",
}
OURS = [one for one in COMPOSE["services"].values() if "env_file" in one]


def example() -> dict[str, str]:
    lines = (DEPLOY / "plumbline.env.example").read_text().splitlines()
    found = [LINE.fullmatch(line) for line in lines if line and line[0] != "#"]
    assert all(found), "a line that sh, systemd and compose would read differently"
    return {line[1]: line[2] for line in found}


EXAMPLE = example()


def folder(name: str) -> str:
    """Return a folder of the example as nginx writes it."""
    return f"{EXAMPLE[name]}/"


def test_compose_names_variables_that_exist():
    set_there = {name for one in OURS for name in one["environment"]}
    assert set_there - {OF_POSTGRES} <= set(ENVIRONMENT)
    text = (DEPLOY / "compose.yaml").read_text()
    asked = set(re.findall(r"\$\{(\w+)", text))
    assert asked <= set(EXAMPLE)
    assert OF_POSTGRES in asked


def test_each_container_of_compose_has_only_the_secrets_that_it_needs():
    """The file has them all; what `environment` says goes before it."""
    secrets = {
        name
        for name in {*EXAMPLE, *ENVIRONMENT}
        if re.search("KEY|TOKEN$|SECRET$|PASSWORD$", name)
    }
    assert secrets == {*NEEDED, OF_POSTGRES}
    for part, service in COMPOSE["services"].items():
        set_there = service.get("environment", {})
        given = {name for name in secrets if set_there.get(name)}
        inherited = secrets - set(set_there) if "env_file" in service else set()
        needed = {name for name, needs in NEEDED.items() if part == needs}
        if part == "postgres":
            needed.add(OF_POSTGRES)
        assert (given, inherited) == (needed, set()), part


def started(words: str) -> str:
    """Return which part of Plumbline a command starts."""
    found = re.search(r"serve --only (\S+)$", words)
    assert found, words
    return found[1]


def test_places_are_the_same_everywhere():
    assert f"location {EXAMPLE['MEDIA_ACCEL']} {{" in NGINX
    assert f"alias {folder('MEDIA_ROOT')};" in NGINX
    assert f"server {EXAMPLE['BIND']}:{EXAMPLE['PORT']};" in NGINX
    assert f"ReadWritePaths={Path(EXAMPLE['MEDIA_ROOT']).parent}" in COMMON
    assert Path(EXAMPLE["MEDIA_ROOT"]).parent == Path(EXAMPLE["REPORTS_ROOT"]).parent
    assert f"StateDirectory={Path(EXAMPLE['DATA_DIR']).name}" in COMMON
    assert EXAMPLE["DATA_DIR"].startswith("/var/lib/")
    image = (DEPLOY / "Dockerfile").read_text()
    for name in ("DATA_DIR", "MEDIA_ROOT", "REPORTS_ROOT"):
        assert EXAMPLE[name] in image
        assert all(one["environment"][name] == EXAMPLE[name] for one in OURS)
    kept = {EXAMPLE["MEDIA_ROOT"], EXAMPLE["REPORTS_ROOT"]}
    for one in OURS:
        assert kept <= {volume.split(":")[1] for volume in one["volumes"]}
    (source,) = COMPOSE["services"]["nginx"]["configs"]
    assert source["target"] in NGINX
    content = COMPOSE["configs"][source["source"]]["content"]
    assert content == f"server web:{EXAMPLE['PORT']};\n"


def checked(tmp_path: Path, **variables: str) -> subprocess.CompletedProcess:
    """Run Django's checks of a deployment with the example's variables alone."""
    own = {name: str(tmp_path / name) for name in ("DATA_DIR", "MEDIA_ROOT")}
    own |= {"REPORTS_ROOT": str(tmp_path / "reports"), "PATH": os.environ["PATH"]}
    return subprocess.run(
        [sys.executable, "manage.py", "check", "--deploy", "--fail-level", "WARNING"],
        cwd=ROOT,
        env=EXAMPLE | {"SECRET_KEY": "Kd8s-2ndLq0" * 6} | own | variables,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.slow
def test_with_the_example_filled_in_nothing_is_left_to_warn_of(tmp_path):
    done = checked(tmp_path)
    assert done.returncode == 0, done.stderr
    assert "no issues" in done.stdout


@pytest.mark.parametrize("name", ["SECRET_KEY", "BASE_URL"])
def test_example_has_whatever_is_required(tmp_path, name):
    assert name in EXAMPLE
    done = checked(tmp_path, **{name: ""})
    assert done.returncode == 1
    assert " is missing. With PRODUCTION=1" in done.stderr
