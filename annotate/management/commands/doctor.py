import os
import sys
from collections.abc import Iterator

from django.conf import settings
from django.core.management.base import BaseCommand
from django.db import Error
from django.template.defaultfilters import filesizeformat
from django.utils import timezone

from analysis.options import release
from annotate.health import troubles
from evalcore.metrics import registry
from evalcore.metrics.weights import VARIABLE
from evalcore.serving import health

FINE, WARNING, BROKEN = "ok", "note", "broken"


class Command(BaseCommand):
    help = (
        "Check this installation: folders, database, workers, metrics. Exit status: 0 "
        "all is well, 1 something is to be looked at, 2 pages cannot be served. "
        "Example: plumbline doctor. With files it checks tables: plumbline doctor "
        "ratings.csv scores.csv"
    )
    requires_system_checks = ()

    def handle(self, **_options: object) -> None:
        found = list(_found())
        for state, text in found:
            self.stdout.write(f"{state:6}  {text}")
        states = {state for state, _text in found}
        sys.exit(2 if BROKEN in states else 1 if WARNING in states else 0)


def _found() -> Iterator[tuple[str, str]]:
    python = f"Python {sys.version.split()[0]} ({sys.executable})"
    yield FINE, f"Plumbline {release()} in {settings.BASE_DIR}, {python}"
    yield FINE, f"DATA_DIR: {settings.DATA_DIR}"
    broken = health.missing()
    for reason in broken.values():
        yield BROKEN, reason
    if not broken:
        yield from _about_server()
    yield _about_metrics()


def _about_server() -> Iterator[tuple[str, str]]:
    now = timezone.now()
    try:
        status = troubles.status(now)
    except Error as error:
        yield BROKEN, f"The database reported an error ({error})."
        return
    size = filesizeformat(status["database_bytes"])
    yield FINE, f"Database: {status['database']}, {size}"
    for one in status["troubles"]:
        yield WARNING, " ".join(filter(None, (one.what, one.advice, one.command)))


def _about_metrics() -> tuple[str, str]:
    names = registry.computable()
    ready = sum(not registry.load(name).missing() for name in names)
    where = os.environ.get(VARIABLE) or "not set"
    text = f"Metrics: {ready} of {len(names)} are ready; {VARIABLE}: {where}."
    return FINE, f"{text} plumbline metrics says what the others lack."
