import argparse
import errno
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterable
from types import FrameType

from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError

from evalcore.environment import LOCAL_HOSTS, parse_port

STOP_SECONDS = 10
# Workers by the queue they serve: hours of scoring keep nothing else waiting.
WORKERS = {"worker": "cpu", "metrics worker": "gpu"}


def run_server(*, port: int, bind: str) -> None:
    """Run web server and workers in the foreground until one ends or a signal comes.

    SIGTERM and Ctrl-C stop all and leave nothing behind; when one dies by itself the
    others are stopped as well.
    """
    signals: list[int] = []

    def note(number: int, _frame: FrameType | None) -> None:
        # Raising here could strike between a child's start and its being known.
        signals.append(number)

    signal.signal(signal.SIGTERM, note)
    signal.signal(signal.SIGINT, note)
    children = {"web server": subprocess.Popen(_web_command(bind, port))}
    for name, queue in WORKERS.items():
        children[name] = subprocess.Popen(_worker_command(queue))
    _tell_where(bind, port)
    dead: list[str] = []
    while not (signals or dead):
        time.sleep(0.2)
        dead = [name for name, child in children.items() if child.poll() is not None]
    _stop(children.values())
    if not signals:
        raise CommandError(f"The {dead[0]} ended by itself; its last lines say why.")


def _tell_where(bind: str, port: int) -> None:
    near = "127.0.0.1" if bind in ("0.0.0.0", "::") else _host(bind)
    print(f"Plumbline serves on http://{near}:{port}/  (Ctrl-C stops it)", flush=True)
    beyond = _host(bind) not in LOCAL_HOSTS
    if beyond and set(settings.ALLOWED_HOSTS) <= set(LOCAL_HOSTS):
        print(
            "Other machines are refused until BASE_URL or ALLOWED_HOSTS is set.",
            flush=True,
        )


def check_address(bind: str, port: int) -> None:
    """Refuse an address that cannot be listened on, before anything is started."""
    try:
        found = socket.getaddrinfo(
            bind, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
        family, kind, protocol, _name, address = found[0]
        with socket.socket(family, kind, protocol) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
    except OSError as error:
        if error.errno in (errno.EADDRINUSE, errno.EACCES):
            what = (
                f"Port {port} is in use or not allowed ({error.strerror}); choose "
                f"another one, such as PORT={port % 65535 + 1}."
            )
        else:
            what = (
                f"BIND={bind}: this machine cannot listen there ({error.strerror}); "
                "write one of its addresses, or 0.0.0.0 for all."
            )
        raise CommandError(what, returncode=2) from error


def _host(bind: str) -> str:
    """Return the address as it stands before a port's colon."""
    return f"[{bind}]" if ":" in bind else bind


def _port(text: str) -> int:
    try:
        return parse_port(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text}: {error}") from error


def _web_command(bind: str, port: int) -> list[str]:
    return [
        sys.executable, "-m", "gunicorn", "evalcore.wsgi", "--bind",
        f"{_host(bind)}:{port}",
        "--workers", "2", "--threads", "4", "--log-level", "warning",
        "--no-control-socket",
    ]  # fmt: skip


def _worker_command(queue: str) -> list[str]:
    return [
        sys.executable, "-m", "celery", "--quiet", "-A", "evalcore.celery", "worker",
        "--concurrency", "1", "--queues", queue, "--hostname", f"{queue}@%h",
        "--loglevel", "warning", "--without-gossip", "--without-mingle",
        *(["--beat"] if queue == "cpu" else []),
    ]  # fmt: skip


def _stop(children: Iterable[subprocess.Popen]) -> None:
    """Ask every child to end, and insist after a while."""
    children = list(children)
    # A Ctrl-C in the terminal reached the children already; asking twice is harmless.
    for child in children:
        if child.poll() is None:
            child.send_signal(signal.SIGTERM)
    for child in children:
        try:
            child.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()


class Command(BaseCommand):
    help = (
        "Serve pages and run jobs in the foreground; `make run` calls this. "
        "Example: serve --port 8123"
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "--port", type=_port, default=settings.PORT, help="default: PORT, or 8000"
        )
        parser.add_argument(
            "--bind",
            default=settings.BIND,
            help="address to listen on; default: BIND, or 127.0.0.1 (this machine)",
        )

    def handle(self, *, port: int, bind: str, **_options: object) -> None:
        check_address(bind, port)
        call_command("migrate", verbosity=0)
        if settings.PRODUCTION:
            call_command("collectstatic", interactive=False, verbosity=0)
        if not get_user_model().objects.filter(is_superuser=True).exists():
            python = os.path.relpath(sys.executable)
            self.stdout.write(
                "Nobody can log in yet. In another terminal:\n"
                f"    {python} manage.py create_manager YOUR-NAME"
            )
        run_server(port=port, bind=bind)
