"""Rehearsals as jobs: start, carry out in a process of its own, forget."""

import json
import logging
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import transaction
from django.utils import timezone
from django.utils.translation import get_language, ngettext
from django.utils.translation import gettext as _

from annotate.access.server_address import server_address
from annotate.models import Rehearsal, Study, User
from annotate.rehearsal import copying
from annotate.rehearsal.person import PersonKind
from annotate.studies.units import PlanningError
from evalcore.serving import log
from evalcore.serving.workers import Heartbeat

logger = logging.getLogger(__name__)

State = Rehearsal.State
RETENTION = timedelta(days=1)
MOST_PEOPLE = 300
# A process that takes longer is ended.
LONGEST_SECONDS = 480
REPORT = "report/report.html"


class RehearsalError(ValueError):
    """A rehearsal that cannot begin; the message says why."""


class CancelledError(Exception):
    """The rehearsal was deleted while it ran."""


@transaction.atomic
def ask(
    study: Study, user: User, people: Mapping[str, int], differences: str
) -> Rehearsal:
    """Queue a rehearsal, which replaces the one before."""
    if not study.definition:
        raise RehearsalError(_("This study was imported, so it has no plan."))
    if differences not in Rehearsal.Differences.values:
        raise RehearsalError(_("Choose how much the methods differ."))
    numbers = {kind.value: people.get(kind, 0) for kind in PersonKind}
    if min(numbers.values()) < 0 or not 1 <= sum(numbers.values()) <= MOST_PEOPLE:
        text = _("Enter whole numbers of people, from 1 to %(most)d in total.")
        raise RehearsalError(text % {"most": MOST_PEOPLE})
    least = 1 if study.is_open else max(1, len(study.languages))
    if sum(numbers.values()) < least:
        text = ngettext(
            "The plan needs at least %(n)d person.",
            "The plan needs at least %(n)d people: one for each language.",
            least,
        )
        raise RehearsalError(text % {"n": least})
    Study.objects.select_for_update(no_key=True).get(pk=study.pk)
    before = Rehearsal.objects.filter(study=study).first()
    if before is not None:
        if is_at_work(before):
            raise RehearsalError(
                _("A rehearsal of this study is under way. Wait for it, or stop it.")
            )
        forget(before)
    return Rehearsal.objects.create(
        study=study,
        created_by=user,
        people=numbers,
        differences=differences,
        language=get_language() or "",
    )


def is_at_work(row: Rehearsal) -> bool:
    """Say whether a rehearsal waits for a worker, or has one that lives."""
    if row.state == State.QUEUED:
        return True
    return row.state == State.RUNNING and not _is_silent(row)


def has_lost_worker(row: Rehearsal) -> bool:
    return row.state == State.RUNNING and _is_silent(row)


def _is_silent(row: Rehearsal) -> bool:
    heard = row.heartbeat_at
    return heard is None or heard < timezone.now() - Rehearsal.SILENT


def root() -> Path:
    return Path(settings.DATA_DIR) / "rehearsals"


def folder(pk: int) -> Path:
    return root() / str(pk)


def report_path(row: Rehearsal) -> Path | None:
    """Return the page of the report, if there is one."""
    path = folder(row.pk) / REPORT
    return path if row.state == State.DONE and path.is_file() else None


def forget(row: Rehearsal) -> None:
    """Delete a rehearsal with its report; its process ends soon if it runs."""
    pk = row.pk
    row.delete()
    transaction.on_commit(partial(_remove, pk))


def _remove(pk: int) -> None:
    shutil.rmtree(folder(pk), ignore_errors=True)


def waiting() -> list[int]:
    """Return the queued rehearsals, the oldest first."""
    queued = Rehearsal.objects.filter(state=State.QUEUED).order_by("created_at")
    return list(queued.values_list("pk", flat=True))


def tidy_up() -> None:
    """End rehearsals that lost their worker, and delete old ones and their files."""
    now = timezone.now()
    for row in Rehearsal.objects.filter(state=State.RUNNING):
        if has_lost_worker(row):
            _end(row.pk, error=lost_text())
            _remove(row.pk)
    for row in Rehearsal.objects.filter(created_at__lt=now - RETENTION):
        if not is_at_work(row):
            forget(row)
    known = {str(pk) for pk in Rehearsal.objects.values_list("pk", flat=True)}
    for path in root().glob("*"):
        if path.name not in known:
            shutil.rmtree(path, ignore_errors=True)


