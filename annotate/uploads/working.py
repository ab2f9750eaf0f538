"""The work of a worker on an upload: inspection and import."""

import logging
import time
from contextlib import suppress
from functools import partial
from pathlib import PurePath

from django.utils import timezone, translation
from django.utils.translation import gettext as _

from analysis.problems import InputError
from annotate.models import Study, Upload
from annotate.uploads import detecting, importing, previews, storage
from annotate.uploads.names import RefusedUploadError
from annotate.uploads.queue import needs_files
from annotate.uploads.task import scale_of, task_of
from annotate.uploads.unpacking import TABLES, unpack
from evalcore.models import Benchmark
from evalcore.serving.workers import Heartbeat

logger = logging.getLogger(__name__)

State, Stage = Upload.State, Upload.Stage
LONGEST_TITLE = 80
USUAL_SCALE = (0, 4)
SHOWN_EVERY = 1.0  # seconds


class DiscardedError(Exception):
    """The upload was discarded meanwhile."""


def work_on(upload_id: int) -> None:
    """Inspect or import one upload; return at once if another worker has it."""
    queued = Upload.objects.filter(pk=upload_id, state=State.QUEUED)
    if not Upload.claim(queued.exclude(stage=Stage.RECEIVE)):
        return
    upload = Upload.objects.select_related("created_by").get(pk=upload_id)
    with translation.override(upload.language or None), suppress(DiscardedError):
        _attempt(upload)
    upload.refresh_from_db()
    if not needs_files(upload):
        storage.remove(upload)


def _attempt(upload: Upload) -> None:
    try:
        with Heartbeat(f"upload {upload.pk}", partial(Upload.sign, upload.pk)):
            _carry_out(upload)
    except DiscardedError:
        raise
    except RefusedUploadError as refusal:
        _end(upload, State.FAILED, error=str(refusal))
    except Exception:
        logger.exception("upload %s failed", upload.pk)
        text = _(
            "The files could not be read. The server's log says why: ask its "
            "administrator."
        )
        _end(upload, State.FAILED, error=text)


def _carry_out(upload: Upload) -> None:
    _step(upload, _("unpacking the files"))
    copying = _("copying files, %(n)d of %(total)d")
    folder = unpack(upload, _Progress(upload, copying))
    if "kind" not in upload.chosen:
        _choose(upload, detecting.detect(folder, upload.name))
    task = task_of(upload, folder)
    parts = {"parts": upload.found.get("parts", [])}
    try:
        if upload.stage == Stage.INSPECT:
            _step(upload, _("checking every file"))
            _end(upload, State.DONE, found=parts | previews.preview(task))
        else:
            _step(upload, _("storing everything"))
            storing = _("storing pictures, %(n)d of %(total)d")
            importing.store(task, partial(_finish, upload), _Progress(upload, storing))
            logger.info(
                "upload %s by account %s: %s imported into %s",
                upload.pk,
                upload.created_by_id,
                task.kind,
                task.benchmark.slug,
            )
    except InputError as error:
        problems = previews.problems_of(task, error)
        _end(upload, State.FAILED, found=parts | problems)


class _Progress:
    """Shows how many files are done, at most once a second."""

    def __init__(self, upload: Upload, text: str) -> None:
        self.upload, self.text, self.shown_at = upload, text, time.monotonic()

    def __call__(self, n: int, total: int) -> None:
        if (now := time.monotonic()) >= self.shown_at + SHOWN_EVERY:
            self.shown_at = now
            _step(self.upload, self.text % {"n": n, "total": total})


def _choose(upload: Upload, parts: list[detecting.Part]) -> None:
    """Choose the first part and what is likely; the user can change it."""
    if not parts:
        raise RefusedUploadError(
            _(
                "Nothing in it looks like stories, outputs, scores or judgements. See "
                "the folder layouts."
            )
        )
    first, *rest = parts
    low, high = USUAL_SCALE
    if first.kind == "ratings":
        low, high = scale_of(unpack(upload) / first.path) or USUAL_SCALE
    upload.chosen = {
        **first._asdict(),
        "benchmark": upload.chosen.get("benchmark", ""),
        "title": title_of(upload.name),
        "create": False,
        "skip": False,
        "replace": False,
        "low": low,
        "high": high,
    }
    upload.found = {"parts": [part._asdict() for part in rest]}
    upload.save(update_fields=["chosen", "found"])


def title_of(name: str) -> str:
    """Return a title: the name without what says that it is a file.

    >>> title_of("My stories.zip"), title_of("v1.5")
    ('My stories', 'v1.5')
    """
    path = PurePath(name)
    is_file = path.suffix.lower() in (".zip", *TABLES)
    return (path.stem if is_file else path.name)[:LONGEST_TITLE].strip() or name


def _finish(upload: Upload, benchmark: Benchmark, study: Study | None) -> None:
    """End an import, in its own transaction."""
    _end(upload, State.DONE, benchmark=benchmark, study=study)


def _end(upload: Upload, state: str, **changes: object) -> None:
    """End a stage; a failed import goes back to its preview."""
    if state == State.FAILED:
        changes["stage"] = Stage.INSPECT
    now = timezone.now()
    running = Upload.objects.filter(pk=upload.pk, state=State.RUNNING)
    ended = running.update(state=state, heartbeat_at=now, finished_at=now, **changes)
    if not ended:
        raise DiscardedError


def _step(upload: Upload, step: str) -> None:
    if not Upload.sign(upload.pk, step=step):
        raise DiscardedError
