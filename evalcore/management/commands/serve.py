import argparse
import errno
import socket
from collections.abc import Sequence
from functools import partial
from ipaddress import ip_address

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError

from evalcore.serving import first_start, schema, supervisor
from evalcore.serving.environment import parse_port


def run_server(*, port: int, bind: str, gpus: Sequence[str] = ()) -> None:
    """Run web server and workers in the foreground until the former ends.

    SIGTERM and Ctrl-C stop all and leave nothing behind; a worker that dies is started
    again.
    """
    work = supervisor.worker_commands(gpus=gpus)
    status = supervisor.run(
        supervisor.web_command(bind, port),
        {**work, "beat": supervisor.BEAT},
        (_near(bind), port),
        partial(_tell_where, bind, port),
    )
    if status is not None:
        # A shell reports who died of a signal in the same way.
        raise CommandError(
            "The web server stopped unexpectedly. See its last log lines for the "
            "reason.",
            returncode=status if status >= 0 else 128 - status,
        )


def run_gpu_workers(gpus: Sequence[str]) -> None:
    """Run a worker for each GPU in the foreground until a signal comes."""
    work = supervisor.worker_commands(("gpu",), gpus)
    names = ", ".join(gpus)
    supervisor.run(None, work, ("", 0), partial(print, f"Workers on {names}."))


def _near(bind: str) -> str:
    """Return this machine's address of a server that listens on `bind`."""
    return {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(bind, bind)


def _tell_where(bind: str, port: int) -> None:
    near = supervisor.host(_near(bind))
    print(
        f"Plumbline is running at http://{near}:{port}/  (press Ctrl-C to stop)",
        flush=True,
    )
    has_proxy = settings.PRODUCTION or settings.BASE_URL.startswith("https:")
    if has_proxy and not settings.TRUSTED_PROXIES:
        print(
            "TRUSTED_PROXIES is not set: all users behind the proxy share one limit on "
            "wrong passwords and links. Set it to the address of the proxy.",
            flush=True,
        )


def check_address(bind: str, port: int) -> None:
    """Refuse an address that cannot be listened on, before anything is started.

    Beyond this machine Plumbline listens only where its own address is known: links
    begin with it, and it says whether cookies travel by HTTPS alone.
    """
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
                f"Port {port} is in use or not allowed ({error.strerror}). Choose "
                f"another port, such as PORT={port % 65535 + 1}."
            )
        else:
            what = (
                f"BIND={bind}: this machine cannot listen on this address "
                f"({error.strerror}). Use one of its own addresses, or 0.0.0.0 for all "
                "of them."
            )
        raise CommandError(what, returncode=2) from error
    # A name may have several addresses, and gunicorn takes another one of them.
    is_here = all(ip_address(address[0]).is_loopback for *_how, address in found)
    if not (settings.BASE_URL or is_here):
        raise CommandError(
            f"BIND={bind} accepts connections from other machines, so BASE_URL is "
            "required. Set it to the address that annotators use, such as "
            f"http://192.168.1.20:{port}.",
            returncode=2,
        )


def _port(text: str) -> int:
    try:
        return parse_port(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text}: {error}") from error


def _part(text: str) -> str:
    if supervisor.PART.fullmatch(text) is None:
        queues = ", ".join(supervisor.QUEUES)
        raise argparse.ArgumentTypeError(
            f"{text}: write web, beat or the name of a queue ({queues}). Add a suffix "
            "for a second worker of the same queue, such as gpu-2"
        )
    return text


def _gpus(text: str) -> tuple[str, ...]:
    try:
        return supervisor.devices(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text}: {error}") from error


class Command(BaseCommand):
    help = (
        "Run the web server, the workers and the scheduler in the foreground (as `make "
        "run` does). With --only, run one of these processes, for a supervisor such as "
        "systemd to manage. Example: plumbline serve --port 8123"
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "--port",
            type=_port,
            default=settings.PORT,
            help="port to listen on; default: PORT, or 8000",
        )
        parser.add_argument(
            "--bind",
            default=settings.BIND,
            help="address to listen on; default: BIND, or 127.0.0.1 (this machine)",
        )
        parser.add_argument(
            "--only",
            type=_part,
            metavar="PART",
            help="process to run: web, beat, or the worker of a queue "
            f"({', '.join(supervisor.QUEUES)}); name further workers of a queue on one "
            "machine with a suffix, such as gpu-2",
        )

        parser.add_argument(
            "--gpus",
            type=_gpus,
            default=(),
            metavar="0,1",
            help="a worker for each of these GPUs; alone or with --only gpu",
        )

    def handle(
        self,
        *,
        port: int,
        bind: str,
        only: str | None,
        gpus: tuple[str, ...],
        **_options: object,
    ) -> None:
        if gpus and only not in (None, "gpu"):
            raise CommandError(
                "--gpus: expected no --only, or --only gpu", returncode=2
            )
        serves_pages = only in (None, "web")
        if serves_pages:
            check_address(bind, port)
        schema.bring_up_to_date()
        if serves_pages and settings.PRODUCTION:
            call_command("collectstatic", interactive=False, verbosity=0)
        if serves_pages and settings.METRICS:
            supervisor.forget_counts(settings.METRICS_ROOT)
        if serves_pages and not first_start.has_account():
            base = settings.BASE_URL or f"http://{supervisor.host(_near(bind))}:{port}"
            self.stdout.write(first_start.instructions(base))
            self.stdout.flush()
        if only and gpus:
            run_gpu_workers(gpus)
            return
        if only:
            supervisor.become(only, bind=bind, port=port)
        run_server(port=port, bind=bind, gpus=gpus)
