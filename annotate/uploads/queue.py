"""Changes of an upload's state, which pages make; workers do the rest."""

import logging
from datetime import timedelta
from functools import partial
from pathlib import Path

from django.conf import settings
from django.db import transaction
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import get_language
from django.utils.translation import gettext as _

from analysis.tables import is_text
from annotate.models import Upload, User
from annotate.uploads import storage
from annotate.uploads.names import RefusedUploadError
from annotate.uploads.receiving import check_number, unfinished_of
from evalcore.formats.folder_layouts import is_shown
from evalcore.object_store import is_address

logger = logging.getLogger(__name__)

State, Stage = Upload.State, Upload.Stage
LONGEST_ADDRESS = 255
# Files of unfinished uploads are kept for this long after the last change.
RETENTION = timedelta(days=7)


def entries() -> list[str]:
    """Return the folders and files of the server's folder that can be imported."""
    if not settings.UPLOAD_FOLDER:
        return []
    paths = Path(settings.UPLOAD_FOLDER).iterdir()
    return sorted(
        path.name
        for path in paths
        if is_shown(path.name) and is_text(path.name) and not path.is_symlink()
    )


def begin_entry(user: User, entry: str) -> Upload:
    """Queue the inspection of an entry of the server's folder, or of an address."""
    if is_address(entry):
        entry = _allowed(entry)
    elif entry not in entries():
        raise RefusedUploadError(
            _("“%(name)s” is not in the server's folder any more.") % {"name": entry}
        )
    with transaction.atomic():
        check_number(len(unfinished_of(user)))
        return Upload.objects.create(
            created_by=user,
            name=entry.rpartition("/")[2][:200],
            entry=entry,
            stage=Stage.INSPECT,
            language=get_language() or "",
        )


def _allowed(address: str) -> str:
    """Return an address below one of UPLOAD_ADDRESSES, or refuse it."""
    address = address.strip().rstrip("/")
    is_plain = len(address) <= LONGEST_ADDRESS and is_text(address)
    if ".." in address.split("/") or "::" in address or not is_plain:
        raise RefusedUploadError(_("This is not the address of a folder or file."))
    for allowed in settings.UPLOAD_ADDRESSES:
        if f"{address}/".startswith(f"{allowed}/"):
            return address
    raise RefusedUploadError(
        _(
            "This server imports from %(addresses)s only. Ask its administrator to add "
            "the address to UPLOAD_ADDRESSES."
        )
        % {"addresses": ", ".join(settings.UPLOAD_ADDRESSES) or _("its own folders")}
    )


def change(upload: Upload, chosen: dict[str, object]) -> bool:
    """Queue another inspection with other choices; return whether it was possible."""
    rows = Upload.objects.filter(pk=upload.pk, stage=Stage.INSPECT)
    ended = rows.filter(state__in=(State.DONE, State.FAILED))
    return bool(ended.update(chosen=upload.chosen | chosen, **_queued()))


def accept(upload: Upload, chosen: dict[str, object]) -> bool:
    """Queue the import of a preview; return whether it still was one."""
    rows = Upload.objects.filter(pk=upload.pk, stage=Stage.INSPECT, state=State.DONE)
    changes = {"chosen": upload.chosen | chosen, "stage": Stage.IMPORT}
    return bool(rows.update(**_queued(), **changes))


def _queued() -> dict[str, object]:
    now = timezone.now()
    return {"state": State.QUEUED, "heartbeat_at": now, "error": "", "step": ""}


def discard(upload: Upload) -> bool:
    """Cancel an upload that is not imported, and remove its files."""
    rows = Upload.objects.filter(pk=upload.pk)
    kept = rows.exclude(stage=Stage.IMPORT, state=State.DONE)
    ended = kept.update(state=State.CANCELLED, finished_at=timezone.now())
    if ended:
        transaction.on_commit(partial(storage.remove, upload))
    return bool(ended)


def go_on(upload: Upload, index: int) -> Upload | None:
    """Return a new upload of a further part of an imported one, waiting to be checked.

    The files move to it, so that each part is imported once.
    """
    part = dict(enumerate(upload.found.get("parts", []))).get(index)
    if not upload.is_imported or part is None or upload.benchmark is None:
        return None
    rest = [one for at, one in enumerate(upload.found["parts"]) if at != index]
    with transaction.atomic():
        locked = Upload.objects.select_for_update().get(pk=upload.pk)
        if locked.found != upload.found:
            return None
        following = Upload.objects.create(
            created_by=upload.created_by,
            name=upload.name,
            entry=upload.entry,
            stage=Stage.INSPECT,
            language=get_language() or "",
            chosen=upload.chosen
            | part
            | {"benchmark": upload.benchmark.slug, "create": False},
            found={"parts": rest},
        )
        Upload.objects.filter(pk=upload.pk).update(found=upload.found | {"parts": []})
        if storage.folder(upload).is_dir():
            storage.folder(upload).rename(storage.folder(following))
    return following


def waiting() -> list[int]:
    """Return the uploads that wait for a worker, the oldest first."""
    queued = Upload.objects.filter(state=State.QUEUED).exclude(stage=Stage.RECEIVE)
    return list(queued.order_by("heartbeat_at", "pk").values_list("pk", flat=True))


def tidy_up() -> None:
    """Fail uploads that lost their worker, and remove files that nobody needs.

    An interrupted import has stored nothing; it goes back to its preview.
    """
    now = timezone.now()
    silent = Upload.objects.filter(heartbeat_at__lt=now - Upload.SILENT)
    silent.filter(state=State.RUNNING).exclude(stage=Stage.RECEIVE).update(
        stage=Stage.INSPECT,
        state=State.FAILED,
        error=_("The worker stopped. Press Check again."),
    )
    unfinished = Q(stage__in=(Stage.RECEIVE, Stage.INSPECT)) & ~Q(state=State.CANCELLED)
    old = Q(heartbeat_at__lt=now - RETENTION) | Q(
        heartbeat_at=None, created_at__lt=now - RETENTION
    )
    for upload in Upload.objects.filter(unfinished & old):
        logger.info("upload %s was left alone; its files are removed", upload.pk)
        discard(upload)
    cancelled = Upload.objects.filter(state=State.CANCELLED)
    cancelled.filter(finished_at__lt=now - RETENTION).delete()
    storage.remove_except(
        {upload.pk for upload in Upload.objects.all() if needs_files(upload)}
    )


def needs_files(upload: Upload) -> bool:
    """Say whether an upload has something to do with its files."""
    if upload.is_imported:
        assert upload.finished_at is not None
        is_recent = upload.finished_at > timezone.now() - RETENTION
        return bool(upload.found.get("parts")) and is_recent
    return upload.state != State.CANCELLED
