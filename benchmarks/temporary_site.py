"""A site of one's own while something is measured: made, served, visited, removed."""

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Browser

ROOT = Path(__file__).resolve().parents[1]


@contextmanager
def temporary_site(folder: str | None = None, url: str = "") -> Iterator[Path]:
    """Set Django up on an empty database; yield the folder of its data.

    It is a new one below `folder`, or where the system has its temporary files, and is
    removed at the end. The database is SQLite in it, or the one at `url`. Models can be
    imported inside only.
    """
    with tempfile.TemporaryDirectory(prefix="plumbline-", dir=folder) as own:
        os.environ |= {"DATA_DIR": own, "DATABASE_URL": url}
        os.environ["DJANGO_SETTINGS_MODULE"] = "evalcore.settings"
        import django

        django.setup()
        from django.core.management import call_command

        call_command("migrate", verbosity=0)
        yield Path(own)


@contextmanager
def chromium() -> Iterator["Browser"]:
    """Yield a browser without a window."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"),
            args=["--no-sandbox", "--disable-gpu"],
        )
        yield browser
        browser.close()


@contextmanager
def serve() -> Iterator[str]:
    """Serve the site by gunicorn on a free port; yield the address."""
    port = free_port()
    server = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "gunicorn",
            "evalcore.wsgi",
            "--bind",
            f"127.0.0.1:{port}",
            "--workers",
            "2",
            "--threads",
            "4",
            "--log-level",
            "critical",
            "--no-control-socket",
        ],
        cwd=ROOT,
    )
    try:
        wait_for(port)
        yield f"http://127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait(20)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_for(port: int) -> None:
    end = time.monotonic() + 60
    while time.monotonic() < end:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.2)
    raise TimeoutError("the server does not answer")
