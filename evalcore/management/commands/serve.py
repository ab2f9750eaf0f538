import argparse
import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from types import FrameType

from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError

STOP_SECONDS = 10


def run_server(*, port: int, bind: str = "127.0.0.1") -> None:
    """Run web server and worker in the foreground until one ends or a signal comes.

    SIGTERM and Ctrl-C stop both and leave nothing behind; when one dies by itself the
    other is stopped as well.
    """
    _check_port(bind, port)
    signal.signal(signal.SIGTERM, _interrupt)
    children = {
        "web server": subprocess.Popen(_web_command(bind, port)),
        "worker": subprocess.Popen(_worker_command()),
    }
    print(f"Plumbline serves on http://{bind}:{port}/  (Ctrl-C stops it)", flush=True)
    try:
        while all(child.poll() is None for child in children.values()):
            time.sleep(0.5)
    except KeyboardInterrupt:
        _stop(children.values())
        return
    dead = [name for name, child in children.items() if child.poll() is not None]
    _stop(children.values())
    raise CommandError(f"The {dead[0]} ended by itself; its last lines say why.")


def _interrupt(_signal: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _check_port(bind: str, port: int) -> None:
    with contextlib.closing(socket.socket()) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((bind, port))
        except OSError as error:
            raise CommandError(
                f"Port {port} is in use or not allowed ({error.strerror}); choose "
                f"another one, such as PORT={port + 1}.",
                returncode=2,
            ) from error


def _web_command(bind: str, port: int) -> list[str]:
    return [
        sys.executable, "-m", "gunicorn", "evalcore.wsgi", "--bind", f"{bind}:{port}",
        "--workers", "2", "--threads", "4", "--log-level", "warning",
        "--no-control-socket",
    ]  # fmt: skip


def _worker_command() -> list[str]:
    return [
        sys.executable, "-m", "celery", "--quiet", "-A", "evalcore.celery", "worker",
        "--beat", "--concurrency", "1", "--queues", "cpu,gpu",
        "--loglevel", "warning", "--without-gossip", "--without-mingle",
    ]  # fmt: skip


def _stop(children: "list[subprocess.Popen]") -> None:
    """Ask every child to end, and insist after a while."""
    children = list(children)
    # A Ctrl-C in the terminal reached the children already; asking twice is harmless.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
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
    help = "Serve pages and run jobs in the foreground. `make run` calls this."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--port", type=int, default=settings.PORT)
        parser.add_argument("--bind", default="127.0.0.1")

    def handle(self, *, port: int, bind: str, **_options: object) -> None:
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
