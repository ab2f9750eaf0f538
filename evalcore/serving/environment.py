"""Read environment variables; a bad value raises one clear sentence."""

import os
import re
import secrets
import time
from pathlib import Path
from typing import Any

import dj_database_url
from django.core.exceptions import ImproperlyConfigured

SHORTEST_KEY = 32
OTHERS = 0o077
# Time limit for another process to write the key into the file.
WAIT_SECONDS, LOOK_AGAIN_SECONDS = 1.0, 0.05
INSTEAD = "or set SECRET_KEY to a long random string"


def kept_key(path: Path) -> str:
    """Return the key stored in a file; the first process creates it."""
    try:
        if not path.exists():
            _make(path)
        until = time.monotonic() + WAIT_SECONDS
        while len(key := path.read_text("ascii").strip()) < SHORTEST_KEY:
            if time.monotonic() > until:
                break
            time.sleep(LOOK_AGAIN_SECONDS)
        is_open = path.stat().st_mode & OTHERS
    except (OSError, UnicodeDecodeError) as error:
        raise ImproperlyConfigured(
            f"Cannot read or write the signing key {path} ({error}). Give this user "
            f"write access, {INSTEAD}."
        ) from error
    if is_open:
        what = f"Other users can read the signing key {path}"
    elif len(key) < SHORTEST_KEY:
        what = (
            f"{path} does not contain a signing key of at least {SHORTEST_KEY} "
            "characters"
        )
    else:
        return key
    raise ImproperlyConfigured(
        f"{what}. Delete the file to create a new key (all users must log in again; if "
        f"the disk has no permissions, mount it with umask=077), {INSTEAD}."
    )


def _make(path: Path) -> None:
    """Write a new key, unless another process is faster."""
    try:
        number = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    except FileExistsError:
        return
    try:
        with os.fdopen(number, "w", encoding="ascii") as file:
            file.write(secrets.token_urlsafe(48) + "\n")
            file.flush()
            os.fsync(number)
    except OSError:
        path.unlink()
        raise


LOCAL_HOSTS = ("127.0.0.1", "localhost", "[::1]")
SHORTEST_TOKEN = 24
NAME = r"[\w-]+(?:\.[\w-]+)*|\[[0-9A-Fa-f:.]+\]"
ADDRESS = re.compile(rf"https?://(?P<host>{NAME})(?::\d+)?")
# PostgreSQL's plan of a query is kept after so many executions.
PREPARE_AFTER = 5


def read(name: str, default: str = "", pattern: str = "", expected: str = "") -> str:
    """Return a variable; an empty one, as docker compose passes it, is unset."""
    value = os.environ.get(name, "").strip() or default
    if value and pattern and not re.fullmatch(pattern, value, re.ASCII):
        raise ImproperlyConfigured(f"{name}={value!r}: write {expected}")
    return value


def flag(name: str) -> bool:
    """Read 1 or 0."""
    return read(name, "0", "[01]", "1 (yes) or 0 (no).") == "1"


def one_of(name: str, *choices: str) -> str:
    """Read one of several words; the first is the default."""
    return read(name, choices[0], "|".join(choices), f"{' or '.join(choices)}.")


def parse_port(text: str) -> int:
    """Return a port number; raise ValueError with the expected value."""
    if not (re.fullmatch("[0-9]{1,5}", text) and 1 <= int(text) <= 65535):
        raise ValueError("write a number from 1 to 65535")
    return int(text)


def port(name: str) -> int:
    """Read a port's number."""
    value = read(name, "8000")
    try:
        return parse_port(value)
    except ValueError as error:
        raise ImproperlyConfigured(f"{name}={value!r}: {error}.") from error


def count(name: str, default: int, *, least: int = 1, most: int) -> int:
    """Read a whole number."""
    expected = f"a whole number from {least} to {most:,}."
    value = read(name, str(default), "[0-9]{1,9}", expected)
    if not least <= int(value) <= most:
        raise ImproperlyConfigured(f"{name}={value!r}: write {expected}")
    return int(value)


def processors() -> int:
    """Return the number of web processes: one per processor, 2 to 8."""
    own = getattr(os, "sched_getaffinity", None)  # macOS knows the number alone
    return min(max(len(own(0)) if own else os.cpu_count() or 1, 2), 8)


def own_folder(name: str, default: Path) -> Path:
    """Read the name of a folder that Plumbline writes to, and make it."""
    path = Path(read(name) or default).resolve()
    make_folder(name, path)
    return path


def media(data_dir: Path) -> tuple[str, Path]:
    """Read MEDIA_ROOT: an object store and a folder for copies, or a folder alone."""
    value = read("MEDIA_ROOT")
    if "://" not in value:
        return "", own_folder("MEDIA_ROOT", data_dir / "media")
    addresses("MEDIA_ROOT")
    if read("MEDIA_ACCEL"):
        raise ImproperlyConfigured(
            "MEDIA_ACCEL is set, but nginx cannot send what lies in MEDIA_ROOT="
            f"{value}. Leave out MEDIA_ACCEL."
        )
    copies = data_dir / "media-copies"
    make_folder("DATA_DIR", copies)
    return value.rstrip("/"), copies


def addresses(name: str) -> list[str]:
    """Read addresses of folders in object stores, separated by commas."""
    one = r"(?:s3|gs|abfs|az)://[\w.-]+(?:/[^\s,:?#]*)?"
    expected = "addresses such as s3://bucket/folder, separated by commas."
    value = read(name, "", rf"{one}(?:\s*,\s*{one})*", expected)
    return [part.strip().rstrip("/") for part in value.split(",") if part.strip()]


