"""Settings from the environment: good values, and bad ones that stop the start."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured

from evalcore.serving import environment
from tests.cases import slow_cases
from tests.variables import ENVIRONMENT

ROOT = Path(__file__).resolve().parents[2]
KEY = "a-long-random-text-that-nobody-could-guess"


def manage(tmp_path: Path, *arguments: str, **variables: str):
    env = os.environ | {"DATA_DIR": str(tmp_path), "DATABASE_URL": ""} | variables
    return subprocess.run(
        [sys.executable, "manage.py", *arguments],
        env=env,
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("PRODUCTION", "1", "SECRET_KEY is missing"),
        ("MEDIA_ROOT", "/etc/passwd", "MEDIA_ROOT: /etc/passwd cannot be created"),
        *slow_cases(
            ("PRODUCTION", "yes", "write 1 (yes) or 0 (no)"),
            ("TRUSTED_PROXIES", "nginx", "write a whole number from 0 to 9"),
            ("DATA_DIR", "/proc", "DATA_DIR: /proc/static cannot be created"),
            ("MEDIA_ACCEL", "media-files", "write a path between slashes"),
        ),
    ],
)
def test_bad_setting_stops_the_start_with_one_sentence(tmp_path, name, value, sentence):
    done = manage(tmp_path, "check", **{name: value})
    assert done.returncode == 1
    assert done.stderr.startswith("plumbline: ")
    assert done.stderr.count("\n") == 1
    assert sentence in done.stderr


@pytest.mark.slow  # test_schema asks for the same in the tests' process
def test_database_that_is_not_prepared_is_explained(tmp_path):
    done = manage(tmp_path, "coverage", "pilot")
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.startswith("plumbline: The database is not up to date")
    assert done.stderr.count("\n") == 1


@pytest.mark.slow
def test_database_that_is_away_is_explained(tmp_path):
    url = "postgres://127.0.0.1:1/nothing"
    done = manage(tmp_path, "coverage", "pilot", DATABASE_URL=url)
    assert done.returncode == 1
    assert done.stderr.startswith("plumbline: The database cannot be reached")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("text", ["0", "65536", "99999999", "²", "-1", "8000.0", ""])
def test_no_port(text):
    with pytest.raises(ValueError, match="write a number from 1 to 65535"):
        environment.parse_port(text)


@pytest.mark.parametrize(
    "url",
    [
        "nonsense",
        "sqlite://",
        "sqlite://:memory:",
        "sqlite:////nope/x.db",
        "sqlite:////tmp",
        "postgres://",
        "postgres://host/",
        "mysql://x/y",
    ],
)
def test_no_database(monkeypatch, tmp_path, url):
    monkeypatch.setenv("DATABASE_URL", url)
    with pytest.raises(ImproperlyConfigured, match="DATABASE_URL"):
        environment.database(tmp_path)


@pytest.mark.parametrize(
    ("query", "options"),
    [
        ("", {"server_side_binding": True, "prepare_threshold": 5}),
        (
            "?sslmode=require&server_side_binding=false",
            {
                "server_side_binding": False,
                "prepare_threshold": 5,
                "sslmode": "require",
            },
        ),
    ],
)
def test_plans_are_kept_unless_the_address_says_otherwise(
    monkeypatch, tmp_path, query, options
):
    monkeypatch.setenv("DATABASE_URL", f"postgres://host/name{query}")
    assert environment.database(tmp_path)["OPTIONS"] == options


@pytest.mark.parametrize("url", ["redis", "redis://", "amqp", "amqp://", "http://a"])
def test_no_broker(monkeypatch, url):
    monkeypatch.setenv("BROKER_URL", url)
    with pytest.raises(ImproperlyConfigured, match="BROKER_URL"):
        environment.broker()


@pytest.mark.parametrize("url", ["filesystem://", "redis://h/0", "amqp://u:p@h//"])
def test_brokers(monkeypatch, url):
    monkeypatch.setenv("BROKER_URL", url)
    assert environment.broker() == url


@pytest.mark.parametrize(
    "value", ["https://a.org", "a.org/x", "a.org:8000", "a b", ",", "a..org"]
)
def test_no_hosts(monkeypatch, value):
    monkeypatch.setenv("ALLOWED_HOSTS", value)
    with pytest.raises(ImproperlyConfigured, match="ALLOWED_HOSTS"):
        environment.allowed_hosts(production=False, base="")


@pytest.mark.parametrize(
    ("value", "base", "hosts"),
    [
        ("", "", []),
        ("a.org, .b.org,*,[::2]", "", ["a.org", ".b.org", "*", "[::2]"]),
        ("a.org", "http://lab.example.org:8000", ["a.org", "lab.example.org"]),
        ("", "http://[2001:db8::1]:8000", ["[2001:db8::1]"]),
    ],
)
def test_hosts_with_this_machine_among_them(monkeypatch, value, base, hosts):
    monkeypatch.setenv("ALLOWED_HOSTS", value)
    monkeypatch.setenv("BASE_URL", base)
    assert environment.base_url() == base
    found = environment.allowed_hosts(production=False, base=base)
    assert found == [*hosts, "127.0.0.1", "localhost", "[::1]"]


@pytest.mark.parametrize(
    "url", ["lab.org", "ftp://lab.org", "https://", "https://lab.org/x", "http://u@h"]
)
def test_no_base_address(monkeypatch, url):
    monkeypatch.setenv("BASE_URL", url)
    with pytest.raises(ImproperlyConfigured, match="BASE_URL"):
        environment.base_url()


def test_production_demands_a_key(monkeypatch, tmp_path):
    monkeypatch.delenv("SECRET_KEY", raising=False)
    with pytest.raises(ImproperlyConfigured, match="SECRET_KEY is missing"):
        environment.secret_key(production=True, key_file=tmp_path / "key")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("production", [True, False])
def test_given_key_is_taken_if_nobody_guesses_it(monkeypatch, tmp_path, production):
    asked = {"production": production, "key_file": tmp_path / "key"}
    monkeypatch.setenv("SECRET_KEY", KEY)
    assert environment.secret_key(**asked) == KEY
    monkeypatch.setenv("SECRET_KEY", "x" * 31)
    with pytest.raises(ImproperlyConfigured, match="SECRET_KEY is too easy to guess"):
        environment.secret_key(**asked)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_without_a_key_every_data_folder_has_its_own(tmp_path):
    """Attack: a reader of the code knows the signing key."""
    tell = (
        "shell",
        "--no-imports",
        "-c",
        "from django.conf import settings as s;print(s.SECRET_KEY)",
    )
    one, again, other = (
        manage(tmp_path / folder, *tell, SECRET_KEY="", PRODUCTION="").stdout.strip()
        for folder in ("one", "one", "other")
    )
    assert one == again != other
    assert len(one) >= 50
    file = tmp_path / "one" / "secret_key"
    assert file.read_text().strip() == one
    assert file.stat().st_mode & 0o777 == 0o600


def test_data_folder_is_its_owners_alone(monkeypatch, tmp_path):
    """Attack: another account of the machine reads the links in the database."""
    monkeypatch.setenv("DATA_DIR", str(tmp_path / "var" / "lab"))
    before = os.umask(0)
    try:
        made = environment.own_folder("DATA_DIR", tmp_path)
    finally:
        os.umask(before)
    # The demo's folder is made first, and lies in that of the user's data.
    for folder in (made, made.parent):
        assert folder.stat().st_mode & 0o777 == 0o700


@pytest.mark.slow
def test_cookies_travel_by_https_alone_where_the_address_says_so(tmp_path):
    tell = (
        "shell",
        "--no-imports",
        "-c",
        "from django.conf import settings as s;"
        "print(s.SESSION_COOKIE_SECURE, s.CSRF_COOKIE_SECURE)",
    )
    for url, secure in (("https://lab.example.org", "True"), ("http://lab", "False")):
        told = manage(tmp_path, *tell, BASE_URL=url, PRODUCTION="").stdout.split()
        assert told == [secure, secure]


def test_production_demands_a_host(monkeypatch):
    monkeypatch.setenv("ALLOWED_HOSTS", "")
    with pytest.raises(ImproperlyConfigured, match="ALLOWED_HOSTS is missing"):
        environment.allowed_hosts(production=True, base="")
    hosts = environment.allowed_hosts(production=True, base="https://lab.example.org")
    assert hosts[0] == "lab.example.org"


def test_empty_variable_is_unset(monkeypatch):
    for name in ("DEMO", "PORT", "EVALCORE_WEIGHTS_DIR"):
        monkeypatch.setenv(name, "")
    assert environment.flag("DEMO") is False
    assert environment.port("PORT") == 8000
    assert environment.existing_folder("EVALCORE_WEIGHTS_DIR") == ""


def test_weights_folder_must_exist(monkeypatch, tmp_path):
    monkeypatch.setenv("EVALCORE_WEIGHTS_DIR", str(tmp_path))
    assert environment.existing_folder("EVALCORE_WEIGHTS_DIR") == str(tmp_path)
    monkeypatch.setenv("EVALCORE_WEIGHTS_DIR", str(tmp_path / "nope"))
    with pytest.raises(ImproperlyConfigured, match="Name an existing one"):
        environment.existing_folder("EVALCORE_WEIGHTS_DIR")


def test_documented_variables_are_those_that_are_read():
    sources = [path.read_text("utf-8") for path in (ROOT / "evalcore").rglob("*.py")]
    quoted = set(re.findall(r'"([A-Z][A-Z_]+)"', "\n".join(sources)))
    settings = (ROOT / "evalcore/settings.py").read_text("utf-8")
    asked = set(re.findall(r'environment\.\w+\("([A-Z_]+)"', settings))
    assert asked <= ENVIRONMENT <= quoted


@pytest.mark.slow
def test_reader_that_has_seen_enough_is_no_error():
    command = subprocess.Popen(
        [sys.executable, "manage.py", "metrics"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    command.stdout.close()
    assert command.stderr.read() == ""
    assert command.wait() == 128 + signal.SIGPIPE
    command.stderr.close()