def lost_text() -> str:
    return _("The worker stopped in the middle of the rehearsal. Start it again.")


def work_on(pk: int) -> None:
    """Carry out one queued rehearsal, unless another worker has it."""
    queued = Rehearsal.objects.filter(pk=pk, state=State.QUEUED)
    if not Rehearsal.claim(queued):
        return
    row = Rehearsal.objects.select_related("study__benchmark").get(pk=pk)
    log.note(study=row.study.slug)
    result: dict[str, Any] = {}
    try:
        with Heartbeat(f"rehearsal {pk}", partial(Rehearsal.sign, pk)):
            result = _carry_out(row)
    except CancelledError:
        logger.info("rehearsal %s was deleted", pk)
        _remove(pk)
        return
    except PlanningError as error:
        result = {"error": str(error)}
    except Exception as error:
        logger.exception("rehearsal %s failed", pk)
        result = {"error": str(error) or type(error).__name__}
    text = result.pop("error", "")
    if not _end(pk, error=text, result=result) or text:
        _remove(pk)


def _end(pk: int, *, error: str = "", result: Mapping[str, Any] | None = None) -> bool:
    """Record the end of a rehearsal; return whether nobody has deleted it."""
    state = State.FAILED if error else State.DONE
    changes = {"state": state, "error": error, "finished_at": timezone.now()}
    running = Rehearsal.objects.filter(pk=pk, state=State.RUNNING)
    return bool(running.update(result=dict(result or {}), **changes))


def _carry_out(row: Rehearsal) -> dict[str, Any]:
    """Let a process rehearse in a new folder; return its result."""
    place = folder(row.pk)
    _remove(row.pk)
    server = place / "server"
    server.mkdir(mode=0o700, parents=True)
    order = copying.setup_for(row) | {
        "people": row.people,
        "differences": row.differences,
        "language": row.language,
        "seed": row.pk,
    }
    (place / "order.json").write_text(json.dumps(order), encoding="utf-8")
    copying.write_copy(row, place / "copy.jsonl")
    with (place / "errors.txt").open("w+", encoding="utf-8") as errors:
        process = subprocess.Popen(
            [sys.executable, "-m", "annotate.rehearsal", str(place)],
            cwd=settings.BASE_DIR,
            env=_environment(server),
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        )
        _follow(process, row.pk)
        if process.returncode == -signal.SIGKILL:
            minutes = LONGEST_SECONDS // 60
            text = _(
                "The rehearsal was stopped: it took longer than %(n)d minutes, or the "
                "memory of the server was full."
            )
            raise RuntimeError(text % {"n": minutes})
        if process.returncode:
            errors.seek(0)
            raise RuntimeError(_last_line(errors.read(), process.returncode))
    result: dict[str, Any] = json.loads((place / "result.json").read_text("utf-8"))
    for path in place.iterdir():  # nothing but the report is kept
        if path.is_dir() and path.name != "report":
            shutil.rmtree(path)
        elif path.is_file():
            path.unlink()
    return result


def _environment(server: Path) -> dict[str, str]:
    """Return variables that keep a process away from this server's database.

    Pictures are read where they are.
    """
    own = {
        "DATA_DIR": str(server),
        "MEDIA_ROOT": settings.MEDIA_STORE or str(settings.MEDIA_ROOT),
        "SECRET_KEY": settings.SECRET_KEY,
        "BASE_URL": server_address(),
    }
    for name in ("DATABASE_URL", "BROKER_URL", "REPORTS_ROOT", "METRICS_TOKEN"):
        own[name] = ""
    for name in ("PRODUCTION", "DEMO", "METRICS"):
        own[name] = "0"
    return os.environ | own


def _follow(process: "subprocess.Popen[str]", pk: int) -> None:
    """Record the progress of a process until it ends, or end it."""
    assert process.stdout is not None
    alarm = threading.Timer(LONGEST_SECONDS, process.kill)
    alarm.start()
    try:
        for line in process.stdout:
            if not Rehearsal.sign(pk, **json.loads(line)):
                raise CancelledError
        process.wait()
    finally:
        alarm.cancel()
        process.kill()
        process.wait()
        process.stdout.close()


def _last_line(text: str, code: int) -> str:
    logger.error("a rehearsal ended with %s: %s", code, text[-4000:])
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[-1][:500] if lines else f"exit code {code}"