def make_folder(name: str, path: Path) -> None:
    """Make a folder named by the variable `name`, private to this user.

    The database contains everybody's links. Folders above it are made in the same way:
    the demo's folder lies in that of the user's data.
    """
    try:
        for folder in (*reversed(path.parents), path):
            folder.mkdir(mode=0o700, exist_ok=True)
        why = "" if os.access(path, os.W_OK | os.X_OK) else "written"
    except OSError as error:
        why = f"created ({error.strerror})"
    if why:
        raise ImproperlyConfigured(
            f"{name}: {path} cannot be {why}. Name a folder that this user can write "
            "to."
        )


def existing_folder(name: str) -> str:
    """Read the name of an existing folder; empty if unset."""
    value = read(name)
    if value and not Path(value).is_dir():
        raise ImproperlyConfigured(
            f"{name}={value!r}: there is no such folder. Name an existing one."
        )
    return value


def location(name: str) -> str:
    """Read the path of an nginx location; empty if unset."""
    expected = "a path between slashes, as in /media-files/"
    return read(name, pattern=r"/(?:[\w-]+/)+", expected=expected)


def database(data_dir: Path) -> dict[str, Any]:
    """Read DATABASE_URL; without one the database is a file in the data folder."""
    url = read("DATABASE_URL") or f"sqlite:///{data_dir / 'plumbline.sqlite3'}"
    try:
        parsed = dj_database_url.parse(url, conn_max_age=600, conn_health_checks=True)
    except (ValueError, dj_database_url.ParseError) as error:
        raise ImproperlyConfigured(
            "DATABASE_URL is not a database address: write sqlite:///path or "
            "postgres://user:password@host/name."
        ) from error
    engine, name = parsed["ENGINE"].rsplit(".", 1)[-1], parsed["NAME"]
    if engine not in ("sqlite3", "postgresql"):
        raise ImproperlyConfigured(
            f"DATABASE_URL names {engine}, but Plumbline supports only sqlite and "
            "postgres."
        )
    if name in ("", ":memory:"):  # each process would have a separate memory
        raise ImproperlyConfigured(
            "DATABASE_URL names no database: write sqlite:///path/to/file or "
            "postgres://user:password@host/name."
        )
    if engine == "postgresql":
        # What a connection was asked a few times it has prepared: planning what a
        # click asks took as long as answering it.
        prepared = {"server_side_binding": True, "prepare_threshold": PREPARE_AFTER}
        return dict(parsed) | {"OPTIONS": prepared | parsed.get("OPTIONS", {})}
    path = Path(name)
    if path.is_dir() or not path.absolute().parent.is_dir():
        raise ImproperlyConfigured(
            f"DATABASE_URL: {path} is not a file in an existing folder."
        )
    # WAL lets annotators read while one writes; IMMEDIATE takes the write lock up
    # front, so that a transaction waits instead of failing half-way. FULL: what was
    # acknowledged is on the disk; with NORMAL a power cut takes the last seconds back.
    # Only macOS needs `fullfsync` for that. A connection that is closed takes the log
    # of all others into the file: they stay open.
    return {
        "ENGINE": "evalcore.database",
        "CONN_MAX_AGE": None,
        "NAME": name,
        "OPTIONS": {
            "transaction_mode": "IMMEDIATE",
            "timeout": 20,
            "init_command": (
                "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA fullfsync=ON"
            ),
        },
        # Tests use a file too: an in-memory database has no WAL and other locks.
        "TEST": {"NAME": str(data_dir / "test.sqlite3")},
    }


def broker() -> str:
    """Read BROKER_URL; without one messages are files, and no server is needed."""
    return read(
        "BROKER_URL",
        "filesystem://localhost/",
        "filesystem://.*|(?:rediss?|amqps?)://.+",
        "filesystem://, redis://host/0 or amqp://user:password@host//",
    )


def secret_key(*, production: bool, key_file: Path) -> str:
    """Read SECRET_KEY; outside production it can come from a file."""
    key = read("SECRET_KEY")
    if not key and production:
        raise ImproperlyConfigured(
            "SECRET_KEY is missing. With PRODUCTION=1, set it to a long random string."
        )
    if key and len(key) < SHORTEST_KEY:
        raise ImproperlyConfigured(
            "SECRET_KEY is too easy to guess. Set it to a random string of at least "
            f"{SHORTEST_KEY} characters, or leave it out."
        )
    return key or kept_key(key_file)


def token(name: str) -> str:
    """Read an access token of programs; empty if unset."""
    value = read(name)
    if value and not re.fullmatch(f"[!-~]{{{SHORTEST_TOKEN},}}", value):
        raise ImproperlyConfigured(
            f"{name} is too easy to guess or has characters that are not allowed. Set "
            f"it to a random string of at least {SHORTEST_TOKEN} letters and digits, "
            "or leave it out."
        )
    return value


def base_url() -> str:
    """Read BASE_URL, the address that annotators use; empty if unset."""
    expected = "scheme and host, as in https://study.example.org"
    return read("BASE_URL", "", f"{ADDRESS.pattern}/*", expected).rstrip("/")


def allowed_hosts(*, production: bool, base: str) -> list[str]:
    """Read ALLOWED_HOSTS; the base's host and this machine are always among them."""
    host = rf"(?:\*|\.?(?:{NAME}))"
    value = read(
        "ALLOWED_HOSTS",
        "",
        rf"[\s,]*{host}(?:[\s,]*,[\s,]*{host})*[\s,]*",
        "host names without scheme, port or path, separated by commas.",
    )
    hosts = [part.strip() for part in value.split(",") if part.strip()]
    if address := ADDRESS.fullmatch(base):
        hosts.append(address["host"])
    if production and not hosts:
        raise ImproperlyConfigured(
            "ALLOWED_HOSTS is missing. With PRODUCTION=1, set it to the server's host "
            "name."
        )
    return [*hosts, *LOCAL_HOSTS]
