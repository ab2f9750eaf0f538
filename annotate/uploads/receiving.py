"""Receiving the parts of an upload.

The browser sends a list of files, then their bytes one after another, in parts with
offset and checksum. The checksum is CRC-32: browsers compute stronger ones on secure
pages alone, and it only has to find errors on the way.
"""

import fcntl
import hashlib
import json
import os
import zlib
from collections.abc import Sequence

from django.conf import settings
from django.db import transaction
from django.utils import timezone
from django.utils.translation import get_language
from django.utils.translation import gettext as _

from annotate.models import Upload, User
from annotate.uploads import storage
from annotate.uploads.names import (
    RefusedUploadError,
    check_unique,
    checked_parts,
    is_wanted,
)
from annotate.uploads.storage import Listed

State, Stage = Upload.State, Upload.Stage
MOST_UNFINISHED = 3
LARGEST_PART = 8 * 2**20


class OutOfPlaceError(Exception):
    """A part does not begin where the received bytes end."""


class DamagedPartError(Exception):
    """A part is not what the browser sent, or not what was received before."""


def begin(
    user: User, name: str, listed: Sequence[object], benchmark: str = ""
) -> Upload:
    """Start an upload, or return the user's unfinished one of the same files.

    `benchmark` is the one that the user came from.
    """
    files = _checked(listed)
    total = sum(size for _path, size, _at in files)
    check_total(total)
    text = json.dumps([name, files])
    fingerprint = hashlib.sha256(text.encode()).hexdigest()
    with transaction.atomic():
        waiting = unfinished_of(user)
        for same in waiting:
            if same.fingerprint == fingerprint and same.stage == Stage.RECEIVE:
                return same
        check_number(len(waiting))
        storage.check_space(2 * total)
        upload = Upload.objects.create(
            created_by=user,
            name=name[:200],
            total=total,
            fingerprint=fingerprint,
            state=State.RUNNING,
            heartbeat_at=timezone.now(),
            language=get_language() or "",
            chosen={"benchmark": benchmark} if benchmark else {},
        )
        storage.write_list(upload, files)
    return upload


def unfinished_of(user: User) -> list[Upload]:
    """Return an account's uploads that are neither imported nor discarded.

    Inside a transaction no other one of the account is started meanwhile.
    """
    User.objects.select_for_update(no_key=True).filter(pk=user.pk).first()
    own = Upload.objects.filter(created_by=user).exclude(state=State.CANCELLED)
    return list(own.exclude(stage=Stage.IMPORT, state=State.DONE))


def check_number(unfinished: int) -> None:
    """Refuse a further upload to an account with many unfinished ones."""
    if unfinished >= MOST_UNFINISHED:
        raise RefusedUploadError(
            _("You have %(n)s unfinished uploads. Import or discard one of them first.")
            % {"n": unfinished}
        )


def _checked(listed: Sequence[object]) -> list[Listed]:
    files: list[Listed] = []
    for row in listed:
        match row:
            case [str() as path, int() as size, int() as changed] if size >= 0:
                parts = checked_parts(path)
                if is_wanted(parts):
                    files.append(("/".join(parts), size, changed))
            case _other:
                raise RefusedUploadError(_("The list of files cannot be read."))
    check_count(len(files))
    if not any(size for _path, size, _at in files):
        raise RefusedUploadError(_("There is nothing in these files."))
    check_unique(tuple(path.split("/")) for path, _size, _at in files)
    return files


def check_total(total: int) -> None:
    """Refuse files that are too large together."""
    if total > settings.UPLOAD_MAX_MB * 10**6:
        raise RefusedUploadError(
            _(
                "These files have %(total)s MB. One upload may have %(most)s MB: "
                "upload the methods one after another, or ask the administrator to "
                "raise UPLOAD_MAX_MB."
            )
            % {"total": f"{total // 10**6:,}", "most": f"{settings.UPLOAD_MAX_MB:,}"}
        )


def check_count(number: int) -> None:
    """Refuse more files than one upload may have."""
    if number > settings.UPLOAD_MAX_FILES:
        raise RefusedUploadError(
            _(
                "These are %(n)s files. One upload may have %(most)s: upload the "
                "methods one after another, or ask the administrator to raise "
                "UPLOAD_MAX_FILES."
            )
            % {"n": f"{number:,}", "most": f"{settings.UPLOAD_MAX_FILES:,}"}
        )


def receive(upload: Upload, offset: int, checksum: int, part: bytes) -> int:
    """Append a part; return how many bytes are there now.

    A part that was received before changes nothing. Two windows may send the same
    upload: a lock on its file lets one of them write at a time.

    Raises
    ------
    OutOfPlaceError
        The part begins elsewhere; the browser continues from `upload.received`.
    DamagedPartError
        Its checksum is wrong, or it differs from what was received there.
    """
    if zlib.crc32(part) != checksum:
        raise DamagedPartError
    if upload.stage != Stage.RECEIVE:  # another window sent the rest
        return upload.received
    file = os.open(storage.data_file(upload), os.O_RDWR | os.O_CLOEXEC)
    try:
        fcntl.flock(file, fcntl.LOCK_EX)
        upload.refresh_from_db()
        end = offset + len(part)
        if offset > upload.received or end > upload.total:
            raise OutOfPlaceError
        known = min(end, upload.received) - offset
        if os.pread(file, known, offset) != part[:known]:
            raise DamagedPartError
        is_active = (upload.stage, upload.state) == (Stage.RECEIVE, State.RUNNING)
        if end > upload.received and is_active:
            _write(file, part[known:], upload.received)
            os.fsync(file)
            _note(upload, end)
    finally:
        os.close(file)
    return upload.received


def _write(file: int, data: bytes, at: int) -> None:
    left = memoryview(data)
    while left:
        number = os.pwrite(file, left, at)
        at, left = at + number, left[number:]


def _note(upload: Upload, end: int) -> None:
    """Record the new end; a complete upload waits for its inspection."""
    changes: dict[str, object] = {"received": end, "heartbeat_at": timezone.now()}
    if end == upload.total:
        changes |= {"stage": Stage.INSPECT, "state": State.QUEUED}
    rows = Upload.objects.filter(
        pk=upload.pk,
        received=upload.received,
        stage=Stage.RECEIVE,
        state=State.RUNNING,
    )
    rows.update(**changes)
    upload.refresh_from_db()
